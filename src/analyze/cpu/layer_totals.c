#include "analyze/cpu/layer_totals.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"

static const struct layer_call nothing = {
	.totals = LAYER_NONE,
	.first = GPU_NONE,
	.last = GPU_NONE,
};

void layer_totals_init(struct layer_totals *c, const struct trace *t,
		       const struct analysis_gpu *gpu)
{
	memset(c, 0, sizeof(*c));
	c->trace = t;
	c->gpu = gpu;
	c->outside = nothing;
	pair_map_init(&c->index);
}

void layer_totals_release(struct layer_totals *c)
{
	free(c->items);
	free(c->idle_ns);
	pair_map_release(&c->index);
	memset(c, 0, sizeof(*c));
}

void analysis_layers_release(struct analysis_layers *l)
{
	free(l->items);
	arena_release(&l->texts);
	memset(l, 0, sizeof(*l));
}

void layer_figures_add(struct layer_figures *to, const struct layer_figures *more)
{
	to->calls += more->calls;
	to->kernels += more->kernels;
	to->self_kernels += more->self_kernels;
	to->cpu_ns = stats_add(to->cpu_ns, more->cpu_ns);
	to->self_cpu_ns = stats_add(to->self_cpu_ns, more->self_cpu_ns);
	to->gpu_ns = stats_add(to->gpu_ns, more->gpu_ns);
	to->self_gpu_ns = stats_add(to->self_gpu_ns, more->self_gpu_ns);
	to->launch_gap_ns = stats_add(to->launch_gap_ns, more->launch_gap_ns);
}

/*
 * Activities lie in order of their start, process by process.  Between the first and the
 * last of any set of them the device was idle for the difference of these two sums: from
 * the start of the last on, one of the set runs until all have ended.
 */
static int sum_idle(struct layer_totals *c)
{
	const struct gpu_timeline *g = c->gpu->timeline;
	const struct gpu_section *section = NULL;
	size_t n = g ? gpu_activity_count(g) : 0;
	int64_t idle_ns = 0, until_ns = 0;
	uint32_t process = 0;
	bool any = false;

	c->idle_ns = calloc(n + 1, sizeof(*c->idle_ns));
	if (!c->idle_ns)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct gpu_activity *a = gpu_activity(g, i);

		if (!i || process != gpu_activity_work(g, a)->process) {
			process = gpu_activity_work(g, a)->process;
			section = gpu_section_find(c->gpu, process);
			idle_ns = 0;
			any = false;
		}
		if (!a->timed)
			continue;
		if (any && section)
			idle_ns = stats_add(idle_ns, gpu_length(until_ns, a->start_ns) -
							     gpu_paused_between(section, until_ns,
										a->start_ns));
		c->idle_ns[i] = idle_ns;
		if (!any || a->end_ns > until_ns)
			until_ns = a->end_ns;
		any = true;
	}
	return 0;
}

static void add_time(struct layer_call *to, const struct gpu_timeline *g,
		     const struct gpu_activity *a)
{
	bool kernel = gpu_activity_work(g, a)->kind == GPU_KERNEL;

	to->kernels += kernel;
	to->self_kernels += kernel;
	if (!a->timed)
		return;
	to->gpu_ns = stats_add(to->gpu_ns, gpu_length(a->start_ns, a->end_ns));
	to->self_gpu_ns = stats_add(to->self_gpu_ns, gpu_length(a->start_ns, a->end_ns));
}

static void add_activity(struct layer_call *to, const struct gpu_timeline *g, size_t index)
{
	const struct gpu_activity *a = gpu_activity(g, index);

	add_time(to, g, a);
	if (!a->timed)
		return;
	if (to->first == GPU_NONE || index < to->first)
		to->first = index;
	if (to->last == GPU_NONE || index > to->last)
		to->last = index;
}

static bool is_before(size_t thread, int64_t time_ns, size_t other, int64_t other_ns)
{
	return thread < other || (thread == other && time_ns < other_ns);
}

static struct layer_call *innermost(struct layer_totals *c, size_t thread)
{
	return thread == c->thread && c->depth ? &c->calls[c->depth - 1] : &c->outside;
}

static bool is_captured(const struct gpu_timeline *g, size_t activity)
{
	return gpu_activity_work(g, gpu_activity(g, activity))->capture != GPU_NONE;
}

/* A call that was captured leaves no gaps: its nodes run once, or a thousand times, later. */
static void take_captures(struct layer_totals *c, size_t thread, int64_t time_ns)
{
	const struct gpu_timeline *g = c->gpu->timeline;

	for (; c->next_capture < gpu_capture_count(g); c->next_capture++) {
		const struct gpu_capture *made = gpu_capture(g, c->next_capture);

		if (!is_before(made->thread, made->time_ns, thread, time_ns))
			break;
		for (size_t i = 0; i < made->activities; i++)
			add_time(innermost(c, made->thread), g,
				 gpu_activity(g, gpu_capture_activity(g, made, i)));
	}
}

/* Hands the calls that begin before a moment to the innermost layer that is open. */
static void take_calls(struct layer_totals *c, size_t thread, int64_t time_ns)
{
	const struct gpu_timeline *g = c->gpu->timeline;

	if (!g) /* layers that are not defined anywhere: a hostile file */
		return;
	take_captures(c, thread, time_ns);
	while (c->next_call < gpu_call_count(g)) {
		const struct gpu_call *call = gpu_call(g, c->next_call);
		uint32_t of = gpu_call_api(g, call)->thread;

		if (!is_before(of, call->start_ns, thread, time_ns))
			break;
		for (size_t i = 0; i < gpu_call_activities(g, call); i++) {
			size_t activity = gpu_call_activity(g, call, i);

			if (!is_captured(g, activity))
				add_activity(innermost(c, of), g, activity);
		}
		c->next_call++;
	}
}

static size_t sums_of(struct layer_totals *c, size_t thread, uint32_t id, int64_t time_ns)
{
	uint32_t process = trace_thread(c->trace, thread)->process;
	size_t at = pair_map_find(&c->index, process, id);
	struct layer_sums *grown;

	if (at != PAIR_NONE) {
		if (time_ns < c->items[at].first_ns) /* in a thread that was walked later */
			c->items[at].first_ns = time_ns;
		return at;
	}
	grown = array_grow(c->items, &c->cap, c->count + 1, sizeof(*grown));
	if (grown)
		c->items = grown;
	if (!grown || pair_map_put(&c->index, process, id, c->count)) {
		c->failed = true;
		return LAYER_NONE;
	}
	grown[c->count] = (struct layer_sums){
		.process = process,
		.id = id,
		.around = c->depth ? c->calls[c->depth - 1].totals : LAYER_NONE,
		.first_ns = time_ns,
	};
	return c->count++;
}

void layer_totals_begin(struct layer_totals *c, size_t thread, uint32_t depth, uint32_t id,
			int64_t time_ns)
{
	struct layer_call *call = &c->calls[depth];

	c->thread = thread;
	c->depth = depth;
	if (!c->idle_ns && sum_idle(c))
		c->failed = true;
	take_calls(c, thread, time_ns);
	*call = nothing;
	call->totals = sums_of(c, thread, id, time_ns);
	if (call->totals != LAYER_NONE)
		c->items[call->totals].open++;
	c->depth = depth + 1;
}

/* What a call launched is launched by the one around it, too. */
static void add_inside(struct layer_call *around, const struct layer_call *inside)
{
	around->kernels += inside->kernels;
	around->gpu_ns = stats_add(around->gpu_ns, inside->gpu_ns);
	if (inside->first == GPU_NONE)
		return;
	if (around->first == GPU_NONE || inside->first < around->first)
		around->first = inside->first;
	if (around->last == GPU_NONE || inside->last > around->last)
		around->last = inside->last;
}

static void add_call(struct layer_totals *c, const struct layer_call *call,
		     const struct layer_span *s)
{
	struct layer_sums *t = &c->items[call->totals];
	struct layer_figures *sum = &t->sum;

	sum->calls++;
	sum->self_cpu_ns = stats_add(sum->self_cpu_ns, s->self_ns);
	sum->self_gpu_ns = stats_add(sum->self_gpu_ns, call->self_gpu_ns);
	sum->self_kernels += call->self_kernels;
	if (--t->open)
		return;
	sum->cpu_ns = stats_add(sum->cpu_ns, s->end_ns - s->start_ns);
	sum->gpu_ns = stats_add(sum->gpu_ns, call->gpu_ns);
	sum->kernels += call->kernels;
	if (call->first != GPU_NONE && c->idle_ns)
		sum->launch_gap_ns = stats_add(sum->launch_gap_ns,
					       c->idle_ns[call->last] - c->idle_ns[call->first]);
}

void layer_totals_end(struct layer_totals *c, const struct layer_span *s)
{
	const struct layer_call *call = &c->calls[s->depth];

	take_calls(c, s->thread, s->end_ns);
	c->depth = s->depth;
	if (c->depth)
		add_inside(&c->calls[c->depth - 1], call);
	if (call->totals != LAYER_NONE)
		add_call(c, call, s);
}

void layer_totals_drop(struct layer_totals *c, uint32_t depth)
{
	const struct layer_call *call = &c->calls[depth];
	struct layer_call *to = depth ? &c->calls[depth - 1] : &c->outside;

	add_inside(to, call);
	to->self_kernels += call->self_kernels;
	to->self_gpu_ns = stats_add(to->self_gpu_ns, call->self_gpu_ns);
	if (call->totals != LAYER_NONE)
		c->items[call->totals].open--;
	c->depth--;
	memmove(&c->calls[depth], &c->calls[depth + 1], (c->depth - depth) * sizeof(*call));
}

/* One of which no call was recorded is not known to be in this process. */
void layer_totals_merge(struct layer_totals *c, size_t thread, uint32_t id)
{
	size_t at = pair_map_find(&c->index, trace_thread(c->trace, thread)->process, id);

	if (at != PAIR_NONE)
		c->items[at].folded = true;
}

int layer_totals_finish(struct layer_totals *c, struct analysis_layers *out)
{
	const struct gpu_timeline *g = c->gpu->timeline;

	arena_init(&out->texts);
	if (c->failed)
		return -1;
	c->depth = 0;
	take_calls(c, SIZE_MAX, INT64_MAX);
	for (size_t i = 0; i < gpu_activity_count(g); i++) {
		if (!gpu_activity(g, i)->linked && !is_captured(g, i))
			add_activity(&c->outside, g, i);
	}
	out->outside_gpu_ns = c->outside.self_gpu_ns;
	out->outside_kernels = c->outside.self_kernels;
	return layer_tree_build(out, c);
}
