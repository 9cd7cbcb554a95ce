/* The inside of the JSON exporter, shared by its files. */
#ifndef EXPORT_EXPORT_JSON_H
#define EXPORT_EXPORT_JSON_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/json.h"
#include "format/trace.h"
#include "timeline/sampled_spans.h"
#include "timeline/timeline.h"

struct exported {
	const struct trace *trace;
	struct timeline *timeline;
	struct timeline *examined; /* all events, read before the head is written */
	struct traced_calls traced;
	struct err damage; /* the first block of series that cannot be read; "": none */
	uint32_t *pid_of;  /* by position of the thread */
	struct buf text;
	struct json json;
	int fd;
	int error; /* errno of the write that failed, 0: none */
};

/* An event; members are written between the two.  name may be NULL: it has none. */
void export_event_begin(struct exported *x, const char *type, const char *name);
void export_event_end(struct exported *x);
void export_event_thread(struct exported *x, size_t thread); /* pid, tid, thread */

static inline void key_string(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_string(j, value);
}

static inline void key_uint(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_uint(j, value);
}

/* Nanoseconds as microseconds. */
static inline void key_us(struct json *j, const char *key, int64_t ns)
{
	json_key(j, key);
	json_scaled(j, ns, 3);
}

static inline void key_true(struct json *j, const char *key)
{
	json_key(j, key);
	json_bool(j, true);
}

/* What threads did and waited for, by samples.  -1: text set. */
int export_json_states(struct exported *x, struct err *err);

/*
 * Series: examined before the head is written, to know whether they are damaged; and written.
 */
void export_json_series_examine(struct exported *x);
int export_json_series(struct exported *x, struct err *err); /* -1: text set */

/* Functions that only samples know.  -1: text set. */
int export_json_samples(struct exported *x, struct err *err);

/* All about the GPU: CUDA calls, activities, changes of the recording.  -1: text set. */
int export_json_gpu(struct exported *x, struct err *err);

#endif
