#include "timeline/sampled_spans.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define SAMPLES_MIN 2 /* of a span that is reported */

/* What the trace has of a function, by its index. */
struct traced_function {
	bool traced, throttled;
	int64_t last_ns; /* end of its last span */
};

void traced_calls_release(struct traced_calls *k)
{
	free(k->functions);
	free(k->pauses);
	memset(k, 0, sizeof(*k));
}

static struct traced_function *traced_of(struct traced_calls *k, uint32_t function)
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

void traced_calls_add_span(struct traced_calls *k, const struct span *s)
{
	struct traced_function *f = traced_of(k, s->function);

	if (!f)
		return;
	f->traced = true;
	if (s->end_ns > f->last_ns)
		f->last_ns = s->end_ns;
}

void traced_calls_add_throttled(struct traced_calls *k, const struct throttled *l)
{
	struct traced_function *f = l->function == UINT32_MAX ? NULL : traced_of(k, l->function);

	if (f)
		f->throttled = true;
}

void traced_calls_add_pause(struct traced_calls *k, const struct pause *p)
{
	struct pause *grown =
		array_grow(k->pauses, &k->pause_cap, k->pause_count + 1, sizeof(*grown));

	if (!grown) {
		k->failed = true;
		return;
	}
	k->pauses = grown;
	grown[k->pause_count++] = *p;
}

static void see_function(void *ctx, const struct span *s)
{
	traced_calls_add_span(ctx, s);
}

static void see_throttled(void *ctx, const struct throttled *l)
{
	traced_calls_add_throttled(ctx, l);
}

static void see_pause(void *ctx, const struct pause *p)
{
	traced_calls_add_pause(ctx, p);
}

struct timeline_visitor traced_calls_visitor(struct traced_calls *k)
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
static bool in_a_pause(const struct traced_calls *k, const struct sampled_span *s)
{
	size_t at = 0;

	BISECT(at, k->pause_count, is_before(&k->pauses[at], s));
	return at < k->pause_count && k->pauses[at].thread == s->thread &&
	       k->pauses[at].start_ns < s->end_ns;
}

/* Is it in the trace, exactly? */
static bool is_traced(const struct traced_calls *k, const struct sampled_span *s)
{
	const struct traced_function *f =
		s->function < k->function_cap ? &k->functions[s->function] : NULL;

	if (!f || !f->traced || in_a_pause(k, s))
		return false;
	return !f->throttled || s->start_ns < f->last_ns;
}

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

struct sampled_spans {
	const struct trace *trace;
	struct timeline *timeline;
	const struct traced_calls *traced;
	void (*visit)(void *ctx, const struct sampled_span *s);
	void *ctx;
	struct sample_reader *reader;
	struct open_stack *threads; /* by position */
	bool failed, ended;
};

static int64_t longer(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void close_down_to(struct sampled_spans *s, struct open_stack *stack, size_t depth)
{
	while (stack->count > depth) {
		struct sampled_span *span = &stack->spans[--stack->count].span;

		span->end_ns = stack->end_ns;
		span->error_ns = longer(span->error_ns, stack->error_ns);
		if (span->samples >= SAMPLES_MIN && !is_traced(s->traced, span))
			s->visit(s->ctx, span);
	}
}

/* How many of the open ones go on: frames are innermost first, open ones outermost. */
static size_t still_open(struct sampled_spans *s, const struct open_stack *stack,
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

static int open_from(struct sampled_spans *s, struct open_stack *stack,
		     const struct trace_frame *frames, size_t count, const struct timed_sample *t)
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
		if (stack->count && grown[stack->count - 1].span.start_ns == t->start_ns)
			grown[stack->count].span.begun_with =
				grown[stack->count - 1].span.begun_with + 1;
		stack->count++;
	}
	return 0;
}

static void take(void *ctx, const struct timed_sample *t)
{
	struct sampled_spans *s = ctx;
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

int sampled_spans_new(struct sampled_spans **out, const struct trace *t, struct timeline *tl,
		      const struct traced_calls *traced,
		      void (*visit)(void *ctx, const struct sampled_span *s), void *ctx,
		      struct err *err)
{
	struct sampled_spans *s = calloc(1, sizeof(*s));
	const struct sample_visitor visitor = { .ctx = s, .sample = take };

	if (!s)
		return err_set(err, "out of memory");
	*s = (struct sampled_spans){ t, tl, traced, visit, ctx, NULL, NULL, false, false };
	s->threads = calloc(trace_thread_count(t) + 1, sizeof(*s->threads));
	if (traced->failed || !s->threads) {
		sampled_spans_free(s);
		return err_set(err, "out of memory");
	}
	if (sample_reader_new(&s->reader, t, &visitor, err)) {
		sampled_spans_free(s);
		return -1;
	}
	*out = s;
	return 0;
}

int sampled_spans_next(struct sampled_spans *s, struct err *err)
{
	int rc;

	if (s->ended)
		return 0;
	rc = sample_reader_next(s->reader, err);
	if (s->failed)
		return err_set(err, "out of memory");
	if (rc)
		return rc;
	s->ended = true;
	for (size_t i = 0; i < trace_thread_count(s->trace); i++)
		close_down_to(s, &s->threads[i], 0);
	return 1;
}

void sampled_spans_free(struct sampled_spans *s)
{
	if (!s)
		return;
	for (size_t i = 0; s->threads && i < trace_thread_count(s->trace); i++)
		free(s->threads[i].spans);
	free(s->threads);
	sample_reader_free(s->reader);
	free(s);
}
