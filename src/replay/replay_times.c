/* One replay: every time from durations and dependencies, in one pass. */
#include <stdlib.h>
#include <string.h>

#include "replay/replay_graph.h"

int replay_times_init(struct replay_times *t, size_t count)
{
	memset(t, 0, sizeof(*t));
	t->start_ns = malloc((count + 1) * sizeof(*t->start_ns));
	t->end_ns = malloc((count + 1) * sizeof(*t->end_ns));
	t->bound = malloc(count + 1);
	return t->start_ns && t->end_ns && t->bound ? 0 : -1;
}

void replay_times_release(struct replay_times *t)
{
	free(t->start_ns);
	free(t->end_ns);
	free(t->bound);
	memset(t, 0, sizeof(*t));
}

void replay_times_run(struct replay_times *t, const struct node *nodes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct node *n = &nodes[i];
		bool host = n->kind == NODE_HOST || n->kind == NODE_ANCHOR;
		int64_t at_ns = n->prev != NODE_NONE ? t->end_ns[n->prev] : INT64_MIN;
		uint8_t bound = NODE_DEPS;

		if (host)
			at_ns = time_add(at_ns == INT64_MIN ? n->start_ns : at_ns, n->own_ns);
		else if (at_ns != INT64_MIN)
			at_ns = time_add(at_ns, n->gap_ns);
		if (n->kind == NODE_GIVEN && n->start_ns > at_ns)
			at_ns = n->start_ns;
		t->start_ns[i] = n->prev != NODE_NONE ? t->end_ns[n->prev] : n->start_ns;
		for (int k = 0; k < NODE_DEPS; k++) {
			int64_t ns;

			if (n->deps[k] == NODE_NONE)
				continue;
			ns = time_add(t->end_ns[n->deps[k]], n->lag_ns[k]);
			if (ns > at_ns) {
				at_ns = ns;
				bound = (uint8_t)k;
			}
		}
		if (host) {
			t->end_ns[i] = at_ns;
		} else {
			t->start_ns[i] = at_ns == INT64_MIN ? n->start_ns : at_ns;
			t->end_ns[i] = time_add(t->start_ns[i], n->own_ns);
		}
		t->bound[i] = bound;
	}
}

struct stretch {
	int64_t start_ns, end_ns;
};

static int by_start(const void *a, const void *b)
{
	const struct stretch *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Busy time of sorted stretches up to a moment; *at and *until_ns go on from call to call. */
static int64_t busy_until(const struct stretch *items, size_t count, int64_t from_ns, int64_t to_ns)
{
	int64_t busy_ns = 0, until_ns = from_ns;

	for (size_t i = 0; i < count && items[i].start_ns < to_ns; i++) {
		int64_t start_ns = items[i].start_ns > until_ns ? items[i].start_ns : until_ns;
		int64_t end_ns = items[i].end_ns < to_ns ? items[i].end_ns : to_ns;

		if (end_ns > start_ns) {
			busy_ns += end_ns - start_ns;
			until_ns = end_ns;
		}
	}
	return busy_ns;
}

/* Stretches that touch become one; returns how many are left. */
static size_t join(struct stretch *items, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (n && items[i].start_ns <= items[n - 1].end_ns) {
			if (items[i].end_ns > items[n - 1].end_ns)
				items[n - 1].end_ns = items[i].end_ns;
		} else {
			items[n++] = items[i];
		}
	}
	return n;
}

int replay_idle(const struct graph *g, const int64_t *start_ns, const int64_t *end_ns,
		const int64_t *step_begin_ns, const int64_t *step_end_ns, double *idle_ns)
{
	struct stretch *items = malloc((g->node_count + 1) * sizeof(*items));

	*idle_ns = 0;
	if (!items)
		return -1;
	for (size_t i = 0; i < g->window_count; i++) {
		const struct graph_window *w = &g->windows[i];
		size_t count = 0;

		for (uint32_t k = w->first; k < w->first + w->count; k++)
			if (g->nodes[k].activity != GPU_NONE)
				items[count++] = (struct stretch){ start_ns[k], end_ns[k] };
		qsort(items, count, sizeof(*items), by_start);
		count = join(items, count);
		for (uint32_t k = w->first_step; k < w->first_step + w->step_count; k++) {
			size_t at = 0;

			if (!g->steps[k].counted)
				continue;
			BISECT(at, count, items[at].end_ns <= step_begin_ns[k]);
			*idle_ns += (double)(step_end_ns[k] - step_begin_ns[k] -
					     busy_until(items + at, count - at, step_begin_ns[k],
							step_end_ns[k]));
		}
	}
	free(items);
	return 0;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

double graph_backlog_ns(const struct graph *g, const struct replay_times *t,
			const struct graph_window *w, uint32_t *last)
{
	int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN, before_ns, behind_ns;
	size_t counted = 0;

	for (uint32_t k = w->first_step; k < w->first_step + w->step_count; k++) {
		int64_t begins_ns = t->end_ns[g->steps[k].begin];

		if (!g->steps[k].counted)
			continue;
		counted++;
		begin_ns = begins_ns < begin_ns ? begins_ns : begin_ns;
		end_ns = later(end_ns, t->end_ns[g->steps[k].end]);
	}
	before_ns = begin_ns;
	behind_ns = end_ns;
	if (!counted)
		return 0;
	for (uint32_t i = w->first; i < w->first + w->count; i++) {
		uint32_t launch = g->nodes[i].deps[DEP_LAUNCH];

		if (g->nodes[i].activity == GPU_NONE)
			continue;
		if (launch == NODE_NONE || t->end_ns[launch] <= begin_ns)
			before_ns = later(before_ns, t->end_ns[i]);
		if (t->end_ns[i] > behind_ns && last)
			*last = i;
		behind_ns = later(behind_ns, t->end_ns[i]);
	}
	return ((double)(behind_ns - end_ns) - (double)(before_ns - begin_ns)) / (double)counted;
}

/* Of the steps: less is a kernel that the next step finds to be done. */
#define BEHIND_SHARE 0.05

bool graph_is_behind(const struct graph *g, const struct replay_times *t)
{
	double behind_ns = 0, steps_ns = 0;

	for (size_t i = 0; i < g->window_count; i++) {
		const struct graph_window *w = &g->windows[i];
		double ns = graph_backlog_ns(g, t, w, NULL);

		for (uint32_t k = w->first_step; k < w->first_step + w->step_count; k++) {
			steps_ns +=
				(double)(t->end_ns[g->steps[k].end] - t->end_ns[g->steps[k].begin]);
			behind_ns += ns > 0 ? ns : 0;
		}
	}
	return behind_ns > BEHIND_SHARE * steps_ns;
}
