#include "analyze/cpu/nvtx_figures.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"
#include "timeline/pair_map.h"

/*
 * Rows, one for each definition, in the end one for each kind.  Until then self_ns is the
 * time of what lies inside.
 */
struct collection {
	struct analysis_nvtx_range *rows;
	size_t count, cap;
	struct pair_map row_of; /* (address of the definition, 0): its place */
};

static int compare(const struct trace_nvtx *x, const struct trace_nvtx *y)
{
	int order = strcmp(x->domain, y->domain);

	if (!order)
		order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->category_name, y->category_name);
	if (!order && x->category != y->category)
		order = x->category < y->category ? -1 : 1;
	if (!order && x->kind != y->kind)
		order = x->kind < y->kind ? -1 : 1;
	return order;
}

static int by_what(const void *a, const void *b)
{
	return compare(((const struct analysis_nvtx_range *)a)->what,
		       ((const struct analysis_nvtx_range *)b)->what);
}

static int most_time_first(const void *a, const void *b)
{
	const struct analysis_nvtx_range *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return by_what(a, b);
}

/* NULL: no memory. */
static struct analysis_nvtx_range *row_of(struct collection *c, const struct trace_nvtx *what)
{
	size_t at = pair_map_find(&c->row_of, (uintptr_t)what, 0);
	struct analysis_nvtx_range *grown;

	if (at != PAIR_NONE)
		return &c->rows[at];
	grown = array_grow(c->rows, &c->cap, c->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	c->rows = grown;
	if (pair_map_put(&c->row_of, (uintptr_t)what, 0, c->count))
		return NULL;
	grown[c->count] = (struct analysis_nvtx_range){ .what = what };
	return &grown[c->count++];
}

static int add(struct collection *c, const struct scope *range, const struct gpu_steps *gpu)
{
	struct analysis_nvtx_range *to = row_of(c, range->nvtx);
	int64_t duration_ns = range->end_ns - range->start_ns, device_ns;

	if (!to)
		return -1;
	if (!range->ended) {
		to->unended++;
		return 0;
	}
	to->count++;
	to->total_ns = stats_add(to->total_ns, duration_ns);
	if (duration_ns > to->longest_ns)
		to->longest_ns = duration_ns;
	if (gpu_steps_launched(gpu, range, &device_ns)) {
		to->gpu_count++;
		to->gpu_ns = stats_add(to->gpu_ns, device_ns);
	}
	return 0;
}

/*
 * What lies inside a range is not its own time: of one that outlives the range around it, as
 * those of another domain may, the part inside.
 */
static int take_inside(struct collection *c, const struct scope *s, const struct scope *around)
{
	struct analysis_nvtx_range *from = row_of(c, around->nvtx);
	int64_t end_ns = s->end_ns < around->end_ns ? s->end_ns : around->end_ns;

	if (!from)
		return -1;
	if (around->ended && end_ns > s->start_ns)
		from->self_ns = stats_add(from->self_ns, end_ns - s->start_ns);
	return 0;
}

static int collect(struct collection *c, const struct timeline *tl, const struct gpu_steps *gpu)
{
	for (size_t i = 0; i < timeline_scope_count(tl); i++) {
		const struct scope *s = timeline_scope(tl, i);
		const struct scope *around =
			s->parent == SCOPE_NONE ? NULL : timeline_scope(tl, s->parent);

		if ((s->nvtx && add(c, s, gpu)) ||
		    (around && around->nvtx && take_inside(c, s, around)))
			return -1;
	}
	return 0;
}

/* Processes define the same for themselves; colours make no difference here. */
static void merge(struct collection *c)
{
	size_t n = 0;

	if (c->count)
		qsort(c->rows, c->count, sizeof(*c->rows), by_what);
	for (size_t i = 0; i < c->count; i++) {
		struct analysis_nvtx_range *to = &c->rows[n ? n - 1 : 0];
		const struct analysis_nvtx_range *row = &c->rows[i];

		if (!n || compare(to->what, row->what)) {
			c->rows[n++] = *row;
			continue;
		}
		to->count += row->count;
		to->unended += row->unended;
		to->total_ns = stats_add(to->total_ns, row->total_ns);
		to->self_ns = stats_add(to->self_ns, row->self_ns);
		if (row->longest_ns > to->longest_ns)
			to->longest_ns = row->longest_ns;
		to->gpu_count += row->gpu_count;
		to->gpu_ns = stats_add(to->gpu_ns, row->gpu_ns);
	}
	c->count = n;
	for (size_t i = 0; i < n; i++) {
		int64_t inside_ns = c->rows[i].self_ns, total_ns = c->rows[i].total_ns;

		/* What lies inside may overlap where some of it belongs to asyncio tasks. */
		c->rows[i].self_ns = inside_ns < total_ns ? total_ns - inside_ns : 0;
	}
}

/* While the rows are in the order of by_what().  Marks have none. */
static void mark_throttled(struct analysis *a, const struct timeline *tl)
{
	size_t n = timeline_nvtx_throttled_count(tl);

	for (size_t i = 0; i < n && a->nvtx_count; i++) {
		const struct analysis_nvtx_range key = { .what = timeline_nvtx_throttled(tl, i) };
		struct analysis_nvtx_range *row =
			bsearch(&key, a->nvtx, a->nvtx_count, sizeof(key), by_what);

		if (row)
			row->throttled = true;
	}
	a->trust.throttled_nvtx = n;
}

int nvtx_figures_collect(struct analysis *a, const struct timeline *tl, const struct gpu_steps *gpu)
{
	struct collection c = { 0 };
	int rc;

	pair_map_init(&c.row_of);
	rc = collect(&c, tl, gpu);
	pair_map_release(&c.row_of);
	merge(&c);
	a->nvtx = c.rows; /* the analysis owns them now */
	a->nvtx_count = c.count;
	mark_throttled(a, tl);
	if (c.count)
		qsort(a->nvtx, a->nvtx_count, sizeof(*a->nvtx), most_time_first);
	return rc;
}
