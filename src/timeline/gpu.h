/*
 * The GPU's side of a trace: what the devices did, which call started it, from
 * which Python line, on the host's clock.
 *
 * Read once after timeline_walk(); memory is proportional to the number of GPU
 * activities and CUDA calls (not of Python calls).  Clocks are merged here:
 * times are host times, corrected where causality demands it.
 */
#ifndef TIMELINE_GPU_H
#define TIMELINE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/record.h"
#include "format/trace.h"
#include "timeline/place.h"

struct gpu_timeline;

#define GPU_NONE UINT32_MAX

/*
 * There may be hundreds of millions of calls and activities: what many of them have in common is
 * kept once, in a gpu_api or a gpu_work.
 */

/* What calls of one kind in one thread have in common. */
struct gpu_api {
	const char *name; /* "cudaLaunchKernel"; borrowed from the trace */
	enum cuda_call what;
	uint32_t process; /* id */
	uint32_t thread;  /* position, as in trace_thread() */
	uint64_t bytes;
};

/* A CUDA call. */
struct gpu_call {
	int64_t start_ns, end_ns;
	uint32_t correlation;
	uint32_t stack;     /* id; 0: none */
	uint32_t link;      /* private: gpu_call_activity() */
	uint32_t api : 31;  /* private: gpu_call_api() */
	uint32_t ended : 1; /* else its exit is missing and end_ns is the latest it can have been */
};

enum gpu_kind { GPU_KERNEL, GPU_COPY, GPU_MEMSET, GPU_GRAPH };

/* What activities that differ in nothing but their time and call have in common. */
struct gpu_work {
	enum gpu_kind kind : 8;
	enum gpu_copy copy : 8; /* the direction of a copy */
	enum gpu_memory source : 8, destination : 8;
	bool asynchronous;
	uint32_t process; /* id */
	uint32_t device, context, stream;
	uint32_t graph;   /* 0: not in a graph */
	uint32_t capture; /* of a graph's node: index of its capture; GPU_NONE: unknown */
	uint32_t name;    /* kernels: index for gpu_kernel_name() */
	uint32_t grid[3], block[3];
	uint32_t registers, static_shared_bytes, dynamic_shared_bytes;
	uint64_t graph_node;
	uint64_t bytes; /* copies and memsets */
};

struct gpu_activity {
	int64_t start_ns, end_ns; /* merged; 0 .. 0 where the device did not say */
	uint32_t link;            /* where linked, the index of the call; else the correlation */
	uint32_t work : 30;       /* private: gpu_activity_work() */
	uint32_t timed : 1;
	uint32_t linked : 1; /* the call that started it is known */
};

/*
 * A node of a CUDA graph as it was made: by a call that was captured, or one that added
 * it.  What runs of the node belongs here, not to the launch of its graph.
 */
struct gpu_capture {
	uint32_t process; /* id */
	uint32_t stack;   /* id; 0: none */
	size_t thread;    /* position, as in trace_thread() */
	int64_t time_ns;
	size_t activities; /* how often it ran; they follow each other in gpu_capture_activity() */
};

struct gpu_kernel_name {
	const char *full;  /* demangled */
	const char *brief; /* readable: "gemm", "vectorized_elementwise_kernel<AddFunctor>" */
};

/* What the merge of clocks found, for one process. */
struct gpu_clock {
	uint32_t process;
	uint64_t pairs_below, pairs_above; /* that bound the offset from below and above */
	int64_t error_ns; /* half the widest interval that causality leaves; -1: no bound */
	/*
	 * How far from the truth the times given here can be at most; -1: no bound.  A
	 * correction lies in the middle of the interval, and this is error_ns; times that
	 * needed none are kept as they came, and the truth may be at its far end.
	 */
	int64_t farthest_ns;
	uint64_t violations_before,
		violations_after; /* activities before their launch or after their wait */
	uint64_t cut;             /* activities that were said to end after that, see gpu_clock.c */
	bool corrected;
	double offset_ns, drift_ppm; /* added: at the first activity, and from there on */
};

struct gpu_device {
	uint32_t process, number;
	const char *name;
	uint64_t memory_bytes, bandwidth_kb_s;
	uint32_t multiprocessors, clock_khz, capability;
};

/* A change in what is recorded, and when. */
struct gpu_change {
	uint32_t process;
	enum gpu_state state;
	int64_t time_ns;
	const char *text;
};

/* The trace is borrowed and must outlive the result. */
int gpu_timeline_new(struct gpu_timeline **out, const struct trace *t, struct err *err);

/*
 * The same from blocks that the caller reads: all of one thread, in their order, then of the next.
 * A walk over the events can build the timeline of a GPU at the same time.
 */
struct gpu_reader;
int gpu_reader_new(struct gpu_reader **out, const struct trace *t, struct err *err);
int gpu_reader_batch(struct gpu_reader *r, size_t thread,
		     const struct event_batch *b); /* -1: no memory */
/* Frees the reader, whatever comes of it. */
int gpu_reader_finish(struct gpu_reader *r, struct gpu_timeline **out, struct err *err);
void gpu_reader_free(struct gpu_reader *r); /* NULL is a no-op */

void gpu_timeline_free(struct gpu_timeline *g); /* NULL is a no-op */

/*
 * Activities in order of (process, start), untimed ones first; calls and captures in order
 * of (thread, start).
 */

/* Private: the first member of a gpu_timeline, for the functions below, which hot loops call. */
struct gpu_lists {
	struct gpu_activity *activities;
	struct gpu_work *works;
	struct gpu_call *calls;
	struct gpu_api *apis;
	size_t activity_count, call_count;
	uint32_t
		*links; /* of calls that started several activities: how many, then their indices */
};

#define GPU_LINKS (UINT32_C(1) << 31) /* private: gpu_call.link is a position in links */

static inline const struct gpu_lists *gpu_lists(const struct gpu_timeline *g)
{
	return (const struct gpu_lists *)(const void *)g;
}

static inline size_t gpu_activity_count(const struct gpu_timeline *g)
{
	return gpu_lists(g)->activity_count;
}

static inline const struct gpu_activity *gpu_activity(const struct gpu_timeline *g, size_t i)
{
	return &gpu_lists(g)->activities[i];
}

static inline const struct gpu_work *gpu_activity_work(const struct gpu_timeline *g,
						       const struct gpu_activity *a)
{
	return &gpu_lists(g)->works[a->work];
}

static inline size_t gpu_call_count(const struct gpu_timeline *g)
{
	return gpu_lists(g)->call_count;
}

static inline const struct gpu_call *gpu_call(const struct gpu_timeline *g, size_t i)
{
	return &gpu_lists(g)->calls[i];
}

static inline const struct gpu_api *gpu_call_api(const struct gpu_timeline *g,
						 const struct gpu_call *c)
{
	return &gpu_lists(g)->apis[c->api];
}

/* The index of the call that started it; GPU_NONE: unknown. */
static inline uint32_t gpu_activity_call(const struct gpu_activity *a)
{
	return a->linked ? a->link : GPU_NONE;
}

static inline uint32_t gpu_activity_correlation(const struct gpu_timeline *g,
						const struct gpu_activity *a)
{
	return a->linked ? gpu_call(g, a->link)->correlation : a->link;
}

static inline bool gpu_call_started_work(const struct gpu_call *c)
{
	return c->link != GPU_NONE;
}

/* How many activities a call started. */
static inline uint32_t gpu_call_activities(const struct gpu_timeline *g, const struct gpu_call *c)
{
	if (c->link == GPU_NONE)
		return 0;
	return c->link & GPU_LINKS ? gpu_lists(g)->links[c->link - GPU_LINKS] : 1;
}

/* The nth of them: index for gpu_activity(). */
static inline size_t gpu_call_activity(const struct gpu_timeline *g, const struct gpu_call *c,
				       size_t nth)
{
	return c->link & GPU_LINKS ? gpu_lists(g)->links[c->link - GPU_LINKS + 1 + nth] : c->link;
}

/* How many there are: numbers below are those of gpu_activity.work and gpu_call.api. */
size_t gpu_work_count(const struct gpu_timeline *g);
size_t gpu_api_count(const struct gpu_timeline *g);

size_t gpu_capture_count(const struct gpu_timeline *g);
const struct gpu_capture *gpu_capture(const struct gpu_timeline *g, size_t i);
/* The nth activity of a node, one of gpu_capture()'s: index for gpu_activity(). */
size_t gpu_capture_activity(const struct gpu_timeline *g, const struct gpu_capture *c, size_t nth);
/*
 * The stack that an activity comes from: of a graph's node that of its capture, else, or
 * where that is unknown, that of the call that started it.  0: none.
 */
uint32_t gpu_activity_stack(const struct gpu_timeline *g, const struct gpu_activity *a);

const struct gpu_kernel_name *gpu_kernel_name(const struct gpu_timeline *g, uint32_t index);
size_t gpu_kernel_name_count(const struct gpu_timeline *g);

/*
 * The innermost line of a stack, and the innermost one of the user's own code:
 * outside site-packages, dist-packages, the standard library and frozen modules.
 * Where the whole stack is library code, user is the outermost frame.
 */
void gpu_stack_places(const struct gpu_timeline *g, uint32_t stack, struct place *innermost,
		      struct place *user);
/* Frame nth of a stack, 0 the innermost; false past the last. */
bool gpu_stack_frame(const struct gpu_timeline *g, uint32_t stack, size_t nth, struct place *p);

size_t gpu_clock_count(const struct gpu_timeline *g);
const struct gpu_clock *gpu_clock(const struct gpu_timeline *g, size_t i);
size_t gpu_device_count(const struct gpu_timeline *g);
const struct gpu_device *gpu_device(const struct gpu_timeline *g, size_t i);
size_t gpu_change_count(const struct gpu_timeline *g);
const struct gpu_change *gpu_change(const struct gpu_timeline *g, size_t i);

uint64_t
gpu_unmatched_activities(const struct gpu_timeline *g); /* without the call that started them */
/*
 * ... of those: several calls have the same correlation id, so it is unknown which one started it.
 */
uint64_t gpu_ambiguous_activities(const struct gpu_timeline *g);
uint64_t
gpu_unmatched_launches(const struct gpu_timeline *g); /* without anything started; not captured */
uint64_t gpu_untimed_activities(const struct gpu_timeline *g);
uint64_t gpu_malformed(const struct gpu_timeline *g);  /* records cut short: omitted */
uint64_t gpu_dropped(const struct gpu_timeline *g);    /* by CUPTI */
int64_t gpu_overhead_ns(const struct gpu_timeline *g); /* CUPTI's own, as it says */

/* Words for what the GPU's records have numbers for: the same in reports and exports. */

const char *gpu_copy_name(enum gpu_copy kind);       /* "H2D", "D2H", ..., "other" */
const char *gpu_memory_name(enum gpu_memory memory); /* "pageable", ..., "unknown" */

#endif
