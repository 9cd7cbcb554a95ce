/* The tracks of threads: calls, collections, layers, pauses, scopes, samples, compilation. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/breakdown/thread_tracks.h"
#include "base/array.h"
#include "report/viewdata/view_parts.h"
#include "timeline/sample_walk.h"

#define SAMPLED_DEPTH 128u
#define SCOPE_LANES 32u

/* A thread's events, from the walk. */
struct walk {
	struct view *v;
	size_t thread;
	uint32_t track; /* VIEW_ROW_NONE: not made yet */
	uint32_t frame_rows[VIEW_DEPTH_MAX];
	uint32_t *function_labels; /* by function; + 1, 0: not asked for yet */
	size_t function_cap;
	uint32_t open_layers[VIEW_DEPTH_MAX]; /* strings */
	uint32_t layer_depth;
	size_t next_call, next_capture;
	struct pair_map layers; /* (0, id): its string */
};

uint32_t view_thread_track(struct view *v, size_t thread)
{
	const struct trace_thread *t = trace_thread(v->t, thread);

	if (v->thread_tracks[thread] == VIEW_ROW_NONE)
		v->thread_tracks[thread] = view_track_add(
			&v->rows,
			&(struct view_track){
				.type = VIEW_TRACK_THREAD,
				.name = view_string(&v->names, t->name),
				.process = (uint32_t)process_position(v->t, t->process) + 1,
				.number = t->tid,
			});
	return v->thread_tracks[thread];
}

static void add(struct view *v, uint32_t row, int64_t start_ns, int64_t end_ns, int64_t self_ns,
		const struct view_label *label)
{
	struct view_item item = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.self_ns = self_ns,
		.label = view_label(&v->names, label),
		.link_row = VIEW_ROW_NONE,
	};

	view_row_add(&v->rows, row, &item);
}

/* Calls and captures up to a time were made in the layer that has been open. */
static void reach(struct walk *w, int64_t time_ns)
{
	const struct gpu_timeline *g = w->v->a->gpu.timeline;
	uint32_t layer = w->layer_depth && w->layer_depth <= VIEW_DEPTH_MAX
				 ? w->open_layers[w->layer_depth - 1]
				 : 0;

	for (; w->next_call < gpu_call_count(g); w->next_call++) {
		const struct gpu_call *c = gpu_call(g, w->next_call);
		size_t thread = gpu_call_api(g, c)->thread;

		if (thread > w->thread || (thread == w->thread && c->start_ns >= time_ns))
			break;
		if (thread == w->thread)
			w->v->call_layers[w->next_call] = layer;
	}
	for (; w->next_capture < gpu_capture_count(g); w->next_capture++) {
		const struct gpu_capture *c = gpu_capture(g, w->next_capture);

		if (c->thread > w->thread || (c->thread == w->thread && c->time_ns >= time_ns))
			break;
		if (c->thread == w->thread)
			w->v->capture_layers[w->next_capture] = layer;
	}
}

static void turn_to(struct walk *w, size_t thread)
{
	if (thread == w->thread)
		return;
	w->layer_depth = 0;
	w->thread = thread;
	w->track = VIEW_ROW_NONE;
}

static uint32_t track_of(struct walk *w)
{
	if (w->track == VIEW_ROW_NONE) {
		w->track = view_thread_track(w->v, w->thread);
		memset(w->frame_rows, 0xff, sizeof(w->frame_rows));
	}
	return w->track;
}

static uint32_t frame_row(struct walk *w, uint32_t depth)
{
	uint32_t track = track_of(w);

	if (depth >= VIEW_DEPTH_MAX)
		return VIEW_ROW_NONE;
	if (w->frame_rows[depth] == VIEW_ROW_NONE)
		w->frame_rows[depth] = view_row_of(&w->v->rows, track, VIEW_LANE_FRAMES, depth);
	return w->frame_rows[depth];
}

static uint32_t row_of(struct walk *w, enum view_lane lane, uint32_t depth)
{
	return view_row_of(&w->v->rows, track_of(w), lane, depth);
}

static uint32_t function_label(struct view *v, uint32_t kind, const struct place *f)
{
	uint32_t name = view_string(&v->names, f->name);

	return view_label(&v->names,
			  &(struct view_label){
				  .kind = kind,
				  .name = name,
				  .place = view_place(&v->names, f->name, f->file, f->line),
			  });
}

static void visit_function(void *ctx, const struct span *s)
{
	struct walk *w = ctx;
	size_t old = w->function_cap;
	struct view_item item = {
		.start_ns = s->start_ns,
		.end_ns = s->end_ns,
		.self_ns = s->self_ns,
		.link_row = VIEW_ROW_NONE,
	};
	uint32_t *labels;

	turn_to(w, s->thread);
	labels = array_grow(w->function_labels, &w->function_cap, s->function + 1, sizeof(*labels));
	if (!labels) {
		w->v->rows.failed = true;
		return;
	}
	w->function_labels = labels;
	if (w->function_cap > old)
		memset(labels + old, 0, (w->function_cap - old) * sizeof(*labels));
	if (!labels[s->function])
		labels[s->function] =
			function_label(w->v, VIEW_FRAME, timeline_function(w->v->tl, s->function)) +
			1;
	item.label = labels[s->function] - 1;
	view_row_add(&w->v->rows, frame_row(w, s->depth), &item);
}

static void visit_gc(void *ctx, const struct span *s, uint64_t collected)
{
	struct walk *w = ctx;
	const struct view_label label = { .kind = VIEW_GC, .what = s->id };

	(void)collected;
	turn_to(w, s->thread);
	add(w->v, frame_row(w, s->depth), s->start_ns, s->end_ns, s->self_ns, &label);
	add(w->v, row_of(w, VIEW_LANE_GC, 0), s->start_ns, s->end_ns, 0, &label);
}

static void add_pause(struct walk *w, size_t thread, int64_t start_ns, int64_t end_ns,
		      const char *why)
{
	turn_to(w, thread);
	add(w->v, row_of(w, VIEW_LANE_PAUSES, 0), start_ns, end_ns, 0,
	    &(struct view_label){ .kind = VIEW_PAUSE, .name = view_string(&w->v->names, why) });
}

static void visit_gap(void *ctx, const struct gap *g)
{
	add_pause(ctx, g->thread, g->start_ns, g->end_ns, "Events lost");
}

static void visit_pause(void *ctx, const struct pause *p)
{
	add_pause(ctx, p->thread, p->start_ns, p->end_ns, "Calls not recorded");
}

static uint32_t layer_name(struct walk *w, uint32_t id)
{
	struct view *v = w->v;
	const struct trace_layer *l = trace_layer(v->t, id);
	size_t known = pair_map_find(&w->layers, 0, id);
	struct buf text;
	uint32_t name;

	if (known != PAIR_NONE)
		return (uint32_t)known;
	buf_init(&text);
	if (!l)
		buf_add_str(&text, "(unknown)");
	else if (*l->name)
		buf_printf(&text, "%s (%s)", l->name, l->class_name);
	else
		buf_add_str(&text, l->class_name);
	name = view_string(&v->names, buf_string(&text));
	buf_release(&text);
	if (pair_map_put(&w->layers, 0, id, name))
		v->names.failed = true;
	return name;
}

static void visit_layer_begin(void *ctx, size_t thread, uint32_t depth, uint32_t id,
			      int64_t time_ns)
{
	struct walk *w = ctx;

	turn_to(w, thread);
	reach(w, time_ns);
	if (depth < VIEW_DEPTH_MAX)
		w->open_layers[depth] = layer_name(w, id);
	w->layer_depth = depth + 1;
}

static void visit_layer(void *ctx, const struct layer_span *s)
{
	struct walk *w = ctx;

	turn_to(w, s->thread);
	reach(w, s->end_ns);
	w->layer_depth = s->depth;
	add(w->v, row_of(w, VIEW_LANE_LAYERS, s->depth), s->start_ns, s->end_ns, 0,
	    &(struct view_label){ .kind = VIEW_LAYER, .name = layer_name(w, s->id) });
}

static void visit_layer_dropped(void *ctx, size_t thread, uint32_t depth)
{
	struct walk *w = ctx;

	turn_to(w, thread);
	if (depth < w->layer_depth && w->layer_depth <= VIEW_DEPTH_MAX) {
		memmove(w->open_layers + depth, w->open_layers + depth + 1,
			(w->layer_depth - depth - 1) * sizeof(*w->open_layers));
		w->layer_depth--;
	}
}

static void visit_annotation(void *ctx, const struct annotation *a)
{
	struct view *v = ((struct walk *)ctx)->v;
	const char *name = trace_string(v->t, a->name);
	struct view_value *grown;

	if (a->kind != RECORD_COUNTER || !isfinite(a->value))
		return;
	grown = array_grow(v->values, &v->value_cap, v->value_count + 1, sizeof(*grown));
	if (!grown) {
		v->rows.failed = true;
		return;
	}
	v->values = grown;
	grown[v->value_count++] = (struct view_value){
		a->time_ns,
		a->value,
		(uint32_t)process_position(v->t, trace_thread(v->t, a->thread)->process) + 1,
		view_string(&v->names, name ? name : "(unknown)"),
	};
}

/* The stacks that samples found, as frames that last while they stay. */

struct sampled {
	struct view *v;
	struct open_stack {
		int64_t end_ns; /* of the last sample; the stack holds until then */
		uint32_t depth;
		uint32_t functions[SAMPLED_DEPTH]; /* outermost first */
		int64_t starts_ns[SAMPLED_DEPTH];
		int64_t inside_ns[SAMPLED_DEPTH]; /* of frames that it called */
		/* The wait, or none. */
		int64_t wait_start_ns;
		uint32_t wait;
		uint32_t wait_place; /* + 1 */
	} * *threads;                /* by position; NULL: no sample yet */
};

static void close_frames(struct sampled *s, size_t thread, uint32_t depth)
{
	struct open_stack *o = s->threads[thread];
	uint32_t track = view_thread_track(s->v, thread);

	while (o->depth > depth) {
		const struct place *f = timeline_function(s->v->tl, o->functions[--o->depth]);
		int64_t length_ns = o->end_ns - o->starts_ns[o->depth];
		struct view_item item = {
			.start_ns = o->starts_ns[o->depth],
			.end_ns = o->end_ns,
			.self_ns = length_ns - o->inside_ns[o->depth],
			.label = function_label(s->v, VIEW_SAMPLED, f),
			.link_row = VIEW_ROW_NONE,
		};

		if (o->depth)
			o->inside_ns[o->depth - 1] += length_ns;
		view_row_add(&s->v->rows,
			     view_row_of(&s->v->rows, track, VIEW_LANE_SAMPLES, o->depth), &item);
	}
}

static void close_wait(struct sampled *s, size_t thread)
{
	struct open_stack *o = s->threads[thread];

	if (!o->wait)
		return;
	add(s->v, view_row_of(&s->v->rows, view_thread_track(s->v, thread), VIEW_LANE_WAITS, 0),
	    o->wait_start_ns, o->end_ns, 0,
	    &(struct view_label){ .kind = VIEW_WAIT, .what = o->wait, .place = o->wait_place });
	o->wait = 0;
}

static bool is_wait(enum sample_state state)
{
	return state != SAMPLE_UNKNOWN && state != SAMPLE_RUNNING;
}

static void visit_sample(void *ctx, const struct timed_sample *s)
{
	struct sampled *all = ctx;
	struct view *v = all->v;
	size_t count = 0;
	const struct trace_frame *frames = trace_stack(v->t, s->sample->stack, &count);
	uint32_t depth = (uint32_t)(count < SAMPLED_DEPTH ? count : SAMPLED_DEPTH), same = 0;
	enum sample_state state = sample_state(s->sample);
	struct open_stack *o = all->threads[s->thread];
	uint32_t place = 0;

	if (!o) {
		o = all->threads[s->thread] = calloc(1, sizeof(*o));
		if (!o) {
			v->rows.failed = true;
			return;
		}
	}
	if (s->start_ns > o->end_ns) {
		close_frames(all, s->thread, 0);
		close_wait(all, s->thread);
	}
	for (; same < depth; same++) {
		uint32_t f = timeline_function_of(v->tl, frames[count - 1 - same].code);

		if (f == UINT32_MAX) {
			depth = same;
			break;
		}
		if (same < o->depth && o->functions[same] == f)
			continue;
		close_frames(all, s->thread, same);
		o->functions[o->depth] = f;
		o->inside_ns[o->depth] = 0;
		o->starts_ns[o->depth++] = s->start_ns;
	}
	close_frames(all, s->thread, depth);
	if (is_wait(state) && depth) {
		const struct place *f = timeline_function(v->tl, o->functions[depth - 1]);

		place = view_place(&v->names, f->name, f->file, f->line);
	}
	if (o->wait != (is_wait(state) ? (uint32_t)state : 0) || o->wait_place != place) {
		close_wait(all, s->thread);
		o->wait = is_wait(state) ? (uint32_t)state : 0;
		o->wait_start_ns = s->start_ns;
		o->wait_place = place;
	}
	o->end_ns = s->end_ns;
}

static int collect_samples(struct view *v, struct err *err)
{
	size_t n = trace_thread_count(v->t);
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
	struct sampled all = { v, calloc(n + 1, sizeof(*all.threads)) };
	struct sample_visitor visitor = { .ctx = &all, .sample = visit_sample };
	struct sample_walk walk = { 0 };
	int rc = -1;

	if (all.threads && !sample_walk(&walk, v->t, &visitor, err))
		rc = v->rows.failed ? -1 : 0;
	for (size_t i = 0; all.threads && i < n; i++) {
		if (!all.threads[i])
			continue;
		if (!rc) {
			close_frames(&all, i, 0);
			close_wait(&all, i);
		}
		free(all.threads[i]);
	}
	free(all.threads);
	return rc;
}

/* Scopes of a thread by begin; each in the first lane that is free, not above its parent's. */
static int collect_scopes(struct view *v)
{
	int64_t until_ns[SCOPE_LANES] = { 0 };
	uint32_t thread = UINT32_MAX;

	for (size_t i = 0; i < timeline_scope_count(v->tl); i++) {
		const struct scope *s = timeline_scope(v->tl, i);
		uint32_t lane = s->depth < SCOPE_LANES ? s->depth : SCOPE_LANES - 1;

		if (s->thread != thread)
			memset(until_ns, 0, sizeof(until_ns));
		thread = s->thread;
		while (lane < SCOPE_LANES - 1 && until_ns[lane] > s->start_ns)
			lane++;
		until_ns[lane] = s->end_ns;
		add(v, view_row_of(&v->rows, view_thread_track(v, thread), VIEW_LANE_SCOPES, lane),
		    s->start_ns, s->end_ns, 0,
		    &(struct view_label){
			    .kind = VIEW_SCOPE,
			    .what = s->nvtx ? s->nvtx->colour : 0,
			    .name = view_string(&v->names, s->name),
			    .more = s->nvtx ? view_string(&v->names, *s->nvtx->domain
									     ? s->nvtx->domain
									     : "NVTX")
					    : 0,
		    });
	}
	return v->rows.failed ? -1 : 0;
}

static int collect_compilation(struct view *v, size_t thread)
{
	struct track track = { 0 };
	int rc = framework_track_fill(&track, v->tl, thread);

	for (size_t i = 0; !rc && i < track.count; i++)
		add(v, view_row_of(&v->rows, view_thread_track(v, thread), VIEW_LANE_COMPILE, 0),
		    track.items[i].start_ns, track.items[i].end_ns, 0,
		    &(struct view_label){ .kind = VIEW_COMPILE, .what = track.items[i].more });
	track_release(&track);
	return rc;
}

int view_threads_collect(struct view *v)
{
	struct walk *w = calloc(1, sizeof(*w));
	struct timeline_visitor visitor = {
		.function = visit_function,
		.gc = visit_gc,
		.gap = visit_gap,
		.pause = visit_pause,
		.annotation = visit_annotation,
		.layer_begin = visit_layer_begin,
		.layer = visit_layer,
		.layer_dropped = visit_layer_dropped,
	};
	struct err err;
	int rc = -1;

	if (!w)
		return -1;
	visitor.ctx = w;
	w->v = v;
	w->thread = SIZE_MAX;
	pair_map_init(&w->layers);
	rc = timeline_walk(v->tl, &visitor, &err) || collect_scopes(v) || collect_samples(v, &err)
		     ? -1
		     : 0;
	for (size_t i = 0; !rc && i < trace_thread_count(v->t); i++)
		rc = collect_compilation(v, i);
	pair_map_release(&w->layers);
	free(w->function_labels);
	free(w);
	return v->rows.failed || v->names.failed ? -1 : rc;
}
