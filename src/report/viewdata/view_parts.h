/* The timeline while it is collected, and the parts that do that, in this order. */
#ifndef REPORT_VIEWDATA_VIEW_PARTS_H
#define REPORT_VIEWDATA_VIEW_PARTS_H

#include "analyze/analysis.h"
#include "analyze/figures/curve.h"
#include "report/viewdata/view_findings.h"
#include "report/viewdata/view_names.h"
#include "report/viewdata/view_rows.h"
#include "timeline/timeline.h"

/* Values over time, least and greatest of each interval. */
struct view_counter {
	uint32_t name, unit; /* strings */
	uint32_t process;    /* position + 1; 0: the machine */
	struct curve curve;
};

struct view_value {
	int64_t time_ns;
	double value;
	uint32_t process, name; /* position + 1, string */
};

struct view {
	const struct analysis *a;
	const struct trace *t;
	struct timeline *tl;
	struct view_names names;
	struct view_rows rows;
	struct view_findings findings;
	uint32_t steps_row;
	uint32_t *thread_tracks; /* by position; VIEW_ROW_NONE: nothing is known of it */
	/* Strings: the layer that a call was made in, and a node of a graph was captured in. */
	uint32_t *call_layers, *capture_layers;
	struct view_counter *counters;
	size_t counter_count, counter_cap;
	struct view_value *values; /* of the user's counters, as they are found */
	size_t value_count, value_cap;
};

/* All return -1 without memory. */

int view_steps_collect(struct view *v);
/* Walks the timeline: calls, layers, scopes, samples. */
int view_threads_collect(struct view *v);
/* CUDA calls and what the devices did. */
int view_gpu_collect(struct view *v);
int view_counters_collect(struct view *v);

/* The lines of source that findings name, as member "source" of an open object. */
void view_source_put(const struct view *v, struct json *j);

/* The track of a thread; made when something is found that belongs there. */
uint32_t view_thread_track(struct view *v, size_t thread);

#endif
