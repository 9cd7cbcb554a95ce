/*
 * In place of libFuzzer: runs a fuzzer over the files of some folders, once each.
 * So every compiler and sanitizer sees the committed inputs.  A file that makes a
 * fuzzer complain ends it, and the last line names that file.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (4u << 20)

static int replay(const char *path)
{
	FILE *in = fopen(path, "rb");
	uint8_t *data = in ? malloc(INPUT_MAX) : NULL;
	uint8_t *exact;
	size_t n;

	if (!data) {
		if (in)
			fclose(in);
		return -1;
	}
	n = fread(data, 1, INPUT_MAX, in);
	fclose(in);
	/* As large as the input: what reads behind it is caught by a sanitizer. */
	exact = realloc(data, n ? n : 1);
	fprintf(stderr, "%s: %zu bytes\n", path, n);
	LLVMFuzzerTestOneInput(exact ? exact : data, n);
	free(exact ? exact : data);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned ran = 0;

	for (int i = 1; i < argc; i++) {
		DIR *folder = opendir(argv[i]);
		struct dirent *entry;
		char path[4096];

		while (folder && (entry = readdir(folder))) {
			snprintf(path, sizeof(path), "%s/%s", argv[i], entry->d_name);
			if (entry->d_name[0] != '.' && !replay(path))
				ran++;
		}
		if (folder)
			closedir(folder);
	}
	fprintf(stderr, "%u inputs\n", ran);
	return ran ? EXIT_SUCCESS : EXIT_FAILURE;
}
