#include "timeline/layer_stack.h"

#include <string.h>

void layer_stack_init(struct layer_stack *s, const struct timeline_visitor *v)
{
	s->visitor = v;
	s->depth = 0;
}

void layer_stack_start(struct layer_stack *s, size_t thread, struct thread_counts *totals)
{
	s->thread = thread;
	s->totals = totals;
	s->depth = 0;
	s->beyond = 0;
}

void layer_stack_begin(struct layer_stack *s, uint32_t id, int64_t now_ns)
{
	if (s->depth == LAYER_DEPTH_MAX) {
		s->beyond++;
		return;
	}
	if (s->visitor->layer_begin)
		s->visitor->layer_begin(s->visitor->ctx, s->thread, s->depth, id, now_ns);
	s->open[s->depth++] = (struct open_layer){ .id = id, .start_ns = now_ns };
}

static void close_top(struct layer_stack *s, int64_t end_ns, uint32_t flags)
{
	const struct open_layer *o = &s->open[--s->depth];
	const struct layer_span span = {
		.thread = s->thread,
		.id = o->id,
		.depth = s->depth,
		.flags = flags,
		.start_ns = o->start_ns,
		.end_ns = end_ns,
		.self_ns = end_ns - o->start_ns - o->inside_ns,
	};

	if (s->depth)
		s->open[s->depth - 1].inside_ns += end_ns - o->start_ns;
	s->totals->unended_layers += flags != 0;
	if (s->visitor->layer)
		s->visitor->layer(s->visitor->ctx, &span);
}

void layer_stack_end(struct layer_stack *s, uint32_t id, int64_t now_ns)
{
	uint32_t at = s->depth;

	if (s->beyond) {
		s->beyond--;
		return;
	}
	while (at && s->open[at - 1].id != id)
		at--;
	if (!at)
		return;
	while (s->depth > at)
		close_top(s, now_ns, SPAN_REPAIRED);
	close_top(s, now_ns, 0);
}

/* What ran inside it now runs inside the layer around it. */
static void drop(struct layer_stack *s, uint32_t at)
{
	if (at)
		s->open[at - 1].inside_ns += s->open[at].inside_ns;
	s->depth--;
	memmove(&s->open[at], &s->open[at + 1], (s->depth - at) * sizeof(s->open[0]));
	if (s->visitor->layer_dropped)
		s->visitor->layer_dropped(s->visitor->ctx, s->thread, at);
}

void layer_stack_drop(struct layer_stack *s, uint32_t id)
{
	for (uint32_t at = id ? s->depth : 0; at > 0; at--) {
		if (s->open[at - 1].id == id)
			drop(s, at - 1);
	}
	if (s->visitor->layer_throttled)
		s->visitor->layer_throttled(s->visitor->ctx, s->thread, id);
}

void layer_stack_gap(struct layer_stack *s, int64_t start_ns)
{
	s->beyond = 0;
	while (s->depth) {
		int64_t begun_ns = s->open[s->depth - 1].start_ns;

		/* A pause may be recorded late. */
		close_top(s, start_ns > begun_ns ? start_ns : begun_ns, SPAN_GAP);
	}
}

void layer_stack_finish(struct layer_stack *s, int64_t end_ns)
{
	while (s->depth)
		close_top(s, end_ns, SPAN_OPEN_END);
}
