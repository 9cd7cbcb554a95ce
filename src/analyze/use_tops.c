#include "analyze/use_tops.h"

#include <string.h>

#include "analyze/compare_texts.h"
#include "analyze/stats.h"
#include "timeline/user_code.h"

/* By role and stack; by role and line when they are folded. */
struct row {
	enum use_role role;
	uint32_t stack;
	struct analysis_place where;
	struct use_sum sum;
};

void use_tops_init(struct use_tops *t)
{
	gpu_tally_init(&t->rows, sizeof(struct row));
	t->failed = false;
}

void use_tops_release(struct use_tops *t)
{
	gpu_tally_release(&t->rows);
}

static void add_sum(struct use_sum *into, const struct use_sum *more)
{
	into->count += more->count;
	into->bytes += more->bytes;
	into->ns = stats_add(into->ns, more->ns);
}

void use_tops_add(struct use_tops *t, enum use_role role, uint32_t stack, int64_t ns,
		  uint64_t bytes)
{
	struct row *r = stack ? gpu_tally_at(&t->rows, role, stack) : NULL;

	if (!r) {
		t->failed |= stack != 0;
		return;
	}
	r->role = role;
	r->stack = stack;
	add_sum(&r->sum, &(struct use_sum){ 1, bytes, ns });
}

static int same_line(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order;

	if (x->role != y->role)
		return x->role < y->role ? -1 : 1;
	order = compare_texts(x->where.file, y->where.file);
	if (!order && x->where.line != y->where.line)
		order = x->where.line < y->where.line ? -1 : 1;
	return order ? order : compare_texts(x->where.name, y->where.name);
}

static void add_row(void *into, const void *from)
{
	add_sum(&((struct row *)into)->sum, &((const struct row *)from)->sum);
}

/* PyTorch's functions around the forward() of every module. */
static bool calls_a_module(const struct gpu_place *p)
{
	static const char file[] = "/torch/nn/modules/module.py";
	size_t n = p->file ? strlen(p->file) : 0;

	return n >= sizeof(file) - 1 && !strcmp(p->file + n - (sizeof(file) - 1), file) &&
	       p->function && strstr(p->function, "_call_impl");
}

/* The innermost line of the user's outside of all modules; false: there is no module. */
static bool caller_of_model(const struct gpu_timeline *g, uint32_t stack, struct gpu_place *caller)
{
	struct gpu_place p;
	size_t outermost = SIZE_MAX;

	for (size_t i = 0; gpu_stack_frame(g, stack, i, &p); i++)
		if (calls_a_module(&p))
			outermost = i;
	if (outermost == SIZE_MAX)
		return false;
	for (size_t i = outermost + 1; gpu_stack_frame(g, stack, i, &p); i++) {
		if (p.function && p.file && user_code(p.file)) {
			*caller = p;
			return true;
		}
	}
	return false;
}

static struct analysis_place place_of(const struct gpu_timeline *g, enum use_role role,
				      uint32_t stack)
{
	struct gpu_place innermost = { 0 }, user = { 0 };

	if ((role != USE_MODEL && role != USE_SHORT_LATE) || !caller_of_model(g, stack, &user))
		gpu_stack_places(g, stack, &innermost, &user);
	return (struct analysis_place){ user.function, user.file, user.line };
}

void use_tops_find(struct use_tops *t, const struct gpu_timeline *g, struct use_top *tops)
{
	struct row *rows = t->rows.items;

	memset(tops, 0, USE_ROLES * sizeof(*tops));
	for (size_t i = 0; i < t->rows.count; i++)
		rows[i].where = place_of(g, rows[i].role, rows[i].stack);
	gpu_tally_fold(&t->rows, same_line, add_row);
	for (size_t i = 0; i < t->rows.count; i++) {
		struct use_top *top = &tops[rows[i].role];

		if (rows[i].where.name && (!top->where.name || rows[i].sum.ns > top->sum.ns))
			*top = (struct use_top){ rows[i].where, rows[i].sum };
	}
}
