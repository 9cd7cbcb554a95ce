#include "analyze/gpu/gpu_top_lines.h"

#include <string.h>

#include "analyze/figures/stats.h"
#include "analyze/gpu/model_stack.h"

/* By role and stack; by role and line when they are merged. */
struct row {
	enum gpu_line_role role;
	uint32_t stack; /* with most of it, when they are merged */
	int64_t stack_ns;
	struct place where;
	struct place forward; /* of the model that does it by itself; name NULL: none */
	struct gpu_usage_sum sum;
};

/* Other work of a model beside its forward() is no reason to choose a place further out. */
#define NEARLY_ALL 0.9

void gpu_top_lines_init(struct gpu_top_lines *t)
{
	pair_totals_init(&t->rows, sizeof(struct row));
	t->failed = false;
}

void gpu_top_lines_release(struct gpu_top_lines *t)
{
	pair_totals_release(&t->rows);
}

static void add_sum(struct gpu_usage_sum *into, const struct gpu_usage_sum *more)
{
	into->count += more->count;
	into->bytes += more->bytes;
	into->ns = stats_add(into->ns, more->ns);
}

void gpu_top_lines_add(struct gpu_top_lines *t, enum gpu_line_role role, uint32_t stack, int64_t ns,
		       uint64_t bytes)
{
	struct row *r = stack ? pair_totals_at(&t->rows, role, stack) : NULL;

	if (!r) {
		t->failed |= stack != 0;
		return;
	}
	r->role = role;
	r->stack = stack;
	add_sum(&r->sum, &(struct gpu_usage_sum){ 1, bytes, ns });
	r->stack_ns = r->sum.ns;
}

/* The lines of a function follow each other. */
static int by_line(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order;

	if (x->role != y->role)
		return x->role < y->role ? -1 : 1;
	order = compare_texts(x->where.file, y->where.file);
	if (!order)
		order = compare_texts(x->where.name, y->where.name);
	if (!order && x->where.line != y->where.line)
		order = x->where.line < y->where.line ? -1 : 1;
	return order;
}

static void add_row(void *into, const void *from)
{
	const struct row *more = from;
	struct row *r = into;

	add_sum(&r->sum, &more->sum);
	if (more->stack_ns > r->stack_ns) {
		r->stack = more->stack;
		r->stack_ns = more->stack_ns;
	}
}

/* Where something of a role is placed. */
enum site {
	AT_LINE,  /* the innermost line of the user's */
	AT_CALL,  /* where the model is called; that line where there is none */
	AT_MODEL, /* the model's own forward(), where that does nearly all of it; else likewise */
	AT_FUNCTION, /* a line of the user's innermost function that has most of it */
	AT_INSIDE,   /* the innermost line of the user's, if it is inside of a model */
};

static const enum site sites[GPU_LINE_ROLES] = {
	[GPU_LINE_PLAIN_MATH] = AT_MODEL,     [GPU_LINE_MODEL] = AT_CALL,
	[GPU_LINE_MODEL_WAIT] = AT_INSIDE,    [GPU_LINE_SHORT_LATE] = AT_MODEL,
	[GPU_LINE_LATE_INSIDE] = AT_FUNCTION,
};

static void place(struct row *r, const struct gpu_timeline *g)
{
	struct place innermost = { 0 }, user = { 0 };
	struct model_stack model = { 0 };
	enum site site = sites[r->role];

	if (site == AT_CALL || site == AT_MODEL || site == AT_INSIDE)
		model_stack_find(&model, g, r->stack);
	if (site == AT_INSIDE && !model.caller.name)
		return;
	gpu_stack_places(g, r->stack, &innermost, &user);
	r->where = site != AT_INSIDE && model.caller.name ? model.caller : user;
	if (site == AT_MODEL)
		r->forward = model.forward;
}

static bool is_function(const struct place *a, const struct place *b)
{
	return a->name && b->name && !strcmp(a->name, b->name) && !compare_texts(a->file, b->file);
}

/*
 * The forward() that has nearly all of a role; name NULL: none.  Boyer and Moore's vote, by time,
 * finds the only one that can have.
 */
static struct place main_forward(const struct gpu_top_lines *t, enum gpu_line_role role)
{
	const struct row *rows = t->rows.items;
	struct place best = { 0 };
	int64_t lead_ns = 0, best_ns = 0, all_ns = 0;

	for (size_t i = 0; i < t->rows.count; i++) {
		const struct row *r = &rows[i];

		if (r->role != role || !r->forward.name)
			continue;
		if (is_function(&r->forward, &best)) {
			lead_ns = stats_add(lead_ns, r->sum.ns);
		} else if (r->sum.ns > lead_ns) {
			best = r->forward;
			lead_ns = r->sum.ns - lead_ns;
		} else {
			lead_ns -= r->sum.ns;
		}
	}
	for (size_t i = 0; i < t->rows.count; i++) {
		if (rows[i].role != role)
			continue;
		all_ns = stats_add(all_ns, rows[i].sum.ns);
		if (is_function(&rows[i].forward, &best))
			best_ns = stats_add(best_ns, rows[i].sum.ns);
	}
	return (double)best_ns >= NEARLY_ALL * (double)all_ns ? best : (struct place){ 0 };
}

static void prefer_forward(struct gpu_top_lines *t, enum gpu_line_role role)
{
	struct place forward = main_forward(t, role);
	struct row *rows = t->rows.items;

	for (size_t i = 0; i < t->rows.count; i++)
		if (rows[i].role == role && is_function(&rows[i].forward, &forward))
			rows[i].where = rows[i].forward;
}

/* The lines of one function in one role; returns behind them. */
static size_t take_function(const struct row *rows, size_t i, size_t count,
			    struct gpu_top_line *tops, int64_t *most_ns)
{
	const struct row *first = &rows[i];
	struct gpu_top_line *top = &tops[first->role];
	int64_t all_ns = 0;
	size_t end = i;

	for (; end < count && rows[end].role == first->role &&
	       (end == i || is_function(&rows[end].where, &first->where));
	     end++)
		all_ns = stats_add(all_ns, rows[end].sum.ns);
	for (; i < end && first->where.name; i++) {
		int64_t ns = sites[first->role] == AT_FUNCTION ? all_ns : rows[i].sum.ns;

		if (!top->where.name || ns > *most_ns ||
		    (ns == *most_ns && rows[i].sum.ns > top->sum.ns)) {
			*top = (struct gpu_top_line){ rows[i].where, rows[i].sum, rows[i].stack };
			*most_ns = ns;
		}
	}
	return end;
}

/* There are many gaps but few stacks: a gap that appears in two ways is counted once. */
static void copy_role(struct gpu_top_lines *t, enum gpu_line_role from, enum gpu_line_role to)
{
	for (size_t i = 0, n = t->rows.count; i < n; i++) {
		const struct row copy = ((struct row *)t->rows.items)[i];
		struct row *r;

		if (copy.role != from)
			continue;
		r = pair_totals_at(&t->rows, to, copy.stack);
		if (!r) {
			t->failed = true;
			return;
		}
		*r = copy;
		r->role = to;
	}
}

void gpu_top_lines_find(struct gpu_top_lines *t, const struct gpu_timeline *g,
			struct gpu_top_line *tops)
{
	int64_t most_ns[GPU_LINE_ROLES] = { 0 };
	struct row *rows;

	copy_role(t, GPU_LINE_SHORT_LATE, GPU_LINE_LATE_INSIDE);
	rows = t->rows.items;
	memset(tops, 0, GPU_LINE_ROLES * sizeof(*tops));
	for (size_t i = 0; i < t->rows.count; i++)
		place(&rows[i], g);
	for (enum gpu_line_role role = 0; role < GPU_LINE_ROLES; role++)
		if (sites[role] == AT_MODEL)
			prefer_forward(t, role);
	pair_totals_merge(&t->rows, by_line, add_row);
	for (size_t i = 0; i < t->rows.count;)
		i = take_function(rows, i, t->rows.count, tops, &most_ns[rows[i].role]);
}
