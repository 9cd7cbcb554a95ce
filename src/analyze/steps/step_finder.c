/* The part that runs beside the walk: who called what around the outermost layers. */
#include "analyze/steps/step_finder.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/classes/code_kind.h"
#include "base/array.h"
#include "timeline/functions.h"

/* Units around one that are searched for the same function: deep stacks would take forever. */
#define CLIMB_MAX 64u

void step_finder_init(struct step_finder *f, const struct trace *t)
{
	memset(f, 0, sizeof(*f));
	f->trace = t;
	f->layer = f->call = UNIT_NONE;
}

void step_finder_release(struct step_finder *f)
{
	free(f->units);
	free(f->open);
	free(f->whose);
	step_calls_release(&f->calls_of);
	memset(f, 0, sizeof(*f));
}

void step_finder_enter(struct step_finder *f, uint32_t depth, uint32_t function)
{
	struct step_frame *open = f->open;

	if (depth >= f->open_cap) {
		open = array_grow(f->open, &f->open_cap, (size_t)depth + 1, sizeof(*open));
		if (!open) {
			f->failed = true;
			return;
		}
		f->open = open;
	}
	open[depth] = (struct step_frame){ function, ++f->calls, UNIT_NONE, false };
	f->depth = (size_t)depth + 1;
}

/* One whose entry is missing was never put there. */
void step_finder_leave(struct step_finder *f, const struct span *s)
{
	const struct step_frame *o = s->depth < f->depth ? &f->open[s->depth] : NULL;

	if (!o || o->function != s->function || s->flags & SPAN_OPEN_START)
		return;
	f->depth = s->depth;
	if (o->unit == UNIT_NONE)
		return;
	f->units[o->unit].start_ns = s->start_ns;
	f->units[o->unit].end_ns = s->end_ns;
	f->units[o->unit].known = true;
}

/* Its frames go, as in the timeline; units of it stay unknown, and what is in them moves out. */
void step_finder_throttled(struct step_finder *f, const struct throttled *l)
{
	size_t kept = l->from_depth < f->depth ? l->from_depth : f->depth;

	for (size_t i = kept; i < f->depth; i++) {
		if (f->open[i].function != l->function)
			f->open[kept++] = f->open[i];
	}
	f->depth = kept;
}

/*
 * Where torch and others keep the wrapper of a decorated function; from 3.11 on its name shows it.
 */
static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !memcmp(text + n - m, end, m);
}

static bool wraps(const struct place *f)
{
	static const char *const files[] = { "/contextlib.py",         "/_contextlib.py",
					     "/grad_mode.py",          "/functools.py",
					     "/inferscope/_served.py", "/inferscope/_decorate.py" };

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		if (ends_with(f->file, files[i]))
			return true;
	}
	return strstr(f->name, "<locals>") != NULL;
}

static enum step_code classify_code(enum step_lead lead, const struct place *f)
{
	if (lead != LEAD_CALLS && code_calls_unrecorded_module(f->name, f->file))
		return STEP_CODE_RUNS;
	if (*f->file && user_code(f->file))
		return STEP_CODE_USERS;
	return wraps(f) ? STEP_CODE_WRAPS : STEP_CODE_LIBRARYS;
}

static enum step_code whose(struct step_finder *f, uint32_t function)
{
	size_t old = f->whose_cap;
	uint8_t *grown;

	if (function == UINT32_MAX)
		return STEP_CODE_UNKNOWN; /* a collection */
	if (function >= f->whose_cap) {
		grown = array_grow(f->whose, &f->whose_cap, (size_t)function + 1, sizeof(*grown));
		if (!grown) {
			f->failed = true;
			return STEP_CODE_UNKNOWN;
		}
		memset(grown + old, 0, f->whose_cap - old);
		f->whose = grown;
	}
	if (f->lead == LEAD_CALLS && function < f->calls_of.count && f->calls_of.chosen[function])
		f->whose[function] = STEP_CODE_RUNS;
	if (!f->whose[function])
		f->whose[function] =
			(uint8_t)classify_code(f->lead, timeline_function(f->timeline, function));
	return (enum step_code)f->whose[function];
}

static bool is_users(struct step_finder *f, uint32_t function)
{
	return whose(f, function) == STEP_CODE_USERS;
}

static size_t unit_add(struct step_finder *f, uint64_t kind, size_t parent, size_t thread,
		       uint64_t through)
{
	struct step_unit *u = array_grow(f->units, &f->cap, f->count + 1, sizeof(*u));

	if (!u) {
		f->failed = true;
		return UNIT_NONE;
	}
	f->units = u;
	u[f->count] = (struct step_unit){
		.kind = kind,
		.parent = parent,
		.thread = (uint32_t)thread,
		.through = through,
		.interval = f->interval,
		.via = UINT32_MAX,
		.first_child = UNIT_NONE,
		.last_child = UNIT_NONE,
		.next = UNIT_NONE,
	};
	return f->count++;
}

/* A function that calls itself is one loop: all that it calls belongs to its outermost call. */
static size_t find_around(const struct step_finder *f, size_t unit, uint32_t function)
{
	unsigned climbed = 0;

	while (unit != UNIT_NONE && f->units[unit].kind != function)
		unit = ++climbed < CLIMB_MAX ? f->units[unit].parent : UNIT_NONE;
	return unit;
}

/* The first of the open functions from this one on that is more than a wrapper. */
static size_t first_at_work(struct step_finder *f, size_t from)
{
	while (from < f->depth && whose(f, f->open[from].function) != STEP_CODE_LIBRARYS &&
	       whose(f, f->open[from].function) != STEP_CODE_RUNS)
		from++;
	return from;
}

/* A model that is called in `parent`, the user's, through what is open from `inside` on. */
static size_t model_begin(struct step_finder *f, uint64_t kind, size_t parent, size_t inside,
			  size_t thread)
{
	size_t at = first_at_work(f, inside), via = first_at_work(f, at + 1), unit;
	struct step_frame *call = at < f->depth ? &f->open[at] : NULL;

	if (parent == UNIT_NONE || !call || whose(f, call->function) != STEP_CODE_LIBRARYS)
		return unit_add(f, kind, parent, thread, 0);
	if (call->unit == UNIT_NONE) {
		call->unit = unit_add(f, call->function, parent, thread, 0);
		if (call->unit == UNIT_NONE)
			return UNIT_NONE;
		f->units[call->unit].librarys = true;
	}
	unit = unit_add(f, kind, call->unit, thread, 0);
	if (unit != UNIT_NONE && via < f->depth)
		f->units[unit].via = f->open[via].function;
	return unit;
}

/* A unit in the functions that are open, each of which is one from now on. */
static size_t unit_begin(struct step_finder *f, uint64_t kind, size_t thread, int64_t time_ns)
{
	size_t parent = UNIT_NONE, inside = 0, around, unit;
	/* A function that is followed by itself is the innermost one, and what is to be added. */
	size_t depth = f->lead == LEAD_CALLS ? f->depth - 1 : f->depth;
	uint64_t through = 0;

	for (size_t i = 0; i < depth; i++) {
		struct step_frame *o = &f->open[i];

		if (!is_users(f, o->function)) {
			if (!through)
				through = o->call;
			continue;
		}
		around = find_around(f, parent, o->function);
		if (around != UNIT_NONE)
			parent = around;
		else if (o->unit == UNIT_NONE)
			parent = o->unit = unit_add(f, o->function, parent, thread, through);
		else
			parent = o->unit;
		through = 0;
		inside = i + 1;
	}
	/* It is always called through its library. */
	if (f->lead == LEAD_MODELS || f->lead == LEAD_RUNS)
		unit = model_begin(f, kind, parent, inside, thread);
	else
		unit = unit_add(f, kind, parent, thread, f->lead == LEAD_CALLS ? through : 0);
	if (unit != UNIT_NONE)
		f->units[unit].start_ns = time_ns;
	return unit;
}

void step_finder_layer_begin(struct step_finder *f, size_t thread, uint32_t id, int64_t time_ns)
{
	f->layer = unit_begin(f, UNIT_LAYER | id, thread, time_ns);
}

/* How long a launch takes is of no interest: what it starts runs on. */
static void add_launch(struct step_finder *f, uint64_t kind, const struct cuda_begin *c)
{
	size_t unit = unit_begin(f, kind, c->thread, c->time_ns);

	if (unit == UNIT_NONE)
		return;
	f->units[unit].end_ns = c->time_ns;
	f->units[unit].known = true;
}

void step_finder_cuda_begin(struct step_finder *f, const struct cuda_begin *c)
{
	if (c->what == CUDA_CALL_GRAPH_LAUNCH && f->layer == UNIT_NONE)
		add_launch(f, UNIT_GRAPH, c);
}

void step_finder_layer_end(struct step_finder *f, const struct layer_span *s)
{
	if (f->layer != UNIT_NONE) {
		f->units[f->layer].end_ns = s->end_ns;
		f->units[f->layer].known = !s->flags;
	}
	f->layer = UNIT_NONE;
}

void step_finder_layer_dropped(struct step_finder *f)
{
	f->layer = UNIT_NONE;
}

void step_finder_layers_again(struct step_finder *f)
{
	f->interval++;
}

/* Copies that are not asynchronous return when they are done. */
static bool is_wait(const struct cuda_begin *c)
{
	return gpu_call_waits(c->what) ||
	       (c->what == CUDA_CALL_COPY && *c->name && !strstr(c->name, "Async"));
}

/* The user's line that makes the call; 0: unknown. */
static uint32_t line_of(const struct step_finder *f, const struct cuda_begin *c)
{
	struct place innermost, user;

	gpu_stack_places(f->gpu->timeline, c->stack, &innermost, &user);
	return user.line;
}

static void lead_enter(void *ctx, size_t thread, uint32_t depth, uint32_t function, int64_t time_ns)
{
	(void)thread;
	(void)time_ns;
	step_finder_enter(ctx, depth, function);
}

static void lead_leave(void *ctx, const struct span *s)
{
	step_finder_leave(ctx, s);
}

static void lead_leave_gc(void *ctx, const struct span *s, uint64_t collected)
{
	(void)collected;
	step_finder_leave(ctx, s);
}

static void lead_throttled(void *ctx, const struct throttled *l)
{
	if (l->function != UINT32_MAX)
		step_finder_throttled(ctx, l);
}

static bool is_run(struct step_finder *f, uint32_t function)
{
	return whose(f, function) == STEP_CODE_RUNS;
}

/* The outermost of them is a unit: a model's layers may be called in the same way. */
static void lead_run(void *ctx, size_t thread, uint32_t depth, uint32_t function, int64_t time_ns)
{
	struct step_finder *f = ctx;
	const struct step_frame *around;
	size_t unit;

	step_finder_enter(f, depth, function);
	if (f->failed)
		return;
	around = depth ? &f->open[depth - 1] : NULL;
	f->open[depth].in_run = around && (around->in_run || is_run(f, around->function));
	if (f->open[depth].in_run || !is_run(f, function))
		return;
	unit = unit_begin(f, function, thread, time_ns);
	f->open[depth].unit = unit;
}

/* Most programs have none: no walk for nothing. */
static bool has_runs(struct step_finder *f)
{
	if (f->lead == LEAD_CALLS)
		return f->calls_of.any;
	for (size_t i = 0; i < timeline_function_count(f->timeline); i++) {
		if (is_run(f, (uint32_t)i))
			return true;
	}
	return false;
}

static void lead_run_throttled(void *ctx, const struct throttled *l)
{
	struct step_finder *f = ctx;

	f->missed |= is_run(f, l->function);
	lead_throttled(ctx, l);
}

static void lead_run_pause(void *ctx, const struct pause *p)
{
	(void)p;
	step_finder_layers_again(ctx);
}

static void lead_run_gap(void *ctx, const struct gap *g)
{
	(void)g;
	step_finder_layers_again(ctx);
}

static void lead_wait(void *ctx, const struct cuda_begin *c)
{
	struct step_finder *f = ctx;

	if (!is_wait(c))
		return;
	f->call = unit_begin(f, UNIT_CALL | line_of(f, c), c->thread, c->time_ns);
	f->correlation = c->correlation;
}

static void lead_wait_end(void *ctx, size_t thread, uint32_t correlation, int64_t time_ns)
{
	struct step_finder *f = ctx;

	(void)thread;
	if (f->call == UNIT_NONE || correlation != f->correlation)
		return;
	f->units[f->call].end_ns = time_ns;
	f->units[f->call].known = true;
	f->call = UNIT_NONE;
}

/* The innermost function of the user's that is open; UNIT_NONE: it is no unit yet, or none is. */
static size_t unit_around(struct step_finder *f)
{
	for (size_t i = f->depth; i; i--) {
		if (is_users(f, f->open[i - 1].function))
			return f->open[i - 1].unit;
	}
	return UNIT_NONE;
}

/* A line that launches one thing after the other does so once. */
static void lead_launch(void *ctx, const struct cuda_begin *c)
{
	struct step_finder *f = ctx;
	uint64_t kind;

	if (c->what != CUDA_CALL_LAUNCH && c->what != CUDA_CALL_GRAPH_LAUNCH)
		return;
	kind = UNIT_CALL | line_of(f, c);
	if (f->count && f->units[f->count - 1].kind == kind &&
	    f->units[f->count - 1].thread == c->thread &&
	    f->units[f->count - 1].parent == unit_around(f))
		return;
	add_launch(f, kind, c);
}

int step_finder_walk(struct step_finder *f, struct timeline *tl, enum step_lead lead,
		     const struct analysis_gpu *gpu)
{
	struct timeline_visitor v = {
		.ctx = f,
		.enter = lead_enter,
		.function = lead_leave,
		.gc = lead_leave_gc,
		.throttled = lead_throttled,
	};
	struct err err;

	if (lead == LEAD_RUNS || lead == LEAD_CALLS) {
		v.enter = lead_run;
		v.throttled = lead_run_throttled;
		v.pause = lead_run_pause;
		v.gap = lead_run_gap;
	} else {
		v.cuda_begin = lead == LEAD_WAITS ? lead_wait : lead_launch;
		v.cuda_end = lead == LEAD_WAITS ? lead_wait_end : NULL;
	}

	f->timeline = tl;
	f->lead = lead;
	f->gpu = gpu;
	if (lead == LEAD_CALLS && step_calls_choose(&f->calls_of, tl, f->trace))
		return -1;
	if ((lead == LEAD_RUNS || lead == LEAD_CALLS) && !has_runs(f))
		return f->failed ? -1 : 0;
	for (size_t i = 0; i < trace_thread_count(f->trace); i++) {
		f->call = UNIT_NONE;
		f->depth = 0;
		if (timeline_walk_again(tl, i, &v, &err))
			return -1;
	}
	if (f->missed) /* their number is unknown */
		f->count = 0;
	return 0;
}

void found_steps_release(struct found_steps *s)
{
	free(s->items);
	free(s->kinds);
	memset(s, 0, sizeof(*s));
}
