#include "analyze/figures/breakdown.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int step_items_add(struct step_items *items, int64_t start_ns, int64_t end_ns, uint32_t thread)
{
	struct step_item *grown =
		array_grow(items->items, &items->cap, items->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	items->items = grown;
	grown[items->count++] = (struct step_item){ start_ns, end_ns, thread, 0, STEPS_ALL };
	return 0;
}

struct time_cause idle_time_cause(const struct idle_cause *c)
{
	return (struct time_cause){
		.what = c->what,
		.where = c->where,
		.inner = c->inner,
		.waited_for = c->waited_for,
		.ns = c->ns,
		.inner_ns = c->inner_ns,
	};
}

const char *idle_cause_name(const struct idle_cause *c)
{
	return c->latency ? "launch_latency" : time_class_name(c->what);
}

static const struct {
	const char *name, *title;
} classes[TIME_CLASSES] = {
	[TIME_GPU_COMPUTE] = { "gpu_compute", "GPU compute" },
	[TIME_H2D] = { "h2d", "H2D copy" },
	[TIME_D2H] = { "d2h", "D2H copy" },
	[TIME_SYNC_WAIT] = { "sync_wait", "Synchronisation wait" },
	[TIME_CPU_PREPROCESSING] = { "cpu_preprocessing", "CPU preprocessing" },
	[TIME_CPU_COMPUTE] = { "cpu_compute", "CPU compute" },
	[TIME_FRAMEWORK] = { "framework", "Framework overhead" },
	[TIME_LAUNCH] = { "launch", "Launches" },
	[TIME_ALLOCATION] = { "allocation", "Allocation" },
	[TIME_GC] = { "gc", "Garbage collection" },
	[TIME_CPU_WAIT] = { "cpu_wait", "CPU wait" },
	[TIME_GIL_WAIT] = { "gil_wait", "GIL wait" },
	[TIME_LOCK_WAIT] = { "lock_wait", "Lock wait" },
	[TIME_IO_WAIT] = { "io_wait", "I/O wait" },
	[TIME_SLEEP] = { "sleep", "Sleep" },
	[TIME_PAGE_FAULTS] = { "page_faults", "Page faults" },
	[TIME_COMPILE] = { "compile", "Compilation" },
	[TIME_MODEL_LOAD] = { "model_load", "Model loading" },
	[TIME_IDLE] = { "idle", "Idle" },
	[TIME_UNATTRIBUTED] = { "unattributed", "Unattributed" },
};

const char *time_class_name(enum time_class c)
{
	return classes[c].name;
}

const char *time_class_title(enum time_class c)
{
	return classes[c].title;
}

bool time_class_is_wait(enum time_class c)
{
	return c == TIME_LOCK_WAIT || c == TIME_IO_WAIT || c == TIME_SLEEP;
}

bool time_cause_is_mostly_inner(const struct time_cause *c)
{
	return c->inner.name && c->inner_ns > c->ns - c->inner_ns;
}

int step_samples_add(struct step_samples *s, const struct step_sample *one)
{
	if (s->count == STEP_SAMPLES_MOST) {
		for (size_t i = 0; 2 * i < s->count; i++)
			s->items[i] = s->items[2 * i];
		s->count /= 2;
		s->every *= 2;
	}
	if (!s->every)
		s->every = 1;
	if (s->seen++ % s->every)
		return 0;
	if (s->count == s->cap) {
		struct step_sample *grown =
			array_grow(s->items, &s->cap, s->count + 1, sizeof(*grown));

		if (!grown)
			return -1;
		s->items = grown;
	}
	s->items[s->count++] = *one;
	return 0;
}

void step_breakdown_release(struct step_breakdown *b)
{
	free(b->samples.items);
	free(b->causes);
	free(b->slow.causes);
	memset(b, 0, sizeof(*b));
}
