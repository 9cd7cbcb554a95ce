/* links: is_timeline */
/*
 * Names of kernels: any text through the demangler and into a brief name.  A
 * brief name is never empty, fits its column and is whole UTF-8, and a full one
 * keeps to its room however much the mangled one stands for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "timeline/kernel_names.h"

#define ROOM 16384u

static void require(int ok)
{
	if (!ok)
		abort();
}

static size_t characters(const char *s)
{
	size_t n = strlen(s), count = 0;

	for (size_t i = 0, len; i < n; i += len, count++) {
		len = utf8_sequence(s + i, n - i);
		require(len > 0);
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char full[ROOM];
	char brief[KERNEL_BRIEF_MAX + 1];
	char *name = malloc(3 * size + 1); /* as the trace reader hands it out: UTF-8 */
	size_t len;

	require(name != NULL);
	utf8_clean(name, (const char *)data, size);
	len = kernel_demangle(name, full, sizeof(full));
	require(len < sizeof(full) && strlen(full) == len);
	characters(full);
	memset(brief, 'x', sizeof(brief));
	kernel_brief(full, brief);
	require(memchr(brief, '\0', sizeof(brief)) != NULL);
	require(*brief && characters(brief) <= KERNEL_BRIEF_MAX);
	free(name);
	return 0;
}
