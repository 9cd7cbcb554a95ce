/*
 * For tests: a trace told in story.h's notation, and everything that the walk
 * delivers, one line for each span, in the order of delivery:
 *
 *   f 10-20 self 7 depth 0 call            flags as words
 */
#ifndef TESTS_TIMELINE_TEXT_H
#define TESTS_TIMELINE_TEXT_H

#include "timeline/timeline.h"
#include "story.h"

#define ONE_THREAD                      \
	"process 1 100 app.py 0 1000\n" \
	"thread 1 1 100 MainThread 5 1000 0\n"

struct recorded {
	char path[32];
	struct trace *trace;
	struct timeline *tl;
	struct buf text;
};

static void add_flags(struct buf *b, uint32_t flags)
{
	static const char *const words[] = { "call", "recursive", "repaired", "start?",
					     "end?", "gap",       "paused" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (flags & 1u << i)
			buf_printf(b, " %s", words[i]);
	buf_add_byte(b, '\n');
}

static void add_span(struct recorded *r, const char *name, const struct span *s)
{
	buf_printf(&r->text, "%s %" PRId64 "-%" PRId64 " self %" PRId64 " depth %u", name,
		   s->start_ns, s->end_ns, s->self_ns, s->depth);
}

static void on_function(void *ctx, const struct span *s)
{
	struct recorded *r = ctx;

	add_span(r, timeline_function(r->tl, s->function)->name, s);
	add_flags(&r->text, s->flags);
}

static void on_gc(void *ctx, const struct span *s, uint64_t collected)
{
	struct recorded *r = ctx;

	assert_int_equal(s->function, UINT32_MAX);
	add_span(r, "gc", s);
	buf_printf(&r->text, " generation %u freed %" PRIu64, s->id, collected);
	add_flags(&r->text, s->flags);
}

static void on_gap(void *ctx, const struct gap *g)
{
	struct recorded *r = ctx;

	buf_printf(&r->text, "lost %" PRIu64 " %" PRId64 "-%" PRId64 "\n", g->lost, g->start_ns,
		   g->end_ns);
}

static void on_pause(void *ctx, const struct pause *p)
{
	struct recorded *r = ctx;

	buf_printf(&r->text, "paused %" PRId64 "-%" PRId64 "\n", p->start_ns, p->end_ns);
}

static void on_left_out(void *ctx, const struct throttled *l)
{
	struct recorded *r = ctx;

	if (l->function == UINT32_MAX)
		buf_printf(&r->text, "all traced at %" PRId64 "\n", l->time_ns);
	else
		buf_printf(&r->text, "left out %s at %" PRId64 "\n",
			   timeline_function(r->tl, l->function)->name, l->time_ns);
}

static void on_annotation(void *ctx, const struct annotation *a)
{
	struct recorded *r = ctx;

	if (a->kind == RECORD_MARK)
		buf_printf(&r->text, "mark %s task %" PRIu64 " at %" PRId64 "\n",
			   trace_string(r->trace, a->name), a->task, a->time_ns);
}

static void on_layer(void *ctx, const struct layer_span *s)
{
	struct recorded *r = ctx;
	const struct trace_layer *layer = trace_layer(r->trace, s->id);

	buf_printf(&r->text, "layer %s %" PRId64 "-%" PRId64 " self %" PRId64 " depth %u",
		   layer ? layer->class_name : "?", s->start_ns, s->end_ns, s->self_ns, s->depth);
	add_flags(&r->text, s->flags);
}

static void on_layer_dropped(void *ctx, size_t thread, uint32_t depth)
{
	(void)thread;
	buf_printf(&((struct recorded *)ctx)->text, "dropped at %u\n", depth);
}

static void on_layer_folded(void *ctx, size_t thread, uint32_t id)
{
	struct recorded *r = ctx;

	(void)thread;
	buf_printf(&r->text, "folded %s\n", id ? trace_layer(r->trace, id)->class_name : "none");
}

static void record(struct recorded *r, const char *story)
{
	const struct timeline_visitor v = {
		.ctx = r,
		.function = on_function,
		.gc = on_gc,
		.gap = on_gap,
		.pause = on_pause,
		.throttled = on_left_out,
		.annotation = on_annotation,
		.layer = on_layer,
		.layer_dropped = on_layer_dropped,
		.layer_throttled = on_layer_folded,
	};
	struct err err;

	strcpy(r->path, "/tmp/timeline-XXXXXX");
	buf_init(&r->text);
	story_write(r->path, story);
	assert_int_equal(trace_open(&r->trace, r->path, &err), 0);
	assert_int_equal(timeline_new(&r->tl, r->trace, &err), 0);
	assert_int_equal(timeline_walk(r->tl, &v, &err), 0);
}

static void erase(struct recorded *r)
{
	timeline_free(r->tl);
	trace_close(r->trace);
	unlink(r->path);
	buf_release(&r->text);
}

static void expect(const char *story, const char *spans)
{
	struct recorded r;

	record(&r, story);
	assert_string_equal(buf_string(&r.text), spans);
	erase(&r);
}

#endif
