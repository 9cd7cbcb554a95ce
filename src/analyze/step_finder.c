/* The part that runs beside the walk: who called what around the outermost layers. */
#include "analyze/step_finder.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "timeline/user_code.h"

void step_finder_init(struct step_finder *f, const struct trace *t)
{
	memset(f, 0, sizeof(*f));
	f->trace = t;
	f->layer = UNIT_NONE;
}

void step_finder_release(struct step_finder *f)
{
	free(f->units);
	free(f->open);
	free(f->whose);
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
	open[depth] = (struct step_frame){ function, ++f->calls, UNIT_NONE, UNIT_NONE };
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
void step_finder_left_out(struct step_finder *f, uint32_t function)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->depth; i++) {
		if (f->open[i].function != function)
			f->open[kept++] = f->open[i];
	}
	f->depth = kept;
}

static bool is_users(struct step_finder *f, uint32_t function)
{
	size_t old = f->whose_cap;
	uint8_t *whose;

	if (function == UINT32_MAX)
		return false; /* a collection */
	if (function >= f->whose_cap) {
		whose = array_grow(f->whose, &f->whose_cap, (size_t)function + 1, sizeof(*whose));
		if (!whose) {
			f->failed = true;
			return false;
		}
		memset(whose + old, 0, f->whose_cap - old);
		f->whose = whose;
	}
	if (!f->whose[function]) {
		const char *file = timeline_function(f->timeline, function)->file;

		f->whose[function] = *file && user_code(file) ? 1 : 2;
	}
	return f->whose[function] == 1;
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
		.stretch = f->stretch,
		.first_child = UNIT_NONE,
		.last_child = UNIT_NONE,
		.next = UNIT_NONE,
	};
	return f->count++;
}

/* A function that calls itself is one loop: all that it calls belongs to its outermost call. */
static size_t find_around(const struct step_finder *f, size_t unit, uint32_t function)
{
	while (unit != UNIT_NONE && f->units[unit].kind != function)
		unit = f->units[unit].parent;
	return unit;
}

/* A unit in the functions that are open, each of which is one from now on. */
static size_t unit_begin(struct step_finder *f, uint64_t kind, size_t thread, int64_t time_ns)
{
	size_t parent = UNIT_NONE, around, unit;
	uint64_t through = 0;

	for (size_t i = 0; i < f->depth; i++) {
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
	}
	/* It is always called through its library. */
	unit = unit_add(f, kind, parent, thread, 0);
	if (unit != UNIT_NONE)
		f->units[unit].start_ns = time_ns;
	return unit;
}

void step_finder_layer_begin(struct step_finder *f, size_t thread, uint32_t id, int64_t time_ns)
{
	f->layer = unit_begin(f, UNIT_LAYER | id, thread, time_ns);
}

/* How long the call takes is of no interest: what it starts runs on. */
void step_finder_graph_launch(struct step_finder *f, size_t thread, int64_t time_ns)
{
	size_t unit;

	if (f->layer != UNIT_NONE)
		return;
	unit = unit_begin(f, UNIT_GRAPH, thread, time_ns);
	if (unit == UNIT_NONE)
		return;
	f->units[unit].end_ns = time_ns;
	f->units[unit].known = true;
}

static struct step_frame *innermost_users(struct step_finder *f)
{
	for (size_t i = f->depth; i--;)
		if (is_users(f, f->open[i].function))
			return &f->open[i];
	return NULL;
}

void step_finder_launch(struct step_finder *f, size_t thread, int64_t time_ns)
{
	struct step_frame *in = innermost_users(f);

	/* Nobody knows where it was made. */
	if (!in)
		return;
	if (in->burst == UNIT_NONE)
		in->burst = unit_begin(f, UNIT_BURST, thread, time_ns);
	if (in->burst == UNIT_NONE)
		return;
	f->units[in->burst].end_ns = time_ns;
	f->units[in->burst].known = true;
}

void step_finder_wait(struct step_finder *f)
{
	for (size_t i = 0; i < f->depth; i++)
		f->open[i].burst = UNIT_NONE;
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
	f->stretch++;
}

void found_steps_release(struct found_steps *s)
{
	free(s->items);
	free(s->outer);
	free(s->calls);
	arena_release(&s->names);
	memset(s, 0, sizeof(*s));
}
