#include "export/event_walk.h"

#include <stdlib.h>

#include "export/thread_intervals.h"
#include "export/thread_merge.h"
#include "tables/table_source.h"

struct running {
	struct event_walk *walk;
	const struct event_sink *sink;
	struct track_set tracks;
	struct thread_merge merge;
	struct traced_calls traced;
	bool failed; /* no memory */
};

struct event_walk *event_walk_new(const struct trace *t, struct err *err)
{
	struct event_walk *w = calloc(1, sizeof(*w));

	if (!w) {
		err_set(err, "out of memory");
		return NULL;
	}
	w->trace = t;
	if (table_source_new(&w->source, t, err) ||
	    !(w->timeline = source_timeline(w->source, err)) ||
	    !(w->gpu = source_gpu(w->source, err))) {
		event_walk_free(w);
		return NULL;
	}
	return w;
}

void event_walk_free(struct event_walk *w)
{
	if (!w)
		return;
	table_source_free(w->source);
	free(w);
}

/* The events. */

static void visit_enter(void *ctx, size_t thread, uint32_t depth, uint32_t function,
			int64_t time_ns)
{
	struct running *r = ctx;

	(void)depth;
	thread_merge_reach(&r->merge, thread, time_ns);
	thread_merge_open(&r->merge, function == UINT32_MAX ? SLICE_GC : SLICE_FUNCTION, function,
			  time_ns);
}

static void close_span(struct running *r, enum slice_kind kind, const struct span *s,
		       uint64_t collected)
{
	const uint32_t not_its_own = SPAN_REPAIRED | SPAN_PAUSED | SPAN_OPEN_END | SPAN_GAP;
	struct slice slice = {
		.kind = kind,
		.start_ns = s->start_ns,
		.end_ns = s->end_ns,
		.of.span = *s,
		.collected = collected,
	};

	thread_merge_reach(&r->merge, s->thread, s->end_ns);
	thread_merge_close(&r->merge, &slice, s->function, !(s->flags & not_its_own));
}

static void visit_function(void *ctx, const struct span *s)
{
	struct running *r = ctx;

	traced_calls_add_span(&r->traced, s);
	close_span(r, SLICE_FUNCTION, s, 0);
}

static void visit_gc(void *ctx, const struct span *s, uint64_t collected)
{
	close_span(ctx, SLICE_GC, s, collected);
}

static void visit_throttled(void *ctx, const struct throttled *l)
{
	traced_calls_add_throttled(&((struct running *)ctx)->traced, l);
}

static void visit_pause(void *ctx, const struct pause *p)
{
	struct running *r = ctx;

	traced_calls_add_pause(&r->traced, p);
	thread_merge_reach(&r->merge, p->thread, p->end_ns);
	thread_merge_gap(&r->merge, p->end_ns);
}

static void visit_gap(void *ctx, const struct gap *g)
{
	struct running *r = ctx;

	thread_merge_reach(&r->merge, g->thread, g->end_ns);
	thread_merge_gap(&r->merge, g->end_ns);
}

static void visit_layer_begin(void *ctx, size_t thread, uint32_t depth, uint32_t id,
			      int64_t time_ns)
{
	struct running *r = ctx;

	(void)depth;
	thread_merge_reach(&r->merge, thread, time_ns);
	thread_merge_open(&r->merge, SLICE_LAYER, id, time_ns);
}

static void visit_layer(void *ctx, const struct layer_span *s)
{
	struct running *r = ctx;
	struct slice slice = {
		.kind = SLICE_LAYER,
		.start_ns = s->start_ns,
		.end_ns = s->end_ns,
		.of.layer = *s,
	};

	thread_merge_reach(&r->merge, s->thread, s->end_ns);
	thread_merge_close(&r->merge, &slice, s->id, !s->flags);
}

static void visit_annotation(void *ctx, const struct annotation *a)
{
	struct running *r = ctx;

	thread_merge_reach(&r->merge, a->thread, a->time_ns);
	if (a->kind == RECORD_MARK && r->merge.group) {
		const struct track *t = track_group_main(&r->tracks, r->merge.group);

		if (t)
			r->sink->mark(r->sink->ctx, t, a);
	}
}

static bool failed(const struct running *r)
{
	return r->failed || r->tracks.failed || r->merge.failed || r->traced.failed;
}

static int walk_events(struct running *r, struct err *err)
{
	const struct timeline_visitor visitor = {
		.ctx = r,
		.enter = visit_enter,
		.function = visit_function,
		.gc = visit_gc,
		.gap = visit_gap,
		.pause = visit_pause,
		.throttled = visit_throttled,
		.annotation = visit_annotation,
		.layer_begin = visit_layer_begin,
		.layer = visit_layer,
	};
	struct timeline_reader *reader;
	int rc;

	if (timeline_reader_new(&reader, r->walk->timeline, &visitor, err))
		return -1;
	do
		rc = timeline_reader_next(reader, err);
	while (rc > 0 && !failed(r));
	timeline_reader_free(reader);
	if (rc < 0)
		return -1;
	thread_merge_finish(&r->merge);
	return 0;
}

/* By samples. */

static struct track *thread_track(struct running *r, enum track_kind kind, size_t thread)
{
	struct track_group *g = track_group_find(
		&r->tracks, &(struct track){
				    .kind = kind,
				    .process = trace_thread(r->walk->trace, thread)->process,
				    .thread = thread,
			    });

	return g ? track_group_main(&r->tracks, g) : NULL;
}

/*
 * Slices that the same sample found first would begin together: each begins a nanosecond after the
 * one around it, far below the precision of samples, so that the nesting is unambiguous.
 */
static void visit_sampled(void *ctx, const struct sampled_span *s)
{
	struct running *r = ctx;
	struct slice slice = {
		.kind = SLICE_SAMPLED,
		.track = thread_track(r, TRACK_SAMPLED, s->thread),
		.start_ns = s->start_ns + s->begun_with,
		.end_ns = s->end_ns,
		.of.sampled = *s,
	};

	if (slice.track && slice.start_ns < slice.end_ns)
		r->sink->slice(r->sink->ctx, &slice);
}

static int walk_samples(struct running *r, struct err *err)
{
	struct sampled_spans *spans;
	int rc;

	if (sampled_spans_new(&spans, r->walk->trace, r->walk->timeline, &r->traced, visit_sampled,
			      r, err))
		return -1;
	do
		rc = sampled_spans_next(spans, err);
	while (rc > 0 && !failed(r));
	sampled_spans_free(spans);
	return rc < 0 ? -1 : 0;
}

static void visit_interval(void *ctx, const struct thread_interval *i)
{
	struct running *r = ctx;
	struct slice slice = {
		.kind = SLICE_STATE,
		.start_ns = i->start_ns,
		.end_ns = i->end_ns,
		.index = i->state,
	};

	if (i->state == SAMPLE_UNKNOWN)
		return;
	slice.track = thread_track(r, TRACK_STATES, i->thread);
	if (slice.track)
		r->sink->slice(r->sink->ctx, &slice);
}

/* Steps and GPU work: on one track one follows the other. */

static void write_in_sequence(struct running *r, const struct track *like, struct slice *s)
{
	struct track_group *g = track_group_find(&r->tracks, like);

	s->track = g ? track_behind(&r->tracks, g, s->start_ns, s->end_ns) : NULL;
	if (s->track)
		r->sink->slice(r->sink->ctx, s);
}

static void walk_activities(struct running *r)
{
	const struct gpu_timeline *g = r->walk->gpu;

	for (size_t i = 0; i < gpu_activity_count(g) && !failed(r); i++) {
		const struct gpu_activity *a = gpu_activity(g, i);
		const struct gpu_work *work = gpu_activity_work(g, a);
		struct slice slice = {
			.kind = SLICE_ACTIVITY,
			.start_ns = a->start_ns,
			.end_ns = a->end_ns > a->start_ns ? a->end_ns : a->start_ns,
			.index = i,
		};

		if (a->timed)
			write_in_sequence(r,
					  &(struct track){
						  .kind = TRACK_STREAM,
						  .process = work->process,
						  .thread = NO_THREAD,
						  .device = work->device,
						  .context = work->context,
						  .stream = work->stream,
					  },
					  &slice);
	}
}

static int compare_steps(const void *a, const void *b, void *ctx)
{
	const struct step_item *items = ctx;
	const struct step_item *x = &items[*(const uint32_t *)a], *y = &items[*(const uint32_t *)b];

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

/* A track for each kind of steps. */
static int walk_steps(struct running *r, struct err *err)
{
	const struct analysis *a = source_analysis(r->walk->source, err);
	uint32_t *order;

	if (!a)
		return -1;
	order = calloc(a->step_items.count + 1, sizeof(*order));
	if (!order)
		return err_set(err, "out of memory");
	for (size_t i = 0; i < a->step_items.count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, a->step_items.count, sizeof(*order), compare_steps, a->step_items.items);
	for (size_t i = 0; i < a->step_items.count && !failed(r); i++) {
		const struct step_item *item = &a->step_items.items[order[i]];
		struct slice slice = {
			.kind = SLICE_STEP,
			.start_ns = item->start_ns,
			.end_ns = item->end_ns,
			.index = order[i],
		};

		write_in_sequence(
			r,
			&(struct track){
				.kind = TRACK_STEPS,
				.process = trace_thread(r->walk->trace, item->thread)->process,
				.thread = NO_THREAD,
				.stream = item->kind,
			},
			&slice);
	}
	free(order);
	return 0;
}

/* Counters: as the table has them. */
static int walk_counters(struct running *r, struct err *err)
{
	enum { NAME, TIME, VALUE, UNIT, NATURE, PROCESS, INSTANCE, COLUMNS };
	static const char *const names[COLUMNS] = { "name",   "time_ns", "value",   "unit",
						    "nature", "process", "instance" };
	const struct table *t = table_find("counters");
	struct table_cursor *c;
	int rc;

	if (table_open(&c, t, r->walk->source, err))
		return -1;
	while ((rc = table_next(c, err)) > 0) {
		struct cell cells[COLUMNS];

		for (size_t i = 0; i < COLUMNS; i++)
			table_cell(c, table_column_find(t, names[i]), &cells[i]);
		if (cells[VALUE].kind == CELL_NULL)
			continue;
		r->sink->counter(r->sink->ctx,
				 &(struct counter_point){
					 .name = cells[NAME].text,
					 .unit = cells[UNIT].text,
					 .process = (uint32_t)cells[PROCESS].integer,
					 .instance = (uint32_t)cells[INSTANCE].integer,
					 .time_ns = cells[TIME].integer,
					 .value = cells[VALUE].real,
					 .total = cells[NATURE].text[0] == 't',
				 });
	}
	table_close(c);
	return rc;
}

int event_walk_run(struct event_walk *w, const struct event_sink *sink, struct err *err)
{
	struct running r = { .walk = w, .sink = sink };
	int rc = -1;

	track_set_init(&r.tracks, sink);
	thread_merge_init(&r.merge, w, &r.tracks);
	if (walk_events(&r, err) || walk_samples(&r, err) ||
	    thread_intervals_walk(w->trace, visit_interval, &r, err))
		goto out;
	walk_activities(&r);
	if (walk_steps(&r, err) || walk_counters(&r, err))
		goto out;
	rc = failed(&r) ? err_set(err, "out of memory") : 0;
out:
	thread_merge_release(&r.merge);
	traced_calls_release(&r.traced);
	track_set_release(&r.tracks);
	return rc;
}
