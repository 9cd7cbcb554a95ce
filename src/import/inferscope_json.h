/*
 * What `inferscope export --to json` writes, back into a trace: functions, layers, scopes, marks,
 * counters, CUDA calls with their places, device work.  What it knows by samples only, and series
 * of memory and system, have no records to become again; they are counted.
 */
#ifndef IMPORT_INFERSCOPE_JSON_H
#define IMPORT_INFERSCOPE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "import/build/build.h"
#include "import/json_scan.h"
#include "import/build/tables.h"

struct open_scope;

/* An event with all that one may have; names are 0 and numbers 0 where they are not given. */
struct inferscope_event {
	uint32_t type, name, file, class_name, root;
	uint32_t function, user_function, user_file;
	uint32_t full_name, kind, source, destination;
	int64_t start_ns, end_ns;
	bool has_start, has_end, bad_time;
	bool sampled, asynchronous, open_end, has_unit;
	uint64_t line, user_line, pid, tid, thread, instance, task;
	uint64_t correlation, device, context, stream, bytes, graph, graph_node;
	uint64_t grid[3], block[3], registers, static_shared, dynamic_shared;
	uint64_t memory, bandwidth, multiprocessors, clock;
	int64_t capability_tenths;
	double value;
	bool has_value;
};

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

/* inferscope_events.c; -1 and 0: no memory. */
int inferscope_event_add(struct inferscope_json *x, struct inferscope_event *e);
uint32_t inferscope_process(struct inferscope_json *x, uint64_t pid);

#endif
