/*
 * The parts of the sampler: how often it reads (pace), equal samples in a row (runs), and the ids
 * under which the trace knows stacks.
 */
#ifndef CAPTURE_SAMPLER_SAMPLER_PARTS_H
#define CAPTURE_SAMPLER_SAMPLER_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/sampler/py_codes.h"
#include "capture/sampler/sampler.h"

/*
 * When the sampler takes the next sample: at the rate it was asked for, as long as that costs
 * no more than it may: a part of a CPU; and of what the workload may lose by recording
 * (drain_costs.c), a part.
 *
 * Deadlines are absolute, so that the rate does not drift, and each is moved a
 * little at random, so that it does not keep step with a program that is periodic.
 */

struct sample_pace {
	int64_t asked_ns;  /* between two rounds */
	int64_t period_ns; /* that the cost allows */
	int64_t next_ns;   /* CLOCK_MONOTONIC; 0: not begun */
	uint64_t random;
	double may_cost;                  /* of the workload's time */
	double least_of_core;             /* that rounds may take whatever all costs */
	uint64_t outside_share;           /* as it was last given, */
	int64_t lost_ns;                  /* and the period that it allows */
	int64_t window_ns, window_cpu_ns; /* since when the cost is measured */
	uint64_t rounds;
	int64_t active_ns, cpu_ns;
	int64_t began_ns; /* of the round before */
	bool held_back;
};

/* budget_ppm: of shm_header. */
void sample_pace_init(struct sample_pace *p, uint32_t hz, uint32_t budget_ppm);

/*
 * Waits for the next round.  Without anything to sample (active) none is due.  outside_share: of
 * shm_header.
 */
void sample_pace_wait(struct sample_pace *p, bool active, uint64_t outside_share);

/*
 * What it does now and then: so slow that both costs are allowed, and never faster than asked.
 * cpu_share: of a CPU, what rounds of the present period take.
 */
void sample_pace_adjust(struct sample_pace *p, double cpu_share, uint64_t outside_share);

/*
 * What the sampler has seen, on its way to the main thread: equal samples of a thread
 * in a row become one.
 */

/* Of one thread. */
struct sample_run {
	uint32_t process, tid;
	bool reported;     /* something of it was handed over */
	struct sample run; /* count 0: none */
	uint64_t lines;    /* see struct sampler_sample */
};

/* Another sample, and how many lines it has read.  What finds no room in `out` is counted in
 * *dropped, here and below. */
void sample_run_add(struct sample_run *r, struct sampler_taken *out, const struct sample *sample,
		    size_t lines, uint64_t *dropped);

/* The thread is gone. */
void sample_run_end(struct sample_run *r, struct sampler_taken *out, int64_t now_ns,
		    uint64_t *dropped);

/*
 * A thread that waits, as it did, and in the same place, has the stack that it had: most threads
 * of most programs, most of the time.  That holds only if its latest sample is from that place: one
 * that was given up, or whose stack was read when the thread had gone on, is no sample of it, and
 * would be repeated for as long as the thread waits there, each time that it does.
 */
struct wait_place {
	uint64_t place; /* of the latest sample; 0: it did not wait, or its stack is from elsewhere
			 */
};

/* Is it still where its latest sample is from?  Else nothing is known until wait_place_set(). */
bool wait_place_same(struct wait_place *w, uint64_t place, const struct sample *latest,
		     enum sample_state state, uint64_t lock);

/* A sample was stored; `top` is what was on top before its stack was read. */
void wait_place_set(struct wait_place *w, uint64_t place, const struct py_frame *top,
		    const struct py_stack *stack);

/* Puts what is in `from` behind what is in `to`, and empties it. */
void sampler_taken_append(struct sampler_taken *to, struct sampler_taken *from, uint64_t *dropped);

/*
 * Stacks by what they consist of: each is defined once and has an id from then
 * on.  The ids of its functions are unique in a recording, so one table serves
 * all processes.
 */

struct stack_ids { /* by a hash of 64 bits: open addressing */
	struct stack_id {
		uint64_t hash; /* 0: a free slot */
		uint32_t id;
	} * items;
	size_t cap, count;
};

void stack_ids_release(struct stack_ids *s);

/* Innermost first.  0: no frames, or no memory. */
uint32_t stack_ids_find(struct stack_ids *s, const struct py_layout *l,
			const struct py_frame *frames, const uint32_t *codes, size_t count,
			const struct py_definitions *d);

#endif
