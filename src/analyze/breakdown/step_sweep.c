#include "analyze/breakdown/step_sweep.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/breakdown/sweep_state.h"
#include "analyze/figures/stats.h"
#include "base/array.h"
#include "timeline/timeline.h"

static void add_places(struct sweep *w, int64_t ns)
{
	for (size_t k = 0; k < w->s->placed_count; k++) {
		struct kind_sum *kind = &w->s->kinds[k];
		size_t old = kind->place_cap, at = w->moment->place;

		if (!kind->open[STEPS_ALL])
			continue;
		if (at >= old) {
			struct place_sum *grown =
				array_grow(kind->places, &kind->place_cap, at + 1, sizeof(*grown));

			if (!grown) {
				w->failed = true;
				return;
			}
			memset(grown + old, 0, (kind->place_cap - old) * sizeof(*grown));
			kind->places = grown;
		}
		for (size_t g = 0; g < STEP_GROUPS; g++) {
			int64_t times_ns;

			if (!kind->open[g])
				continue;
			if (__builtin_mul_overflow(ns, (int64_t)kind->open[g], &times_ns))
				times_ns = INT64_MAX;
			kind->places[at].ns[g] = stats_add(kind->places[at].ns[g], times_ns);
		}
	}
}

/* Those of the thread itself are where it is, unless the device hides them. */
static void count_faults(struct sweep *w, int64_t until_ns)
{
	for (; w->next_fault < w->last_fault && w->next_fault->time_ns < until_ns;
	     w->next_fault++) {
		const struct fault_mark *f = w->next_fault;

		if (f->time_ns < w->now_ns || !w->open.count)
			continue;
		for (size_t k = 0; k < w->s->placed_count; k++) {
			struct kind_sum *kind = &w->s->kinds[k];

			if (!kind->open[STEPS_ALL])
				continue;
			kind->faults[f->kind] += f->count;
			if (f->thread == w->thread && w->moment->place < kind->place_cap)
				kind->places[w->moment->place].faults[f->kind] += f->count;
		}
	}
}

/* No load: idle without a cause. */
static bool is_no_load(const struct sweep *w)
{
	enum time_class what = w->host.what;

	if (what == TIME_IDLE)
		return !w->covered || !w->section->marked;
	if (what == TIME_SLEEP && w->timed_wait)
		return false; /* its work was there */
	return !w->covered && time_class_is_wait(what) && !sweep_busy_stack(w);
}

static void add_gap(struct sweep *w, int64_t ns)
{
	int64_t start_ns = w->now_ns - ns;

	if (is_no_load(w)) {
		w->section->no_load_ns = stats_add(w->section->no_load_ns, ns);
		w->failed |=
			idle_section_part(w->section, SIZE_MAX, false, start_ns, w->now_ns) != 0;
	} else if (w->host.what != TIME_UNATTRIBUTED &&
		   (idle_section_add(w->section, w->host.place, false, w->gap->start_ns, ns,
				     w->covered ? ns : 0) ||
		    idle_section_part(w->section, w->host.place, false, start_ns, w->now_ns))) {
		w->failed = true;
	}
}

/* The traced call that the thread is in, for the log. */
static uint32_t log_frame(struct sweep *w)
{
	uint32_t *grown;

	if (!w->depth || w->lost)
		return 0;
	grown = array_grow(w->log_frames, &w->log_frame_cap, w->depth, sizeof(*grown));
	if (!grown) {
		w->failed = true;
		return 0;
	}
	w->log_frames = grown;
	for (size_t i = w->logged_depth; i < w->depth && !w->failed; i++) {
		grown[i] = host_log_frame(w->s->log, i ? grown[i - 1] : 0, w->frames[i].inner);
		w->failed = grown[i] == HOST_NONE;
	}
	w->logged_depth = w->depth;
	return w->failed ? 0 : grown[w->depth - 1];
}

static void log_host(struct sweep *w, int64_t until_ns)
{
	const struct time_place *at =
		w->host.place == SIZE_MAX ? NULL : &w->s->places->items[w->host.place];
	const struct host_place place = {
		.what = w->host.what,
		.stack = at ? at->stack : 0,
		.frame = log_frame(w),
		.layer = w->layers && w->layers <= w->layer_cap ? w->layer_ids[w->layers - 1] : 0,
		.user = at ? at->user : NO_FUNCTION,
		.inner = at ? at->inner : NO_FUNCTION,
	};

	w->failed |= host_log_add(w->s->log, w->now_ns, until_ns, &place, sweep_waits_for(w)) != 0;
}

/* From now to a time before the next change. */
static void spend(struct sweep *w, int64_t until_ns)
{
	int64_t ns = until_ns - w->now_ns;

	if (!w->open.count && !w->gap && !w->logging) {
		w->now_ns = until_ns;
		return;
	}
	if (!w->known)
		sweep_decide(w);
	if (w->failed)
		return;
	if (w->open.count) {
		w->sums.ns[w->moment->what] += ns;
		if (w->moment->sampled)
			w->sums.sampled_ns[w->moment->what] += ns;
		if (w->moment->alone)
			w->sums.alone_ns += ns;
		add_places(w, ns);
		count_faults(w, until_ns);
	}
	if (w->logging)
		log_host(w, until_ns);
	w->now_ns = until_ns;
	if (w->gap)
		add_gap(w, ns);
}

static void count_open(struct sweep *w, const struct step_item *item, size_t change)
{
	struct kind_sum *kind = &w->s->kinds[item->kind];

	kind->open[STEPS_ALL] += change;
	if (item->group != STEPS_ALL)
		kind->open[item->group] += change;
}

static void begin_step(struct sweep *w, const struct step_item *item)
{
	if (open_steps_push(&w->open, item, &w->sums))
		w->failed = true;
	else
		count_open(w, item, 1);
}

static void end_step(struct sweep *w)
{
	const struct open_step *o = open_steps_first(&w->open);
	struct kind_sum *kind = &w->s->kinds[o->item->kind];
	struct time_part *parts = kind->parts;
	struct step_sample sample;

	for (size_t i = 0; i < TIME_CLASSES; i++) {
		sample.ns[i] = w->sums.ns[i] - o->sums.ns[i];
		parts[i].ns = stats_add(parts[i].ns, sample.ns[i]);
		parts[i].sampled_ns = stats_add(parts[i].sampled_ns,
						w->sums.sampled_ns[i] - o->sums.sampled_ns[i]);
	}
	if (o->item->kind == 0 && step_samples_add(&kind->samples, &sample))
		w->failed = true;
	kind->alone_ns = stats_add(kind->alone_ns, w->sums.alone_ns - o->sums.alone_ns);
	count_open(w, o->item, (size_t)-1);
	open_steps_pop(&w->open);
}

static void turn_steps(struct sweep *w)
{
	while (w->next_step < w->last_step && w->next_step->start_ns <= w->now_ns && !w->failed)
		begin_step(w, w->next_step++);
	while (w->open.count && open_steps_first(&w->open)->item->end_ns <= w->now_ns)
		end_step(w);
	if (w->next_step < w->last_step && w->next_step->start_ns < w->next_ns)
		w->next_ns = w->next_step->start_ns;
	if (w->open.count && open_steps_first(&w->open)->item->end_ns < w->next_ns)
		w->next_ns = open_steps_first(&w->open)->item->end_ns;
}

static void turn_log(struct sweep *w)
{
	const struct host_log *l = w->s->log;
	size_t at = host_log_window(l, w->now_ns);
	int64_t change_ns;

	w->logging = at < l->window_count && l->windows[at].start_ns <= w->now_ns;
	if (at == l->window_count)
		return;
	change_ns = w->logging ? l->windows[at].end_ns : l->windows[at].start_ns;
	if (change_ns < w->next_ns)
		w->next_ns = change_ns;
}

/* Moves all cursors to now. */
static void turn(struct sweep *w)
{
	const struct piece *sample = w->sample;

	w->known = false;
	w->next_ns = INT64_MAX;
	w->on_device = NULL;
	for (size_t i = 0; i < DEVICE_TRACKS; i++) {
		const struct piece *p = track_turn(&w->device.tracks[i], w->now_ns, &w->next_ns);

		if (!w->on_device)
			w->on_device = p;
	}
	w->call = track_turn(&w->calls, w->now_ns, &w->next_ns);
	w->way = track_turn(&w->ways, w->now_ns, &w->next_ns);
	if (w->way && w->way->id != w->way_stack) {
		w->way_stack = w->way->id;
		w->way_class = *stack_classes_of(w->s->classes, w->way->id);
	}
	w->at_work = track_turn(&w->framework, w->now_ns, &w->next_ns);
	w->native_call = track_turn(&w->natives, w->now_ns, &w->next_ns);
	w->gap = track_turn(&w->gaps, w->now_ns, &w->next_ns);
	w->covered = track_turn(&w->steps, w->now_ns, &w->next_ns);
	w->holder = track_turn(&w->holders, w->now_ns, &w->next_ns);
	w->runs = track_turn(&w->running, w->now_ns, &w->next_ns);
	w->without_cpu = track_turn(w->queued, w->now_ns, &w->next_ns);
	w->timed_wait = track_turn(w->timed_waits, w->now_ns, &w->next_ns);
	w->sample = track_turn(w->samples, w->now_ns, &w->next_ns);
	if (w->sample && w->sample != sample)
		w->sample_class = *stack_classes_of(w->s->classes, w->sample->id);
	turn_steps(w);
	if (w->logs)
		turn_log(w);
}

static void sweep_to(struct sweep *w, int64_t time_ns)
{
	w->next_call_ns = time_ns;
	while (w->now_ns < time_ns && !w->failed) {
		if (time_ns < w->next_ns) {
			spend(w, time_ns);
			return;
		}
		spend(w, w->next_ns);
		turn(w);
	}
}

static void visit_enter(void *ctx, size_t thread, uint32_t depth, uint32_t function,
			int64_t time_ns)
{
	struct sweep *w = ctx;
	struct stack_class *f;

	(void)thread;
	sweep_to(w, time_ns);
	w->last_call_ns = time_ns;
	w->known = false;
	if (depth < w->depth)
		w->depth = depth;
	f = array_grow(w->frames, &w->frame_cap, w->depth + 1, sizeof(*f));
	if (!f) {
		w->failed = true;
		return;
	}
	w->frames = f;
	if (w->logged_depth > w->depth)
		w->logged_depth = w->depth;
	f[w->depth] = stack_classes_push(
		w->s->classes, w->depth ? &f[w->depth - 1] : &stack_class_empty, function);
	w->depth++;
}

static void visit_span(void *ctx, const struct span *s)
{
	struct sweep *w = ctx;

	sweep_to(w, s->end_ns);
	w->last_call_ns = s->end_ns;
	w->known = false;
	if (s->depth < w->depth)
		w->depth = s->depth;
	if (w->logged_depth > w->depth)
		w->logged_depth = w->depth;
}

static void visit_gc(void *ctx, const struct span *s, uint64_t collected)
{
	(void)collected;
	visit_span(ctx, s);
}

static void visit_gap(void *ctx, const struct gap *g)
{
	struct sweep *w = ctx;

	sweep_to(w, g->start_ns);
	w->lost = true;
	w->known = false;
	sweep_to(w, g->end_ns);
	w->lost = false;
	w->known = false;
}

/* Frames of the function go; the others have what they had around them then. */
static void visit_throttled(void *ctx, const struct throttled *l)
{
	struct sweep *w = ctx;
	size_t kept = l->from_depth < w->depth ? l->from_depth : w->depth;

	sweep_to(w, l->time_ns);
	w->known = false;
	w->throttled = l->function != NO_FUNCTION;
	if (w->logged_depth > kept)
		w->logged_depth = kept;
	for (size_t i = kept; i < w->depth && w->throttled; i++) {
		if (w->frames[i].inner != l->function)
			w->frames[kept++] = w->frames[i];
	}
	if (w->throttled)
		w->depth = kept;
}

static void set_layers(struct sweep *w, uint32_t layers, int64_t time_ns)
{
	sweep_to(w, time_ns);
	w->known &= !layers == !w->layers && !w->logging;
	w->layers = layers;
}

static void visit_layer_begin(void *ctx, size_t thread, uint32_t depth, uint32_t id,
			      int64_t time_ns)
{
	struct sweep *w = ctx;
	uint32_t *grown;

	(void)thread;
	set_layers(w, depth + 1, time_ns);
	if (!w->logs)
		return;
	grown = array_grow(w->layer_ids, &w->layer_cap, (size_t)depth + 1, sizeof(*grown));
	if (!grown) {
		w->failed = true;
		return;
	}
	w->layer_ids = grown;
	grown[depth] = id;
}

static void visit_layer(void *ctx, const struct layer_span *s)
{
	set_layers(ctx, s->depth, s->end_ns);
}

static void visit_layer_dropped(void *ctx, size_t thread, uint32_t depth)
{
	struct sweep *w = ctx;

	(void)thread;
	if (w->layers && w->layers <= w->layer_cap && depth < w->layers)
		memmove(w->layer_ids + depth, w->layer_ids + depth + 1,
			(w->layers - 1 - depth) * sizeof(*w->layer_ids));
	if (w->layers)
		set_layers(w, w->layers - 1, w->now_ns);
}

/* Tracks that all threads read are copied: each has a cursor of its own, run() sets it. */
static void open_gaps(struct sweep *w)
{
	const struct gap_list *list = &w->s->gaps->threads[w->thread];

	gaps_open(&w->gaps, &w->of_gaps, w->s->gaps, w->thread);
	if (!list->count)
		return;
	w->section = &w->s->gaps->sections[list->section];
	w->steps = w->section->steps;
}

static int open_device(struct sweep *w, bool own)
{
	return own && track_has(&w->calls)
		       ? device_work_of_thread(w->s->device, w->process, w->thread, &w->device)
		       : device_work_all(w->s->device, w->process, &w->device);
}

static int fill(struct sweep *w, bool own)
{
	const struct gpu_timeline *g = w->s->analysis->gpu.timeline;
	size_t faults;

	w->samples = &w->s->samples->threads[w->thread];
	w->timed_waits = &w->s->timed_waits->threads[w->thread];
	w->queued = &w->s->samples->queued[w->thread];
	w->holders = w->s->samples->holders;
	w->running = w->s->samples->running;
	open_gaps(w);
	calls_open(&w->calls, &w->of_calls, g, w->thread);
	ways_open(&w->ways, &w->of_ways, g, w->thread);
	w->next_fault = fault_marks_of(&w->s->samples->faults, w->process, &faults);
	w->last_fault = faults ? w->next_fault + faults : w->next_fault;
	return framework_track_fill(&w->framework, w->s->timeline, w->thread) ||
	       native_calls_track_fill(&w->natives, w->s->timeline, w->thread) ||
	       open_device(w, own);
}

static bool tracks_failed(const struct sweep *w)
{
	bool failed = w->calls.failed || w->ways.failed || w->gaps.failed;

	for (size_t i = 0; i < DEVICE_TRACKS; i++)
		failed |= w->device.tracks[i].failed;
	return failed;
}

static void release(struct sweep *w)
{
	device_tracks_release(&w->device);
	track_release(&w->gaps);
	track_release(&w->calls);
	track_release(&w->ways);
	track_release(&w->framework);
	track_release(&w->natives);
	free(w->frames);
	free(w->log_frames);
	free(w->layer_ids);
	idmap_release(&w->seen_in);
	open_steps_release(&w->open);
}

/* A thread that came late has nothing to do with what was before. */
static void seek(struct sweep *w, int64_t from_ns)
{
	struct track *const tracks[] = { &w->calls,  &w->ways,       &w->framework, &w->natives,
					 &w->gaps,   &w->steps,      &w->holders,   &w->running,
					 w->samples, w->timed_waits, w->queued,     NULL };

	w->now_ns = from_ns;
	for (struct track *const *t = tracks; *t; t++)
		track_seek(*t, from_ns);
	device_tracks_seek(&w->device, from_ns);
}

/* From the first time that is needed to the last. */
static int run(struct sweep *w)
{
	const struct timeline_visitor visitor = {
		.ctx = w,
		.enter = visit_enter,
		.function = visit_span,
		.gc = visit_gc,
		.gap = visit_gap,
		.throttled = visit_throttled,
		.layer_begin = visit_layer_begin,
		.layer = visit_layer,
		.layer_dropped = visit_layer_dropped,
	};
	const struct gap_list *gaps = &w->s->gaps->threads[w->thread];
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;

	w->last_call_ns = INT64_MIN;
	w->seen_last = w->seen_last_in = UINT32_MAX;
	for (const struct step_item *i = w->next_step; i < w->last_step; i++) {
		if (i->start_ns < from_ns)
			from_ns = i->start_ns;
		if (i->end_ns > to_ns)
			to_ns = i->end_ns;
	}
	if (gaps->count && gaps->first_ns < from_ns)
		from_ns = gaps->first_ns;
	if (gaps->count && gaps->last_ns > to_ns)
		to_ns = gaps->last_ns;
	if (w->logs) {
		const struct host_log *l = w->s->log;
		const struct host_window *last = &l->windows[l->window_count - 1];

		from_ns = l->windows[0].start_ns < from_ns ? l->windows[0].start_ns : from_ns;
		to_ns = last->end_ns > to_ns ? last->end_ns : to_ns;
		if (host_log_thread(w->s->log, w->thread))
			return -1;
	}
	if (from_ns > to_ns)
		return 0;
	seek(w, from_ns);
	turn(w);
	if (timeline_walk_again(w->s->timeline, w->thread, &visitor, w->err))
		return -1;
	sweep_to(w, to_ns);
	return 0;
}

int step_sweep_thread(struct step_sweep *s, size_t thread, size_t first, size_t last, bool own,
		      struct err *err)
{
	uint32_t process = trace_thread(s->trace, thread)->process;
	size_t position = process_position(s->trace, process);
	struct sweep w = {
		.s = s,
		.err = err,
		.thread = thread,
		.process = process,
		.native = position < trace_process_count(s->trace) &&
			  !trace_process(s->trace, position)->python_version,
		.has_gpu = gpu_section_find(&s->analysis->gpu, process) != NULL,
		.next_step = s->items->items + first,
		.last_step = s->items->items + last,
		.sample_class = stack_class_empty,
		.way_class = stack_class_empty,
		.way_stack = UINT32_MAX,
		.logs = s->log->window_count && s->log->process == process,
	};
	int rc = -1;

	idmap_init(&w.seen_in);
	err_set(err, "out of memory");
	if (!fill(&w, own))
		rc = run(&w);
	if (w.failed || s->classes->failed || tracks_failed(&w))
		rc = -1;
	release(&w);
	return rc;
}
