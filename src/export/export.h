/*
 * A trace in the formats of others.  An exporter streams: memory does not grow
 * with the number of events.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "base/buf.h"
#include "base/err.h"
#include "format/trace.h"

struct exporter {
	const char *name; /* as in --to */
	/* Writes to fd, which stays the caller's.  -1: what was written is not complete. */
	int (*write)(const struct trace *t, int fd, struct err *err);
};

extern const struct exporter exporter_json, exporter_folded;

/* NULL: there is none of that name.  `--to` takes those that there are (cli/settings.c). */
const struct exporter *exporter_find(const char *name);

/* For exporters: text is written when there is this much of it. */
#define EXPORT_WRITE_BYTES ((size_t)256 << 10)

/*
 * Writes all of `text` and empties it.  *error becomes the errno of what went
 * wrong, memory that `text` could not get included; once set nothing is written.
 */
void export_flush(struct buf *text, int fd, int *error);

#endif
