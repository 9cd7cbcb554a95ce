#include "export/thread_merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void thread_merge_init(struct thread_merge *m, struct event_walk *w, struct track_set *tracks)
{
	*m = (struct thread_merge){ .walk = w, .tracks = tracks, .thread = NO_THREAD };
}

void thread_merge_release(struct thread_merge *m)
{
	free(m->open);
	free(m->held.items);
}

int held_slices_add(struct held_slices *h, const struct slice *s)
{
	struct slice *grown = array_grow(h->items, &h->cap, h->count + 1, sizeof(*grown));
	size_t at = h->count;

	if (!grown)
		return -1;
	h->items = grown;
	while (at && grown[at - 1].start_ns > s->start_ns)
		at--;
	memmove(&grown[at + 1], &grown[at], (h->count++ - at) * sizeof(*grown));
	grown[at] = *s;
	h->last_end_ns = s->end_ns;
	return 0;
}

/* Slices that end later are outside; of two equal ones the later in the list is. */
static int compare_held(const void *a, const void *b, void *ctx)
{
	const struct slice *items = ctx;
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	if (items[x].start_ns != items[y].start_ns)
		return items[x].start_ns < items[y].start_ns ? -1 : 1;
	if (items[x].end_ns != items[y].end_ns)
		return items[x].end_ns > items[y].end_ns ? -1 : 1;
	return x < y ? 1 : -1;
}

#define FLUSH_AT_ONCE 64

void held_slices_flush(struct held_slices *h, const struct event_sink *sink, int64_t from_ns)
{
	size_t first = h->count;
	size_t few[FLUSH_AT_ONCE], *order = few;

	while (first && h->items[first - 1].start_ns >= from_ns)
		first--;
	if (first == h->count)
		return;
	if (h->count - first > FLUSH_AT_ONCE)
		order = malloc((h->count - first) * sizeof(*order));
	for (size_t i = first; order && i < h->count; i++)
		order[i - first] = i;
	if (order)
		qsort_r(order, h->count - first, sizeof(*order), compare_held, h->items);
	/*
	 * Without memory they keep the order of the walk: a viewer shows them side by side.
	 */
	for (size_t i = first; i < h->count; i++)
		sink->slice(sink->ctx, &h->items[order ? order[i - first] : i]);
	if (order != few)
		free(order);
	h->count = first;
}

/* Does it begin where something that still waits ends, or before?  Both keep their order. */
static bool touches_held(const struct held_slices *h, int64_t start_ns)
{
	return h->count && h->items[0].start_ns < start_ns && start_ns <= h->last_end_ns;
}

/* More would not begin at the same moment in a program; each costs a move of those behind it. */
#define HELD_MAX 256

static void write_slice(struct thread_merge *m, struct slice *s, bool aside, bool hold)
{
	const struct event_sink *sink = m->tracks->sink;

	if (!m->group)
		return;
	hold |= touches_held(&m->held, s->start_ns);
	aside |= hold && m->held.count >= HELD_MAX;
	s->track = aside ? track_aside(m->tracks, m->group, s->start_ns, s->end_ns)
			 : track_group_main(m->tracks, m->group);
	if (!s->track)
		return;
	if (aside) {
		sink->slice(sink->ctx, s);
		return;
	}
	if (hold) {
		m->failed |= held_slices_add(&m->held, s) != 0;
		return;
	}
	sink->slice(sink->ctx, s);
	held_slices_flush(&m->held, sink, s->start_ns);
}

/* Is something open that began at the same moment, and may be around it? */
static bool begins_with_another(const struct thread_merge *m, int64_t start_ns)
{
	for (size_t i = m->count; i-- > 0 && m->open[i].start_ns >= start_ns;)
		if (!m->open[i].aside && m->open[i].start_ns == start_ns)
			return true;
	return start_ns == m->gap_ns;
}

static void open_push(struct thread_merge *m, const struct open_slice *o)
{
	struct open_slice *grown = array_grow(m->open, &m->cap, m->count + 1, sizeof(*grown));

	if (!grown) {
		m->failed = true;
		return;
	}
	m->open = grown;
	grown[m->count++] = *o;
}

static bool is_timed(enum slice_kind kind)
{
	return kind == SLICE_SCOPE || kind == SLICE_CALL;
}

static bool is_of_calls(enum slice_kind kind)
{
	return kind == SLICE_FUNCTION || kind == SLICE_GC;
}

static void end_remove(struct thread_merge *m, int64_t end_ns)
{
	size_t at = 0;

	while (at + 1 < m->timed && m->ends[at] != end_ns)
		at++;
	m->ends[at] = m->ends[--m->timed];
	m->next_end_ns = INT64_MAX;
	for (size_t i = 0; i < m->timed; i++)
		if (m->ends[i] < m->next_end_ns)
			m->next_end_ns = m->ends[i];
}

static void open_remove(struct thread_merge *m, size_t at)
{
	memmove(&m->open[at], &m->open[at + 1], (--m->count - at) * sizeof(*m->open));
}

/* What began later and goes on does not nest in what ends now. */
static bool settle_overlaps(struct thread_merge *m, const struct slice *s, size_t from,
			    bool own_end)
{
	for (size_t i = from; i < m->count;) {
		struct open_slice *o = &m->open[i];

		if (o->aside || o->start_ns <= s->start_ns) {
			i++;
		} else if (is_of_calls(s->kind) && is_of_calls(o->kind)) {
			open_remove(m, i); /* it left the stack without an end */
		} else if (!own_end) {
			return true;
		} else {
			o->aside = true;
			i++;
		}
	}
	return false;
}

/* at: its place in the stack plus one; 0: its begin is missing. */
static void close_at(struct thread_merge *m, struct slice *s, size_t at, bool own_end)
{
	bool aside;

	if (at) {
		aside = m->open[at - 1].aside;
		open_remove(m, at - 1);
		/*
		 * A slice that ended before the present position, which is known only now: others
		 * may have been written since.
		 */
		if (!aside)
			aside = settle_overlaps(m, s, at - 1, own_end) || s->end_ns < m->now_ns;
	} else {
		size_t from = m->count;

		while (from && m->open[from - 1].start_ns > s->start_ns)
			from--;
		aside = m->crossed || settle_overlaps(m, s, from, own_end);
	}
	if (s->start_ns < m->gap_ns)
		m->crossed = true;
	write_slice(m, s, aside, begins_with_another(m, s->start_ns));
}

void thread_merge_close(struct thread_merge *m, struct slice *s, size_t number, bool own_end)
{
	size_t at = m->count;

	while (at && m->open[at - 1].start_ns > s->start_ns)
		at--;
	while (at && m->open[at - 1].start_ns == s->start_ns &&
	       !(m->open[at - 1].kind == s->kind && m->open[at - 1].index == number))
		at--;
	if (at && m->open[at - 1].start_ns < s->start_ns)
		at = 0;
	close_at(m, s, at, own_end);
}

void thread_merge_open(struct thread_merge *m, enum slice_kind kind, size_t number,
		       int64_t start_ns)
{
	open_push(m, &(struct open_slice){ .kind = kind, .start_ns = start_ns, .index = number });
}

void thread_merge_gap(struct thread_merge *m, int64_t end_ns)
{
	m->gap_ns = end_ns;
	m->crossed = false;
}

static struct slice timed_slice(enum slice_kind kind, size_t index, int64_t start_ns,
				int64_t end_ns)
{
	return (struct slice){
		.kind = kind,
		.start_ns = start_ns,
		.end_ns = end_ns > start_ns ? end_ns : start_ns,
		.index = index,
	};
}

static void timed_begin(struct thread_merge *m, enum slice_kind kind, size_t index,
			int64_t start_ns, int64_t end_ns)
{
	struct slice s = timed_slice(kind, index, start_ns, end_ns);

	/* Where clocks went backwards it begins before what is open already. */
	if (m->timed >= TIMED_MAX || (m->count && start_ns < m->open[m->count - 1].start_ns)) {
		write_slice(m, &s, true, false);
		return;
	}
	open_push(m, &(struct open_slice){ kind, false, start_ns, s.end_ns, index });
	if (m->failed)
		return;
	m->ends[m->timed++] = s.end_ns;
	if (s.end_ns < m->next_end_ns)
		m->next_end_ns = s.end_ns;
}

/* Closes the innermost of those that end first. */
static void timed_end(struct thread_merge *m)
{
	for (size_t i = m->count; i-- > 0;) {
		const struct open_slice o = m->open[i];

		if (is_timed(o.kind) && o.end_ns == m->next_end_ns) {
			struct slice s = timed_slice(o.kind, o.index, o.start_ns, o.end_ns);

			end_remove(m, o.end_ns);
			close_at(m, &s, i + 1, true);
			return;
		}
	}
	m->timed = 0; /* cannot be: each end has its slice in the stack */
	m->next_end_ns = INT64_MAX;
}

static const struct scope *scope_ahead(struct thread_merge *m)
{
	const struct scope *s = NULL;

	while (m->next_scope < timeline_scope_count(m->walk->timeline)) {
		s = timeline_scope(m->walk->timeline, m->next_scope);
		if (s->thread >= m->thread)
			break;
		m->next_scope++;
		s = NULL;
	}
	return s && s->thread == m->thread ? s : NULL;
}

static const struct gpu_call *call_ahead(struct thread_merge *m)
{
	const struct gpu_timeline *g = m->walk->gpu;
	const struct gpu_call *c = NULL;

	while (m->next_call < gpu_call_count(g)) {
		c = gpu_call(g, m->next_call);
		if (gpu_call_api(g, c)->thread >= m->thread)
			break;
		m->next_call++;
		c = NULL;
	}
	return c && gpu_call_api(g, c)->thread == m->thread ? c : NULL;
}

/* Begins and ends what is known beforehand, up to a moment; what begins then is inside it. */
static void reach(struct thread_merge *m, int64_t time_ns)
{
	for (;;) {
		const struct scope *s = scope_ahead(m);
		const struct gpu_call *c = call_ahead(m);
		bool scope_first = s && (!c || s->start_ns <= c->start_ns);
		int64_t begin_ns = scope_first ? s->start_ns : c ? c->start_ns : INT64_MAX;

		if (m->timed && m->next_end_ns <= time_ns && m->next_end_ns <= begin_ns) {
			timed_end(m);
		} else if ((!s && !c) || begin_ns >= time_ns) {
			return;
		} else if (scope_first) {
			timed_begin(m, SLICE_SCOPE, m->next_scope++, s->start_ns, s->end_ns);
		} else {
			timed_begin(m, SLICE_CALL, m->next_call++, c->start_ns, c->end_ns);
		}
	}
}

static void thread_end(struct thread_merge *m)
{
	m->now_ns = INT64_MIN; /* what is closed now ends in order */
	reach(m, INT64_MAX);
	held_slices_flush(&m->held, m->tracks->sink, INT64_MIN);
	m->count = m->timed = 0;
}

static void thread_begin(struct thread_merge *m, size_t thread)
{
	m->thread = thread;
	m->group = track_group_find(
		m->tracks, &(struct track){
				   .kind = TRACK_THREAD,
				   .process = trace_thread(m->walk->trace, thread)->process,
				   .thread = thread,
			   });
	m->gap_ns = timeline_thread(m->walk->timeline, thread)->start_ns;
	m->crossed = false;
	m->next_end_ns = INT64_MAX;
	m->now_ns = INT64_MIN;
}

/* Threads in between have no functions and no layers, but may have CUDA calls. */
static void go_on_to(struct thread_merge *m, size_t thread)
{
	size_t next = m->thread == NO_THREAD ? 0 : m->thread + 1;

	if (m->thread != NO_THREAD)
		thread_end(m);
	for (; next < thread; next++) {
		thread_begin(m, next);
		thread_end(m);
	}
}

void thread_merge_finish(struct thread_merge *m)
{
	go_on_to(m, trace_thread_count(m->walk->trace));
	m->thread = NO_THREAD;
}

void thread_merge_reach(struct thread_merge *m, size_t thread, int64_t time_ns)
{
	if (thread != m->thread) {
		go_on_to(m, thread);
		thread_begin(m, thread);
	}
	reach(m, time_ns);
	if (time_ns > m->now_ns)
		m->now_ns = time_ns;
}
