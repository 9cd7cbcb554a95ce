/*
 * A trace in the formats of others.  An exporter reads the trace once and
 * streams: memory does not grow with the number of events.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "base/err.h"
#include "format/trace.h"

struct exporter {
	const char *name; /* as in --to */
	/* Writes to fd, which stays the caller's.  -1: what was written is not complete. */
	int (*write)(const struct trace *t, int fd, struct err *err);
};

extern const struct exporter exporter_json;

/* NULL where this version has none of that name. */
const struct exporter *exporter_find(const char *name);

#endif
