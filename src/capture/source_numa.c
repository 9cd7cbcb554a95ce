/*
 * /proc/PID/numa_maps: on which nodes the memory of a process lies.  A line for each mapping:
 *   7f12a4000000 default anon=512 dirty=512 active=0 N0=256 N1=256 kernelpagesize_kB=4
 * As of smaps_rollup, the kernel walks all pages.
 */
#include <string.h>

#include "capture/system_source.h"

#define NODES 1024u
#define PAGE_KB 4 /* where the line does not say; kernels before 2.6.39 did not */

/* "N12=345": a node and its pages. */
static bool read_node(const char *word, size_t bytes, uint32_t *node, int64_t *pages)
{
	const char *equals = memchr(word, '=', bytes);
	int64_t number;

	if (*word != 'N' || !equals || word[1] == '=' || !text_number(word + 1, &number) ||
	    strspn(word + 1, "0123456789") != (size_t)(equals - word - 1) || number >= NODES)
		return false;
	*node = (uint32_t)number;
	return text_number(equals + 1, pages);
}

static int64_t page_kb(const char *line, size_t bytes)
{
	static const char key[] = "kernelpagesize_kB=";
	const char *at = memmem(line, bytes, key, strlen(key));
	int64_t kb;

	return at && text_number(at + strlen(key), &kb) ? kb : PAGE_KB;
}

static void add(int64_t *kb, int64_t pages, int64_t page)
{
	int64_t more;

	if (!__builtin_mul_overflow(pages, page, &more))
		(void)!__builtin_add_overflow(*kb, more, kb);
}

/* The words behind the address and the policy; a file's name has its blanks escaped. */
static void read_line(const char *line, size_t bytes, int64_t kb[NODES], uint32_t *nodes)
{
	int64_t page = page_kb(line, bytes);
	const char *end = line + bytes;

	while (line < end) {
		size_t word = strcspn(line, " \n");
		uint32_t node;
		int64_t pages;

		if (word > (size_t)(end - line))
			word = (size_t)(end - line);
		if (read_node(line, word, &node, &pages)) {
			add(&kb[node], pages, page);
			if (node >= *nodes)
				*nodes = node + 1;
		}
		line += word + 1;
	}
}

static void parse(const struct system_source *s, struct look *l, const char *text)
{
	int64_t kb[NODES] = { 0 };
	uint32_t nodes = 0;

	(void)s;
	while (*text) {
		size_t line = strcspn(text, "\n");

		/* A line without its end was cut. */
		if (text[line] == '\n')
			read_line(text, line, kb, &nodes);
		text += line;
		text += *text == '\n';
	}
	for (uint32_t i = 0; i < nodes; i++) {
		int64_t value;

		if (!__builtin_mul_overflow(kb[i], KILOBYTES, &value))
			look_put_instance(l, SERIES_NUMA_NODE, i, value);
	}
}

const struct system_source source_numa = {
	.name = "numa",
	.file = "numa_maps",
	.period_ns = 1000000000,
	.most_of_time = 0.002,
	.in_pieces = true,
	.parse = parse,
};
