#include "analyze/nvtx_figures.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stats.h"

/* A range, and the time of what lies directly inside it. */
struct row {
	const struct scope *range;
	int64_t inside_ns;
};

static int compare(const struct trace_nvtx *x, const struct trace_nvtx *y)
{
	int order;

	if (x == y)
		return 0;
	order = strcmp(x->domain, y->domain);
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

static int alike_together(const void *a, const void *b)
{
	return compare(((const struct row *)a)->range->nvtx, ((const struct row *)b)->range->nvtx);
}

static int most_time_first(const void *a, const void *b)
{
	const struct analysis_nvtx_range *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	return compare(x->what, y->what);
}

/* Of a range that outlives the one around it, as those of another domain may, the part inside. */
static void count_inside(int64_t *inside_ns, const struct timeline *tl)
{
	for (size_t i = 0; i < timeline_scope_count(tl); i++) {
		const struct scope *s = timeline_scope(tl, i), *around;
		int64_t end_ns = s->end_ns;

		if (s->parent == SCOPE_NONE)
			continue;
		around = timeline_scope(tl, s->parent);
		if (end_ns > around->end_ns)
			end_ns = around->end_ns;
		if (end_ns > s->start_ns)
			inside_ns[s->parent] =
				stats_add(inside_ns[s->parent], end_ns - s->start_ns);
	}
}

static size_t collect_rows(struct row *rows, const int64_t *inside_ns, const struct timeline *tl)
{
	size_t n = 0;

	for (size_t i = 0; i < timeline_scope_count(tl); i++) {
		const struct scope *s = timeline_scope(tl, i);

		if (s->nvtx)
			rows[n++] = (struct row){ s, inside_ns[i] };
	}
	return n;
}

static void add(struct analysis_nvtx_range *to, const struct row *row, const struct gpu_steps *gpu)
{
	int64_t duration_ns = row->range->end_ns - row->range->start_ns, device_ns;

	if (!row->range->ended) {
		to->unended++;
		return;
	}
	to->count++;
	to->total_ns = stats_add(to->total_ns, duration_ns);
	/* What lies inside may overlap where some of it belongs to asyncio tasks. */
	if (row->inside_ns < duration_ns)
		to->self_ns = stats_add(to->self_ns, duration_ns - row->inside_ns);
	if (duration_ns > to->longest_ns)
		to->longest_ns = duration_ns;
	if (gpu_steps_launched(gpu, row->range, &device_ns)) {
		to->gpu_count++;
		to->gpu_ns = stats_add(to->gpu_ns, device_ns);
	}
}

static int by_what(const void *a, const void *b)
{
	return compare(((const struct analysis_nvtx_range *)a)->what,
		       ((const struct analysis_nvtx_range *)b)->what);
}

/* While the rows are in the order of alike_together().  Marks have none. */
static void mark_left_out(struct analysis *a, const struct timeline *tl)
{
	size_t n = timeline_nvtx_left_out_count(tl);

	for (size_t i = 0; i < n; i++) {
		const struct analysis_nvtx_range key = { .what = timeline_nvtx_left_out(tl, i) };
		struct analysis_nvtx_range *row =
			bsearch(&key, a->nvtx, a->nvtx_count, sizeof(key), by_what);

		if (row)
			row->left_out = true;
	}
	a->trust.left_out_nvtx = n;
}

int nvtx_figures_collect(struct analysis *a, const struct timeline *tl, const struct gpu_steps *gpu)
{
	size_t count = timeline_scope_count(tl), n;
	int64_t *inside_ns = calloc(count + 1, sizeof(*inside_ns));
	struct row *rows = calloc(count + 1, sizeof(*rows));
	int rc = -1;

	if (!inside_ns || !rows)
		goto out;
	count_inside(inside_ns, tl);
	n = collect_rows(rows, inside_ns, tl);
	qsort(rows, n, sizeof(*rows), alike_together);
	a->nvtx = calloc(n + 1, sizeof(*a->nvtx));
	if (!a->nvtx)
		goto out;
	for (size_t i = 0; i < n; i++) {
		if (!i || alike_together(&rows[i - 1], &rows[i]))
			a->nvtx[a->nvtx_count++].what = rows[i].range->nvtx;
		add(&a->nvtx[a->nvtx_count - 1], &rows[i], gpu);
	}
	mark_left_out(a, tl);
	qsort(a->nvtx, a->nvtx_count, sizeof(*a->nvtx), most_time_first);
	rc = 0;
out:
	free(inside_ns);
	free(rows);
	return rc;
}
