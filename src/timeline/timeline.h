/*
 * From events to spans: the one place that knows how calls, exits, losses and
 * scopes of a trace fit together.
 *
 * One walk reads every event once, thread by thread, and hands closed spans to
 * a visitor in the order in which they end.  Memory is bounded by the depth of
 * the stacks, the number of distinct functions and the number of scopes, never
 * by the number of calls.
 *
 * Nesting is repaired where events are missing, and whatever was repaired is
 * flagged and counted:
 *   an exit of a frame further down    closes those above it at the same time
 *   an exit of a frame that is not     was entered before the recording or inside
 *   there                              a gap: begins at the end of the gap, or
 *                                      with the thread; where complete frames
 *                                      enclose it, at the event before it
 *   a frame open at a gap              stands if its own exit follows; if an outer
 *                                      one or the end of the trace closes it, it
 *                                      ends where the gap began
 *   a frame open at a pause of the     ends there: that is no damage
 *   recording (RECORD_PAUSED)
 *   a frame of a function that is      goes; its time is its caller's
 *   omitted (RECORD_LEFT_OUT)
 *   any other frame open at the end    ends with its thread
 */
#ifndef TIMELINE_TIMELINE_H
#define TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/err.h"
#include "format/trace.h"
#include "timeline/place.h"

struct timeline;

enum span_flag {
	SPAN_CALL = 1u << 0,       /* entered by a call; else a generator or coroutine goes on */
	SPAN_RECURSIVE = 1u << 1,  /* the same function is open further down this stack */
	SPAN_REPAIRED = 1u << 2,   /* its exit is missing */
	SPAN_OPEN_START = 1u << 3, /* its entry is missing */
	SPAN_OPEN_END = 1u << 4,   /* no exit followed, up to the end of the trace */
	SPAN_GAP = 1u << 5,        /* it was open when events were lost */
	SPAN_PAUSED = 1u << 6,     /* it was open when the recording paused: ends there */
};

struct span {
	size_t thread;     /* position, as in trace_thread() */
	uint32_t id;       /* code id; the generation of a collection */
	uint32_t function; /* index for timeline_function(); UINT32_MAX for a collection */
	uint32_t depth;    /* frames below it, collections included */
	uint32_t flags;    /* enum span_flag */
	int64_t start_ns, end_ns;
	int64_t self_ns; /* without the spans inside it, collections and gaps included */
};

/* A layer of a model at work: a module's forward call. */
struct layer_span {
	size_t thread;  /* position */
	uint32_t id;    /* for trace_layer() */
	uint32_t depth; /* layers around it in its thread */
	uint32_t flags; /* SPAN_REPAIRED, SPAN_GAP, SPAN_OPEN_END: its end is missing; else 0 */
	int64_t start_ns, end_ns;
	int64_t self_ns; /* without the layers inside it */
};

/* Events of a thread that were not stored. */
struct gap {
	size_t thread;
	int64_t start_ns, end_ns; /* the neighbouring events, or the thread's start and end */
	uint64_t lost;
};

/* A thread's calls were not recorded, for the budget's sake. */
struct pause {
	size_t thread;
	int64_t start_ns, end_ns;
};

/* A thread's calls of a function are not recorded from here on, likewise. */
struct throttled {
	size_t thread;
	uint32_t function;   /* UINT32_MAX: those of all functions are again */
	uint32_t from_depth; /* open frames of the function are at this depth and above */
	int64_t time_ns;
};

/* A scope's begin or end, a mark or a counter's value, as it was recorded. */
struct annotation {
	size_t thread;
	enum record_kind kind; /* RECORD_SCOPE_BEGIN, _SCOPE_END, RECORD_MARK, RECORD_COUNTER */
	uint32_t name;         /* string id */
	int64_t time_ns;
	uint64_t instance;   /* of scopes, else 0 */
	uint64_t task;       /* 0: none; always 0 for ends and counters */
	double value;        /* of a counter; NaN where it is missing */
	const uint8_t *args; /* coded as enum arg_type says; gone after the call */
	size_t args_bytes;
	uint64_t moves; /* functions and layers entered or left before it in its thread, and one;
			 * 0: none is open */
};

/* A call of CUDA's, as it begins. */
struct cuda_begin {
	size_t thread;
	enum cuda_call what;
	const char *name; /* "" where unknown */
	uint32_t correlation;
	uint32_t stack; /* for trace_stack(); 0: unknown */
	int64_t time_ns;
};

/* Every member but ctx may be NULL.  Whatever is pointed to is gone after the call. */
struct timeline_visitor {
	void *ctx;
	/* A block of events, before anything of what is in it.  -1: no memory, ends the walk. */
	int (*block)(void *ctx, size_t thread, const struct event_batch *b);
	/* A function, or UINT32_MAX for a collection, is entered with `depth` frames below it. */
	void (*enter)(void *ctx, size_t thread, uint32_t depth, uint32_t function, int64_t time_ns);
	void (*function)(void *ctx, const struct span *s);
	void (*gc)(void *ctx, const struct span *s, uint64_t collected);
	void (*gap)(void *ctx, const struct gap *g);
	void (*pause)(void *ctx, const struct pause *p);
	void (*throttled)(void *ctx, const struct throttled *l);
	void (*annotation)(void *ctx, const struct annotation *a);
	/* A layer begins with `depth` others around it; it ends; layer_stack.h tells the rest. */
	void (*layer_begin)(void *ctx, size_t thread, uint32_t depth, uint32_t id, int64_t time_ns);
	void (*layer)(void *ctx, const struct layer_span *s);
	/* An open layer goes without a span: those inside it are one less deep from here on. */
	void (*layer_dropped)(void *ctx, size_t thread, uint32_t depth);
	/* No more recorded; 0: all are again.  Repeats. */
	void (*layer_throttled)(void *ctx, size_t thread, uint32_t id);
	void (*cuda_begin)(void *ctx, const struct cuda_begin *c);
	void (*cuda_end)(void *ctx, size_t thread, uint32_t correlation, int64_t time_ns);
};

#define SCOPE_NONE SIZE_MAX

/* What a scope encloses of the calls that were recorded in its thread. */
enum scope_reach {
	SCOPE_UNKNOWN,      /* it began or ended where no function is known, or in two threads */
	SCOPE_INSIDE_CALL,  /* none was entered or left meanwhile: native code began and ended it */
	SCOPE_AROUND_CALLS, /* some were */
};

/* A scope or a range of NVTX from its begin to its end, which may be on different threads. */
struct scope {
	const char *name;              /* borrowed from the trace; "(unknown)" where it has none */
	const struct trace_nvtx *nvtx; /* NVTX attributes; NULL: an InferScope scope */
	int64_t start_ns, end_ns;
	uint64_t task, instance;
	size_t parent; /* index of the innermost scope open around it, or SCOPE_NONE */
	/* As in struct annotation, of the begin and of the end; owned by the timeline. */
	const uint8_t *args, *end_args;
	uint32_t args_bytes, end_args_bytes;
	uint32_t thread;  /* position, of the begin */
	uint32_t process; /* id */
	uint32_t depth;   /* scopes around it */
	enum scope_reach reach;
	uint64_t moves; /* private, as in struct annotation */
	bool ended;     /* else end_ns is the end of its thread, and no duration is known */
};

/* Does it lie inside nothing, and nothing inside it?  It may end in any thread. */
static inline bool scope_is_apart(const struct scope *s)
{
	return s->nvtx && s->nvtx->kind == NVTX_STARTED;
}

struct thread_counts {
	uint64_t events; /* stored and read */
	uint64_t lost;   /* not stored */
	uint64_t gaps;
	uint64_t repaired, open_start, open_end; /* spans */
	uint64_t backwards;  /* events whose time was before the previous one's */
	uint64_t unreadable; /* event blocks that could not be decoded */
	int64_t start_ns, end_ns;
	int64_t covered_ns; /* inside any function or collection */
	int64_t gap_ns;     /* of that, in gaps: in no self time */
	/* Another tool had the thread's calls (RECORD_DISPLACED). */
	uint64_t displaced; /* times */
	int64_t displaced_ns, displaced_first_ns, displaced_first_end_ns;
	uint32_t displaced_by; /* the function that let it, the first time */
	/* Its calls were not recorded, for the budget's sake. */
	uint64_t pauses;
	int64_t paused_ns;
	uint64_t unwound; /* spans left by exceptions that were not recorded, likewise */
	uint64_t unended_layers;
};

/* The trace is borrowed and must outlive the timeline. */
int timeline_new(struct timeline **out, const struct trace *t, struct err *err);
void timeline_free(struct timeline *tl); /* NULL is a no-op */

/*
 * Reads all events, once in the life of a timeline.  An event block that cannot
 * be decoded counts as a gap; -1 means that memory ran out.
 */
int timeline_walk(struct timeline *tl, const struct timeline_visitor *v, struct err *err);

/*
 * After that: reads the events of one thread again and calls the visitor in the same way, for what
 * needs all scopes.  Changes nothing.
 */
int timeline_walk_again(struct timeline *tl, size_t thread, const struct timeline_visitor *v,
			struct err *err);

/*
 * The same of all threads, one block of events a call, for who cannot be called back for
 * millions of spans.  Several may read at once.
 */
struct timeline_reader;

int timeline_reader_new(struct timeline_reader **out, struct timeline *tl,
			const struct timeline_visitor *v, struct err *err);
int timeline_reader_next(struct timeline_reader *r, struct err *err); /* 1; 0: the end; -1 */
void timeline_reader_free(struct timeline_reader *r);                 /* NULL is a no-op */

/*
 * Functions by what the user calls them: all code ids with a name, file ("" where unknown) and line
 * are one.  Valid inside the visitor too, for the indices seen so far.
 */
size_t timeline_function_count(const struct timeline *tl);
const struct place *timeline_function(const struct timeline *tl, uint32_t index);

/*
 * The function with this code id, which may be one that no event has, only a
 * sample; UINT32_MAX: no memory.
 */
uint32_t timeline_function_of(struct timeline *tl, uint32_t code);

/* What the walk found.  Scopes thread by thread, in the order in which they begin. */
size_t timeline_scope_count(const struct timeline *tl);
const struct scope *timeline_scope(const struct timeline *tl, size_t index);
/* What of NVTX was not recorded all the time, for the budget's sake. */
size_t timeline_nvtx_throttled_count(const struct timeline *tl);
const struct trace_nvtx *timeline_nvtx_throttled(const struct timeline *tl, size_t index);
const struct thread_counts *timeline_thread(const struct timeline *tl, size_t thread);
uint64_t timeline_lost_scope_begins(const struct timeline *tl); /* ends without a begin */
uint64_t timeline_unknown_names(const struct timeline *tl); /* distinct ids without a definition */
const char *
timeline_damage(const struct timeline *tl); /* the first unreadable block's; NULL: none */

/* Where the process with an id stands in a trace. */

/* trace_process_count() where there is none; the trace keeps them in order of their ids. */
static inline size_t process_position(const struct trace *t, uint32_t id)
{
	size_t at = 0, count = trace_process_count(t);

	BISECT(at, count, trace_process(t, at)->id < id);
	return at < count && trace_process(t, at)->id == id ? at : count;
}

#endif
