#include "analyze/cpu/thread_states.h"

#include <stdlib.h>

#include "analyze/classes/code_kind.h"
#include "base/array.h"

/*
 * Finding out who had a lock takes the samples of all threads meanwhile.  Beyond so many, for
 * one window, holders are unknown: no trace makes the analysis take long.
 */
#define VISITS_MAX (4u << 20)

/* When a waiting ended is known to within a sample or two. */
#define RELEASE_WITHIN_NS 3000000

/* One thread waits for one lock, from beginning to end. */
struct episode {
	uint64_t lock;
	uint32_t thread; /* position */
	uint32_t code;   /* the innermost function */
	bool ended;      /* the thread was seen to go on */
	int64_t start_ns, end_ns;
};

struct state {
	const struct sample_window *window;
	const struct trace *trace;
	struct wait_pairs *out;
	struct episode *episodes; /* in order of locks, then of beginnings */
	size_t count, cap;
	uint64_t visits; /* of samples */
};

static bool has_no_holder(const struct trace *t, uint32_t code)
{
	const struct trace_code *c = trace_code(t, code);

	return c && function_waits(c->name, c->file);
}

static int add_episode(struct state *s, const struct window_sample *l)
{
	struct episode *grown = array_grow(s->episodes, &s->cap, s->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	s->episodes = grown;
	grown[s->count++] =
		(struct episode){ l->lock, l->thread,   window_sample_innermost(s->trace, l),
				  false,   l->start_ns, l->end_ns };
	return 0;
}

/* A thread's samples, one after the other. */
static int find_episodes(struct state *s)
{
	bool open = false;

	for (size_t i = 0; i < s->window->count; i++) {
		const struct window_sample *l = &s->window->items[i];
		struct episode *last = open ? &s->episodes[s->count - 1] : NULL;
		bool waits = window_sample_state(l) == SAMPLE_LOCK_WAIT;
		uint32_t code = waits ? window_sample_innermost(s->trace, l) : 0;

		if (last && last->thread == l->thread) {
			if (waits && l->lock == last->lock && l->start_ns == last->end_ns) {
				last->end_ns = l->end_ns;
				continue;
			}
			last->ended = true;
		}
		open = waits && !has_no_holder(s->trace, code);
		if (open && add_episode(s, l))
			return -1;
	}
	return 0;
}

static int by_lock_and_start(const void *a, const void *b)
{
	const struct episode *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int add_wait(struct state *s, const struct episode *e, uint32_t holder,
		    enum wait_evidence evidence, int64_t ns)
{
	return wait_pairs_add(s->out, e->code, holder, evidence, ns);
}

/* How long in an interval a thread could have had a lock: it was neither waiting nor idle. */
static bool can_hold(struct state *s, const struct window_thread *t, int64_t start_ns,
		     int64_t end_ns)
{
	int64_t seen_ns = 0, free_ns = 0, all_ns = end_ns - start_ns;

	for (const struct window_sample *l = sample_window_at(s->window, t, start_ns);
	     l && l->start_ns < end_ns; l = sample_window_next(s->window, t, l)) {
		int64_t ns = window_sample_overlap_ns(l, start_ns, end_ns);

		s->visits++;
		seen_ns += ns;
		if (window_sample_state(l) != SAMPLE_LOCK_WAIT &&
		    !has_no_holder(s->trace, window_sample_innermost(s->trace, l)))
			free_ns += ns;
	}
	return seen_ns > all_ns - all_ns / 10 && free_ns > all_ns / 2;
}

/* An interval without its uncertain end, if there is more of it. */
static int64_t certain_end(int64_t start_ns, int64_t end_ns)
{
	int64_t certain_ns = end_ns - RELEASE_WITHIN_NS;

	return certain_ns > start_ns ? certain_ns : end_ns;
}

/* Whether a thread left the function that it had been in all along just then. */
static bool lets_go(const struct state *s, const struct window_thread *t, int64_t start_ns,
		    int64_t end_ns)
{
	uint32_t code = sample_window_common(s->window, s->trace, t, start_ns,
					     certain_end(start_ns, end_ns));
	const struct window_sample *after =
		sample_window_at(s->window, t, end_ns + RELEASE_WITHIN_NS);

	return code && (!after || !window_sample_contains(s->trace, after, code));
}

/* NULL: none, or it is unknown which. */
static const struct window_thread *guess_holder(struct state *s, const struct episode *e,
						int64_t start_ns, int64_t end_ns, bool until_end)
{
	const struct window_thread *only = NULL, *left = NULL;
	unsigned can = 0, let_go = 0;

	for (size_t i = 0; i < s->window->thread_count; i++) {
		const struct window_thread *t = &s->window->threads[i];

		if (t->thread == e->thread || !can_hold(s, t, start_ns, end_ns))
			continue;
		can++;
		only = t;
		if (until_end && lets_go(s, t, start_ns, end_ns)) {
			let_go++;
			left = t;
		}
	}
	return can == 1 ? only : let_go == 1 ? left : NULL;
}

static bool is_in(const struct state *s, const struct episode *e, int64_t time_ns, uint32_t code)
{
	const struct window_thread *t = sample_window_thread(s->window, e->thread);
	const struct window_sample *l = t ? sample_window_at(s->window, t, time_ns) : NULL;

	return l && window_sample_contains(s->trace, l, code);
}

static int guess(struct state *s, const struct episode *e, int64_t start_ns, int64_t end_ns,
		 bool until_end)
{
	const struct window_thread *t = NULL;
	uint32_t code = 0;

	if (s->visits < VISITS_MAX)
		t = guess_holder(s, e, start_ns, end_ns, until_end);
	if (t)
		code = sample_window_users(s->window, s->trace, t, start_ns,
					   certain_end(start_ns, end_ns));
	/* Both are in it: it gets the lock again and again, and holds it further in. */
	if (code && is_in(s, e, start_ns, code))
		code = sample_window_mostly(s->window, s->trace, t, start_ns, end_ns);
	return add_wait(s, e, code, WAIT_HOLDER_LIKELY, end_ns - start_ns);
}

/* An interval of an episode in which `owner`, that got the lock before, may still have it. */
static int blame(struct state *s, const struct episode *e, const struct episode *owner,
		 int64_t start_ns, int64_t end_ns, bool until_end)
{
	const struct window_thread *t =
		owner ? sample_window_thread(s->window, owner->thread) : NULL;
	int64_t until_ns = start_ns;

	if (end_ns <= start_ns)
		return 0;
	/* As long as it is in the function that wanted the lock. */
	for (const struct window_sample *l = t ? sample_window_at(s->window, t, start_ns) : NULL;
	     l && l->start_ns < end_ns && s->visits < VISITS_MAX &&
	     window_sample_contains(s->trace, l, owner->code);
	     l = sample_window_next(s->window, t, l), s->visits++)
		until_ns = l->end_ns < end_ns ? l->end_ns : end_ns;
	if (until_ns > start_ns &&
	    add_wait(s, e, owner->code, WAIT_HOLDER_SEEN, until_ns - start_ns))
		return -1;
	return until_ns < end_ns ? guess(s, e, until_ns, end_ns, until_end) : 0;
}

/* The episodes of one lock that ended, in order of their ends: each made its thread the owner. */
struct changes {
	const struct episode **items;
	size_t count;
};

static int by_end(const void *a, const void *b)
{
	const struct episode *x = *(const struct episode *const *)a;
	const struct episode *y = *(const struct episode *const *)b;

	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void collect_changes(struct changes *c, const struct episode *first, size_t count)
{
	c->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (first[i].ended)
			c->items[c->count++] = &first[i];
	}
	qsort(c->items, c->count, sizeof(const struct episode *), by_end);
}

static size_t first_change_behind(const struct changes *c, int64_t time_ns)
{
	size_t at = 0;

	BISECT(at, c->count, c->items[at]->end_ns <= time_ns);
	return at;
}

static int blame_all(struct state *s, const struct episode *e, const struct changes *c)
{
	size_t next = first_change_behind(c, e->start_ns);
	const struct episode *owner = next ? c->items[next - 1] : NULL;
	int64_t at_ns = e->start_ns;

	if (owner &&
	    owner->thread ==
		    e->thread) /* it released the lock, and a thread that did not wait took it */
		owner = NULL;
	for (; next < c->count && c->items[next]->end_ns < e->end_ns; next++) {
		if (blame(s, e, owner, at_ns, c->items[next]->end_ns, false))
			return -1;
		owner = c->items[next];
		at_ns = owner->end_ns;
	}
	return blame(s, e, owner, at_ns, e->end_ns, e->ended);
}

static int collect_lock(struct state *s, const struct episode *first, size_t count,
			struct changes *c)
{
	collect_changes(c, first, count);
	for (size_t i = 0; i < count; i++) {
		const struct episode *e = &first[i];

		/* Of one without an address nothing is known. */
		if (e->lock ? blame_all(s, e, c)
			    : add_wait(s, e, 0, WAIT_HOLDER_UNKNOWN, e->end_ns - e->start_ns))
			return -1;
	}
	return 0;
}

int lock_waits_collect(struct wait_pairs *out, const struct sample_window *w, const struct trace *t)
{
	struct state s = { .window = w, .trace = t, .out = out };
	struct changes c = { 0 };
	int rc = -1;

	if (find_episodes(&s))
		goto out;
	c.items = calloc(s.count + 1, sizeof(const struct episode *));
	if (!c.items)
		goto out;
	if (s.count)
		qsort(s.episodes, s.count, sizeof(*s.episodes), by_lock_and_start);
	for (size_t i = 0, n; i < s.count; i += n) {
		for (n = 1; i + n < s.count && s.episodes[i + n].lock == s.episodes[i].lock; n++)
			;
		if (collect_lock(&s, &s.episodes[i], n, &c))
			goto out;
	}
	rc = 0;
out:
	free(c.items);
	free(s.episodes);
	return rc;
}
