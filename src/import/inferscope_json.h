/*
 * What `inferscope export --to json` writes, back into a trace: functions, layers, scopes, marks,
 * counters, CUDA calls with their places, device work.  What it knows by samples only, and series
 * of memory and system, have no records to become again; they are counted.
 */
#ifndef IMPORT_INFERSCOPE_JSON_H
#define IMPORT_INFERSCOPE_JSON_H

#include <stdint.h>

#include "import/build.h"
#include "import/json_scan.h"
#include "import/tables.h"

struct open_scope;

struct inferscope_json {
	struct build *build;
	struct keymap scope_at; /* (pid, instance): 1 + position */
	struct open_scope *scopes;
	size_t scope_count, scope_cap;
	uint64_t events, unmapped;
	int64_t wall_ns;
};

void inferscope_json_init(struct inferscope_json *x, struct build *b);
void inferscope_json_release(struct inferscope_json *x);

/* The values of "inferscope" and "events", in any order. */
int inferscope_json_read_run(struct inferscope_json *x, struct json_scan *s);
int inferscope_json_read_events(struct inferscope_json *x, struct json_scan *s);
int inferscope_json_finish(struct inferscope_json *x); /* -1: no memory */

#endif
