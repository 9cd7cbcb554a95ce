/* The state of a sweep through a thread's time (step_sweep.c); private to it. */
#ifndef ANALYZE_BREAKDOWN_SWEEP_STATE_H
#define ANALYZE_BREAKDOWN_SWEEP_STATE_H

#include "analyze/breakdown/step_sweep.h"
#include "analyze/figures/breakdown.h"

/* The steps that last at a moment, the one that ends first on top. */

/* Time of each class up to some moment. */
struct class_sums {
	int64_t ns[TIME_CLASSES], sampled_ns[TIME_CLASSES];
	int64_t alone_ns;
};

struct open_step {
	const struct step_item *item;
	struct class_sums sums; /* when it began */
};

struct open_steps {
	struct open_step *items; /* a heap */
	size_t count, cap;
};

void open_steps_release(struct open_steps *o);
int open_steps_push(struct open_steps *o, const struct step_item *item,
		    const struct class_sums *sums); /* -1: no memory */
void open_steps_pop(struct open_steps *o);          /* the first; there is one */

static inline const struct open_step *open_steps_first(const struct open_steps *o)
{
	return o->items;
}

/* What a moment is given to. */
struct moment {
	enum time_class what;
	bool sampled;
	bool alone;   /* it waits, and not for another thread's work */
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

	int64_t now_ns, next_ns;            /* when a track changes */
	int64_t last_call_ns, next_call_ns; /* when a function was entered or left, or is next */
	struct idmap seen_in;               /* function -> position of the latest sample in it */
	uint32_t seen_last, seen_last_in;
	struct device_tracks device;
	struct call_source of_calls, of_ways;
	struct gap_source of_gaps;
	struct track calls, ways, framework, natives, gaps, holders, running, steps;
	struct track *samples, *timed_waits, *queued;
	const struct piece *on_device, *call, *way, *at_work, *sample, *gap, *covered, *holder,
		*runs;
	const struct piece *timed_wait, *without_cpu, *native_call;
	struct stack_class sample_class, code_class, way_class;
	uint32_t way_stack;              /* of way_class */
	const struct piece *code_sample; /* the sample that describes now: sweep_decide.c */
	struct idle_section *section;    /* of the process; NULL */
	const struct fault_mark *next_fault, *last_fault; /* of the process */

	struct stack_class *frames; /* of the open calls, outermost first */
	size_t depth, frame_cap;
	uint32_t layers;      /* that are open */
	bool logs;            /* the log has its process */
	bool logging;         /* ... and now is in one of its windows */
	uint32_t *log_frames; /* of frames, as the log has them: of the first logged_depth */
	size_t logged_depth, log_frame_cap;
	uint32_t *layer_ids; /* of the open layers, outermost first */
	size_t layer_cap;
	bool lost;      /* calls: it is in a gap of the recording */
	bool throttled; /* functions are: samples know more */

	const struct step_item *next_step, *last_step;
	struct open_steps open;
	struct class_sums sums;

	bool known; /* these are valid until something changes */
	struct moment host, gpu;
	const struct moment *moment; /* one of them */
};

/* Decides which class the time from now on belongs to, until something changes. */
void sweep_decide(struct sweep *w);

/* The stack of another thread that is working; 0: there is none. */
uint32_t sweep_busy_stack(const struct sweep *w);

/* The position of the thread of the same process that this one waits for; HOST_NONE: unknown. */
uint32_t sweep_waits_for(const struct sweep *w);

#endif
