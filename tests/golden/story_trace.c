/* Writes a trace file from a story (tests/unit/story.h): story_trace STORY TRACE. */
#include "../unit/story.h"

int main(int argc, char **argv)
{
	char path[4096], *text = NULL;
	size_t n = 0;
	FILE *f = argc == 3 ? fopen(argv[1], "r") : NULL;

	if (!f || getdelim(&text, &n, 0, f) < 0) {
		fprintf(stderr, "usage: story_trace STORY TRACE\n");
		return 2;
	}
	fclose(f);
	snprintf(path, sizeof(path), "%s-XXXXXX", argv[2]);
	story_write(path, text);
	free(text);
	if (rename(path, argv[2])) {
		perror(argv[2]);
		return 1;
	}
	return 0;
}
