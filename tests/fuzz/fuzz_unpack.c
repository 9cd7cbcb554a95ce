/* links: is_import */
/* gzip and zstd on any bytes: pieces of any size give the same text, and it has a bound. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/text_source.h"

#define TEXT_MAX ((size_t)1 << 20) /* more is not looked at */

static size_t unpack(int fd, enum packing packing, size_t piece, uint8_t *out, bool *failed)
{
	struct text_source *source;
	struct err err;
	size_t n = 0;
	ssize_t got = 0;

	if (text_source_new(&source, fd, "fuzz", packing, UINT64_MAX, &err))
		abort();
	while (n < TEXT_MAX) {
		got = text_source_read(source, out + n, piece < TEXT_MAX - n ? piece : TEXT_MAX - n,
				       &err);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	*failed = got < 0;
	text_source_free(source);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t whole[TEXT_MAX], pieces[TEXT_MAX];
	enum packing packing = packing_of(data, size);
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	bool whole_failed, pieces_failed;
	size_t n, m;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	n = unpack(fd, packing, TEXT_MAX, whole, &whole_failed);
	m = unpack(fd, packing, 777, pieces, &pieces_failed);
	if (n < TEXT_MAX && m < TEXT_MAX && !whole_failed && !pieces_failed &&
	    (n != m || memcmp(whole, pieces, n) != 0))
		abort();
	close(fd);
	return 0;
}
