/*
 * The bytes of a file, unpacked on the way where it is gzip or zstd.  Nothing is kept: the reader
 * asks for the next piece.
 */
#ifndef IMPORT_TEXT_SOURCE_H
#define IMPORT_TEXT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct text_source;

enum packing { PACKED_NOT, PACKED_GZIP, PACKED_ZSTD };

/* By the first bytes of a file. */
enum packing packing_of(const void *head, size_t bytes);
const char *packing_name(enum packing p); /* "gzip" */

/*
 * The descriptor is borrowed and read from its beginning, at most `part` bytes of it.  `head`
 * tells what it is packed with.
 */
int text_source_new(struct text_source **out, int fd, const char *name, enum packing packing,
		    uint64_t part, struct err *err);
void text_source_free(struct text_source *s); /* NULL is a no-op */

/*
 * Up to n bytes; fewer only at the end, 0 there.  -1: the file cannot be read or is damaged from
 * here on; err says where.  text_source_damaged() tells one from the other.
 */
ssize_t text_source_read(struct text_source *s, void *to, size_t n, struct err *err);
bool text_source_damaged(const struct text_source *s);

enum packing text_source_packing(const struct text_source *s);
uint64_t text_source_bytes(const struct text_source *s);      /* unpacked so far */
uint64_t text_source_file_bytes(const struct text_source *s); /* of the file, all of them */
bool text_source_cut(const struct text_source *s);            /* it ended at `part` */

#endif
