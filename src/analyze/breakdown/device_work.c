#include "analyze/breakdown/step_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/breakdown/thread_tracks.h"
#include "analyze/figures/breakdown.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"

static enum device_track track_of(const struct gpu_timeline *g, const struct gpu_activity *a)
{
	const struct gpu_work *w = gpu_activity_work(g, a);

	if (w->kind != GPU_COPY)
		return DEVICE_COMPUTE;
	return w->copy == GPU_COPY_HOST_TO_DEVICE   ? DEVICE_H2D
	       : w->copy == GPU_COPY_DEVICE_TO_HOST ? DEVICE_D2H
						    : DEVICE_COMPUTE;
}

static const enum time_class classes[DEVICE_TRACKS] = {
	[DEVICE_COMPUTE] = TIME_GPU_COMPUTE, [DEVICE_H2D] = TIME_H2D, [DEVICE_D2H] = TIME_D2H
};

static struct piece piece_of(const struct gpu_timeline *g, const struct gpu_activity *a)
{
	return (struct piece){ a->start_ns, a->end_ns, gpu_activity_stack(g, a),
			       classes[track_of(g, a)] };
}

void device_tracks_release(struct device_tracks *d)
{
	for (size_t i = 0; i < DEVICE_TRACKS; i++) {
		track_release(&d->tracks[i]);
		free(d->own[i].items);
	}
}

int device_work_init(struct device_work *d, const struct analysis_gpu *gpu)
{
	d->gpu = gpu;
	d->processes = calloc(gpu->section_count + 1, sizeof(*d->processes));
	return d->processes ? 0 : -1;
}

void device_work_release(struct device_work *d)
{
	for (size_t i = 0; d->processes && i < d->gpu->section_count; i++) {
		for (size_t k = 0; k < DEVICE_TRACKS; k++)
			free(d->processes[i].all[k].items);
		free(d->processes[i].strays.items);
	}
	free(d->processes);
	memset(d, 0, sizeof(*d));
}

static int list_add(struct device_list *l, size_t activity)
{
	uint32_t *grown = array_grow(l->items, &l->cap, l->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	l->items = grown;
	grown[l->count++] = (uint32_t)activity;
	return 0;
}

/* Does an activity last longer than all before it did? */
static bool reaches_on(const struct gpu_activity *a, int64_t *until_ns)
{
	if (a->end_ns <= a->start_ns || a->end_ns <= *until_ns)
		return false;
	*until_ns = a->end_ns;
	return true;
}

/* Activities lie process by process, in order of their start. */
static int fill(struct device_process *p, const struct gpu_timeline *g, uint32_t process)
{
	int64_t until_ns[DEVICE_TRACKS] = { INT64_MIN, INT64_MIN, INT64_MIN };
	size_t n = gpu_activity_count(g), i = 0;

	BISECT(i, n, gpu_activity_work(g, gpu_activity(g, i))->process < process);
	for (; i < n && gpu_activity_work(g, gpu_activity(g, i))->process == process; i++) {
		const struct gpu_activity *a = gpu_activity(g, i);
		enum device_track track = track_of(g, a);

		if (!a->timed)
			continue;
		if ((reaches_on(a, &until_ns[track]) && list_add(&p->all[track], i)) ||
		    (!a->linked && list_add(&p->strays, i)))
			return -1;
	}
	p->filled = true;
	return 0;
}

/* NULL: it has used no device, or there is no memory (*failed). */
static struct device_process *process_of(struct device_work *d, uint32_t process, bool *failed)
{
	const struct gpu_section *s = gpu_section_find(d->gpu, process);
	struct device_process *p = s ? &d->processes[s - d->gpu->sections] : NULL;

	*failed = p && !p->filled && fill(p, d->gpu->timeline, process);
	return *failed ? NULL : p;
}

static bool next_work(void *ctx, struct track *t)
{
	struct device_source *s = ctx;
	struct piece p;

	if (s->next == s->list->count)
		return false;
	p = piece_of(s->gpu, gpu_activity(s->gpu, s->list->items[s->next++]));
	t->failed = track_add(t, &p) != 0;
	return !t->failed;
}

static void open_tracks(struct device_tracks *out, const struct gpu_timeline *g,
			const struct device_list *lists)
{
	for (size_t i = 0; i < DEVICE_TRACKS; i++) {
		out->sources[i] = (struct device_source){ .gpu = g, .list = &lists[i] };
		track_open(&out->tracks[i], next_work, &out->sources[i]);
	}
}

int device_work_all(struct device_work *d, uint32_t process, struct device_tracks *out)
{
	bool failed;
	const struct device_process *p = process_of(d, process, &failed);

	open_tracks(out, d->gpu->timeline, p ? p->all : out->own);
	return failed ? -1 : 0;
}

/* The lists are in order of start: of what ends by then there is no need. */
void device_tracks_seek(struct device_tracks *d, int64_t time_ns)
{
	for (size_t i = 0; i < DEVICE_TRACKS; i++) {
		struct device_source *s = &d->sources[i];
		size_t at = 0;

		BISECT(at, s->list->count,
		       gpu_activity(s->gpu, s->list->items[at])->end_ns <= time_ns);
		s->next = at;
		track_open(&d->tracks[i], next_work, s);
	}
}

static int put(struct device_tracks *out, const struct gpu_timeline *g, size_t activity)
{
	const struct gpu_activity *a = gpu_activity(g, activity);

	return a->timed ? list_add(&out->own[track_of(g, a)], activity) : 0;
}

static int by_start(const void *x, const void *y, void *ctx)
{
	const struct gpu_timeline *g = ctx;
	const struct gpu_activity *a = gpu_activity(g, *(const uint32_t *)x);
	const struct gpu_activity *b = gpu_activity(g, *(const uint32_t *)y);
	uint32_t s, t;

	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns < b->end_ns ? -1 : 1;
	s = gpu_activity_stack(g, a);
	t = gpu_activity_stack(g, b);
	return (s > t) - (s < t);
}

/* What the others hide is omitted. */
static void sort_list(struct device_list *l, struct gpu_timeline *g)
{
	int64_t until_ns = INT64_MIN;
	size_t count = l->count;

	if (count)
		qsort_r(l->items, count, sizeof(*l->items), by_start, g);
	l->count = 0;
	for (size_t i = 0; i < count; i++)
		if (reaches_on(gpu_activity(g, l->items[i]), &until_ns))
			l->items[l->count++] = l->items[i];
}

int device_work_of_thread(struct device_work *d, uint32_t process, size_t thread,
			  struct device_tracks *out)
{
	struct gpu_timeline *g = d->gpu->timeline;
	bool failed;
	const struct device_process *p = process_of(d, process, &failed);

	open_tracks(out, g, out->own);
	if (failed)
		return -1;
	for (size_t i = gpu_call_find(g, thread, INT64_MIN);
	     i < gpu_call_count(g) && gpu_call_api(g, gpu_call(g, i))->thread == thread; i++) {
		const struct gpu_call *c = gpu_call(g, i);

		for (size_t k = 0; k < gpu_call_activities(g, c); k++)
			if (put(out, g, gpu_call_activity(g, c, k)))
				return -1;
	}
	for (size_t i = 0; p && i < p->strays.count; i++) {
		/* list_add() has set them. */
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
		if (put(out, g, p->strays.items[i]))
			return -1;
	}
	for (size_t i = 0; i < DEVICE_TRACKS; i++)
		sort_list(&out->own[i], g);
	return 0;
}
