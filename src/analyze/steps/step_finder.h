/*
 * Steps without marks: what repeats around the outermost layer calls.
 *
 * While the timeline is walked, each outermost call of a layer, and each launch of a CUDA graph
 * outside of layers (a model that was captured), is noted with the user's functions that are
 * open around it.  A function with more than two such things in it, on
 * average, is a loop: calls of layers, or of functions that lead to one.  Its iterations
 * begin with the one that is most frequent in it, and last until the next: what happens
 * between two calls belongs to the step.  Functions that one call of a library calls again and
 * again (requests of a server, items of a pool) are steps from begin to end, because what is
 * between them is not the user's; a decorator of a library's calls its function once, and is
 * part of the loop around it.  Loops in loops are steps of several kinds; the innermost come first.
 *
 * A library's function that the user's code calls, and that calls models of several kinds, is a
 * pipeline: a detector and a recogniser, an encoder and a decoder.  Its calls are what the user's
 * loop repeats, and come before the loops in them.
 *
 * Where most layers were called without a function of the user's being known (calls were
 * not recorded), the outermost layer calls are the steps.
 *
 * A program may have neither layers nor graphs that repeat: the model of a framework whose layers
 * are not recorded, functions and tensors, or a compiled callable.  The walk is repeated then, for
 * the calls of such models; or for its waits for the device, since a result is waited for
 * once in a step, and else for its launches.  Loops are where one function, or one line that waits
 * or launches, comes more than twice a call: several lines are one step's.  An iteration around a
 * line that waits ends when it has what it waited for.
 */
#ifndef ANALYZE_STEPS_STEP_FINDER_H
#define ANALYZE_STEPS_STEP_FINDER_H

#include "analyze/gpu/gpu_sections.h"
#include "analyze/steps/step_calls.h"
#include "base/arena.h"
#include "timeline/timeline.h"

#define UNIT_NONE SIZE_MAX
#define STEP_REPEATS 3 /* fewer are no series */

/* What steps are found by. */
enum step_lead {
	LEAD_MODELS, /* outermost layers, and graphs outside of layers */
	LEAD_RUNS,   /* calls of models by their frameworks' functions: Session.run() */
	LEAD_WAITS,  /* calls of CUDA's that wait */
	LEAD_LAUNCHES,
	LEAD_CALLS, /* of functions that take most of the time of who calls them: step_calls.h */
};

/* A call of a layer that no other is around, a call of CUDA's, or a function that leads to one: the
 * user's, or a library's that those call. */
struct step_unit {
	uint64_t kind; /* a function's index; of a layer its id and UNIT_LAYER; UNIT_GRAPH;
			* of another call of CUDA's the user's line and UNIT_CALL */
	size_t parent; /* the innermost function around it; UNIT_NONE */
	uint32_t thread;
	uint64_t through; /* the call of a library's function that led to it; 0: the user's code did
			   */
	uint32_t interval; /* of its thread, in which no layer was missed for the budget's sake */
	uint32_t via;      /* in a library's call: the function of it that leads to the layer, or
			    * calls the model */
	bool known;        /* its begin and end are */
	bool librarys;     /* a function of a library's that the user's code calls */
	bool has_loop;     /* in it, or it is one */
	uint32_t loops;    /* around it */
	int64_t start_ns, end_ns;
	size_t first_child, last_child, next; /* those inside it, in order of time */
};

#define UNIT_LAYER ((uint64_t)1 << 32)
#define UNIT_GRAPH ((uint64_t)1 << 33)
#define UNIT_CALL ((uint64_t)1 << 34)

enum step_code {
	STEP_CODE_UNKNOWN, /* not asked yet */
	STEP_CODE_USERS,
	STEP_CODE_LIBRARYS,
	STEP_CODE_WRAPS, /* a library's that does nothing but call another: a decorator's */
	STEP_CODE_RUNS,  /* it calls a model: see LEAD_RUNS; or is chosen: see LEAD_CALLS */
};

struct step_frame {
	uint32_t function;
	uint64_t call; /* its number, from 1 on */
	size_t unit;   /* UNIT_NONE: no layer was called in it yet */
	bool in_run;   /* one around it runs a model (STEP_CODE_RUNS) */
};

struct step_finder {
	const struct trace *trace;
	const struct timeline *timeline;
	enum step_lead lead;
	const struct analysis_gpu *gpu; /* of LEAD_WAITS and LEAD_LAUNCHES; else NULL */
	struct step_calls calls_of;     /* of LEAD_CALLS: the functions to follow */
	struct step_unit *units;
	size_t count, cap;
	struct step_frame *open; /* of the thread that is walked, by depth */
	size_t depth, open_cap;
	uint64_t calls; /* that were entered */
	uint8_t *whose; /* by function: enum step_code */
	size_t whose_cap;
	size_t layer;         /* the unit of the outermost layer that is open */
	size_t call;          /* the unit of the latest call of CUDA's, UNIT_NONE */
	uint32_t correlation; /* its */
	uint32_t interval;    /* see step_unit */
	bool missed;          /* of LEAD_RUNS: some are throttled */
	bool failed;          /* out of memory */
};

/* What steps of one name are. */
struct found_kind {
	const char *name;
	bool has_steps;   /* others lie inside them */
	bool piped;       /* they are parts of a library's pipeline */
	uint32_t call_of; /* they begin with a call of this function: index + 1; 0: of none */
	uint32_t loop_of; /* ... that this one makes again and again, likewise */
};

/* Steps that were found, as scopes of no name of the user's; depth: of loops around them. */
struct found_steps {
	struct scope *items;
	size_t count, cap;
	struct found_kind *kinds;
	size_t kind_count;
	struct arena *names; /* borrowed */
	bool by_layer;       /* they are layer calls */
};

/* The trace is borrowed, and the timeline before the walk begins. */
void step_finder_init(struct step_finder *f, const struct trace *t);
void step_finder_release(struct step_finder *f);

/* For the visitor: see timeline.h. */
void step_finder_enter(struct step_finder *f, uint32_t depth, uint32_t function);
void step_finder_leave(struct step_finder *f, const struct span *s);
void step_finder_throttled(struct step_finder *f, const struct throttled *l);
void step_finder_layer_begin(struct step_finder *f, size_t thread, uint32_t id, int64_t time_ns);
void step_finder_layer_end(struct step_finder *f, const struct layer_span *s);
void step_finder_layer_dropped(struct step_finder *f);
void step_finder_layers_again(struct step_finder *f); /* some may have been missed before */
void step_finder_cuda_begin(struct step_finder *f, const struct cuda_begin *c);

/* Walks over all once more, for another lead than LEAD_MODELS.  -1: out of memory. */
int step_finder_walk(struct step_finder *f, struct timeline *tl, enum step_lead lead,
		     const struct analysis_gpu *gpu);

/* After the walk; names go into the arena.  -1: out of memory; release the result nevertheless. */
int step_finder_find(struct step_finder *f, struct arena *names, struct found_steps *out);
void found_steps_release(struct found_steps *s);

/*
 * Libraries' functions that the user's code calls: which of them are pipelines?
 *
 * One in which models of several kinds are called, mostly, and that is called often enough to be a
 * series.  Modules of one class are of one kind; where a framework calls all models by one
 * function, they are distinguished by the function of the pipeline that leads there.
 */

/*
 * After the walk.  Calls that belong to no pipeline become unknown: their content counts for the
 * user's function, as if it had made it itself.  -1: out of memory.
 */
int step_pipelines_settle(struct step_finder *f);

#endif
