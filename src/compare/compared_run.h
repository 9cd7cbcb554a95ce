/*
 * What a comparison keeps of a run: a copy of some figures of its analysis, so that the trace and
 * the analysis can be closed before the next one is read.
 */
#ifndef COMPARE_COMPARED_RUN_H
#define COMPARE_COMPARED_RUN_H

#include "analyze/analysis.h"
#include "base/arena.h"
#include "base/err.h"

/* What the time of a step consists of. */
enum compared_part {
	PART_CLASS,         /* of the breakdown */
	PART_KERNEL,        /* by its brief name: device time */
	PART_GPU_LAYER,     /* device time of what it launched itself */
	PART_CPU_LAYER,     /* time of its thread, without the layers inside it */
	PART_STEP_FUNCTION, /* self time while steps ran, by samples */
	PART_RUN_FUNCTION,  /* self time in the whole run */
	PART_LINE,          /* of the user's code, by class */
	COMPARED_PARTS,
};

struct compared_item {
	enum compared_part part;
	size_t step;        /* index of the kind of step that it is of; STEP_OF_RUN: of the run */
	const char *name;   /* class, kernel, layer or function */
	const char *file;   /* short, "" where there is none */
	const char *detail; /* of a line: the class; else "" */
	uint32_t line;      /* 0: none */
	double ns;          /* of all steps that were counted, or of the run */
	double count;       /* of kernels, layers, calls, likewise; 0: not known */
};

#define STEP_OF_RUN SIZE_MAX

/* A kind of step. */
struct compared_step {
	const char *name, *domain; /* domain NULL: it is none of NVTX's */
	enum step_source source;
	size_t count, warmup; /* as in analysis_step */
	size_t series_count;  /* those below: without warm-up */
	const int64_t *ns;    /* in order of time; owned by the run */
	size_t breakdown_steps;
	int64_t breakdown_ns; /* of them */
	double queued_share;  /* of its process: step_test.h */
};

struct compared_finding {
	const char *id, *title, *function, *file; /* function NULL: there is no place */
	uint32_t line;
	enum finding_severity severity;
	double confidence, saving_ns;
};

/* A fact in which runs that are compared should not differ. */
struct compared_fact {
	const char *name, *value;
};

struct compared_run {
	const char *path;    /* as it was given */
	const char *command; /* "" where it is unknown */
	size_t step_count;
	struct compared_step *steps; /* most important first */
	size_t item_count, item_cap;
	struct compared_item *items;
	size_t finding_count;
	struct compared_finding *findings;
	size_t fact_count, fact_cap;
	struct compared_fact *facts;
	bool functions_in_steps; /* PART_STEP_FUNCTION is known */
	bool chosen;             /* the first kind of step is the one that was asked for */
	bool partial;            /* the trace was not read to its end */
	int64_t *ns;             /* of all kinds of steps */
	struct arena texts;
};

/* Of an analysis that was judged.  -1: no memory; release it nevertheless. */
int compared_run_init(struct compared_run *r, const struct analysis *a, const char *path,
		      struct err *err);
void compared_run_release(struct compared_run *r);

/* Filling it in.  NULL and -1: no memory. */
const char *compared_run_keep(struct compared_run *r, const char *text);
int compared_run_add(struct compared_run *r, const struct compared_item *item);
int step_kernels_add(struct compared_run *r, const struct analysis *a);

#endif
