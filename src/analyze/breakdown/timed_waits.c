#include "analyze/breakdown/timed_waits.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/classes/code_kind.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"
#include "timeline/timeline.h"

/*
 * From a thread that notifies to the one that wakes up it takes some tens of microseconds; in
 * shorter waits they cannot be distinguished.
 */
#define WAKE_NS 1000000
#define LEAST_NS (2 * (int64_t)WAKE_NS)

/* There is one mark of a thread in so much time, at the first of its calls in it. */
#define PROFILE_THROTTLE_ON_NS 100000

/* A thread does something. */
struct mark {
	int64_t time_ns;
	uint32_t thread; /* position */
};

/* Of one process. */
struct process_marks {
	struct mark *items; /* thread by thread, each in order */
	size_t count, cap;
	struct mark *by_time; /* the same */
	size_t *other;        /* of each in by_time: the next one of another thread */
	struct track unknown; /* calls of some thread were not recorded */
};

struct collector {
	struct process_marks *marks;
	const struct timeline *timeline;
	uint32_t thread;
	int64_t last_ns;     /* of its last mark; INT64_MIN: none yet */
	uint32_t depth;      /* open functions, */
	uint32_t wait_depth; /* of them those around the innermost that only waits; NO_FUNCTION */
	bool throttled;      /* calls that notify are not recorded, so that it may notify unseen */
	int64_t unseen_ns;   /* since then; INT64_MAX: it may not */
	int64_t resumed_ns;  /* after its last pause; INT64_MIN: it had none */
	bool failed;
};

static void add_mark(struct collector *c, int64_t time_ns)
{
	struct process_marks *m = c->marks;
	struct mark *grown;

	if (c->last_ns != INT64_MIN && time_ns < c->last_ns + PROFILE_THROTTLE_ON_NS)
		return;
	c->last_ns = time_ns;
	grown = array_grow(m->items, &m->cap, m->count + 1, sizeof(*grown));
	if (!grown) {
		c->failed = true;
		return;
	}
	m->items = grown;
	grown[m->count++] = (struct mark){ time_ns, c->thread };
}

static void add_unknown(struct collector *c, int64_t start_ns, int64_t end_ns)
{
	const struct piece p = { start_ns, end_ns, 0, 0 };

	if (end_ns > start_ns && track_put(&c->marks->unknown, &p))
		c->failed = true;
}

/* While the innermost function only waits nothing else happens, recorded or not. */
static void see(struct collector *c, int64_t time_ns)
{
	bool waits = c->wait_depth != NO_FUNCTION && c->depth == c->wait_depth + 1;
	bool unseen = c->throttled && !waits;

	if (unseen && c->unseen_ns == INT64_MAX) {
		c->unseen_ns = time_ns;
	} else if (!unseen && c->unseen_ns != INT64_MAX) {
		add_unknown(c, c->unseen_ns, time_ns);
		c->unseen_ns = INT64_MAX;
	}
}

static void visit_enter(void *ctx, size_t thread, uint32_t depth, uint32_t function,
			int64_t time_ns)
{
	struct collector *c = ctx;

	(void)thread;
	add_mark(c, time_ns);
	c->depth = depth + 1;
	if (function != NO_FUNCTION) {
		const struct place *f = timeline_function(c->timeline, function);

		if (function_only_waits(f->name, f->file))
			c->wait_depth = depth;
	}
	see(c, time_ns);
}

static void visit_function(void *ctx, const struct span *s)
{
	struct collector *c = ctx;

	add_mark(c, s->end_ns);
	c->depth = s->depth;
	if (c->wait_depth != NO_FUNCTION && s->depth <= c->wait_depth)
		c->wait_depth = NO_FUNCTION;
	see(c, s->end_ns);
}

static void visit_gap(void *ctx, const struct gap *g)
{
	add_unknown(ctx, g->start_ns, g->end_ns);
}

static void visit_pause(void *ctx, const struct pause *p)
{
	struct collector *c = ctx;

	c->resumed_ns = p->end_ns;
	add_unknown(c, p->start_ns, p->end_ns);
}

static void visit_throttled(void *ctx, const struct throttled *l)
{
	struct collector *c = ctx;

	if (l->function == NO_FUNCTION) {
		c->throttled = false;
	} else {
		const struct place *f = timeline_function(c->timeline, l->function);

		c->throttled |= function_wakes(f->name, f->file);
	}
	see(c, l->time_ns);
}

static int by_time(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int collect_process(struct process_marks *m, const struct timed_waits_sources *from,
			   uint32_t process, struct err *err)
{
	for (size_t i = 0; i < trace_thread_count(from->trace); i++) {
		struct collector c = {
			.marks = m,
			.timeline = from->timeline,
			.thread = (uint32_t)i,
			.last_ns = INT64_MIN,
			.wait_depth = NO_FUNCTION,
			.unseen_ns = INT64_MAX,
			.resumed_ns = INT64_MIN,
		};
		const struct timeline_visitor visitor = { .ctx = &c,
							  .enter = visit_enter,
							  .function = visit_function,
							  .gap = visit_gap,
							  .pause = visit_pause,
							  .throttled = visit_throttled };

		if (trace_thread(from->trace, i)->process != process)
			continue;
		if (timeline_walk_again(from->timeline, i, &visitor, err))
			return -1;
		add_unknown(&c, c.unseen_ns, INT64_MAX);
		/* The last pause of one that has pauses may never have ended. */
		if (c.resumed_ns != INT64_MIN)
			add_unknown(&c, c.last_ns > c.resumed_ns ? c.last_ns : c.resumed_ns,
				    INT64_MAX);
		if (c.failed)
			return err_set(err, "out of memory");
	}
	m->by_time = malloc((m->count + 1) * sizeof(*m->by_time));
	if (!m->by_time)
		return err_set(err, "out of memory");
	if (m->count)
		memcpy(m->by_time, m->items, m->count * sizeof(*m->items));
	qsort(m->by_time, m->count, sizeof(*m->by_time), by_time);
	m->other = malloc((m->count + 1) * sizeof(*m->other));
	if (!m->other)
		return err_set(err, "out of memory");
	for (size_t i = m->count; i-- > 0;) {
		bool differs =
			i + 1 == m->count || m->by_time[i + 1].thread != m->by_time[i].thread;

		m->other[i] = differs ? i + 1 : m->other[i + 1];
	}
	track_sort(&m->unknown);
	return 0;
}

static void marks_release(struct process_marks *m)
{
	free(m->items);
	free(m->by_time);
	free(m->other);
	track_release(&m->unknown);
}

/* When a thread was last seen to wait, in a wait of its. */
static int64_t last_seen(const struct timed_waits_sources *from, size_t thread,
			 const struct piece *wait)
{
	const struct track *waiting = &from->samples->waiting[thread];
	int64_t seen_ns = wait->start_ns;
	size_t next = 0;

	BISECT(next, waiting->count, waiting->items[next].end_ns <= wait->end_ns);
	if (next < waiting->count && waiting->items[next].start_ns <= wait->end_ns)
		seen_ns = wait->end_ns - 1000 * (int64_t)waiting->items[next].more;
	else if (next)
		seen_ns = waiting->items[next - 1].end_ns;
	return seen_ns > wait->start_ns ? seen_ns : wait->start_ns;
}

/*
 * Might another thread have ended a wait of this one?  A woken thread continues when it gets a
 * CPU, which may take long if others occupy them: so any thread that was active since the wait was
 * last sampled.
 */
static bool is_woken(const struct timed_waits_sources *from, const struct process_marks *m,
		     uint32_t thread, const struct piece *wait)
{
	int64_t time_ns = wait->end_ns, seen_ns = last_seen(from, thread, wait);
	int64_t from_ns = (seen_ns < time_ns - WAKE_NS ? seen_ns : time_ns - WAKE_NS) -
			  PROFILE_THROTTLE_ON_NS;
	size_t at = 0;

	if (track_overlap_ns(&m->unknown, from_ns, time_ns) > 0)
		return true;
	BISECT(at, m->count, m->by_time[at].time_ns < from_ns);
	if (at < m->count && m->by_time[at].thread == thread)
		at = m->other[at];
	return at < m->count && m->by_time[at].time_ns <= time_ns;
}

/* A sample shows it in a wait that another thread of the process can end. */
static bool is_wait(const struct timed_waits_sources *from, const struct piece *sample)
{
	const struct place *f;
	uint32_t inner;

	if (!sample->id || (sample->more & SAMPLE_STATE) == SAMPLE_RUNNING ||
	    (sample->more & SAMPLE_STATE) == SAMPLE_GIL_WAIT)
		return false;
	inner = stack_classes_of(from->classes, sample->id)->inner;
	if (inner == NO_FUNCTION)
		return false;
	f = timeline_function(from->timeline, inner);
	return function_is_woken(f->name, f->file);
}

static bool waits_at(const struct timed_waits_sources *from, size_t thread, int64_t time_ns)
{
	const struct track *samples = &from->samples->threads[thread];
	size_t at = 0;

	BISECT(at, samples->count, samples->items[at].end_ns <= time_ns);
	return at < samples->count && samples->items[at].start_ns <= time_ns &&
	       is_wait(from, &samples->items[at]);
}

/* When a thread goes to work at or after a time: it calls CUDA, or begins a step. */
static int64_t next_work(const struct timed_waits_sources *from, size_t thread, int64_t time_ns)
{
	const struct step_item *items = from->items->items;
	size_t call = gpu_call_find(from->gpu, thread, time_ns), step = 0;
	int64_t work_ns = INT64_MAX;

	if (call < gpu_call_count(from->gpu) &&
	    gpu_call_api(from->gpu, gpu_call(from->gpu, call))->thread == thread)
		work_ns = gpu_call(from->gpu, call)->start_ns;
	BISECT(step, from->items->count,
	       items[step].thread < thread ||
		       (items[step].thread == thread && items[step].start_ns < time_ns));
	if (step < from->items->count && items[step].thread == thread &&
	    items[step].start_ns < work_ns)
		work_ns = items[step].start_ns;
	return work_ns;
}

/*
 * The waits of a thread lie between two of its calls; [first, last) of the marks are its own.  What
 * comes after a wait is known when the next one begins, or at the end.
 */
static int find_waits(struct track *out, const struct timed_waits_sources *from,
		      const struct process_marks *m, size_t first, size_t last)
{
	uint32_t thread = m->items[first].thread;
	struct piece wait = { 0 }; /* the last one; its end 0: none */

	for (size_t i = first + 1; i <= last; i++) {
		int64_t start_ns = m->items[i - 1].time_ns;
		int64_t end_ns = i < last ? m->items[i].time_ns : INT64_MAX;
		bool waits =
			end_ns - start_ns >= LEAST_NS &&
			(i == last || waits_at(from, thread, start_ns + (end_ns - start_ns) / 2));

		if (!waits)
			continue;
		if (wait.end_ns &&
		    next_work(from, thread, wait.end_ns) < start_ns + PROFILE_THROTTLE_ON_NS &&
		    !is_woken(from, m, thread, &wait) && track_add(out, &wait))
			return -1;
		wait = (struct piece){ start_ns, end_ns, 0, 0 };
	}
	return 0;
}

static int find_in_process(struct timed_waits *w, const struct timed_waits_sources *from,
			   uint32_t process, struct err *err)
{
	struct process_marks m = { 0 };
	int rc = collect_process(&m, from, process, err);

	for (size_t i = 0, end; !rc && i < m.count; i = end) {
		uint32_t thread = m.items[i].thread;

		for (end = i; end < m.count && m.items[end].thread == thread; end++)
			;
		if (from->samples->threads[thread].count &&
		    find_waits(&w->threads[thread], from, &m, i, end))
			rc = err_set(err, "out of memory");
	}
	marks_release(&m);
	return rc;
}

static bool has_waits(const struct timed_waits_sources *from, size_t thread)
{
	const struct track *samples = &from->samples->threads[thread];

	for (size_t i = 0; i < samples->count; i++)
		if (is_wait(from, &samples->items[i]))
			return true;
	return false;
}

/* Does it go to sleep there?  Sets *inside: the functions inside of sleep(). */
static bool goes_to_sleep(const struct timed_waits_sources *from, uint32_t stack,
			  const struct batching_sleep *batch_sleep, size_t *inside)
{
	size_t count;
	const struct trace_frame *frames = trace_stack(from->trace, stack, &count);

	for (size_t i = 0; i + 1 < count; i++) {
		*inside = i;
		if (timeline_function_of(from->timeline, frames[i].code) == batch_sleep->sleep)
			return timeline_function_of(from->timeline, frames[i + 1].code) ==
			       batch_sleep->function;
	}
	return false;
}

/*
 * A sample that found the coroutine on its way to sleep knows the line, best in sleep() itself.  A
 * program has few of them, if any: it takes microseconds.
 */
static uint32_t sleep_stack(const struct timed_waits_sources *from,
			    const struct batching_sleep *batch_sleep)
{
	const struct track *samples = &from->samples->threads[batch_sleep->thread];
	size_t inside, best_inside = SIZE_MAX;
	uint32_t best = 0, last = 0;

	for (size_t i = 0; i < samples->count && best_inside; i++) {
		uint32_t stack = samples->items[i].id;

		if (stack == last)
			continue;
		last = stack;
		if (goes_to_sleep(from, stack, batch_sleep, &inside) && inside < best_inside) {
			best = stack;
			best_inside = inside;
		}
	}
	return best;
}

static int add_sleeps(struct timed_waits *w, const struct timed_waits_sources *from,
		      struct err *err)
{
	const struct batching_sleeps *n = from->sleeps;
	const struct batching_sleep *last = NULL;
	uint32_t stack = 0;

	for (size_t i = 0; i < n->count; i++) {
		const struct batching_sleep *batch_sleep = &n->items[i];
		struct piece p = { batch_sleep->start_ns, batch_sleep->end_ns,
				   batch_sleep->function + 1, 0 };

		if (!batch_sleep->leads)
			continue;
		if (!last || last->function != batch_sleep->function ||
		    last->thread != batch_sleep->thread)
			stack = sleep_stack(from, batch_sleep);
		last = batch_sleep;
		p.more = stack;
		w->sleep = batch_sleep->sleep;
		if (track_put(&w->threads[batch_sleep->thread], &p))
			return err_set(err, "out of memory");
	}
	for (size_t i = 0; n->count && i < w->thread_count; i++)
		track_sort(&w->threads[i]);
	return 0;
}

int timed_waits_find(struct timed_waits *w, const struct timed_waits_sources *from, struct err *err)
{
	size_t n = trace_thread_count(from->trace);
	bool *done = calloc(trace_process_count(from->trace) + 1, sizeof(*done));
	int rc = 0;

	*w = (struct timed_waits){ .threads = calloc(n + 1, sizeof(*w->threads)),
				   .thread_count = n };
	if (!done || !w->threads) {
		free(done);
		return err_set(err, "out of memory");
	}
	for (size_t i = 0; !rc && i < n; i++) {
		uint32_t process = trace_thread(from->trace, i)->process;
		bool *checked = &done[process_position(from->trace, process)];

		if (*checked || !has_waits(from, i))
			continue;
		*checked = true;
		rc = find_in_process(w, from, process, err);
	}
	free(done);
	return rc || add_sleeps(w, from, err) ? -1 : 0;
}

void timed_waits_release(struct timed_waits *w)
{
	for (size_t i = 0; w->threads && i < w->thread_count; i++)
		track_release(&w->threads[i]);
	free(w->threads);
	memset(w, 0, sizeof(*w));
}
