/* Findings that came, went and stayed; and what a reader should know before trusting the rest. */
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"
#include "compare/comparison.h"

#define QUEUED_NOTED 0.05 /* of the runnable time */
#define MEAN_APART 0.05   /* of the mean's change beside the median's, relative */

static bool same_finding(const struct compared_finding *x, const struct compared_finding *y)
{
	return !strcmp(x->id, y->id) && !compare_texts(x->function, y->function) &&
	       !strcmp(x->file, y->file);
}

static struct compared_findings_row *find_row(struct comparison *c,
					      const struct compared_finding *f)
{
	for (size_t i = 0; i < c->finding_count; i++) {
		struct compared_findings_row *row = &c->findings[i];

		if (same_finding(row->newest, f))
			return row;
	}
	return NULL;
}

/* The figures of the first run that has it stand for the side. */
static int add_run(struct comparison *c, size_t *cap, const struct compared_run *r, bool after)
{
	for (size_t i = 0; i < r->finding_count; i++) {
		const struct compared_finding *f = &r->findings[i], **at;
		struct compared_findings_row *row = find_row(c, f);

		if (!row) {
			row = array_grow(c->findings, cap, c->finding_count + 1, sizeof(*row));
			if (!row)
				return -1;
			c->findings = row;
			row += c->finding_count++;
			*row = (struct compared_findings_row){ .newest = f };
		}
		at = after ? &row->after : &row->before;
		if (!*at)
			row->newest = *at = f;
	}
	return 0;
}

static int rank(const struct compared_findings_row *r)
{
	return !r->before ? 0 : !r->after ? 1 : 2;
}

static int by_news(const void *a, const void *b)
{
	const struct compared_findings_row *x = a, *y = b;
	const struct compared_finding *f = x->newest;
	const struct compared_finding *g = y->newest;
	int order;

	if (rank(x) != rank(y))
		return rank(x) - rank(y);
	if (f->saving_ns > g->saving_ns || f->saving_ns < g->saving_ns)
		return f->saving_ns > g->saving_ns ? -1 : 1;
	order = strcmp(f->id, g->id);
	if (!order)
		order = compare_texts(f->function, g->function);
	return order ? order : strcmp(f->file, g->file);
}

int compared_findings_collect(struct comparison *c)
{
	size_t cap = 0;

	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < c->run_count[side]; i++)
			if (add_run(c, &cap, &c->runs[side][i], side))
				return -1;
	if (c->finding_count)
		qsort(c->findings, c->finding_count, sizeof(*c->findings), by_news);
	return 0;
}

static const char *fact_of(const struct compared_run *r, const char *name)
{
	for (size_t i = 0; i < r->fact_count; i++)
		if (!strcmp(r->facts[i].name, name))
			return r->facts[i].value;
	return NULL;
}

/* Of the first runs of both sides. */
static void note_facts(struct comparison *c)
{
	const struct compared_run *before = &c->runs[0][0], *after = &c->runs[1][0];

	for (size_t i = 0; i < before->fact_count; i++) {
		const struct compared_fact *f = &before->facts[i];
		const char *other = fact_of(after, f->name);

		if (other && strcmp(other, f->value) != 0)
			notes_add(&c->notes, "%s differs: %s before, %s after", f->name, f->value,
				  other);
	}
}

static void note_too_few(struct comparison *c)
{
	if (!c->change.known)
		notes_add(&c->notes,
			  "not tested: with one trace per side each needs at least %zu steps for "
			  "the %s; record longer, or give several traces per side",
			  step_statistic_least(c->statistic), step_statistic_name(c->statistic));
	else if (c->run_count[0] == 1 && c->run_count[1] == 1)
		notes_add(&c->notes,
			  "one trace per side: two runs of the same program are assumed to differ "
			  "by a standard deviation of %.3g %% each (--run-spread); several traces "
			  "per side measure it and detect smaller changes",
			  100 * c->run_spread);
}

static void note_queued(struct comparison *c)
{
	if (c->sides[0].queued_share < QUEUED_NOTED && c->sides[1].queued_share < QUEUED_NOTED)
		return;
	notes_add(&c->notes,
		  "other threads occupied the CPUs: the threads of the program waited for one "
		  "during %.0f %% of their runnable time before, %.0f %% after; means and high "
		  "percentiles include this wait",
		  100 * c->sides[0].queued_share, 100 * c->sides[1].queued_share);
}

/* A slow minority of steps moves the mean and leaves the median where it is. */
static void note_mean(struct comparison *c)
{
	const double *before = c->sides[0].ns, *after = c->sides[1].ns;
	double mean, median;

	if (c->statistic != STATISTIC_MEDIAN || before[STATISTIC_MEAN] <= 0 ||
	    before[STATISTIC_MEDIAN] <= 0)
		return;
	mean = after[STATISTIC_MEAN] / before[STATISTIC_MEAN] - 1;
	median = after[STATISTIC_MEDIAN] / before[STATISTIC_MEDIAN] - 1;
	if (mean - median > MEAN_APART || median - mean > MEAN_APART)
		notes_add(
			&c->notes,
			"the mean changed by %+.1f %%, the median by %+.1f %%: some steps changed "
			"more than the others; --statistic mean or p95 tests that",
			100 * mean, 100 * median);
}

static void note_steps(struct comparison *c, const struct compared_steps *steps)
{
	const struct compared_step *before = &c->runs[0][0].steps[steps->at[0][0]];
	const struct compared_step *after = &c->runs[1][0].steps[steps->at[1][0]];

	if (steps->at[0][0] || steps->at[1][0])
		notes_add(&c->notes,
			  "the most important steps are others: '%s' before, '%s' after; --step "
			  "chooses what is compared",
			  c->runs[0][0].steps[0].name, c->runs[1][0].steps[0].name);
	if (before->source == STEP_WHOLE_RUN || after->source == STEP_WHOLE_RUN)
		notes_add(&c->notes, "no steps were found: one part of each run is compared");
}

void comparison_notes_collect(struct comparison *c, const struct compared_steps *steps)
{
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < c->run_count[side]; i++)
			if (c->runs[side][i].partial)
				notes_add(&c->notes, "%s is partial: figures are lower bounds",
					  c->runs[side][i].path);
	note_too_few(c);
	note_steps(c, steps);
	note_facts(c);
	note_queued(c);
	note_mean(c);
}
