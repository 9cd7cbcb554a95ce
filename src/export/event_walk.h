/*
 * A trace for viewers: slices on tracks, marks and counters, passed to a back end.
 *
 * On one track slices always nest or follow each other: one that would overlap another goes to an
 * additional track (lane 1, 2, ...) of the same thread or stream.  Of slices that begin at the
 * same time the outer one comes first; otherwise slices of a track come in the order of their
 * ends.  A track is announced before its first slice.
 *
 * The trace is read once for its functions and scopes, and once for its events.  Memory: that of
 * the timelines, and for each thread the depth of its stacks.
 */
#ifndef EXPORT_EVENT_WALK_H
#define EXPORT_EVENT_WALK_H

#include "tables/table.h"
#include "timeline/gpu.h"
#include "timeline/sampled_spans.h"
#include "timeline/timeline.h"

enum track_kind {
	TRACK_THREAD,  /* calls, collections, scopes, layers, CUDA calls of a thread */
	TRACK_SAMPLED, /* functions of a thread by samples */
	TRACK_STATES,  /* what a thread did and waited for, by samples */
	TRACK_STREAM,  /* of a GPU */
	TRACK_STEPS,   /* of a process */
};

struct track {
	uint32_t id; /* from 1 */
	enum track_kind kind;
	uint32_t process; /* id */
	size_t thread;    /* position; NO_THREAD: of none */
	uint32_t device, context, stream;
	uint32_t lane; /* 0; else one of those aside */
};

#define NO_THREAD SIZE_MAX

enum slice_kind {
	SLICE_FUNCTION,
	SLICE_GC,
	SLICE_SAMPLED,
	SLICE_SCOPE,
	SLICE_LAYER,
	SLICE_CALL,     /* CUDA's */
	SLICE_ACTIVITY, /* of a GPU */
	SLICE_STATE,
	SLICE_STEP,
};

struct slice {
	enum slice_kind kind;
	const struct track *track;
	int64_t start_ns, end_ns;
	size_t index; /* of a scope, CUDA call, activity, step item; enum sample_state */
	union {       /* by kind; of a collection span and collected */
		struct span span;
		struct sampled_span sampled;
		struct layer_span layer;
	} of;
	uint64_t collected;
};

struct counter_point {
	const char *name, *unit; /* unit NULL: of the program's */
	uint32_t process;        /* id; 0: of the machine */
	uint32_t instance;
	int64_t time_ns;
	double value;
	bool total; /* a count that grows */
};

/* Pointers are valid during the call only, except those to tracks. */
struct event_sink {
	void *ctx;
	void (*track)(void *ctx, const struct track *t);
	void (*slice)(void *ctx, const struct slice *s);
	void (*mark)(void *ctx, const struct track *t, const struct annotation *a);
	void (*counter)(void *ctx, const struct counter_point *p);
};

/* What a back end may ask while it is called. */
struct event_walk {
	const struct trace *trace;
	struct table_source *source;
	struct timeline *timeline;
	struct gpu_timeline *gpu;
};

struct event_walk *event_walk_new(const struct trace *t, struct err *err); /* NULL: text set */
int event_walk_run(struct event_walk *w, const struct event_sink *sink, struct err *err);
void event_walk_free(struct event_walk *w); /* NULL is a no-op */

/* Names and facts of slices, the same in all formats. */

void slice_add_name(struct buf *out, const struct event_walk *w, const struct slice *s);
const char *slice_category(const struct event_walk *w, const struct slice *s);
/* "MainThread", "stream 7"; with the lane. */
void track_add_name(struct buf *out, const struct event_walk *w, const struct track *t);

/* The flags of spans that exports name; key NULL at the end. */
struct span_key {
	enum span_flag flag;
	const char *key;
};

extern const struct span_key span_keys[];

struct fact_sink {
	void *ctx;
	void (*integer)(void *ctx, const char *key, int64_t value);
	void (*text)(void *ctx, const char *key, const char *value);
	void (*three)(void *ctx, const char *key, const uint32_t values[3]);
	void (*metadata)(void *ctx, const char *key, const uint8_t *args, size_t bytes);
};

void slice_write_facts(const struct event_walk *w, const struct slice *s,
		       const struct fact_sink *to);

/* The activity's launch: index of the call; GPU_NONE: unknown. */
static inline uint32_t slice_launch(const struct event_walk *w, const struct slice *s)
{
	return gpu_activity_call(gpu_activity(w->gpu, s->index));
}

#endif
