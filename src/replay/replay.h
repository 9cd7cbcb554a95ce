/*
 * What a fix would bring: the steps of a trace as a graph of dependencies, run again with
 * something changed.
 *
 * The graph holds the steps of the leading kind (figures/host_log.h): what each thread of the
 * process did, its CUDA calls, what the device did for them, and what waited for what.  A replay
 * computes every time from the durations and the dependencies: waits are never copied.  Streams
 * and copy engines work in the order that was recorded.
 *
 *	struct replay *r;
 *	struct replay_edit edit = { .kind = REPLAY_FASTER, .name = "preprocess", .factor = 0 };
 *	struct replay_result result;
 *
 *	replay_new(&r, analysis, &err);
 *	replay_predict(r, &edit, 1, &result, &err);      result.saving_ns, .low_ns, .high_ns
 *	replay_free(r);
 */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "base/err.h"

struct replay;

/* How well the graph explains what was recorded: it runs unchanged. */
struct replay_quality {
	size_t steps;         /* in the graph; 0: nothing can be predicted */
	double step_ns;       /* mean, as measured */
	double step_error;    /* |replayed - measured| / measured, median over the steps */
	double idle_ns;       /* of the device in a step, mean, as measured */
	double idle_error;    /* |replayed - measured| of all idle time, over the measured one */
	double unknown_share; /* of the steps: waits whose end nothing known explains */
	bool gpu;             /* the steps use a device, */
	bool behind; /* and leave work to it: times of steps are with what it takes longer */
};

/* Steps whose replay is further off than this are no base for a prediction one may rely on. */
#define REPLAY_STEP_ERROR 0.03
#define REPLAY_IDLE_ERROR 0.05

/*
 * The analysis is borrowed and must outlive it.  Without steps to replay the result is valid, and
 * its quality has no steps.  -1: no memory.
 */
int replay_new(struct replay **out, const struct analysis *a, struct err *err);
void replay_free(struct replay *r); /* NULL is a no-op */

const struct replay_quality *replay_quality(const struct replay *r);

/* The critical path of the steps; nothing where there are none.  -1: no memory. */
int replay_critical_path(const struct replay *r, struct analysis_critical_path *out,
			 struct err *err);

enum replay_edit_kind {
	REPLAY_FASTER,      /* host time takes `factor` of it: 0 is free */
	REPLAY_OVERLAP,     /* host time moves to another thread, one step ahead */
	REPLAY_REMOVE_SYNC, /* CUDA calls no longer wait for the device */
	REPLAY_PIN,         /* copies from and to pageable memory use pinned memory */
	REPLAY_ASYNC_COPY,  /* copies have a stream of their own */
	REPLAY_GRAPH,       /* launches between two waits become one launch of a graph */
	REPLAY_KERNEL,      /* kernels take `factor` of their time */
	REPLAY_EDIT_KINDS,
};

/*
 * One change.  What it is applied to: everything of its kind for which all that is given here
 * holds.
 */
struct replay_edit {
	enum replay_edit_kind kind;
	/*
	 * A function that is on the stack, by its qualified name or the last part of it; of
	 * REPLAY_KERNEL a kernel, by its full or brief name or a part of that.  NULL: any.
	 */
	const char *name;
	/* A line on the stack, or the file alone: its last parts are enough.  NULL and 0: any. */
	const char *file;
	uint32_t line;
	/* Of REPLAY_FASTER: only time of these classes, bits 1 << enum time_class; 0: of all. */
	uint32_t classes;
	double factor;
};

/* Means over the steps that were replayed. */
struct replay_result {
	size_t steps;
	double measured_ns;
	double unchanged_ns;               /* replayed without edits */
	double predicted_ns;               /* with them */
	double saving_ns, low_ns, high_ns; /* the interval holds 80 % */
	double idle_ns, idle_predicted_ns; /* of the device; 0 without one */
	double touched_ns;                 /* of a step: the time that was changed */
	size_t missed;                     /* the first edit that applied to nothing; or count */
};

/* -1: no memory. */
int replay_predict(const struct replay *r, const struct replay_edit *edits, size_t count,
		   struct replay_result *result, struct err *err);

/* "free", "speedup": the option of `whatif`; what is taken for granted, a sentence. */
const char *replay_edit_name(enum replay_edit_kind kind);
const char *replay_edit_assumption(enum replay_edit_kind kind);

/* Names that such an edit may have, perhaps several times: functions, or kernels. */
void replay_names(const struct replay *r, enum replay_edit_kind kind,
		  void (*tell)(void *ctx, const char *name), void *ctx);

#endif
