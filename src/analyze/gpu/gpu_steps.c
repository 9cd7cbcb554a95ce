#include "analyze/gpu/gpu_steps.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"

enum column { BUSY, IDLE, KERNELS, COPIES, H2D, D2H, LAUNCHED, COLUMNS };

static int64_t clamp(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

/* Is the second, which begins inside the first on the same thread, a part of it? */
static bool is_part(const struct timeline *tl, size_t outer, size_t inner)
{
	const struct scope *o = timeline_scope(tl, outer), *i = timeline_scope(tl, inner);

	if (scope_is_apart(o))
		return i->end_ns <= o->end_ns;
	if (i->parent == outer)
		return true;
	/*
	 * What runs in no task goes on only when the event loop inside it is done.  NVTX does not
	 * know tasks: what is pushed and popped inside one is taken to be its.
	 */
	return ((!o->task && i->task) || i->nvtx) && i->end_ns <= o->end_ns;
}

/*
 * Scopes that overlap on a thread without one being inside the other belong to
 * several asyncio tasks: all that touch each other are marked.  Those that stand
 * apart are compared with each other only.  `open` is room for
 * as many as there are scopes: a stack of those around the moment, by index.
 */
static void mark_interleaved(bool *marks, size_t *open, const struct timeline *tl, bool apart)
{
	size_t n = timeline_scope_count(tl);

	for (size_t i = 0, next; i < n; i = next) {
		int64_t end_ns = timeline_scope(tl, i)->end_ns;
		size_t depth = 1;
		bool mixed = false;

		next = i + 1;
		if (scope_is_apart(timeline_scope(tl, i)) != apart)
			continue;
		open[0] = i;
		for (; next < n; next++) {
			const struct scope *s = timeline_scope(tl, next);

			if (s->thread != timeline_scope(tl, i)->thread || s->start_ns >= end_ns)
				break;
			if (scope_is_apart(s) != apart)
				continue;
			while (depth && timeline_scope(tl, open[depth - 1])->end_ns <= s->start_ns)
				depth--;
			mixed |= depth && !is_part(tl, open[depth - 1], next);
			open[depth++] = next;
			if (s->end_ns > end_ns)
				end_ns = s->end_ns;
		}
		for (size_t k = i; mixed && k < next; k++)
			marks[k] |= scope_is_apart(timeline_scope(tl, k)) == apart;
	}
}

#define MARK_EACH 32u /* calls and activities */

static void add_launched(struct gpu_launched *sum, const struct gpu_timeline *g,
			 const struct gpu_activity *a)
{
	const struct gpu_work *w = gpu_activity_work(g, a);

	sum->kernels += w->kind == GPU_KERNEL;
	sum->copies += w->kind == GPU_COPY;
	if (w->kind == GPU_COPY && w->copy == GPU_COPY_HOST_TO_DEVICE)
		sum->h2d_bytes += w->bytes;
	else if (w->kind == GPU_COPY && w->copy == GPU_COPY_DEVICE_TO_HOST)
		sum->d2h_bytes += w->bytes;
	if (a->timed)
		sum->device_ns = stats_add(sum->device_ns, gpu_length(a->start_ns, a->end_ns));
}

static void add_call(struct gpu_launched *sum, const struct gpu_timeline *g, size_t call)
{
	const struct gpu_call *c = gpu_call(g, call);

	for (size_t i = 0; i < gpu_call_activities(g, c); i++)
		add_launched(sum, g, gpu_activity(g, gpu_call_activity(g, c, i)));
}

/*
 * A mark stands behind every so many calls and activities: one that follows a call with many of
 * these is never far from the next call.  -1: no memory.
 */
static int mark_launches(struct gpu_steps *s, const struct gpu_timeline *g)
{
	struct gpu_launched sum = { 0 };
	size_t n = gpu_call_count(g), passed = MARK_EACH, cap = 0;

	for (size_t i = 0; i <= n; i++) {
		if (passed >= MARK_EACH) {
			struct launch_mark *grown =
				array_grow(s->marks, &cap, s->mark_count + 1, sizeof(*grown));

			if (!grown)
				return -1;
			s->marks = grown;
			grown[s->mark_count++] = (struct launch_mark){ i, sum };
			passed = 0;
		}
		if (i == n)
			break;
		add_call(&sum, g, i);
		passed += 1 + (size_t)gpu_call_activities(g, gpu_call(g, i));
	}
	return 0;
}

/* What all calls before one of them launched. */
static struct gpu_launched launched_before(const struct gpu_steps *s, size_t call)
{
	struct gpu_launched sum;
	size_t at = 0;

	BISECT(at, s->mark_count, s->marks[at].call <= call);
	sum = s->marks[at - 1].before; /* the first is at the first call */
	for (size_t i = s->marks[at - 1].call; i < call; i++)
		add_call(&sum, s->gpu->timeline, i);
	return sum;
}

/* ... those of a thread before a moment, and of the threads before it. */
static struct gpu_launched launched_until(const struct gpu_steps *s, size_t thread, int64_t time_ns)
{
	return launched_before(s, gpu_call_find(s->gpu->timeline, thread, time_ns));
}

int gpu_steps_init(struct gpu_steps *s, const struct analysis_gpu *gpu, const struct timeline *tl)
{
	size_t scopes = timeline_scope_count(tl);
	size_t *open = calloc(scopes + 1, sizeof(*open));
	int rc = -1;

	*s = (struct gpu_steps){
		.gpu = gpu,
		.timeline = tl,
		.interleaved = calloc(scopes + 1, sizeof(*s->interleaved)),
	};
	if (open && s->interleaved && !mark_launches(s, gpu->timeline)) {
		rc = 0;
		mark_interleaved(s->interleaved, open, tl, false);
		mark_interleaved(s->interleaved, open, tl, true);
	}
	free(open);
	return rc;
}

void gpu_steps_release(struct gpu_steps *s)
{
	free(s->marks);
	free(s->interleaved);
	memset(s, 0, sizeof(*s));
}

struct sheet {
	int64_t *columns[COLUMNS];
	size_t steps, launches; /* rows in BUSY and IDLE; in the others */
};

static void measure(const struct gpu_section *section, const struct scope *scope,
		    struct sheet *sheet)
{
	size_t row = sheet->steps++;
	int64_t busy_ns = gpu_busy_between(section, scope->start_ns, scope->end_ns);

	sheet->columns[BUSY][row] = busy_ns;
	sheet->columns[IDLE][row] = gpu_length(scope->start_ns, scope->end_ns) - busy_ns;
}

static void measure_launches(const struct gpu_steps *s, const struct scope *scope,
			     struct sheet *sheet)
{
	const struct gpu_launched begin = launched_until(s, scope->thread, scope->start_ns);
	const struct gpu_launched end = launched_until(s, scope->thread, scope->end_ns);
	size_t row = sheet->launches++;

	sheet->columns[KERNELS][row] = clamp(end.kernels - begin.kernels);
	sheet->columns[COPIES][row] = clamp(end.copies - begin.copies);
	sheet->columns[H2D][row] = clamp(end.h2d_bytes - begin.h2d_bytes);
	sheet->columns[D2H][row] = clamp(end.d2h_bytes - begin.d2h_bytes);
	sheet->columns[LAUNCHED][row] = end.device_ns - begin.device_ns;
}

static int64_t median(int64_t *values, size_t n)
{
	stats_sort(values, n);
	return n ? stats_percentile(values, n, 0.5) : 0;
}

static void fill(struct gpu_step_figures *out, const struct sheet *sheet)
{
	size_t n = sheet->launches;

	out->steps = sheet->steps;
	out->busy_ns = median(sheet->columns[BUSY], sheet->steps);
	out->idle_ns = median(sheet->columns[IDLE], sheet->steps);
	out->launches_known = n > 0;
	out->kernels = (uint64_t)median(sheet->columns[KERNELS], n);
	out->copies = (uint64_t)median(sheet->columns[COPIES], n);
	out->h2d_bytes = (uint64_t)median(sheet->columns[H2D], n);
	out->d2h_bytes = (uint64_t)median(sheet->columns[D2H], n);
	out->launched_ns = median(sheet->columns[LAUNCHED], n);
}

/* Steps that were found are no scopes of the timeline, and those of a thread do not interleave. */
bool gpu_steps_interleaved(const struct gpu_steps *s, const struct scope *scope)
{
	size_t n = timeline_scope_count(s->timeline);
	const struct scope *first = n ? timeline_scope(s->timeline, 0) : NULL;

	/* They lie in one array. */
	return n && scope >= first && scope < first + n && s->interleaved[scope - first];
}

int gpu_steps_measure(const struct gpu_steps *s, const struct step_scope *series, size_t n,
		      size_t skip, struct gpu_step_figures *out)
{
	const struct gpu_section *section = gpu_section_find(s->gpu, series[0].scope->process);
	struct sheet sheet = { 0 };
	int64_t *values;

	memset(out, 0, sizeof(*out));
	if (!section)
		return 0;
	values = calloc(n, sizeof(*values) * COLUMNS);
	if (!values)
		return -1;
	for (size_t i = 0; i < COLUMNS; i++)
		sheet.columns[i] = values + i * n;
	for (size_t i = 0; i < n; i++) {
		const struct scope *scope = series[i].scope;

		if (!scope->ended)
			continue;
		if (skip) {
			skip--;
			continue;
		}
		if (gpu_paused_between(section, scope->start_ns, scope->end_ns))
			continue;
		measure(section, scope, &sheet);
		if (!gpu_steps_interleaved(s, scope))
			measure_launches(s, scope, &sheet);
	}
	fill(out, &sheet);
	free(values);
	return 0;
}

bool gpu_steps_launched(const struct gpu_steps *s, const struct scope *scope, int64_t *device_ns)
{
	const struct gpu_section *section = gpu_section_find(s->gpu, scope->process);

	*device_ns = 0;
	if (!section || gpu_steps_interleaved(s, scope) ||
	    gpu_paused_between(section, scope->start_ns, scope->end_ns))
		return false;
	*device_ns = launched_until(s, scope->thread, scope->end_ns).device_ns -
		     launched_until(s, scope->thread, scope->start_ns).device_ns;
	return true;
}

void gpu_steps_measure_run(const struct gpu_steps *s, uint32_t process, int64_t start_ns,
			   int64_t end_ns, struct gpu_step_figures *out)
{
	const struct gpu_section *section = gpu_section_find(s->gpu, process);

	memset(out, 0, sizeof(*out));
	if (!section || gpu_paused_between(section, start_ns, end_ns))
		return;
	out->steps = 1;
	out->busy_ns = gpu_busy_between(section, start_ns, end_ns);
	out->idle_ns = gpu_length(start_ns, end_ns) - out->busy_ns;
	out->launches_known = true;
	out->kernels = section->kernel_sum.count;
	out->copies = section->copy_sum.count;
	out->h2d_bytes = section->h2d_bytes;
	out->d2h_bytes = section->d2h_bytes;
	out->launched_ns = section->kernel_sum.total_ns;
	out->launched_ns = stats_add(out->launched_ns, section->copy_sum.total_ns);
	out->launched_ns = stats_add(out->launched_ns, section->memset_sum.total_ns);
	out->launched_ns = stats_add(out->launched_ns, section->graph_sum.total_ns);
}
