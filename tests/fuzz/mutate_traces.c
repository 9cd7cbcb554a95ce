/*
 * Many damaged traces through everything that reads them: analysis, every report, every export.
 *
 *   mutate_traces [--count N] [--first N] [--jobs N] [--keep FOLDER] SEED...
 *
 * Seeds are traces, stories (tests/unit/story.h) or folders of them.  Each is read as it is, then
 * the mutants FIRST .. FIRST + COUNT - 1 of all (trace_mutant.h).  What breaks one of the promises
 * is named, and kept in FOLDER, as is the slowest: a sanitizer's complaint or any other death, more
 * than 5 s of CPU time for what one command does (`analyze` with every report, or one export), more
 * than 512 MB of memory, a leak.  Status 1 then.
 *
 * Children do the work, some hundred mutants each, so that a death is the death of one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../unit/story.h"
#include "analyze/analysis.h"
#include "export/export.h"
#include "report/report.h"
#include "rules/judge.h"
#include "strict_json.h"
#include "trace_mutant.h"

#define SECONDS_MOST 5
#define MEGABYTES_MOST 512u
#define CHUNK 250u
#define JOBS_MAX 64u

enum outcome { WHOLE, PARTIAL, REFUSED, OUTCOMES };

/* What a child has done so far; shared with its parent. */
struct progress {
	uint64_t next; /* the mutant that it is at */
	uint64_t outcomes[OUTCOMES];
	uint64_t slowest, largest; /* which */
	double slowest_s;
	size_t largest_bytes;
};

static struct mutant_seed *seeds;
static size_t seed_count;
static size_t live_bytes, peak_bytes;

#ifdef __SANITIZE_ADDRESS__
/* As in sanitizer/allocator_interface.h, which not every compiler brings along. */
int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void *, size_t),
					      void (*)(const volatile void *));
size_t __sanitizer_get_allocated_size(const volatile void *p);

__attribute__((visibility("default"))) const char *__asan_default_options(void);

/* Memory that was freed is looked after a while, but not so much that it counts. */
const char *__asan_default_options(void)
{
	return "quarantine_size_mb=16:allocator_may_return_null=1:hard_rss_limit_mb=2048";
}

static void count_malloc(const volatile void *p, size_t bytes)
{
	(void)p;
	live_bytes += bytes;
	if (live_bytes > peak_bytes)
		peak_bytes = live_bytes;
}

static void count_free(const volatile void *p)
{
	size_t bytes = p ? __sanitizer_get_allocated_size(p) : 0;

	live_bytes -= bytes < live_bytes ? bytes : live_bytes;
}

static void memory_watch(void)
{
	if (!__sanitizer_install_malloc_and_free_hooks(count_malloc, count_free))
		abort();
}

static void memory_begin(void)
{
	peak_bytes = live_bytes = 0;
}

static size_t memory_peak(void)
{
	return peak_bytes;
}
#else
static void memory_watch(void)
{
}

/* The kernel begins its account of the peak anew. */
static void memory_begin(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "w");

	if (f) {
		fputs("5", f);
		fclose(f);
	}
	live_bytes = peak_bytes = 0;
}

static size_t memory_peak(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	unsigned long kb = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f) && sscanf(line, "VmHWM: %lu", &kb) != 1)
		;
	if (f)
		fclose(f);
	return (size_t)kb << 10;
}
#endif

static void require(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "mutate_traces: %s\n", what);
	abort();
}

static void check_json(const char *data, size_t n)
{
	struct strict_json j;

	require(strict_parse(&j, data, n), "a report is no JSON");
	strict_release(&j);
}

static void render(const struct analysis *a, enum report_detail detail)
{
	static const struct report_backend *const backends[] = { &report_markdown, &report_html,
								 &report_json };
	const struct terminal_style style = { .columns = 90, .detail = detail };
	FILE *out = fopen("/dev/null", "w");

	for (size_t i = 0; i < sizeof(backends) / sizeof(*backends); i++) {
		struct buf text;

		buf_init(&text);
		backends[i]->render(&text, a, detail);
		require(!text.failed && text.len, "a report could not be rendered");
		if (backends[i] == &report_json)
			check_json(text.data, text.len);
		buf_release(&text);
	}
	require(out && !report_terminal(a, out, &style), "the summary could not be printed");
	fclose(out);
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* SIGPROF ends a child that takes too long. */
static void limit_time(time_t seconds)
{
	const struct itimerval limit = { .it_value = { .tv_sec = seconds } };

	setitimer(ITIMER_PROF, &limit, NULL);
}

static double command_begin(void)
{
	limit_time(SECONDS_MOST);
	return cpu_seconds();
}

static void command_end(struct progress *p, double start_s)
{
	double took_s = cpu_seconds() - start_s;

	limit_time(0);
	if (took_s > p->slowest_s) {
		p->slowest_s = took_s;
		p->slowest = p->next;
	}
}

static void export_all(struct progress *p, const struct trace *t)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	const struct exporter *e;
	struct err err;

	for (size_t i = 0; (e = exporter_at(i)); i++) {
		struct export_target to = { .fd = null };
		char path[64] = "/dev/null";
		double start_s = command_begin();
		int file = -1;

		to.path = path;
		to.table = e->form == EXPORT_TABLES ? "kernels" : NULL;
		if (e->form == EXPORT_FILE) { /* it is opened by its name */
			strcpy(path, "/tmp/mutant-XXXXXX");
			file = mkstemp(path);
		}
		if (e->write(t, &to, &err))
			fprintf(stderr, "mutate_traces: export %s: %s\n", e->name, err.text);
		if (file >= 0) {
			unlink(path);
			close(file);
		}
		command_end(p, start_s);
	}
	close(null);
}

static enum outcome read_all(struct progress *p, const char *path)
{
	double start_s = command_begin();
	struct analysis *a = NULL;
	struct trace *t = NULL;
	enum outcome outcome;
	struct err err;

	if (trace_open(&t, path, &err)) {
		command_end(p, start_s);
		return REFUSED;
	}
	if (analysis_new(&a, t, &err) || judge(a, NULL, &err)) {
		fprintf(stderr, "mutate_traces: analysis: %s\n", err.text);
		abort();
	}
	outcome = a->trust.partial ? PARTIAL : WHOLE;
	a->drawing.timeline_bytes = 4000000;
	render(a, DETAIL_FULL);
	render(a, DETAIL_SHORT);
	analysis_free(a);
	command_end(p, start_s);
	export_all(p, t);
	trace_close(t);
	return outcome;
}

static void check_bytes(struct progress *p, const void *data, size_t size)
{
	int fd = memfd_create("mutant", MFD_CLOEXEC);
	size_t bytes;
	char path[64];

	require(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no room for a mutant");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	memory_begin();
	p->outcomes[read_all(p, path)]++;
	bytes = memory_peak();
	close(fd);
	if (bytes > p->largest_bytes) {
		p->largest_bytes = bytes;
		p->largest = p->next;
	}
	require(bytes <= (size_t)MEGABYTES_MOST << 20, "too much memory");
}

static void check_mutant(struct progress *p)
{
	struct buf text;

	buf_init(&text);
	mutant_make(&text, seeds, seed_count, p->next);
	check_bytes(p, text.data, text.len);
	buf_release(&text);
}

static void keep(const char *folder, uint64_t n)
{
	struct buf text;
	char path[4096];
	FILE *f;

	if (!folder)
		return;
	buf_init(&text);
	mutant_make(&text, seeds, seed_count, n);
	snprintf(path, sizeof(path), "%s/mutant-%" PRIu64 ".isc", folder, n);
	f = fopen(path, "wb");
	if (f) {
		fwrite(text.data, 1, text.len, f);
		fclose(f);
	}
	buf_release(&text);
}

static void seeds_release(void)
{
	for (size_t i = 0; i < seed_count; i++)
		mutant_release(&seeds[i]);
	free(seeds);
}

/* In a child: up to `end`.  Its exit is where leaks are found. */
static void work(struct progress *p, uint64_t end)
{
	for (; p->next < end; p->next++)
		check_mutant(p);
	seeds_release();
	exit(EXIT_SUCCESS);
}

struct job {
	pid_t child;
	uint64_t begin, end;
	struct progress *progress;
};

static pid_t start(struct job *j)
{
	fflush(NULL);
	j->child = fork();
	if (!j->child)
		work(j->progress, j->end);
	return j->child;
}

static void name_death(const struct job *j, int status)
{
	uint64_t at = j->progress->next;

	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
		printf("mutant %" PRIu64 ": more than %d s\n", at, SECONDS_MOST);
	else if (at >= j->end)
		printf("mutants %" PRIu64 " to %" PRIu64 ": status %d at the end (a leak?)\n",
		       j->begin, j->end - 1, WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		printf("mutant %" PRIu64 ": killed by signal %d\n", at, WTERMSIG(status));
	else
		printf("mutant %" PRIu64 ": status %d\n", at, WEXITSTATUS(status));
}

static uint64_t run(uint64_t first, uint64_t count, unsigned jobs, const char *folder,
		    struct progress *shared)
{
	struct job job[JOBS_MAX] = { 0 };
	uint64_t next = first, end = first + count, deaths = 0;
	unsigned running = 0;

	for (;;) {
		struct job *j = NULL;
		pid_t ended;
		int status;

		for (unsigned i = 0; i < jobs && next < end; i++) {
			if (job[i].child)
				continue;
			j = &job[i];
			j->progress = &shared[i];
			j->begin = j->progress->next = next;
			next = end - next < CHUNK ? end : next + CHUNK;
			j->end = next;
			running++;
			require(start(j) > 0, "no child");
		}
		if (!running)
			return deaths;
		ended = wait(&status);
		for (unsigned i = 0; i < jobs; i++) {
			if (job[i].child == ended)
				j = &job[i];
		}
		if (!j || j->child != ended)
			continue;
		if (status) {
			name_death(j, status);
			deaths++;
			if (j->progress->next < j->end) {
				keep(folder, j->progress->next);
				if (++j->progress->next < j->end) {
					j->begin = j->progress->next;
					require(start(j) > 0, "no child");
					continue;
				}
			}
		}
		j->child = 0;
		running--;
	}
}

static uint8_t *file_read(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data = NULL;
	long n;

	if (f && !fseek(f, 0, SEEK_END) && (n = ftell(f)) >= 0 && !fseek(f, 0, SEEK_SET)) {
		data = malloc((size_t)n + 1);
		*size = data ? fread(data, 1, (size_t)n, f) : 0;
	}
	if (f)
		fclose(f);
	return data;
}

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

/* A story becomes a trace. */
static uint8_t *seed_bytes(const char *path, size_t *size)
{
	char trace[] = "/tmp/mutate-XXXXXX";
	uint8_t *data = file_read(path, size), *written;

	if (!data || !ends_with(path, ".story"))
		return data;
	data[*size] = 0;
	story_write(trace, (const char *)data);
	free(data);
	written = file_read(trace, size);
	unlink(trace);
	return written;
}

static void seed_add(struct progress *p, const char *path)
{
	size_t size = 0;
	uint8_t *data = seed_bytes(path, &size);

	require(data != NULL, path);
	fprintf(stderr, "%s: %zu bytes\n", path, size);
	seeds = realloc(seeds, (seed_count + 1) * sizeof(*seeds));
	require(seeds != NULL, "out of memory");
	memset(&seeds[seed_count], 0, sizeof(*seeds));
	mutant_seed_read(&seeds[seed_count++], data, size);
	check_bytes(p, data, size);
	free(data);
}

static int is_seed(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

/* In the order of their names: mutants are numbered. */
static void seeds_add(struct progress *p, const char *path)
{
	struct dirent **entries;
	char name[4096];
	int n = scandir(path, &entries, is_seed, alphasort);

	if (n < 0) {
		seed_add(p, path);
		return;
	}
	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name);
		seed_add(p, name);
		free(entries[i]);
	}
	free(entries);
}

static int report(const struct progress *shared, unsigned jobs, uint64_t count, uint64_t deaths,
		  const char *folder)
{
	struct progress all = shared[0];

	for (unsigned i = 1; i < jobs; i++) {
		const struct progress *p = &shared[i];

		for (unsigned k = 0; k < OUTCOMES; k++)
			all.outcomes[k] += p->outcomes[k];
		if (p->slowest_s > all.slowest_s) {
			all.slowest_s = p->slowest_s;
			all.slowest = p->slowest;
		}
		if (p->largest_bytes > all.largest_bytes) {
			all.largest_bytes = p->largest_bytes;
			all.largest = p->largest;
		}
	}
	printf("%" PRIu64 " mutants and %zu seeds: %" PRIu64 " whole, %" PRIu64 " partial, %" PRIu64
	       " refused; slowest %.2f s (%" PRIu64 "), largest %.1f MB (%" PRIu64 "); %" PRIu64
	       " failures\n",
	       count, seed_count, all.outcomes[WHOLE], all.outcomes[PARTIAL], all.outcomes[REFUSED],
	       all.slowest_s, all.slowest, (double)all.largest_bytes / 1048576, all.largest,
	       deaths);
	if (count)
		keep(folder, all.slowest);
	return deaths ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct progress *shared = mmap(NULL, JOBS_MAX * sizeof(*shared), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t first = 0, count = 0, jobs = 1, *number, deaths;
	const char *folder = NULL;
	int at = 1, rc;

	require(shared != MAP_FAILED, "out of memory");
	memory_watch();
	for (; at + 1 < argc && !strncmp(argv[at], "--", 2); at += 2) {
		number = !strcmp(argv[at], "--count")   ? &count
			 : !strcmp(argv[at], "--first") ? &first
			 : !strcmp(argv[at], "--jobs")  ? &jobs
							: NULL;
		if (number)
			*number = strtoull(argv[at + 1], NULL, 10);
		else if (!strcmp(argv[at], "--keep"))
			folder = argv[at + 1];
		else
			break;
	}
	if (at >= argc || !jobs || jobs > JOBS_MAX) {
		fprintf(stderr, "usage: mutate_traces [--count N] [--first N] [--jobs N] "
				"[--keep FOLDER] SEED...\n");
		return 2;
	}
	for (; at < argc; at++)
		seeds_add(shared, argv[at]);
	deaths = run(first, count, (unsigned)jobs, folder, shared);
	rc = report(shared, (unsigned)jobs, count, deaths, folder);
	seeds_release();
	munmap(shared, JOBS_MAX * sizeof(*shared));
	return rc;
}
