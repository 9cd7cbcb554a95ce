#include "analyze/breakdown/thread_tracks.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/classes/code_kind.h"
#include "analyze/figures/breakdown.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"
#include "format/request_scopes.h"
#include "format/torch_scopes.h"
#include "timeline/sample_walk.h"

/* -1: no memory */
static int fault_marks_add(struct fault_marks *m, const struct fault_at *f)
{
	struct fault_mark *grown = array_grow(m->items, &m->cap, m->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	m->items = grown;
	grown[m->count++] = (struct fault_mark){
		f->time_ns,
		f->process,
		(uint32_t)f->thread,
		f->count,
		f->major ? FAULT_MAJOR : FAULT_MINOR,
	};
	return 0;
}

static int by_process_and_time(const void *a, const void *b)
{
	const struct fault_mark *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void fault_marks_sort(struct fault_marks *m)
{
	if (m->count)
		qsort(m->items, m->count, sizeof(*m->items), by_process_and_time);
}

static size_t first_of(const struct fault_marks *m, uint64_t process)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->items[mid].process < process)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct fault_mark *fault_marks_of(const struct fault_marks *m, uint32_t process,
					size_t *count)
{
	size_t first = first_of(m, process);

	*count = first_of(m, (uint64_t)process + 1) - first;
	return m->items ? m->items + first : NULL;
}

static void fault_marks_release(struct fault_marks *m)
{
	free(m->items);
	memset(m, 0, sizeof(*m));
}

/*
 * Python functions that frameworks have in C are not recorded: to the calls, an operator on
 * tensors is time of the function that uses it.  From there to the launch it takes a few
 * to some tens of microseconds, so as much before a launch is the framework's at most.
 */
#define WAY_NS 50000

static const enum time_class call_classes[] = {
	[CUDA_CALL_OTHER] = TIME_FRAMEWORK,         [CUDA_CALL_LAUNCH] = TIME_LAUNCH,
	[CUDA_CALL_GRAPH_LAUNCH] = TIME_LAUNCH,     [CUDA_CALL_COPY] = TIME_LAUNCH,
	[CUDA_CALL_MEMSET] = TIME_LAUNCH,           [CUDA_CALL_SYNC_DEVICE] = TIME_SYNC_WAIT,
	[CUDA_CALL_SYNC_STREAM] = TIME_SYNC_WAIT,   [CUDA_CALL_SYNC_EVENT] = TIME_SYNC_WAIT,
	[CUDA_CALL_ALLOC] = TIME_ALLOCATION,        [CUDA_CALL_FREE] = TIME_ALLOCATION,
	[CUDA_CALL_HOST_ALLOC] = TIME_ALLOCATION,   [CUDA_CALL_HOST_FREE] = TIME_ALLOCATION,
	[CUDA_CALL_STREAM_CREATE] = TIME_FRAMEWORK, [CUDA_CALL_CONTEXT_CREATE] = TIME_FRAMEWORK,
	[CUDA_CALL_MODULE_LOAD] = TIME_COMPILE,     [CUDA_CALL_GRAPH_BUILD] = TIME_COMPILE,
};

/*
 * A copy from or to pageable memory goes through a buffer, which the call fills or empties
 * itself: all of its time is the copy's, but for what it waits before (copy_begins()).
 */
static enum time_class class_of_call(const struct gpu_timeline *g, const struct gpu_call *c)
{
	enum cuda_call what = gpu_call_api(g, c)->what;
	const struct gpu_work *w;

	if ((size_t)what >= sizeof(call_classes) / sizeof(call_classes[0]))
		return TIME_FRAMEWORK; /* of a later version */
	if (what != CUDA_CALL_COPY || !gpu_call_activities(g, c))
		return call_classes[what];
	w = gpu_activity_work(g, gpu_activity(g, gpu_call_activity(g, c, 0)));
	if (w->copy == GPU_COPY_HOST_TO_DEVICE && w->source == GPU_MEMORY_PAGEABLE)
		return TIME_H2D;
	if (w->copy == GPU_COPY_DEVICE_TO_HOST && w->destination == GPU_MEMORY_PAGEABLE)
		return TIME_D2H;
	return call_classes[what];
}

/*
 * A copy to the host waits for all that was before it in its stream, and then copies: when that
 * begins.  INT64_MIN: it is another call, or its copy is unknown.
 */
static int64_t copy_begins(const struct gpu_timeline *g, const struct gpu_call *c)
{
	const struct gpu_activity *a;

	if (gpu_call_api(g, c)->what != CUDA_CALL_COPY || !gpu_call_activities(g, c))
		return INT64_MIN;
	a = gpu_activity(g, gpu_call_activity(g, c, 0));
	return gpu_activity_work(g, a)->copy == GPU_COPY_DEVICE_TO_HOST && a->timed ? a->start_ns
										    : INT64_MIN;
}

static int add_call(struct track *calls, const struct piece *p, int64_t begins_ns)
{
	struct piece wait = *p, copy = *p;

	if (p->more != TIME_D2H || begins_ns <= p->start_ns)
		return track_add(calls, p);
	wait.more = TIME_SYNC_WAIT;
	wait.end_ns = copy.start_ns = begins_ns < p->end_ns ? begins_ns : p->end_ns;
	return track_add(calls, &wait) || (copy.start_ns < copy.end_ns && track_add(calls, &copy))
		       ? -1
		       : 0;
}

static bool starts_work(enum time_class what)
{
	return what == TIME_LAUNCH || what == TIME_H2D || what == TIME_D2H;
}

/* The next call of a source's thread; NULL: there is none. */
static const struct gpu_call *next_call(struct call_source *s)
{
	const struct gpu_call *c;

	if (s->next == gpu_call_count(s->gpu))
		return NULL;
	c = gpu_call(s->gpu, s->next);
	if (gpu_call_api(s->gpu, c)->thread != s->thread)
		return NULL;
	s->next++;
	return c;
}

static bool next_calls(void *ctx, struct track *t)
{
	struct call_source *s = ctx;
	const struct gpu_call *c = next_call(s);
	struct piece p;

	if (!c)
		return false;
	p = (struct piece){ c->start_ns, c->end_ns, c->stack, class_of_call(s->gpu, c) };
	t->failed = add_call(t, &p, copy_begins(s->gpu, c)) != 0;
	return !t->failed;
}

static bool next_ways(void *ctx, struct track *t)
{
	struct call_source *s = ctx;
	const struct gpu_call *c = next_call(s);
	struct piece way;

	if (!c)
		return false;
	way = (struct piece){ c->start_ns > WAY_NS ? c->start_ns - WAY_NS : 0, c->start_ns,
			      c->stack, class_of_call(s->gpu, c) };
	if (s->until_ns > way.start_ns)
		way.start_ns = s->until_ns;
	if (c->end_ns > c->start_ns && c->end_ns > s->until_ns)
		s->until_ns = c->end_ns;
	t->failed = starts_work((enum time_class)way.more) && track_add(t, &way);
	return !t->failed;
}

static void source_init(struct call_source *s, const struct gpu_timeline *g, size_t thread)
{
	*s = (struct call_source){ g, thread, gpu_call_find(g, thread, INT64_MIN), INT64_MIN };
}

void calls_open(struct track *t, struct call_source *s, const struct gpu_timeline *g, size_t thread)
{
	source_init(s, g, thread);
	track_open(t, next_calls, s);
}

void ways_open(struct track *t, struct call_source *s, const struct gpu_timeline *g, size_t thread)
{
	source_init(s, g, thread);
	track_open(t, next_ways, s);
}

static const struct {
	const char *name;
	enum time_class what;
} reported[] = {
	{ TORCH_COMPILE, TIME_COMPILE },
	{ TORCH_WAIT, TIME_IO_WAIT },
};

/* The first scope of a thread, or of a later one. */
static size_t first_scope(const struct timeline *tl, size_t thread)
{
	size_t at = 0;

	BISECT(at, timeline_scope_count(tl), timeline_scope(tl, at)->thread < thread);
	return at;
}

int framework_track_fill(struct track *t, const struct timeline *tl, size_t thread)
{
	for (size_t i = first_scope(tl, thread); i < timeline_scope_count(tl); i++) {
		const struct scope *s = timeline_scope(tl, i);

		if (s->thread != thread)
			break;
		for (size_t k = 0; k < sizeof(reported) / sizeof(reported[0]) && !s->nvtx; k++) {
			const struct piece p = { s->start_ns, s->end_ns, 0, reported[k].what };

			if (!strcmp(s->name, reported[k].name) && track_add(t, &p))
				return -1;
		}
	}
	return 0;
}

int native_calls_track_fill(struct track *t, const struct timeline *tl, size_t thread)
{
	static const char start[] = NATIVE_SCOPES;

	for (size_t i = first_scope(tl, thread); i < timeline_scope_count(tl); i++) {
		const struct scope *s = timeline_scope(tl, i);
		struct piece p = { s->start_ns, s->end_ns, 0, TIME_CPU_PREPROCESSING };

		if (s->thread != thread)
			break;
		if (s->nvtx || !s->ended || strncmp(s->name, start, sizeof(start) - 1) != 0)
			continue;
		if (framework_package(s->name + sizeof(start) - 1))
			p.more = TIME_FRAMEWORK;
		if (track_add(t, &p))
			return -1;
	}
	return 0;
}

struct collector {
	struct sample_tracks *tracks;
	const bool *wanted;
	bool failed;
};

/* Asleep in the kernel; one that could go on, but has no CPU or no GIL yet, waits no more. */
static bool is_waiting(const struct sample *s)
{
	enum sample_state state = sample_state(s);

	return state != SAMPLE_UNKNOWN && state != SAMPLE_RUNNING && state != SAMPLE_GIL_WAIT;
}

static int add_waiting(struct sample_tracks *l, const struct timed_sample *s)
{
	const struct sample *samples = s->sample;
	int64_t gap_us = samples->count > 1 ? (samples->last_ns - samples->first_ns) /
						      (samples->count - 1) / 1000
					    : 0;
	const struct piece seen = { samples->first_ns, samples->last_ns + 1, 0,
				    gap_us < UINT32_MAX ? (uint32_t)gap_us : UINT32_MAX };

	return track_add(&l->waiting[s->thread], &seen);
}

/* The piece and its times: track_add() may have made one with the last. */
static int add_sample(struct sample_tracks *l, const struct timed_sample *s, const struct piece *p)
{
	struct sample_times_list *times = &l->times[s->thread];
	struct track *track = &l->threads[s->thread];
	size_t before = track->count;
	struct sample_times *grown;

	if (track_add(track, p))
		return -1;
	if (track->count == before) {
		if (before && s->sample->last_ns > times->items[before - 1].last_ns)
			times->items[before - 1].last_ns = s->sample->last_ns;
		return 0;
	}
	grown = array_grow(times->items, &times->cap, before + 1, sizeof(*grown));
	if (!grown)
		return -1;
	times->items = grown;
	grown[before] = (struct sample_times){ s->sample->first_ns, s->sample->last_ns };
	return 0;
}

static void take_sample(void *ctx, const struct timed_sample *s)
{
	struct collector *c = ctx;
	struct sample_tracks *l = c->tracks;
	bool gil = s->sample->flags & SAMPLE_HAS_GIL;
	const struct piece sample = { s->start_ns, s->end_ns, s->sample->stack, s->sample->flags };
	const struct piece busy = { s->start_ns, s->end_ns, s->sample->stack,
				    ((uint32_t)s->thread & BUSY_THREAD) | (gil ? BUSY_GIL : 0) };

	if (c->failed || s->end_ns <= s->start_ns)
		return;
	if (c->wanted[s->thread] &&
	    (add_sample(l, s, &sample) || (is_waiting(s->sample) && add_waiting(l, s))))
		c->failed = true;
	if (!s->sample->stack)
		return;
	if (gil ? track_put(&l->holders, &busy)
		: sample_state(s->sample) == SAMPLE_RUNNING && track_put(&l->running, &busy))
		c->failed = true;
}

static void take_native(void *ctx, const struct native_sample_at *n)
{
	struct collector *c = ctx;
	struct sample_tracks *l = c->tracks;
	const struct piece away = { n->time_ns, n->end_ns, 0, 0 };

	if (!(n->flags & SAMPLE_AWAY) || n->thread >= l->thread_count || c->failed)
		return;
	l->absences = true;
	if (c->wanted[n->thread] && (n->flags & SAMPLE_STATE) == SAMPLE_RUNNING &&
	    n->end_ns > n->time_ns && track_put(&l->queued[n->thread], &away))
		c->failed = true;
}

static void take_fault(void *ctx, const struct fault_at *f)
{
	struct collector *c = ctx;

	if (!c->failed && fault_marks_add(&c->tracks->faults, f))
		c->failed = true;
}

int sample_tracks_fill(struct sample_tracks *l, const struct trace *t, const bool *wanted,
		       struct err *err)
{
	struct collector c = { l, wanted, false };
	const struct sample_visitor visitor = {
		.ctx = &c, .sample = take_sample, .native = take_native, .fault = take_fault
	};
	struct sample_walk walk; /* what is damaged is counted by sample_totals.c */

	l->thread_count = trace_thread_count(t);
	l->threads = calloc(l->thread_count + 1, sizeof(*l->threads));
	l->waiting = calloc(l->thread_count + 1, sizeof(*l->waiting));
	l->times = calloc(l->thread_count + 1, sizeof(*l->times));
	l->queued = calloc(l->thread_count + 1, sizeof(*l->queued));
	if (!l->threads || !l->waiting || !l->times || !l->queued)
		return err_set(err, "out of memory");
	if (sample_walk(&walk, t, &visitor, err))
		return -1;
	for (size_t i = 0; i < l->thread_count; i++)
		track_sort(&l->queued[i]);
	track_sort(&l->holders);
	track_sort(&l->running);
	fault_marks_sort(&l->faults);
	return c.failed ? err_set(err, "out of memory") : 0;
}

void sample_tracks_release(struct sample_tracks *l)
{
	for (size_t i = 0; l->threads && i < l->thread_count; i++)
		track_release(&l->threads[i]);
	for (size_t i = 0; l->waiting && i < l->thread_count; i++)
		track_release(&l->waiting[i]);
	for (size_t i = 0; l->queued && i < l->thread_count; i++)
		track_release(&l->queued[i]);
	free(l->queued);
	for (size_t i = 0; l->times && i < l->thread_count; i++)
		free(l->times[i].items);
	free(l->times);
	free(l->threads);
	free(l->waiting);
	track_release(&l->holders);
	track_release(&l->running);
	fault_marks_release(&l->faults);
	memset(l, 0, sizeof(*l));
}
