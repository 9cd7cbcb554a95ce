#include "analyze/steps/batching_sleeps.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/classes/code_kind.h"
#include "base/array.h"
#include "timeline/functions.h"

#define LEAST_NS 2000000 /* a shorter sleep is one turn of the loop, or two */
#define WAIT_NS 1000000  /* the loop has nothing to do: what it does next is something else */
#define LEFT_NS 100000   /* between the end of sleep() and of who awaits it, where both are left */

enum whose { WHOSE_UNKNOWN, WHOSE_USERS, WHOSE_SLEEP, WHOSE_WAITS, WHOSE_OTHERS };

/* What is known of a function while its thread is walked. */
struct coroutine {
	enum whose whose;
	int64_t asleep_ns; /* since then; NEVER */
	bool crowded;      /* two of it sleep: nothing is known until all of them are awake */
	uint32_t asleep;
	int64_t left_ns;  /* the last time; NEVER */
	int64_t first_ns; /* it was suspended since a coroutine fell asleep, if that was the latest
			     sleep */
	uint64_t epoch;   /* that sleep's number */
};

#define NEVER INT64_MIN

struct walker {
	struct batching_sleeps *out;
	const struct timeline *timeline;
	struct coroutine *functions; /* by index */
	size_t function_count;
	struct open_call {
		uint32_t function;
		int64_t start_ns;
	} * open; /* by depth */
	size_t open_cap;
	struct batching_sleep
		batch_sleep; /* the last one; until_ns NEVER: what followed it goes on */
	uint32_t depth;      /* of what went on after it, the outermost function of the user's */
	bool has_sleep;
	uint64_t epoch; /* sleeps that began */
	bool failed;
};

static enum whose whose_is(const struct place *f)
{
	static const char tasks[] = "/asyncio/tasks.py";
	size_t n = strlen(f->file);

	if (*f->file && user_code(f->file))
		return WHOSE_USERS;
	if (!strcmp(f->name, "sleep") && n >= sizeof(tasks) - 1 &&
	    !strcmp(f->file + n - (sizeof(tasks) - 1), tasks))
		return WHOSE_SLEEP;
	return function_only_waits(f->name, f->file) ? WHOSE_WAITS : WHOSE_OTHERS;
}

static struct coroutine *coroutine_of(struct walker *w, uint32_t function)
{
	struct coroutine *c = function < w->function_count ? &w->functions[function] : NULL;

	if (c && c->whose == WHOSE_UNKNOWN)
		c->whose = whose_is(timeline_function(w->timeline, function));
	return c;
}

static bool is_users(struct walker *w, uint32_t function)
{
	const struct coroutine *c = coroutine_of(w, function);

	return c && c->whose == WHOSE_USERS;
}

static void visit_enter(void *ctx, size_t thread, uint32_t depth, uint32_t function,
			int64_t time_ns)
{
	struct walker *w = ctx;
	size_t old = w->open_cap;
	struct open_call *open =
		array_grow(w->open, &w->open_cap, (size_t)depth + 1, sizeof(*open));

	(void)thread;
	if (!open) {
		w->failed = true;
		return;
	}
	w->open = open;
	for (; old < w->open_cap; old++) /* that were entered before the recording began */
		open[old] = (struct open_call){ UINT32_MAX, 0 };
	open[depth] = (struct open_call){ function, time_ns };
}

/* It was called and left to sleep, or it has slept and returns. */
static void end_sleep_call(struct walker *w, const struct span *s)
{
	bool known = s->depth && s->depth <= w->open_cap;
	uint32_t by = known ? w->open[s->depth - 1].function : UINT32_MAX;
	struct coroutine *c = coroutine_of(w, by);

	if (!c || c->whose != WHOSE_USERS)
		return;
	if (s->flags & SPAN_CALL) {
		w->epoch++;
		c->crowded |= c->asleep++ > 0;
		c->asleep_ns = s->end_ns;
		return;
	}
	if (!c->asleep)
		return;
	if (!c->crowded && s->start_ns - c->asleep_ns >= LEAST_NS) {
		w->depth = s->depth - 1;
		while (w->depth && is_users(w, w->open[w->depth - 1].function))
			w->depth--;
		w->batch_sleep = (struct batching_sleep){ .thread = (uint32_t)s->thread,
							  .function = by,
							  .sleep = s->function,
							  .start_ns = c->asleep_ns,
							  .end_ns = w->open[w->depth].start_ns,
							  .until_ns = NEVER };
		w->has_sleep = true;
	}
	c->crowded &= --c->asleep > 0;
}

static void keep_sleep(struct walker *w)
{
	struct batching_sleeps *n = w->out;
	struct batching_sleep *grown = array_grow(n->items, &n->cap, n->count + 1, sizeof(*grown));

	w->has_sleep = false;
	if (!grown) {
		w->failed = true;
		return;
	}
	n->items = grown;
	grown[n->count++] = w->batch_sleep;
}

/*
 * A coroutine that was suspended during a part of the sleep and continues after what followed it.
 * Of those that came while it lasted the first one counts.
 */
static bool had_waited(const struct walker *w, const struct coroutine *c, const struct span *s)
{
	int64_t since_ns = c->epoch == w->epoch ? c->first_ns : c->left_ns;

	return w->has_sleep && w->batch_sleep.until_ns != NEVER && !(s->flags & SPAN_CALL) &&
	       s->function != w->batch_sleep.function && s->start_ns >= w->batch_sleep.until_ns &&
	       since_ns != NEVER && since_ns <= w->batch_sleep.end_ns - LEAST_NS;
}

static void visit_function(void *ctx, const struct span *s)
{
	struct walker *w = ctx;
	struct coroutine *c = coroutine_of(w, s->function);

	if (!c)
		return;
	switch (c->whose) {
	case WHOSE_SLEEP:
		end_sleep_call(w, s);
		break;
	case WHOSE_WAITS:
		w->has_sleep &=
			s->end_ns - s->start_ns < WAIT_NS || w->batch_sleep.until_ns == NEVER;
		break;
	case WHOSE_USERS:
		/* It went on behind sleep(), which was left by an exception then. */
		if (c->asleep == 1 && s->end_ns - c->asleep_ns > LEFT_NS &&
		    s->start_ns <= c->asleep_ns)
			c->asleep = 0;
		if (had_waited(w, c, s))
			keep_sleep(w);
		if (w->has_sleep && w->batch_sleep.until_ns == NEVER && s->depth == w->depth)
			w->batch_sleep.until_ns = s->end_ns;
		if (c->epoch != w->epoch)
			c->first_ns = s->end_ns;
		c->epoch = w->epoch;
		c->left_ns = s->end_ns;
		break;
	default:
		break;
	}
}

/* What was missed may have been anything. */
static void forget(struct walker *w)
{
	w->has_sleep = false;
	for (size_t i = 0; i < w->function_count; i++) {
		w->functions[i].asleep = 0;
		w->functions[i].crowded = false;
		w->functions[i].left_ns = w->functions[i].first_ns = NEVER;
	}
}

static void visit_gap(void *ctx, const struct gap *g)
{
	(void)g;
	forget(ctx);
}

static void visit_pause(void *ctx, const struct pause *p)
{
	(void)p;
	forget(ctx);
}

static bool sleeps(const struct timeline *tl)
{
	for (size_t i = 0; i < timeline_function_count(tl); i++)
		if (whose_is(timeline_function(tl, (uint32_t)i)) == WHOSE_SLEEP)
			return true;
	return false;
}

int batching_sleeps_find(struct batching_sleeps *n, struct timeline *tl, const struct trace *t,
			 struct err *err)
{
	struct walker w = { .out = n,
			    .timeline = tl,
			    .function_count = timeline_function_count(tl) };
	const struct timeline_visitor visitor = { .ctx = &w,
						  .enter = visit_enter,
						  .function = visit_function,
						  .gap = visit_gap,
						  .pause = visit_pause };
	int rc = 0;

	if (!sleeps(tl))
		return 0;
	w.functions = calloc(w.function_count + 1, sizeof(*w.functions));
	if (!w.functions)
		return err_set(err, "out of memory");
	for (size_t i = 0; !rc && i < trace_thread_count(t); i++) {
		forget(&w);
		rc = timeline_walk_again(tl, i, &visitor, err);
		if (!rc && w.failed)
			rc = err_set(err, "out of memory");
	}
	free(w.functions);
	free(w.open);
	return rc;
}

void batching_sleeps_release(struct batching_sleeps *n)
{
	free(n->items);
	memset(n, 0, sizeof(*n));
}

static struct batching_sleep *sleep_before(const struct batching_sleeps *n, const struct scope *s)
{
	size_t at = 0;

	BISECT(at, n->count,
	       n->items[at].thread < s->thread ||
		       (n->items[at].thread == s->thread && n->items[at].end_ns <= s->start_ns));
	if (!at || n->items[at - 1].thread != s->thread)
		return NULL;
	return s->start_ns < n->items[at - 1].until_ns ? &n->items[at - 1] : NULL;
}

/* Is there one of the same name between the sleep and this one? */
static bool is_later(const struct found_steps *found, size_t i,
		     const struct batching_sleep *batch_sleep)
{
	const struct scope *s = &found->items[i];

	for (size_t k = i; k--;) {
		const struct scope *before = &found->items[k];

		if (before->thread != s->thread || before->start_ns < batch_sleep->start_ns)
			return false;
		if (before->name == s->name)
			return true;
	}
	return false;
}

void batching_sleeps_extend_steps(const struct batching_sleeps *n, struct found_steps *found)
{
	for (size_t i = 0; n->count && i < found->count; i++) {
		struct scope *s = &found->items[i];
		struct batching_sleep *batch_sleep = sleep_before(n, s);

		if (!batch_sleep || is_later(found, i, batch_sleep))
			continue;
		s->start_ns = batch_sleep->start_ns;
		batch_sleep->leads = true;
	}
}

void batching_sleeps_in_requests(const struct batching_sleeps *n, const struct step_scope *requests,
				 size_t count)
{
	for (size_t i = 0; n->count && i < count; i++) {
		const struct scope *s = requests[i].scope;
		size_t at = 0;

		BISECT(at, n->count,
		       n->items[at].thread < s->thread ||
			       (n->items[at].thread == s->thread &&
				n->items[at].end_ns < s->start_ns + LEAST_NS));
		for (; s->ended && at < n->count && n->items[at].thread == s->thread &&
		       n->items[at].end_ns <= s->end_ns;
		     at++)
			n->items[at].leads = true;
	}
}
