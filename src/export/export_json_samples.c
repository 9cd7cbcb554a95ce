/*
 * Functions by samples, where the trace does not have their calls: what was left out
 * of it or happened while it paused, so that what takes long is on the timeline.
 * Each has the error of its times; what is shorter than a few looks is not told.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "export/export_json.h"
#include "timeline/sample_walk.h"
#include "timeline/timeline.h"

/*
 * From samples to spans: looks in a row that found a function at the same depth of a
 * thread's stack, called from the same place, were one call of it, or several that
 * followed each other from there.
 *
 * When it began and ended is known to within error_ns: half of the time between the
 * look that found it first (last) and the one before (after).  Memory is bounded by
 * the depth of the stacks.
 */

struct sampled_span {
	size_t thread;     /* position */
	uint32_t function; /* of the timeline */
	uint32_t depth;    /* functions below it */
	uint64_t samples;
	int64_t start_ns, end_ns;
	int64_t error_ns; /* of both */
	int64_t self_ns;  /* in which it was the innermost */
};

struct open_span {
	struct sampled_span span;
	uint32_t called_at; /* instruction of its caller; 0: it has none */
};

/* Of a thread: outermost first. */
struct open_stack {
	struct open_span *spans;
	size_t count, cap;
	int64_t end_ns, error_ns; /* of the sample before */
};

struct spans {
	const struct trace *trace;
	struct timeline *timeline;
	void (*visit)(void *ctx, const struct sampled_span *s);
	void *ctx;
	struct open_stack *threads; /* by position */
	bool failed;
};

static int64_t longer(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void close_down_to(struct spans *s, struct open_stack *stack, size_t depth)
{
	while (stack->count > depth) {
		struct sampled_span *span = &stack->spans[--stack->count].span;

		span->end_ns = stack->end_ns;
		span->error_ns = longer(span->error_ns, stack->error_ns);
		s->visit(s->ctx, span);
	}
}

/* How many of the open ones go on: frames are innermost first, open ones outermost. */
static size_t still_open(struct spans *s, const struct open_stack *stack,
			 const struct trace_frame *frames, size_t count)
{
	size_t n = 0;

	while (n < stack->count && n < count) {
		const struct trace_frame *f = &frames[count - 1 - n];
		const struct open_span *o = &stack->spans[n];

		if (timeline_function_of(s->timeline, f->code) != o->span.function ||
		    (n && f[1].offset != o->called_at))
			break;
		n++;
	}
	return n;
}

static int open_from(struct spans *s, struct open_stack *stack, const struct trace_frame *frames,
		     size_t count, const struct timed_sample *t)
{
	struct open_span *grown =
		array_grow(stack->spans, &stack->cap, count + 1, sizeof(*stack->spans));

	if (!grown)
		return -1;
	stack->spans = grown;
	while (stack->count < count) {
		const struct trace_frame *f = &frames[count - 1 - stack->count];

		grown[stack->count] = (struct open_span){
			.span = {
				.thread = t->thread,
				.function = timeline_function_of(s->timeline, f->code),
				.depth = (uint32_t)stack->count,
				.start_ns = t->start_ns,
				.error_ns = t->sample->first_ns - t->start_ns,
			},
			.called_at = stack->count ? f[1].offset : 0,
		};
		if (grown[stack->count].span.function == UINT32_MAX)
			return -1;
		stack->count++;
	}
	return 0;
}

static void take(void *ctx, const struct timed_sample *t)
{
	struct spans *s = ctx;
	struct open_stack *stack = &s->threads[t->thread];
	size_t count, same;
	const struct trace_frame *frames = trace_stack(s->trace, t->sample->stack, &count);
	bool unstable = t->sample->flags & SAMPLE_LEAF_UNSTABLE;

	if (s->failed)
		return;
	/* The innermost frame of these is a guess: what it would begin or end does not. */
	if (unstable && count) {
		frames++;
		count--;
	}
	same = still_open(s, stack, frames, count);
	if (!(unstable && same == count))
		close_down_to(s, stack, same);
	if (open_from(s, stack, frames, count, t)) {
		s->failed = true;
		return;
	}
	for (size_t i = 0; i < stack->count; i++) {
		/* open_from() has set all of them, some in earlier calls. */
		/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
		stack->spans[i].span.samples += t->sample->count;
	}
	if (stack->count)
		stack->spans[stack->count - 1].span.self_ns += t->end_ns - t->start_ns;
	stack->end_ns = t->end_ns;
	stack->error_ns = t->end_ns - t->sample->last_ns;
}

/* Hands over each span when it ends.  The timeline has been walked.  -1: no memory. */
static int sample_spans_walk(const struct trace *t, struct timeline *tl,
			     void (*visit)(void *ctx, const struct sampled_span *s), void *ctx,
			     struct err *err)
{
	size_t threads = trace_thread_count(t);
	struct spans s = { .trace = t, .timeline = tl, .visit = visit, .ctx = ctx };
	const struct sample_visitor visitor = { .ctx = &s, .sample = take };
	struct sample_walk walk;
	int rc;

	s.threads = calloc(threads + 1, sizeof(*s.threads));
	if (!s.threads)
		return err_set(err, "out of memory");
	rc = sample_walk(&walk, t, &visitor, err);
	for (size_t i = 0; i < threads; i++) {
		if (!rc && !s.failed)
			close_down_to(&s, &s.threads[i], 0);
		free(s.threads[i].spans);
	}
	free(s.threads);
	return s.failed ? err_set(err, "out of memory") : rc;
}

#define SAMPLES_MIN 2

void export_traced_release(struct export_traced *k)
{
	free(k->functions);
	free(k->pauses);
	memset(k, 0, sizeof(*k));
}

static struct traced_function *traced_of(struct export_traced *k, uint32_t function)
{
	size_t old = k->function_cap;
	struct traced_function *grown;

	if (function >= old) {
		grown = array_grow(k->functions, &k->function_cap, (size_t)function + 1,
				   sizeof(*grown));
		if (!grown) {
			k->failed = true;
			return NULL;
		}
		memset(grown + old, 0, (k->function_cap - old) * sizeof(*grown));
		k->functions = grown;
	}
	return &k->functions[function];
}

static void see_function(void *ctx, const struct span *s)
{
	struct traced_function *f = traced_of(ctx, s->function);

	if (!f)
		return;
	f->traced = true;
	if (s->end_ns > f->last_ns)
		f->last_ns = s->end_ns;
}

static void see_throttled(void *ctx, const struct throttled *l)
{
	struct traced_function *f = l->function == UINT32_MAX ? NULL : traced_of(ctx, l->function);

	if (f)
		f->throttled = true;
}

static void see_pause(void *ctx, const struct pause *p)
{
	struct export_traced *k = ctx;
	struct pause *grown =
		array_grow(k->pauses, &k->pause_cap, k->pause_count + 1, sizeof(*grown));

	if (!grown) {
		k->failed = true;
		return;
	}
	k->pauses = grown;
	grown[k->pause_count++] = *p;
}

struct timeline_visitor export_traced_visitor(struct export_traced *k)
{
	return (struct timeline_visitor){
		.ctx = k,
		.function = see_function,
		.throttled = see_throttled,
		.pause = see_pause,
	};
}

static bool is_before(const struct pause *p, const struct sampled_span *s)
{
	return p->thread < s->thread || (p->thread == s->thread && p->end_ns <= s->start_ns);
}

/* They come thread by thread, in order of time. */
static bool in_a_pause(const struct export_traced *k, const struct sampled_span *s)
{
	size_t at = 0;

	BISECT(at, k->pause_count, is_before(&k->pauses[at], s));
	return at < k->pause_count && k->pauses[at].thread == s->thread &&
	       k->pauses[at].start_ns < s->end_ns;
}

/* Is it in the trace, exactly? */
static bool is_traced(const struct export_traced *k, const struct sampled_span *s)
{
	const struct traced_function *f =
		s->function < k->function_cap ? &k->functions[s->function] : NULL;

	if (!f || !f->traced || in_a_pause(k, s))
		return false;
	return !f->throttled || s->start_ns < f->last_ns;
}

static void write_span(void *ctx, const struct sampled_span *s)
{
	struct exported *x = ctx;
	const struct place *f = timeline_function(x->examined, s->function);
	struct json *j = &x->json;

	if (s->samples < SAMPLES_MIN || is_traced(&x->traced, s))
		return;
	export_event_begin(x, "cpu_function", f->name);
	key_string(j, "file", f->file);
	key_uint(j, "line", f->line);
	key_us(j, "start_us", s->start_ns);
	key_us(j, "end_us", s->end_ns);
	key_us(j, "self_us", s->self_ns);
	key_uint(j, "depth", s->depth);
	export_event_thread(x, s->thread);
	key_true(j, "sampled");
	key_uint(j, "samples", s->samples);
	key_us(j, "error_us", s->error_ns);
	export_event_end(x);
}

int export_json_samples(struct exported *x, struct err *err)
{
	if (x->traced.failed)
		return err_set(err, "out of memory");
	return sample_spans_walk(x->trace, x->examined, write_span, x, err);
}
