/*
 * Two groups of runs side by side: how much longer a step takes, whether that is more than chance,
 * and what became slower or faster.
 *
 * Figures are per step of one kind, which all runs have.  Those of a side are means over its runs,
 * so that a long run counts as much as a short one.
 */
#ifndef COMPARE_COMPARISON_H
#define COMPARE_COMPARISON_H

#include "compare/compared_run.h"
#include "compare/step_test.h"

struct compared_row {
	enum compared_part part;
	const char *name, *file, *detail; /* borrowed from the runs, as in compared_item */
	uint32_t line, line_before;       /* they differ where the line moved; 0: none */
	bool in_before, in_after;
	double before_ns, after_ns;       /* of a step, mean of the runs */
	double before_count, after_count; /* of a step */
	double low_ns, high_ns;           /* the change lies between these, as in mean_test */
	bool significant;                 /* among all rows of its part */
};

struct compared_findings_row {
	const struct compared_finding *before, *after; /* of one run; NULL: not on this side */
	const struct compared_finding *newest;         /* after, else before */
};

struct compared_side {
	const char *step;           /* its name */
	size_t steps;               /* of all runs, without warm-up */
	double ns[STEP_STATISTICS]; /* means of the runs */
	double queued_share;
	/* Of the mean, which rows are parts of: as in run_level, means of the runs. */
	double mean_variance, mean_queued;
};

struct comparison {
	enum step_statistic statistic; /* that was tested */
	double run_spread;
	size_t run_count[2];
	const struct compared_run *runs[2]; /* before, after; borrowed */
	struct compared_side sides[2];
	struct step_change change;
	struct run_level *levels[2];
	size_t row_count;
	struct compared_row *rows; /* by part, in each the largest change first */
	size_t finding_count;
	struct compared_findings_row *findings; /* new ones, those gone, those that stayed */
	struct notes notes;
	struct arena texts;
};

struct comparison_request {
	const char *step; /* NULL: the most important one that all have; "A=B": it has two names */
	enum step_statistic statistic;
	double run_spread; /* 0.02 for 2 % */
};

/* The runs are borrowed; count > 0.  -1: they have no step in common, or no memory. */
int comparison_init(struct comparison *c, const struct compared_run *before, size_t before_count,
		    const struct compared_run *after, size_t after_count,
		    const struct comparison_request *wanted, struct err *err);
void comparison_release(struct comparison *c);

/* The rows of a part; *count may be 0. */
const struct compared_row *comparison_rows(const struct comparison *c, enum compared_part part,
					   size_t *count);

static inline double compared_row_change(const struct compared_row *r)
{
	return r->after_ns - r->before_ns;
}

/* Is the step slower, by at least so much, and by more than chance?  0.05 for 5 %. */
bool comparison_regressed(const struct comparison *c, double least);

/* Filling in the parts. */

/* Where a name is in the steps of a run; SIZE_MAX: nowhere with known steps. */
size_t compared_step_find(const struct compared_run *r, const char *name, const char *domain);

/* Which kind of step is compared in run i of a side. */
struct compared_steps {
	const size_t *at[2];
};

/* -1: no memory. */
int compared_rows_collect(struct comparison *c, const struct compared_steps *steps);
int compared_findings_collect(struct comparison *c);
void comparison_notes_collect(struct comparison *c, const struct compared_steps *steps);

#endif
