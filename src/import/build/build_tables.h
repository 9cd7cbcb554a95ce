/* The inside of struct build, shared by build.c (collects), build_link.c (joins) and build_write.c.
 */
#ifndef IMPORT_BUILD_TABLES_H
#define IMPORT_BUILD_TABLES_H

#include <stdbool.h>

#include "base/buf.h"
#include "import/build/build.h"
#include "import/build/tables.h"

struct build_process_entry {
	uint32_t pid;
	uint32_t name;
	uint32_t id;      /* in the trace; 0: nothing happened in it */
	uint32_t speaker; /* the thread that tells of its device work; 0: none yet */
	uint64_t spans, calls, activities;
	uint32_t device;         /* of its first activity; valid where there are any */
	bool several;            /* ... and of others, too */
	uint64_t first_activity; /* in order_activities() */
	int64_t first_ns, last_ns;
};

struct build_thread_entry {
	uint32_t process;
	uint32_t tid;
	uint32_t name;
	uint32_t id; /* in the trace; 0: nothing happened in it */
	uint64_t spans, items, calls;
	int64_t first_ns, last_ns;
};

/* Of a layer: its name, its class, and its root or BUILD_OUTERMOST. */
struct build_function_entry {
	uint32_t name, file, line;
	uint32_t id; /* of its definition; 0: not written yet */
};

/* A frame of a stack: who called it is another node. */
struct build_node {
	uint32_t caller, function;
	uint32_t id; /* of its definition; 0: not written yet */
};

struct build_nvtx_entry {
	struct build_nvtx what;
	uint32_t id; /* of its definition; 0: not written yet */
};

struct build_device_entry {
	struct build_device device;
	uint32_t name;
};

#define BUILD_DEVICES_MAX 256u /* further ones are omitted */

struct build {
	struct names names;
	uint32_t *string_ids; /* by name: of its definition; 0: not written yet */
	struct keymap process_at, thread_at, function_at;
	struct build_process_entry *processes; /* [0] is unused, as in the next two */
	size_t process_count, process_cap;
	struct build_thread_entry *threads;
	size_t thread_count, thread_cap;
	struct build_function_entry *functions;
	size_t function_count, function_cap;
	struct build_node *nodes; /* [0] is unused */
	size_t node_count, node_cap;
	struct keymap node_at;         /* (caller, function) */
	struct build_nvtx_entry *nvtx; /* [0] is unused */
	size_t nvtx_count, nvtx_cap;
	struct keymap nvtx_at;
	struct build_device_entry *devices;
	size_t device_count, device_cap;
	struct chunked spans, activities;
	struct buf infos, notes; /* texts with their NULs: key, value, key, ...; note, note, ... */
	int64_t epoch_ns;        /* added to time 0 */
	bool has_epoch;
	uint32_t next_def; /* the next free id of a definition */
	uint32_t last_correlation;
	int64_t window_start_ns, window_end_ns;
	int64_t origin_ns; /* time 0 */
	int64_t end_ns;
};

static inline struct build_span *build_span(const struct build *b, size_t i)
{
	return chunked_at(&b->spans, i);
}

static inline struct build_activity *build_activity(const struct build *b, size_t i)
{
	return chunked_at(&b->activities, i);
}

static inline enum cuda_call build_call_of(const struct build *b, const struct build_span *s)
{
	return s->call ? (enum cuda_call)(s->call - 1) : cuda_call_of_name(build_text(b, s->name));
}

/* build_link.c */

/*
 * Gives every activity a process, every process and thread that something happened in an id in
 * the trace, and the calls of a process different correlations.
 */
int build_link(struct build *b);

/* build_steps.c: names that differ in a running number only become one. */
int build_number_names(struct build *b);

#endif
