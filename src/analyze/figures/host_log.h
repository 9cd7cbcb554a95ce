/*
 * What the threads of one process did in some stretches of time, piece by piece: what a replay of
 * the steps (src/replay) is made from.
 *
 * The windows hold steps of the most important kind: all of them, or blocks of neighbors spread
 * evenly over the run where all would take too much memory; none where even one would.  In a window
 * every moment of a thread that was swept belongs to one piece, also while the device works.
 */
#ifndef ANALYZE_FIGURES_HOST_LOG_H
#define ANALYZE_FIGURES_HOST_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/breakdown.h"
#include "timeline/pair_map.h"

#define HOST_NONE UINT32_MAX
#define HOST_RECENT 1024u /* a power of two */

/* Where a thread was; what many pieces have in common. */
struct host_place {
	enum time_class what : 8;
	uint32_t stack;       /* id; 0: only functions are known */
	uint32_t frame;       /* innermost call that was traced: index of frames; 0: none */
	uint32_t layer;       /* innermost layer that was open, for trace_layer(); 0: none */
	uint32_t user, inner; /* functions, as in struct time_place; HOST_NONE */
};

/* A call inside of another one. */
struct host_frame {
	uint32_t around; /* index; 0: it is the outermost */
	uint32_t function;
};

struct host_piece {
	int64_t start_ns, end_ns;
	uint32_t place; /* index */
	uint32_t other; /* of waits: position of the thread it waited for at the end; HOST_NONE */
};

struct host_window {
	int64_t start_ns, end_ns;
	size_t first_step, step_count; /* of steps */
};

struct host_thread {
	size_t thread;       /* position */
	size_t first, count; /* pieces, in order of time */
};

struct host_log {
	uint32_t process;  /* id */
	size_t kind_steps; /* that there are of the kind; the windows may have fewer */
	size_t step_count, window_count, thread_count;
	struct step_item *steps;     /* by start, window by window */
	struct host_window *windows; /* disjoint, in order of time */
	struct host_thread *threads; /* by position */
	struct host_piece *pieces;   /* thread by thread, disjoint */
	struct host_place *places;
	struct host_frame *frames; /* the first stands for no call */
	/* By number; borrowed from the trace. */
	struct place *functions;
	size_t piece_count, place_count, frame_count, function_count;
	/* Private, while it is written. */
	size_t thread_cap, piece_cap, place_cap, frame_cap;
	struct pair_map place_at, frame_at;
	uint32_t recent[HOST_RECENT]; /* place + 1 of one that was asked for; 0: none */
};

/*
 * Chooses windows among the steps of a kind; items by start.  `events`: roughly how many things a
 * step is made of.  -1: no memory.
 */
int host_log_choose(struct host_log *l, const struct step_item *items, size_t count, double events);
void host_log_release(struct host_log *l);

/* The first window that ends behind a time: index; window_count: there is none. */
size_t host_log_window(const struct host_log *l, int64_t time_ns);

/* A thread's pieces follow.  -1: no memory, as for all of these. */
int host_log_thread(struct host_log *l, size_t thread);
/* A call in a call; its index, or HOST_NONE without memory. */
uint32_t host_log_frame(struct host_log *l, uint32_t around, uint32_t function);
/* A piece that begins where the last one of its window ended, or grows it. */
int host_log_add(struct host_log *l, int64_t start_ns, int64_t end_ns,
		 const struct host_place *place, uint32_t other);

#endif
