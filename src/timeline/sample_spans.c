#include "timeline/sample_spans.h"

#include <stdlib.h>

#include "base/array.h"

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
		stack->spans[i].span.looks += t->sample->count;
	}
	if (stack->count)
		stack->spans[stack->count - 1].span.self_ns += t->end_ns - t->start_ns;
	stack->end_ns = t->end_ns;
	stack->error_ns = t->end_ns - t->sample->last_ns;
}

int sample_spans_walk(const struct trace *t, struct timeline *tl,
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
