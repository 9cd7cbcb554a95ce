/*
 * Texts that are written side by side and read one after the other: each stream is appended to,
 * and copied out when all are complete.  What does not fit in SPOOL_MEMORY waits in a temporary
 * file without a name, so that memory does not grow with the length of the texts.
 */
#ifndef EXPORT_SPOOL_H
#define EXPORT_SPOOL_H

#include "base/buf.h"
#include "base/err.h"

#define SPOOL_MEMORY ((size_t)32 << 20)

struct spool;

int spool_new(struct spool **out, size_t streams, struct err *err);
void spool_free(struct spool *s); /* NULL is a no-op */

/* To append to; then spool_settle(). */
struct buf *spool_stream(struct spool *s, size_t stream);
void spool_settle(struct spool *s, size_t stream, size_t added_bytes);

/* Writes a stream to fd; *error as in export_flush(). */
void spool_copy(struct spool *s, size_t stream, int fd, int *error);
bool spool_is_empty(const struct spool *s, size_t stream);

#endif
