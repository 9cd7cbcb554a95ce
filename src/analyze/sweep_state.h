/* Where a sweep through a thread's time (step_sweep.c) stands; private to it. */
#ifndef ANALYZE_SWEEP_STATE_H
#define ANALYZE_SWEEP_STATE_H

#include "analyze/open_steps.h"
#include "analyze/step_sweep.h"

/* What a moment is given to. */
struct moment {
	enum time_class what;
	bool sampled;
	bool alone;   /* it waits, and not for somebody's work */
	size_t place; /* SIZE_MAX: not asked for */
};

struct sweep {
	struct step_sweep *s;
	struct err *err;
	size_t thread;
	uint32_t process; /* id */
	bool native;      /* it knows no Python */
	bool has_gpu;
	bool failed;

	int64_t now_ns, next_ns; /* when a track changes */
	struct device_tracks device;
	bool borrows_device; /* it is that of all threads */
	struct track calls, ways, framework, gaps, holders, running, steps;
	struct track *looks, *own_waits;
	const struct piece *on_device, *call, *way, *at_work, *look, *gap, *covered, *holder, *runs;
	const struct piece *own_wait;
	struct stack_class look_class, way_class;
	struct idle_section *section;                     /* of the process; NULL */
	const struct fault_mark *next_fault, *last_fault; /* of the process */

	struct stack_class *frames; /* of the open calls, outermost first */
	size_t depth, frame_cap;
	uint32_t layers; /* that are open */
	bool lost;       /* calls: it is in a gap of the recording */
	bool left_out;   /* functions are: samples know more */

	const struct step_item *next_step, *last_step;
	struct open_steps open;
	struct class_sums sums;

	bool known; /* these are valid until something changes */
	struct moment host, gpu;
	const struct moment *moment; /* one of them */
};

/* Finds out what the moments from now on belong to, until something changes. */
void sweep_decide(struct sweep *w);

/* The stack of somebody else who is at work; 0: there is nobody. */
uint32_t sweep_busy_stack(const struct sweep *w);

#endif
