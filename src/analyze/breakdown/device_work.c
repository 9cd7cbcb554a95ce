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
	for (size_t i = 0; i < DEVICE_TRACKS; i++)
		track_release(&d->tracks[i]);
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
		device_tracks_release(&d->processes[i].all);
		free(d->processes[i].strays);
	}
	free(d->processes);
	memset(d, 0, sizeof(*d));
}

static int add_stray(struct device_process *p, size_t activity)
{
	size_t *grown = array_grow(p->strays, &p->stray_cap, p->stray_count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	p->strays = grown;
	grown[p->stray_count++] = activity;
	return 0;
}

/* Activities lie process by process, in order of their start. */
static int fill(struct device_process *p, const struct gpu_timeline *g, uint32_t process)
{
	size_t n = gpu_activity_count(g), i = 0;

	BISECT(i, n, gpu_activity_work(g, gpu_activity(g, i))->process < process);
	for (; i < n && gpu_activity_work(g, gpu_activity(g, i))->process == process; i++) {
		const struct gpu_activity *a = gpu_activity(g, i);
		const struct piece piece = piece_of(g, a);

		if (!a->timed)
			continue;
		if (track_add(&p->all.tracks[track_of(g, a)], &piece) ||
		    (!a->linked && add_stray(p, i)))
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

const struct device_tracks *device_work_all(struct device_work *d, uint32_t process)
{
	static const struct device_tracks none;
	bool failed;
	const struct device_process *p = process_of(d, process, &failed);

	return failed ? NULL : p ? &p->all : &none;
}

static int put(struct device_tracks *out, const struct gpu_timeline *g, size_t activity)
{
	const struct gpu_activity *a = gpu_activity(g, activity);
	const struct piece piece = piece_of(g, a);

	return a->timed ? track_put(&out->tracks[track_of(g, a)], &piece) : 0;
}

int device_work_of_thread(struct device_work *d, uint32_t process, size_t thread,
			  struct device_tracks *out)
{
	const struct gpu_timeline *g = d->gpu->timeline;
	bool failed;
	const struct device_process *p = process_of(d, process, &failed);

	if (failed)
		return -1;
	for (size_t i = gpu_call_find(g, thread, INT64_MIN);
	     i < gpu_call_count(g) && gpu_call_api(g, gpu_call(g, i))->thread == thread; i++) {
		const struct gpu_call *c = gpu_call(g, i);

		for (size_t k = 0; k < gpu_call_activities(g, c); k++)
			if (put(out, g, gpu_call_activity(g, c, k)))
				return -1;
	}
	for (size_t i = 0; p && i < p->stray_count; i++) {
		/* add_stray() has set them. */
		/* NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
		if (put(out, g, p->strays[i]))
			return -1;
	}
	for (size_t i = 0; i < DEVICE_TRACKS; i++)
		track_sort(&out->tracks[i]);
	return 0;
}
