/*
 * Chrome trace events: the format of Kineto (PyTorch's profiler), VizTracer, Chrome and others.
 *
 * chrome_read.c parses one event into struct chrome_event, chrome_events.c gives each phase its
 * meaning, kineto.c that of PyTorch's categories.
 */
#ifndef IMPORT_CHROME_H
#define IMPORT_CHROME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "import/build/build.h"
#include "import/json_scan.h"
#include "import/build/tables.h"

#define CHROME_VALUES_MAX 8 /* series of one counter event; further ones are omitted */

/* A pid, tid or id: a number, also where it was written as a string, or any other string. */
struct chrome_key {
	uint64_t value; /* of a string: its name */
	bool given, text;
};

struct chrome_args {
	uint32_t name; /* "name" */
	/* Of what InferScope exported: names. */
	uint32_t class_name, model, function, file;
	uint64_t line;
	bool has_correlation;
	uint64_t correlation, stream, device, context, bytes;
	bool has_stream, has_device;
	uint64_t grid[3], block[3];
	uint64_t registers, shared_bytes, graph, graph_node;
	uint64_t wait_stream; /* 1 + it */
	size_t value_count;   /* of a counter */
	struct {
		uint32_t name;
		double value;
	} values[CHROME_VALUES_MAX];
};

struct chrome_event {
	char phase;              /* 0: it has none */
	uint32_t name, category; /* 0: it has none */
	struct chrome_key pid, tid, id;
	int64_t ts_ns, dur_ns;
	bool has_ts, has_dur, bad_time;
	struct chrome_args args;
};

/* What was read and has no place in our model, and what was repaired. */
struct chrome_counts {
	uint64_t events;
	uint64_t bad_times; /* missing, no number, or beyond what a trace holds */
	uint64_t negative;  /* durations */
	uint64_t no_duration;
	uint64_t no_phase;
	uint64_t lone_ends, unclosed;
};

/* Unmapped events by what they are. */
struct chrome_unmapped {
	uint32_t what; /* name: of the category, or of the phase */
	uint64_t count;
};

struct chrome_begin; /* an open B, b or S event */

struct chrome {
	struct build *build;
	struct chrome_counts counts;
	struct chrome_unmapped *unmapped;
	size_t unmapped_count, unmapped_cap;
	struct keymap unmapped_at;
	struct keymap categories; /* name of a category: enum chrome_category */
	struct keymap functions;  /* name of an event without a category of ours: function */
	struct keymap python;     /* name of a python_function event: function or layer */
	struct keymap stacks;     /* (thread): the innermost open B event */
	struct keymap asyncs;     /* (category, id): likewise, of b and S */
	struct keymap async_ids;  /* (category, id): number of the operation */
	struct chrome_begin *begins;
	size_t begin_count, begin_cap;
	uint32_t free_begin; /* 1 + the first of a list */
	uint32_t async_count;
	uint32_t empty_name, operator_file;
	/* Kineto: what it wrote of a thread without a number, and a thread of the program. */
	uint32_t stray_thread, host_thread;
	bool kineto; /* there was something of Kineto's */
	bool viztracer;
	/* The thread of the latest event. */
	struct chrome_key last_pid, last_tid;
	uint32_t last_thread;
	struct buf text;
	struct buf tool; /* versions and the rank, for the user */
};

int chrome_init(struct chrome *c, struct build *b);
void chrome_release(struct chrome *c);

/* The array that the scanner is in; NULL-safe parts of one event are skipped. */
int chrome_read_events(struct chrome *c, struct json_scan *s, bool *between);

/* The value of a member of the object around the events: deviceProperties and others. */
int chrome_read_fact(struct chrome *c, struct json_scan *s, const char *key, size_t bytes);

/* Closes what is open and writes the notes. */
int chrome_finish(struct chrome *c);

/* chrome_events.c */
int chrome_event_add(struct chrome *c, const struct chrome_event *given);
uint32_t chrome_thread(struct chrome *c, const struct chrome_event *e); /* 0: no memory */
int chrome_count_unmapped(struct chrome *c, const struct chrome_event *e);

/* kineto.c: is it an instant that means nothing to a user, of which there are thousands? */
bool kineto_instant_is_known(struct chrome *c, const struct chrome_event *e);

void kineto_finish(struct chrome *c);

/* kineto.c: 1: it was one of Kineto's, 0: it was not, -1: no memory. */
int kineto_event_add(struct chrome *c, const struct chrome_event *e);

#endif
