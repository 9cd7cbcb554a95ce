/*
 * The critical path of the steps: from a step's end back to its begin, each time to what determined
 * when it could go on.  What is not on it may take longer without the step taking longer.
 */
#ifndef ANALYZE_FIGURES_CRITICAL_PATH_H
#define ANALYZE_FIGURES_CRITICAL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/breakdown.h"

enum critical_kind {
	CRITICAL_HOST,    /* a thread was at it */
	CRITICAL_DEVICE,  /* the device worked */
	CRITICAL_LATENCY, /* from a launch, or the end of work, until what depends on it went on */
};

#define CRITICAL_KINDS (CRITICAL_LATENCY + 1)

struct critical_part {
	enum critical_kind kind;
	enum time_class what;
	/* The user's line, or function; of the device: what launched it.  Name NULL: unknown. */
	struct place where;
	const char *kernel; /* its brief name; NULL: it is none */
	int64_t ns;         /* of all steps together */
};

/* Host and device, by the innermost layer that was at work or launched it. */
struct critical_layer {
	const char *name; /* below its model; of a model "" */
	const char *class_name;
	int64_t ns;
};

struct analysis_critical_path {
	size_t steps; /* 0: it is not known */
	int64_t total_ns;
	int64_t kinds_ns[CRITICAL_KINDS];
	/* How far a replay of the unchanged steps is off; struct replay_quality. */
	bool gpu;
	bool behind; /* the steps leave work to the device: it is a part of the path */
	double step_error, idle_error;
	size_t part_count, layer_count;
	struct critical_part *parts;   /* most time first */
	struct critical_layer *layers; /* likewise */
};

void critical_path_release(struct analysis_critical_path *p);

/* "host": as in report.json. */
const char *critical_kind_name(enum critical_kind k);

#endif
