/*
 * YAML (libyaml) event by event, with errors that name file and line.  What is
 * read is small and ours: one document, no tags, no aliases.
 */
#ifndef BASE_YAML_EVENTS_H
#define BASE_YAML_EVENTS_H

#include <stddef.h>
#include <yaml.h>

#include "base/err.h"

struct yaml_events {
	const char *path; /* for errors; all three are borrowed */
	const char *text;
	size_t len;
	struct err *err;
	yaml_parser_t parser;
};

/* -1: out of memory; else yaml_events_release() gives it back. */
int yaml_events_init(struct yaml_events *y, const char *path, const void *text, size_t len,
		     struct err *err);
void yaml_events_release(struct yaml_events *y);

/*
 * The next event, which is the caller's to delete.  -1: the text is not YAML; the error
 * begins "PATH:LINE: " and goes on with "KEY: " where `key` is not NULL.
 */
int yaml_events_next(struct yaml_events *y, yaml_event_t *e, const char *key);

/* "PATH:LINE: [KEY: ]WHAT" as the error; always -1. */
int yaml_mistake(const struct yaml_events *y, size_t line, const char *key, const char *what);

/* Of an event, from 1. */
static inline size_t yaml_line(const yaml_event_t *e)
{
	return e->start_mark.line + 1;
}

/*
 * Calls read_root(ctx, event) with the event that begins the document, which read_root
 * reads to its end; a file without one is read as well.  -1: it failed, or a second
 * document follows.
 */
int yaml_events_document(struct yaml_events *y,
			 int (*read_root)(void *ctx, const yaml_event_t *root), void *ctx);

#endif
