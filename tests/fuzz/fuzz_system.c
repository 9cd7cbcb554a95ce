/* links: is_capture is_format is_base */
/*
 * What the kernel says about processes and the machine: the first byte chooses a source, the
 * rest is its text, cut and damaged as one likes.  Points are of known kinds, and what is a
 * level or a count is not negative.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/system/system_source.h"

static const struct system_source *choose(uint8_t n)
{
	static const struct system_source *const apart[] = { &source_numa, &source_numastat };
	size_t count = 0;

	for (size_t i = 0; process_sources[i]; i++) {
		if (count++ == n)
			return process_sources[i];
	}
	for (size_t i = 0; machine_sources[i]; i++) {
		if (count++ == n)
			return machine_sources[i];
	}
	return apart[n % 2];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct system_points points = { 0 };
	struct reading l = { &points, 0, 1, 0 };
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	source_parse(choose(data[0]), &l, text);
	for (size_t i = 0; i < points.count; i++) {
		if (!series_quantity(points.items[i].kind) || points.items[i].value < 0)
			abort();
	}
	system_points_release(&points);
	free(text);
	return 0;
}
