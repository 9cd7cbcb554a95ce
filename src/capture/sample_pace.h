/*
 * When the sampler looks next: at the rate it was asked for, as long as that costs
 * no more than it may: a part of a CPU; and of what the workload may lose by recording
 * (drain_costs.c), a part.
 *
 * Deadlines are absolute, so that the rate does not drift, and each is moved a
 * little at random, so that it does not keep step with a program that is periodic.
 */
#ifndef CAPTURE_SAMPLE_PACE_H
#define CAPTURE_SAMPLE_PACE_H

#include <stdbool.h>
#include <stdint.h>

struct sample_pace {
	int64_t asked_ns;  /* between two rounds */
	int64_t period_ns; /* that the cost allows */
	int64_t next_ns;   /* CLOCK_MONOTONIC; 0: not begun */
	uint64_t random;
	double may_cost;                  /* of the workload's time */
	double least_of_core;             /* that rounds may take whatever all costs */
	uint64_t outside_share;           /* as it was told last, */
	int64_t lost_ns;                  /* and the period that it allows */
	int64_t window_ns, window_cpu_ns; /* since when the cost is looked at */
	uint64_t rounds;
	int64_t active_ns, cpu_ns;
	int64_t began_ns; /* of the round before */
	bool held_back;
};

/* budget_ppm: of shm_header. */
void sample_pace_init(struct sample_pace *p, uint32_t hz, uint32_t budget_ppm);

/*
 * Waits for the next round.  Without anything to look at (active) none is due.  outside_share: of
 * shm_header.
 */
void sample_pace_wait(struct sample_pace *p, bool active, uint64_t outside_share);

/*
 * What it does now and then: so slow that both costs are allowed, and never faster than asked.
 * cpu_share: of a CPU, what rounds of the present period take.
 */
void sample_pace_adjust(struct sample_pace *p, double cpu_share, uint64_t outside_share);

#endif
