#include "export/viewer_ids.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/idmap.h"
#include "tables/table_source.h"

static const struct trace_process *process_at(const struct trace *t, size_t i)
{
	size_t recorded = trace_process_count(t);

	return i < recorded ? trace_process(t, i) : trace_observed(t, i - recorded);
}

static size_t process_count(const struct trace *t)
{
	return trace_process_count(t) + trace_observed_count(t);
}

/* The number itself, or where it is taken `other`.  0: no memory. */
static uint32_t take(struct idmap *used, uint32_t number, uint32_t other)
{
	if (number && number < VIEWER_MACHINE_PID && idmap_find(used, number) == IDMAP_NONE)
		return idmap_put(used, number, 1) ? 0 : number;
	return other;
}

int viewer_ids_init(struct viewer_ids *v, const struct trace *t)
{
	size_t processes = process_count(t), threads = trace_thread_count(t);
	struct idmap used_pids, used_tids;

	*v = (struct viewer_ids){ .trace = t };
	idmap_init(&used_pids);
	idmap_init(&used_tids);
	v->pids = calloc(processes + 1, sizeof(*v->pids));
	v->tids = calloc(threads + 1, sizeof(*v->tids));
	if (!v->pids || !v->tids)
		v->failed = true;
	for (size_t i = 0; i < processes && !v->failed; i++) {
		v->pids[i] = take(&used_pids, process_at(t, i)->pid, VIEWER_NO_PID + (uint32_t)i);
		v->failed = !v->pids[i];
	}
	for (size_t i = 0; i < threads && !v->failed; i++) {
		v->tids[i] = take(&used_tids, trace_thread(t, i)->tid, VIEWER_NO_TID + (uint32_t)i);
		v->failed = !v->tids[i];
	}
	idmap_release(&used_pids);
	idmap_release(&used_tids);
	return v->failed ? -1 : 0;
}

void viewer_ids_release(struct viewer_ids *v)
{
	free(v->pids);
	free(v->tids);
	free(v->gpus);
}

/* Both lists are in order of their ids. */
static size_t observed_position(const struct trace *t, uint32_t id)
{
	size_t at = 0, count = trace_observed_count(t);

	BISECT(at, count, trace_observed(t, at)->id < id);
	return at < count && trace_observed(t, at)->id == id ? trace_process_count(t) + at
							     : process_count(t);
}

uint32_t viewer_pid(const struct viewer_ids *v, uint32_t process)
{
	size_t at = process_position(v->trace, process);

	if (at == trace_process_count(v->trace))
		at = observed_position(v->trace, process);
	return at < process_count(v->trace) ? v->pids[at] : VIEWER_MACHINE_PID;
}

size_t viewer_gpu(struct viewer_ids *v, uint32_t process, uint32_t device)
{
	struct viewer_gpu *grown;
	size_t at = v->gpu_count;

	/* A machine has a few; a trace that claims thousands has them in the last one. */
	for (size_t i = 0; i < v->gpu_count; i++)
		if (v->gpus[i].process == process && v->gpus[i].device == device)
			return i;
	if (at >= 4096)
		return at - 1;
	grown = array_grow(v->gpus, &v->gpu_cap, at + 1, sizeof(*grown));
	if (!grown) {
		v->failed = true;
		return 0;
	}
	v->gpus = grown;
	grown[v->gpu_count++] = (struct viewer_gpu){ process, device };
	return at;
}

uint32_t viewer_gpu_pid(const struct viewer_ids *v, size_t gpu)
{
	return VIEWER_NO_PID + (uint32_t)(process_count(v->trace) + gpu);
}

uint32_t viewer_tid(const struct viewer_ids *v, const struct track *t)
{
	if (t->kind == TRACK_THREAD && !t->lane)
		return v->tids[t->thread];
	return VIEWER_NO_TID + (uint32_t)trace_thread_count(v->trace) + t->id;
}

void viewer_add_gpu_name(struct buf *out, const struct event_walk *w, const struct viewer_gpu *g)
{
	const struct trace_process *p = source_process(w->source, g->process);
	const char *name = NULL;

	for (size_t i = 0; i < gpu_device_count(w->gpu); i++) {
		const struct gpu_device *d = gpu_device(w->gpu, i);

		if (d->process == g->process && d->number == g->device)
			name = d->name;
	}
	buf_printf(out, "GPU %" PRIu32, g->device);
	if (name && *name)
		buf_printf(out, ": %s", name);
	if (p && *p->name)
		buf_printf(out, " (%s)", p->name);
}
