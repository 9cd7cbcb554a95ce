/*
 * Where on the timeline the findings can be seen: items whose kind says the same as the finding and
 * whose place is the finding's, the longest inside of steps first.
 */
#ifndef REPORT_VIEWDATA_VIEW_FINDINGS_H
#define REPORT_VIEWDATA_VIEW_FINDINGS_H

#include "analyze/analysis.h"
#include "report/viewdata/view_names.h"
#include "report/viewdata/view_rows.h"
#include "report/viewdata/view_tree.h"

#define VIEW_OCCURRENCES 40u /* of a finding: the longest */
#define VIEW_RANKS 8u        /* of occurrences */

struct view_occurrence {
	int64_t start_ns, end_ns;
	uint32_t row;
	uint32_t rank; /* less is better */
};

struct view_finding {
	const struct analysis_finding *finding;
	const struct view_wanted *wanted; /* kinds of items, the best first */
	uint32_t place;                   /* of the names; 0: none */
	size_t seen;                      /* of the kind that items are of: all of them */
	size_t seen_of[VIEW_RANKS];
	size_t count;
	struct view_occurrence items[VIEW_OCCURRENCES]; /* at the end by time */
	uint8_t examples[VIEW_OCCURRENCES];             /* items, the one of median length first */
};

struct view_findings {
	const struct analysis *analysis;
	const struct view_names *names;
	const struct view_rows *rows;
	size_t count;
	struct view_finding *items;
	uint64_t *masks; /* by label: the findings that it speaks for */
	bool *known;     /* ... whether that is known */
	size_t label_cap;
	struct view_interval *steps; /* of the first kind, by start */
	size_t step_count;
	bool failed;
};

/* Everything is borrowed.  -1: no memory; release it nevertheless. */
int view_findings_init(struct view_findings *f, const struct analysis *a, struct view_names *names,
		       struct view_rows *rows);
void view_findings_release(struct view_findings *f);

/* After the last item: steps stand for findings that nothing else shows. */
void view_findings_finish(struct view_findings *f, uint32_t steps_row);

#endif
