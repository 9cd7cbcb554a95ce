#include "compare/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/buf.h"

#define QUEUED_MOST 10  /* a logarithm: beyond, nothing is certain anyway */
#define STEPS_LISTED 6u /* of a run, where none is common */

/* "line 41 in main" is found by what waits there: the number changes with every edit above it. */
static const char *without_line(const char *name)
{
	static const char lead[] = "line ";
	size_t digits;

	if (strncmp(name, lead, sizeof(lead) - 1) != 0)
		return name;
	digits = strspn(name + sizeof(lead) - 1, "0123456789");
	return digits ? name + sizeof(lead) - 1 + digits : name;
}

static bool is_step(const struct compared_step *s, const char *name, const char *domain, bool exact)
{
	if (!s->series_count || (domain && compare_texts(s->domain, domain) != 0))
		return false;
	if (!exact) {
		const char *x = without_line(s->name), *y = without_line(name);

		return x != s->name && y != name && !strcmp(x, y);
	}
	return !strcmp(s->name, name);
}

size_t compared_step_find(const struct compared_run *r, const char *name, const char *domain)
{
	for (int exact = 1; exact >= 0; exact--)
		for (size_t i = 0; i < r->step_count; i++)
			if (is_step(&r->steps[i], name, domain, exact))
				return i;
	return SIZE_MAX;
}

/* The runs of both sides, those before first. */
static size_t all_runs(const struct comparison *c)
{
	return c->run_count[0] + c->run_count[1];
}

static const struct compared_run *nth_run(const struct comparison *c, size_t i)
{
	return i < c->run_count[0] ? &c->runs[0][i] : &c->runs[1][i - c->run_count[0]];
}

/* In all runs, each side by its own name?  Fills in where. */
static bool find_in_all(const struct comparison *c, const char *const names[2], const char *domain,
			size_t *at)
{
	for (size_t i = 0; i < all_runs(c); i++) {
		at[i] = compared_step_find(nth_run(c, i), names[i >= c->run_count[0]], domain);
		if (at[i] == SIZE_MAX)
			return false;
	}
	return true;
}

static void list_steps(struct buf *b, const struct compared_run *r)
{
	size_t listed = 0;

	for (size_t i = 0; i < r->step_count && listed < STEPS_LISTED; i++) {
		bool again = !r->steps[i].series_count;

		for (size_t k = 0; k < i; k++)
			again |= !strcmp(r->steps[k].name, r->steps[i].name);
		if (!again)
			buf_printf(b, "%s'%.60s'", listed++ ? ", " : "", r->steps[i].name);
	}
	if (!listed)
		buf_add_str(b, "none");
}

static int no_common_step(const struct comparison *c, const char *wanted, struct err *err)
{
	struct buf before, after;

	buf_init(&before);
	buf_init(&after);
	list_steps(&before, &c->runs[0][0]);
	list_steps(&after, &c->runs[1][0]);
	if (wanted)
		err_set(err,
			"not every trace has a step '%.60s'; before: %s; after: %s; --step "
			"BEFORE=AFTER compares steps of different names",
			wanted, buf_string(&before), buf_string(&after));
	else
		err_set(err,
			"the traces have no step in common; before: %s; after: %s; --step "
			"BEFORE=AFTER compares steps of different names",
			buf_string(&before), buf_string(&after));
	buf_release(&before);
	buf_release(&after);
	return -1;
}

/* Did the analysis of each run find the step that was asked for, under a name that may be longer?
 */
static bool all_chosen(const struct comparison *c)
{
	for (size_t i = 0; i < all_runs(c); i++)
		if (!nth_run(c, i)->chosen || !nth_run(c, i)->steps[0].series_count)
			return false;
	return true;
}

/* "A=B": a step of that name goes first, for names may have an equals sign. */
static int find_wanted(struct comparison *c, const char *wanted, size_t *at, struct err *err)
{
	const char *equals = wanted;
	bool found = find_in_all(c, (const char *const[2]){ wanted, wanted }, NULL, at);

	while (!found && (equals = strchr(equals, '='))) {
		char *before = strndup(wanted, (size_t)(equals - wanted));

		if (!before)
			return err_set(err, "out of memory");
		equals++;
		found = find_in_all(c, (const char *const[2]){ before, equals }, NULL, at);
		free(before);
	}
	return found ? 0 : no_common_step(c, wanted, err);
}

/*
 * The most important one of the first run that all have.  Another format may have the same ranges
 * without domains of NVTX: these count where no step is common with them.
 */
static int find_common(struct comparison *c, size_t *at, struct err *err)
{
	const struct compared_run *first = &c->runs[0][0];

	for (int any = 0; any < 2; any++) {
		for (size_t i = 0; i < first->step_count; i++) {
			const char *name = first->steps[i].name;
			const char *domain = any ? NULL : first->steps[i].domain;

			if (find_in_all(c, (const char *const[2]){ name, name }, domain, at))
				return 0;
		}
	}
	return no_common_step(c, NULL, err);
}

/* Of one run into its side. */
static int add_run(struct compared_side *side, struct run_level *level,
		   const struct compared_step *step, enum step_statistic what, size_t runs)
{
	const struct step_series series = { step->ns, step->series_count, step->queued_share };
	struct run_level mean;
	int64_t *sorted;

	if (run_level_measure(level, &series, what) ||
	    run_level_measure(&mean, &series, STATISTIC_MEAN))
		return -1;
	side->mean_variance += isnan(mean.variance) ? 0 : mean.variance / (double)runs;
	side->mean_queued += fmin(mean.queued, QUEUED_MOST) / (double)runs;
	sorted = malloc(step->series_count * sizeof(*sorted));
	if (!sorted)
		return -1;
	memcpy(sorted, step->ns, step->series_count * sizeof(*sorted));
	stats_sort(sorted, step->series_count);
	for (enum step_statistic s = 0; s < STEP_STATISTICS; s++)
		side->ns[s] += step_statistic_value(s, sorted, step->series_count) / (double)runs;
	free(sorted);
	side->queued_share += step->queued_share / (double)runs;
	side->steps += step->series_count;
	return 0;
}

static int measure_sides(struct comparison *c, const struct compared_steps *steps)
{
	for (size_t side = 0; side < 2; side++) {
		c->levels[side] = calloc(c->run_count[side], sizeof(*c->levels[side]));
		if (!c->levels[side])
			return -1;
		c->sides[side].step = c->runs[side][0].steps[steps->at[side][0]].name;
		for (size_t i = 0; i < c->run_count[side]; i++)
			if (add_run(&c->sides[side], &c->levels[side][i],
				    &c->runs[side][i].steps[steps->at[side][i]], c->statistic,
				    c->run_count[side]))
				return -1;
	}
	return step_change_test(&c->change, c->levels[0], c->run_count[0], c->levels[1],
				c->run_count[1], c->run_spread);
}

int comparison_init(struct comparison *c, const struct compared_run *before, size_t before_count,
		    const struct compared_run *after, size_t after_count,
		    const struct comparison_request *wanted, struct err *err)
{
	size_t *at = calloc(before_count + after_count, sizeof(*at));
	const struct compared_steps steps = { { at, at + before_count } };
	int rc = -1;

	*c = (struct comparison){ .statistic = wanted->statistic,
				  .run_spread = wanted->run_spread,
				  .run_count = { before_count, after_count },
				  .runs = { before, after } };
	arena_init(&c->texts);
	if (!at) {
		err_set(err, "out of memory");
		goto out;
	}
	/* Where all are chosen the first one of each is compared: the zeros of calloc(). */
	if (wanted->step && all_chosen(c))
		err_set(err, "out of memory");
	else if (wanted->step ? find_wanted(c, wanted->step, at, err) : find_common(c, at, err))
		goto out;
	err_set(err, "out of memory");
	if (measure_sides(c, &steps) || compared_rows_collect(c, &steps) ||
	    compared_findings_collect(c))
		goto out;
	comparison_notes_collect(c, &steps);
	rc = c->notes.failed ? -1 : 0;
out:
	free(at);
	return rc;
}

void comparison_release(struct comparison *c)
{
	for (size_t i = 0; i < c->notes.count; i++)
		free(c->notes.items[i]);
	free(c->notes.items);
	free(c->levels[0]);
	free(c->levels[1]);
	free(c->rows);
	free(c->findings);
	arena_release(&c->texts);
	*c = (struct comparison){ 0 };
}

bool comparison_regressed(const struct comparison *c, double least)
{
	return c->change.significant && c->change.ratio > 0 && c->change.ratio >= least;
}

const struct compared_row *comparison_rows(const struct comparison *c, enum compared_part part,
					   size_t *count)
{
	size_t first = 0, end;

	while (first < c->row_count && c->rows[first].part < part)
		first++;
	for (end = first; end < c->row_count && c->rows[end].part == part;)
		end++;
	*count = end - first;
	return c->rows + first;
}
