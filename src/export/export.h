/*
 * A trace in the formats of other tools.  Exporters stream: beyond the timelines that they read,
 * memory does not grow with the number of events.
 */
#ifndef EXPORT_EXPORT_H
#define EXPORT_EXPORT_H

#include "base/buf.h"
#include "base/err.h"
#include "format/trace.h"

/* Where the bytes go.  All is borrowed. */
struct export_target {
	int fd;            /* open for writing; -1 of a folder */
	const char *path;  /* of a file: the one that is being written; of a folder: its name */
	const char *table; /* --table; NULL: all of them */
	bool stream;       /* standard output or a device: there is no way back */
};

enum export_form {
	EXPORT_STREAM, /* bytes one after the other, into a pipe as well */
	EXPORT_FILE,   /* a file that is written here and there */
	EXPORT_TABLES, /* a folder with a file for each table; with --table as EXPORT_STREAM */
};

struct exporter {
	const char *name;     /* as in --to */
	const char *suffixes; /* of names that stand for it, with blanks between; "": none */
	enum export_form form;
	/* -1: what was written is not complete. */
	int (*write)(const struct trace *t, const struct export_target *to, struct err *err);
};

extern const struct exporter exporter_json, exporter_chrome, exporter_perfetto, exporter_sqlite,
	exporter_arrow, exporter_speedscope, exporter_folded, exporter_pprof;

/* All of them; NULL past the last. */
const struct exporter *exporter_at(size_t i);
/* NULL: there is none of that name.  `--to` takes those that there are (cli/settings.c). */
const struct exporter *exporter_find(const char *name);
/* The one that a file's name stands for; NULL: none, or several might be meant. */
const struct exporter *exporter_guess(const char *path);

/* For exporters: text is written when there is this much of it. */
#define EXPORT_WRITE_BYTES ((size_t)256 << 10)

/*
 * Writes all of `text` and empties it.  *error becomes the errno of what went
 * wrong, memory that `text` could not get included; once set nothing is written.
 */
void export_flush(struct buf *text, int fd, int *error);

/* What export_flush() has set *error to, as a text.  -1 unless it is 0. */
int export_finish(int error, struct err *err);

#endif
