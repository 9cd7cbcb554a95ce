/*
 * Which of NVTX's ranges and marks are not recorded because the budget is overdrawn: those
 * that are too short for what a pair of records costs.
 *
 * Now and then a thread looks at the budget.  Overdrawn, and its own events are to blame:
 * the next range is measured, and left out if less time was earned in it than it cost;
 * where that is not enough, longer ones follow.  Everything is recorded again
 * after 2, 4, 8 ... s.  Any thread, no lock.
 */
#ifndef AGENT_NVTX_LEFT_OUT_H
#define AGENT_NVTX_LEFT_OUT_H

#include "agent/ring.h"

#define NVTX_LOOK_EVENTS 128u
#define NVTX_LEFT_OUT_SLOTS 1024u

/* By id; two that share a place are never left out at the same time. */
extern _Atomic uint32_t nvtx_left_out_ids[NVTX_LEFT_OUT_SLOTS];

static inline bool nvtx_is_left_out(uint32_t id)
{
	return atomic_load_explicit(&nvtx_left_out_ids[id % NVTX_LEFT_OUT_SLOTS],
				    memory_order_relaxed) == id &&
	       id;
}

/* A thread's first range in a recording. */
void nvtx_left_out_start(void);

/* What a thread knows of it; begins as 0. */
struct nvtx_look {
	uint32_t events, recorded; /* since the last look: in all, and recorded ones */
	uint64_t looked_ns;        /* CLOCK_MONOTONIC */
};

/* Counts an event before it is recorded or not.  True: nvtx_look_now() is due. */
static inline bool nvtx_look_due(struct nvtx_look *l)
{
	return __builtin_expect(++l->events >= NVTX_LOOK_EVENTS, 0);
}

/* True: something must go. */
bool nvtx_look_now(struct ring *r, struct nvtx_look *l);

/* A range took so long, or it is a mark (0): leaves it out, if it costs more than it is worth. */
void nvtx_left_out_judge(struct ring *r, uint32_t id, uint64_t lasted_ns);

#endif
