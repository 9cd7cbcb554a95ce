/*
 * The rows of a comparison: what all runs have of the same name is one row.
 *
 * A line of code is known by its function, file and number.  An edit above it moves it: in a
 * function where as many lines of a class are only before as are only after, they are the same
 * ones, in order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"
#include "compare/comparison.h"

struct entry {
	const struct compared_item *item;
	size_t run;       /* of both sides together */
	double ns, count; /* of a step */
};

/* A row with what each run has of it. */
struct pending_row {
	struct compared_row row;
	double *ns, *counts;
	double p_value;
};

struct row_list {
	struct pending_row *items;
	size_t count, cap;
	size_t runs, before; /* of the runs those before */
	struct arena values;
};

static int by_place(const struct compared_item *x, const struct compared_item *y)
{
	int order;

	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	order = strcmp(x->detail, y->detail);
	if (!order)
		order = strcmp(x->file, y->file);
	return order ? order : strcmp(x->name, y->name);
}

static int by_identity(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = by_place(x->item, y->item);

	if (order)
		return order;
	if (x->item->part == PART_LINE && x->item->line != y->item->line)
		return x->item->line < y->item->line ? -1 : 1;
	return x->run < y->run ? -1 : x->run > y->run;
}

static bool same_row(const struct entry *x, const struct entry *y)
{
	return !by_place(x->item, y->item) &&
	       (x->item->part != PART_LINE || x->item->line == y->item->line);
}

/* By how many steps the figures of an item are divided; 0: it is of another kind of step. */
static double steps_of(const struct compared_item *item, const struct compared_run *r, size_t step)
{
	const struct compared_step *s = &r->steps[step];

	if (item->part == PART_STEP_FUNCTION)
		return (double)s->series_count;
	if (item->step == STEP_OF_RUN)
		return (double)(s->count ? s->count : 1);
	return item->step == step ? (double)s->breakdown_steps : 0;
}

/* What is known of the steps in all runs; else that of the whole run is shown. */
struct known {
	bool functions, kernels;
};

static bool is_shown(const struct compared_item *item, const struct known *in_steps)
{
	if (item->part == PART_KERNEL)
		return in_steps->kernels == (item->step != STEP_OF_RUN);
	if (item->part == PART_STEP_FUNCTION)
		return in_steps->functions;
	return item->part != PART_RUN_FUNCTION || !in_steps->functions;
}

static bool knows_kernels(const struct compared_run *r, size_t step)
{
	for (size_t i = 0; i < r->item_count; i++)
		if (r->items[i].part == PART_KERNEL && r->items[i].step == step)
			return true;
	return false;
}

static int add_entries(struct entry **entries, size_t *count, size_t *cap,
		       const struct compared_run *r, size_t step, size_t run,
		       const struct known *in_steps)
{
	struct entry *grown =
		array_grow(*entries, cap, *count + r->item_count + 1, sizeof(**entries));

	if (!grown)
		return -1;
	*entries = grown;
	for (size_t i = 0; i < r->item_count; i++) {
		const struct compared_item *item = &r->items[i];
		double steps = steps_of(item, r, step);

		if (steps > 0 && is_shown(item, in_steps))
			grown[(*count)++] =
				(struct entry){ item, run, item->ns / steps, item->count / steps };
	}
	return 0;
}

static struct pending_row *add_row(struct row_list *d, const struct compared_item *item)
{
	struct pending_row *grown = array_grow(d->items, &d->cap, d->count + 1, sizeof(*grown));
	double *values = arena_alloc(&d->values, 2 * d->runs * sizeof(*values));

	if (grown)
		d->items = grown;
	if (!grown || !values)
		return NULL;
	memset(values, 0, 2 * d->runs * sizeof(*values));
	grown += d->count++;
	*grown = (struct pending_row){ .row = { .part = item->part,
						.name = item->name,
						.file = item->file,
						.detail = item->detail },
				       .ns = values,
				       .counts = values + d->runs };
	return grown;
}

/* Entries in order of their identity. */
static int group(struct row_list *d, const struct entry *entries, size_t count)
{
	for (size_t i = 0, next; i < count; i = next) {
		struct pending_row *row = add_row(d, entries[i].item);

		if (!row)
			return -1;
		for (next = i; next < count && same_row(&entries[i], &entries[next]); next++) {
			const struct entry *e = &entries[next];
			bool after = e->run >= d->before;

			row->ns[e->run] += e->ns;
			row->counts[e->run] += e->count;
			*(after ? &row->row.line : &row->row.line_before) = e->item->line;
			*(after ? &row->row.in_after : &row->row.in_before) = true;
		}
		if (!row->row.in_before)
			row->row.line_before = row->row.line;
		if (!row->row.in_after)
			row->row.line = row->row.line_before;
	}
	return 0;
}

static bool same_function(const struct pending_row *x, const struct pending_row *y)
{
	return x->row.part == y->row.part && !strcmp(x->row.detail, y->row.detail) &&
	       !strcmp(x->row.file, y->row.file) && !strcmp(x->row.name, y->row.name);
}

static void join(struct pending_row *into, struct pending_row *after, size_t runs)
{
	for (size_t i = 0; i < runs; i++) {
		into->ns[i] += after->ns[i]; /* NOLINT(clang-analyzer-core.NullDereference) */
		into->counts[i] += after->counts[i];
	}
	into->row.in_after = true;
	into->row.line = after->row.line;
	after->ns = NULL; /* it is gone */
}

/* Of the lines of one function and class. */
static void join_moved(struct pending_row *rows, size_t n, size_t runs)
{
	size_t gone = 0, new = 0, from = 0, to = 0;

	for (size_t i = 0; i < n; i++) {
		gone += !rows[i].row.in_after;
		new += !rows[i].row.in_before;
	}
	if (!gone || gone != new)
		return;
	for (; gone; gone--, from++, to++) {
		while (rows[from].row.in_after)
			from++;
		while (!rows[to].ns || rows[to].row.in_before)
			to++;
		join(&rows[from], &rows[to], runs);
	}
}

static void find_moved(struct row_list *d)
{
	size_t kept = 0;

	for (size_t i = 0, next; i < d->count; i = next) {
		for (next = i + 1; next < d->count && same_function(&d->items[i], &d->items[next]);)
			next++;
		if (d->items[i].row.part == PART_LINE)
			join_moved(&d->items[i], next - i, d->runs);
	}
	for (size_t i = 0; i < d->count; i++)
		if (d->items[i].ns)
			d->items[kept++] = d->items[i];
	d->count = kept;
}

static double mean_of(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

/*
 * What runs differ by is shared out to the parts of a step as if these varied independently: then
 * their variances add up to that of the step where each is proportional to the part's time.
 */
static void test_row(struct pending_row *row, const struct comparison *c)
{
	const struct compared_side *before = &c->sides[0], *after = &c->sides[1];
	size_t n = c->run_count[0], m = c->run_count[1];
	double step_ns = (before->ns[STATISTIC_MEAN] + after->ns[STATISTIC_MEAN]) / 2;
	double variance =
		c->run_spread * c->run_spread + (before->mean_variance + after->mean_variance) / 2;
	struct mean_test test;
	double row_ns;

	row->row.before_ns = mean_of(row->ns, n);
	row->row.after_ns = mean_of(row->ns + n, m);
	row->row.before_count = mean_of(row->counts, n);
	row->row.after_count = mean_of(row->counts + n, m);
	row_ns = (row->row.before_ns + row->row.after_ns) / 2;
	mean_test(&test, row->ns, n, row->ns + n, m, variance * row_ns * step_ns,
		  (after->mean_queued - before->mean_queued) * row_ns);
	row->row.low_ns = test.low;
	row->row.high_ns = test.high;
	row->p_value = test.p_value;
}

static void test_rows(struct row_list *d, const struct comparison *c)
{
	for (size_t i = 0; i < d->count; i++)
		test_row(&d->items[i], c);
}

static int by_p_value(const void *a, const void *b)
{
	const struct pending_row *x = a, *y = b;

	if (x->row.part != y->row.part)
		return x->row.part < y->row.part ? -1 : 1;
	return x->p_value < y->p_value ? -1 : x->p_value > y->p_value;
}

/* Of the rows of a part that are called significant, few are by chance (Benjamini, Hochberg). */
static void mark_significant(struct row_list *d)
{
	if (d->count)
		qsort(d->items, d->count, sizeof(*d->items), by_p_value);
	for (size_t i = 0, next; i < d->count; i = next) {
		size_t last = i;

		for (next = i; next < d->count && d->items[next].row.part == d->items[i].row.part;)
			next++;
		for (size_t k = i; k < next; k++)
			if (d->items[k].p_value <=
			    STEP_TEST_ALPHA * (double)(k - i + 1) / (double)(next - i))
				last = k + 1;
		for (size_t k = i; k < last; k++)
			d->items[k].row.significant = true;
	}
}

static int by_change(const void *a, const void *b)
{
	const struct compared_row *x = a, *y = b;
	double dx = fabs(compared_row_change(x)), dy = fabs(compared_row_change(y));
	int order;

	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	if (dx > dy || dx < dy)
		return dx > dy ? -1 : 1;
	order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->file, y->file);
	if (!order)
		order = strcmp(x->detail, y->detail);
	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static int take_rows(struct comparison *c, const struct row_list *d)
{
	c->rows = malloc((d->count + 1) * sizeof(*c->rows));
	if (!c->rows)
		return -1;
	for (size_t i = 0; i < d->count; i++)
		c->rows[c->row_count++] = d->items[i].row;
	if (c->row_count)
		qsort(c->rows, c->row_count, sizeof(*c->rows), by_change);
	return 0;
}

int compared_rows_collect(struct comparison *c, const struct compared_steps *steps)
{
	struct row_list d = { .runs = c->run_count[0] + c->run_count[1],
			      .before = c->run_count[0] };
	struct entry *entries = NULL;
	size_t count = 0, cap = 0, run = 0;
	struct known in_steps = { true, true };
	int rc = -1;

	arena_init(&d.values);
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < c->run_count[side]; i++) {
			const struct compared_run *r = &c->runs[side][i];
			size_t step = steps->at[side][i];

			in_steps.functions &= r->functions_in_steps && !step;
			in_steps.kernels &= knows_kernels(r, step);
		}
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < c->run_count[side]; i++)
			if (add_entries(&entries, &count, &cap, &c->runs[side][i],
					steps->at[side][i], run++, &in_steps))
				goto out;
	if (count)
		qsort(entries, count, sizeof(*entries), by_identity);
	if (group(&d, entries, count))
		goto out;
	find_moved(&d);
	test_rows(&d, c);
	if (c->change.known) /* else chance within the runs is unknown */
		mark_significant(&d);
	rc = take_rows(c, &d);
out:
	free(entries);
	free(d.items);
	arena_release(&d.values);
	return rc;
}
