#include "replay/replay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "replay/replay_graph.h"

#define RESAMPLES 400u
#define INTERVAL 0.8
#define FEW_STEPS 5u

struct replay {
	struct graph graph;
	struct replay_times times; /* unchanged */
	double *steps_ns;          /* likewise, by step */
	double idle_ns;
	struct replay_quality quality;
};

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(double *values, size_t n)
{
	if (!n)
		return 0;
	qsort(values, n, sizeof(*values), by_value);
	return values[(n - 1) / 2];
}

/* The time of each step, and what it leaves to the device. */
static void measure_steps(const struct graph *g, const struct replay_times *t, double *steps_ns)
{
	for (size_t i = 0; i < g->window_count; i++) {
		const struct graph_window *w = &g->windows[i];
		double more_ns = graph_backlog_ns(g, t, w, NULL);

		for (uint32_t k = w->first_step; k < w->first_step + w->step_count; k++)
			steps_ns[k] = (double)(t->end_ns[g->steps[k].end] -
					       t->end_ns[g->steps[k].begin]) +
				      (more_ns > 0 ? more_ns : 0);
	}
}

/* Idle time in the counted steps of a replay.  -1: no memory. */
static int measure_idle(const struct graph *g, const struct replay_times *t, double *idle_ns)
{
	int64_t *begin_ns = malloc((g->step_count + 1) * sizeof(*begin_ns));
	int64_t *end_ns = malloc((g->step_count + 1) * sizeof(*end_ns));
	int rc = -1;

	if (begin_ns && end_ns) {
		for (size_t k = 0; k < g->step_count; k++) {
			begin_ns[k] = t->end_ns[g->steps[k].begin];
			end_ns[k] = t->end_ns[g->steps[k].end];
		}
		rc = replay_idle(g, t->start_ns, t->end_ns, begin_ns, end_ns, idle_ns);
	}
	free(begin_ns);
	free(end_ns);
	return rc;
}

/* The times as they were measured: a replay's that is not one. */
static int measured_times(struct replay_times *t, const struct graph *g)
{
	if (replay_times_init(t, g->node_count))
		return -1;
	for (size_t i = 0; i < g->node_count; i++) {
		t->start_ns[i] = g->nodes[i].start_ns;
		t->end_ns[i] = g->nodes[i].end_ns;
		t->bound[i] = NODE_DEPS;
	}
	return 0;
}

static bool has_device(const struct graph *g)
{
	for (size_t i = 0; i < g->node_count; i++)
		if (g->nodes[i].activity != GPU_NONE)
			return true;
	return false;
}

static double unknown_ns(const struct graph *g)
{
	double ns = 0;

	for (size_t k = 0; k < g->step_count; k++)
		for (uint32_t i = g->steps[k].end; i != g->steps[k].begin && i != NODE_NONE;
		     i = g->nodes[i].prev)
			if (g->steps[k].counted && g->nodes[i].unknown)
				ns += (double)(g->nodes[i].end_ns - g->nodes[i].start_ns);
	return ns;
}

/* Compares the graph as it is with what was measured. */
static int measure_quality(struct replay *r, const struct replay_times *measured)
{
	const struct graph *g = &r->graph;
	struct replay_quality *q = &r->quality;
	double *errors = malloc((g->step_count + 1) * sizeof(*errors));
	double *steps_ns = malloc((g->step_count + 1) * sizeof(*steps_ns));
	double idle_ns = 0, sum_ns = 0;
	int rc = -1;

	if (!errors || !steps_ns || measure_idle(g, measured, &idle_ns) ||
	    measure_idle(g, &r->times, &r->idle_ns))
		goto out;
	measure_steps(g, measured, steps_ns);
	for (size_t k = 0; k < g->step_count; k++) {
		if (!g->steps[k].counted || steps_ns[k] <= 0)
			continue;
		errors[q->steps++] = fabs(r->steps_ns[k] - steps_ns[k]) / steps_ns[k];
		sum_ns += steps_ns[k];
	}
	q->behind = graph_is_behind(g, &r->times);
	q->step_error = median(errors, q->steps);
	q->gpu = has_device(g);
	if (q->steps) {
		q->step_ns = sum_ns / (double)q->steps;
		q->unknown_share = unknown_ns(g) / sum_ns;
	}
	if (q->gpu && q->steps) {
		q->idle_ns = idle_ns / (double)q->steps;
		q->idle_error = idle_ns > 0 ? fabs(r->idle_ns - idle_ns) / idle_ns : 0;
	}
	rc = 0;
out:
	free(errors);
	free(steps_ns);
	return rc;
}

int replay_new(struct replay **out, const struct analysis *a, struct err *err)
{
	struct replay *r = calloc(1, sizeof(*r));
	struct replay_times measured = { 0 };
	int rc = -1;

	if (!r)
		return err_set(err, "out of memory");
	if (!graph_build(&r->graph, a)) {
		const struct graph *g = &r->graph;

		r->steps_ns = malloc((g->step_count + 1) * sizeof(*r->steps_ns));
		if (r->steps_ns && !replay_times_init(&r->times, g->node_count) &&
		    !measured_times(&measured, g)) {
			replay_times_run(&r->times, g->nodes, g->node_count);
			measure_steps(g, &r->times, r->steps_ns);
			rc = measure_quality(r, &measured);
		}
	}
	replay_times_release(&measured);
	if (rc) {
		replay_free(r);
		return err_set(err, "out of memory");
	}
	*out = r;
	return 0;
}

void replay_free(struct replay *r)
{
	if (!r)
		return;
	graph_release(&r->graph);
	replay_times_release(&r->times);
	free(r->steps_ns);
	free(r);
}

const struct replay_quality *replay_quality(const struct replay *r)
{
	return &r->quality;
}

int replay_critical_path(const struct replay *r, struct analysis_critical_path *out,
			 struct err *err)
{
	memset(out, 0, sizeof(*out));
	out->gpu = r->quality.gpu;
	out->step_error = r->quality.step_error;
	out->idle_error = r->quality.idle_error;
	if (graph_path_find(&r->graph, &r->times, out)) {
		critical_path_release(out);
		return err_set(err, "out of memory");
	}
	return 0;
}

void replay_names(const struct replay *r, enum replay_edit_kind kind,
		  void (*tell)(void *ctx, const char *name), void *ctx)
{
	graph_names(&r->graph, kind, tell, ctx);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/*
 * The interval that holds 80 % of the means of as many steps, drawn with replacement; of few steps
 * from the least to the most.  The same steps always give the same.
 */
static void resample(const double *values, size_t n, double *low, double *high)
{
	double means[RESAMPLES];
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15);

	for (size_t i = 0; i < RESAMPLES; i++) {
		double sum = 0;

		for (size_t k = 0; k < n; k++)
			sum += values[next_random(&state) % n];
		means[i] = sum / (double)n;
	}
	qsort(means, RESAMPLES, sizeof(*means), by_value);
	*low = means[(size_t)(RESAMPLES * (1 - INTERVAL) / 2)];
	*high = means[(size_t)(RESAMPLES * (1 + INTERVAL) / 2) - 1];
	for (size_t k = 0; k < n && n < FEW_STEPS; k++) {
		*low = values[k] < *low ? values[k] : *low;
		*high = values[k] > *high ? values[k] : *high;
	}
}

/*
 * Beyond what steps differ by: as much as the graph does not explain of a step, and of the saving
 * the share that waits of unknown cause may take back.
 */
static void widen(struct replay_result *out, const struct replay_quality *q)
{
	double model = q->step_error * fabs(out->saving_ns);
	double unknown = q->unknown_share * fabs(out->saving_ns);

	out->low_ns -= model + unknown;
	out->high_ns += model;
}

/* Savings step by step, in `savings`; the result's means. */
static void compare(const struct replay *r, const double *steps_ns, double *savings,
		    struct replay_result *out)
{
	const struct graph *g = &r->graph;
	size_t n = 0;

	for (size_t k = 0; k < g->step_count; k++) {
		if (!g->steps[k].counted)
			continue;
		savings[n++] = r->steps_ns[k] - steps_ns[k];
		out->unchanged_ns += r->steps_ns[k];
		out->predicted_ns += steps_ns[k];
	}
	out->steps = n;
	if (!n)
		return;
	out->unchanged_ns /= (double)n;
	out->predicted_ns /= (double)n;
	out->saving_ns = out->unchanged_ns - out->predicted_ns;
	out->measured_ns = r->quality.step_ns;
	resample(savings, n, &out->low_ns, &out->high_ns);
	widen(out, &r->quality);
}

static int predict(const struct replay *r, struct plan *p, const struct replay_edit *edits,
		   size_t count, struct replay_result *out)
{
	const struct graph *g = &r->graph;
	struct replay_times times = { 0 };
	double *steps_ns = calloc(g->step_count + 1, sizeof(*steps_ns));
	double *savings = malloc((g->step_count + 1) * sizeof(*savings));
	double idle_ns = 0;
	int rc = -1;

	if (!steps_ns || !savings || replay_times_init(&times, g->node_count))
		goto out;
	if (g->node_count)
		memcpy(p->nodes, g->nodes, g->node_count * sizeof(*p->nodes));
	for (size_t i = 0; i < count; i++) {
		double touched_ns = p->touched_ns;

		edit_apply(p, &edits[i]);
		if (p->failed)
			goto out;
		if (p->touched_ns <= touched_ns && out->missed == count)
			out->missed = i;
	}
	replay_times_run(&times, p->nodes, g->node_count);
	measure_steps(g, &times, steps_ns);
	compare(r, steps_ns, savings, out);
	if (r->quality.gpu && out->steps) {
		if (measure_idle(g, &times, &idle_ns))
			goto out;
		out->idle_ns = r->idle_ns / (double)out->steps;
		out->idle_predicted_ns = idle_ns / (double)out->steps;
	}
	if (g->step_count)
		out->touched_ns = p->touched_ns / (double)g->step_count;
	rc = 0;
out:
	free(steps_ns);
	free(savings);
	replay_times_release(&times);
	return rc;
}

int replay_predict(const struct replay *r, const struct replay_edit *edits, size_t count,
		   struct replay_result *result, struct err *err)
{
	const struct graph *g = &r->graph;
	struct plan p = {
		.graph = g,
		.nodes = malloc((g->node_count + 1) * sizeof(*p.nodes)),
		.matched = calloc(g->log->place_count + 1, sizeof(*p.matched)),
	};
	int rc = -1;

	*result = (struct replay_result){ .missed = count };
	if (p.nodes && p.matched)
		rc = predict(r, &p, edits, count, result);
	free(p.nodes);
	free(p.matched);
	return rc ? err_set(err, "out of memory") : 0;
}
