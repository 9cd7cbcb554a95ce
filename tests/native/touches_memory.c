/* touches_memory MB SECONDS: has so much resident memory for so long, and nothing of Python's. */
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

int main(int argc, char **argv)
{
	size_t bytes = argc > 1 ? (size_t)atol(argv[1]) << 20 : 0;
	double seconds = argc > 2 ? atof(argv[2]) : 0;
	struct timespec pause = { (time_t)seconds,
				  (long)((seconds - (double)(time_t)seconds) * 1e9) };
	volatile char *memory;
	void *mapped =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mapped == MAP_FAILED)
		return 1;
	madvise(mapped, bytes, MADV_NOHUGEPAGE); /* a fault for each page */
	memory = mapped;
	for (size_t at = 0; at < bytes; at += 4096)
		memory[at] = 1;
	nanosleep(&pause, NULL);
	return 0;
}
