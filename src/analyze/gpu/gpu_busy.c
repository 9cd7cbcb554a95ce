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

#define MARK_EACH 64u /* activities */

/* The union of activities up to one of them. */
struct cover {
	int64_t busy_ns, until_ns;
};

static void cover_add(struct cover *c, const struct gpu_activity *a)
{
	if (!a->timed)
		return;
	c->busy_ns = stats_add(
		c->busy_ns,
		gpu_length(a->start_ns > c->until_ns ? a->start_ns : c->until_ns, a->end_ns));
	if (a->end_ns > c->until_ns)
		c->until_ns = a->end_ns;
}

/* What the first n activities of a section cover. */
static struct cover cover_of(const struct gpu_busy *b, size_t n)
{
	const struct gpu_busy_mark *mark = &b->marks[n / MARK_EACH];
	struct cover c = { mark->before_ns, mark->until_ns };

	for (size_t i = n - n % MARK_EACH; i < n; i++)
		cover_add(&c, gpu_activity(b->timeline, b->first + i));
	return c;
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

static void add_gap(struct gpu_section *s, int64_t start_ns, int64_t end_ns)
{
	int64_t paused_ns = gpu_paused_between(s, start_ns, end_ns);

	s->paused_ns = stats_add(s->paused_ns, paused_ns);
	s->idle_ns = stats_add(s->idle_ns, gpu_length(start_ns, end_ns) - paused_ns);
}

int gpu_busy_collect(struct gpu_section *s, const struct gpu_timeline *g, size_t begin, size_t end,
		     const struct gpu_change_ref *changes, size_t change_count)
{
	struct cover c = { 0, INT64_MIN };
	size_t n = end - begin;

	s->busy = calloc(1, sizeof(*s->busy) + (n / MARK_EACH + 1) * sizeof(*s->busy->marks));
	if (!s->busy || collect_pauses(s, changes, change_count))
		return -1;
	s->busy->timeline = g;
	s->busy->first = begin;
	s->busy->count = n;
	s->busy->marks[0].until_ns = INT64_MIN;
	for (size_t i = 0; i < n; i++) {
		const struct gpu_activity *a = gpu_activity(g, begin + i);

		if (a->timed && (!s->interval_count || a->start_ns > c.until_ns)) {
			if (s->interval_count++)
				add_gap(s, c.until_ns, a->start_ns);
			else
				s->first_ns = a->start_ns;
		}
		cover_add(&c, a);
		if ((i + 1) % MARK_EACH == 0)
			s->busy->marks[(i + 1) / MARK_EACH] =
				(struct gpu_busy_mark){ c.busy_ns, c.until_ns };
	}
	s->busy_ns = c.busy_ns;
	if (s->interval_count)
		s->last_ns = c.until_ns;
	return 0;
}

int64_t gpu_busy_until(const struct gpu_section *s, size_t activity, struct gpu_busy_cursor *at)
{
	const struct gpu_busy *b = s->busy;
	size_t n = activity - b->first, mark = n - n % MARK_EACH;

	if (at->activity < mark || at->activity > n || !at->activity)
		*at = (struct gpu_busy_cursor){ mark, b->marks[mark / MARK_EACH].until_ns };
	for (; at->activity < n; at->activity++) {
		const struct gpu_activity *a = gpu_activity(b->timeline, b->first + at->activity);

		if (a->timed && a->end_ns > at->until_ns)
			at->until_ns = a->end_ns;
	}
	return at->until_ns;
}

/* Busy time up to a moment; what began before it goes on without a gap to the end of it all. */
static int64_t busy_before(const struct gpu_section *s, int64_t time_ns)
{
	const struct gpu_busy *b = s->busy;
	const struct gpu_activity *a;
	struct cover c;
	size_t n = 0;

	if (!b)
		return 0;
	BISECT(n, b->count,
	       (a = gpu_activity(b->timeline, b->first + n), !a->timed || a->start_ns <= time_ns));
	c = cover_of(b, n);
	return c.busy_ns - gpu_length(time_ns, c.until_ns);
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
