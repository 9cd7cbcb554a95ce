#include "analyze/gpu/gpu_busy.h"

#include "analyze/figures/stats.h"
#include "base/array.h"

int64_t gpu_length(int64_t start_ns, int64_t end_ns)
{
	int64_t length;

	if (end_ns <= start_ns)
		return 0;
	return __builtin_sub_overflow(end_ns, start_ns, &length) ? INT64_MAX : length;
}

static int collect_intervals(struct gpu_section *s, const struct gpu_timeline *g, size_t begin,
			     size_t end)
{
	struct gpu_interval *last = NULL;
	size_t cap = 0;

	for (size_t i = begin; i < end; i++) {
		const struct gpu_activity *a = gpu_activity(g, i);
		struct gpu_interval *grown;

		if (!a->timed)
			continue;
		if (last && a->start_ns <= last->end_ns) {
			if (a->end_ns > last->end_ns)
				last->end_ns = a->end_ns;
			continue;
		}
		grown = array_grow(s->intervals, &cap, s->interval_count + 1, sizeof(*grown));
		if (!grown)
			return -1;
		s->intervals = grown;
		last = &grown[s->interval_count++];
		*last = (struct gpu_interval){ a->start_ns, a->end_ns, 0 };
	}
	return 0;
}

/* Before CUDA was initialised, the process had no work for the device: that is no pause. */
static int collect_pauses(struct gpu_section *s, const struct gpu_change_ref *changes, size_t n)
{
	bool recording = true;
	size_t cap = 0;

	for (size_t i = 0; i < n; i++) {
		const struct gpu_change *c = changes[i].change;
		struct gpu_pause *grown;

		if (recording == (c->state == GPU_STATE_RECORDING))
			continue;
		recording = !recording;
		if (recording) {
			s->pauses[s->pause_count - 1].end_ns = c->time_ns;
			continue;
		}
		grown = array_grow(s->pauses, &cap, s->pause_count + 1, sizeof(*grown));
		if (!grown)
			return -1;
		s->pauses = grown;
		grown[s->pause_count++] = (struct gpu_pause){ c->time_ns, INT64_MAX };
	}
	return 0;
}

int gpu_busy_collect(struct gpu_section *s, const struct gpu_timeline *g, size_t begin, size_t end,
		     const struct gpu_change_ref *changes, size_t change_count)
{
	if (collect_intervals(s, g, begin, end) || collect_pauses(s, changes, change_count))
		return -1;
	for (size_t i = 0; i < s->interval_count; i++) {
		struct gpu_interval *now = &s->intervals[i];

		now->before_ns = s->busy_ns;
		s->busy_ns = stats_add(s->busy_ns, gpu_length(now->start_ns, now->end_ns));
		if (i) {
			int64_t gap_ns = gpu_length(now[-1].end_ns, now->start_ns);
			int64_t paused_ns = gpu_paused_between(s, now[-1].end_ns, now->start_ns);

			s->paused_ns = stats_add(s->paused_ns, paused_ns);
			s->idle_ns = stats_add(s->idle_ns, gap_ns - paused_ns);
		}
	}
	if (s->interval_count) {
		s->first_ns = s->intervals[0].start_ns;
		s->last_ns = s->intervals[s->interval_count - 1].end_ns;
	}
	return 0;
}

/* Busy time up to a moment. */
static int64_t busy_before(const struct gpu_section *s, int64_t time_ns)
{
	size_t at = 0;
	const struct gpu_interval *in;

	BISECT(at, s->interval_count, s->intervals[at].start_ns <= time_ns);
	if (!at)
		return 0;
	in = &s->intervals[at - 1];
	return stats_add(in->before_ns,
			 gpu_length(in->start_ns, time_ns < in->end_ns ? time_ns : in->end_ns));
}

int64_t gpu_busy_between(const struct gpu_section *s, int64_t start_ns, int64_t end_ns)
{
	return busy_before(s, end_ns) - busy_before(s, start_ns);
}

int64_t gpu_paused_between(const struct gpu_section *s, int64_t start_ns, int64_t end_ns)
{
	size_t at = 0;
	int64_t paused_ns = 0;

	BISECT(at, s->pause_count, s->pauses[at].end_ns <= start_ns);
	for (; at < s->pause_count && s->pauses[at].start_ns < end_ns; at++) {
		const struct gpu_pause *p = &s->pauses[at];

		paused_ns += gpu_length(p->start_ns > start_ns ? p->start_ns : start_ns,
					p->end_ns < end_ns ? p->end_ns : end_ns);
	}
	return paused_ns;
}

static bool call_is_before(const struct gpu_timeline *g, const struct gpu_call *c, size_t thread,
			   int64_t time_ns)
{
	size_t of = gpu_call_api(g, c)->thread;

	return of < thread || (of == thread && c->start_ns < time_ns);
}

size_t gpu_call_find(const struct gpu_timeline *g, size_t thread, int64_t time_ns)
{
	size_t at = 0;

	BISECT(at, gpu_call_count(g), call_is_before(g, gpu_call(g, at), thread, time_ns));
	return at;
}
