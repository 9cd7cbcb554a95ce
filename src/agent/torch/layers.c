#include "agent/torch/layers.h"

#include <stdlib.h>

#include "agent/python/frames.h"
#include "agent/torch/layer_throttle.h"

#define OPEN_MAX 64u /* deeper ones count for the layer around them */

struct open_layer {
	struct frame_mark frame;
	PyObject *module; /* its address only: it may be freed when the end was not reported */
	uint32_t id;      /* 0: it is not recorded */
	uint64_t since;   /* ticks; 0: it is not timed */
};

struct layer_stack {
	uint32_t epoch;          /* the recording that these are open in */
	uint32_t decisions_seen; /* of layer_throttle.h: decisions that the trace knows in this
				    thread */
	bool at_forward_hooks;   /* the frames of those that are open are of what they run */
	bool amid;               /* the thread may be in a layer whose begin was not reported */
	unsigned depth;
	struct open_layer open[OPEN_MAX];
};

/* Records the decisions since the last time; a thread that begins has nothing open. */
static void push_decisions(struct ring *r, struct layer_stack *s)
{
	while (s->decisions_seen < layer_throttle.decision_count) {
		uint32_t id = layer_throttle_decision(s->decisions_seen++);

		ring_push(r, RECORD_LAYERS_FOLDED, id);
		for (unsigned i = 0; id && i < s->depth; i++) {
			if (s->open[i].id == id)
				s->open[i].id = 0;
		}
	}
}

static struct layer_stack *stack_of(struct ring *r)
{
	struct layer_stack *s = r->layers;

	if (!s)
		s = r->layers = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	if (s->epoch != session_epoch) {
		if (layer_throttle.epoch != session_epoch)
			layer_throttle_reset();
		s->epoch = session_epoch;
		s->decisions_seen = layer_throttle.decision_count;
		s->depth = 0;
		s->amid = true;
	}
	if (__builtin_expect(s->decisions_seen != layer_throttle.decision_count, 0))
		push_decisions(r, s);
	/* They were throttled, and another call may be in the place of theirs. */
	if (__builtin_expect(s->at_forward_hooks != layer_throttle.at_forward_hooks, 0)) {
		s->at_forward_hooks = layer_throttle.at_forward_hooks;
		s->depth = 0;
		s->amid = true;
	}
	return s;
}

static void count(struct ring *r, struct layer_stack *s, bool recorded)
{
	layer_throttle_count(recorded);
	/* There may be no further event. */
	if (__builtin_expect(s->decisions_seen != layer_throttle.decision_count, 0))
		push_decisions(r, s);
}

/* An id of 0: it costs, and is not recorded. */
static void push(struct ring *r, struct layer_stack *s, uint8_t kind, uint32_t id)
{
	if (id)
		ring_push(r, kind, id);
	count(r, s, id);
}

/* Ends what is open from there on: the end of the outermost one is that of all. */
static void end_from(struct ring *r, struct layer_stack *s, unsigned at)
{
	unsigned outermost = at;

	while (outermost + 1 < s->depth && !s->open[outermost].id)
		outermost++;
	s->depth = at;
	push(r, s, RECORD_LAYER_END, s->open[outermost].id);
}

/* It ends as it should: its module is there. */
static void end_open(struct ring *r, struct layer_stack *s, unsigned at)
{
	const struct open_layer *o = &s->open[at];
	struct layer_note *note;

	if (o->since && o->id) {
		note = code_table_find(&layer_index, o->module);
		if (note)
			layer_throttle_measured(note, stamp_now(r->clock) - o->since);
	}
	end_from(r, s, at);
}

/*
 * Ends what is in no frame around the newest one (`outer`: and not in that one either).  Returns
 * the outermost that was ended.
 */
static const PyObject *end_dead(struct ring *r, struct layer_stack *s, bool outer)
{
	unsigned alive = s->depth;

	while (alive && s->open[alive - 1].frame.frame &&
	       !frames_is_inside(&s->open[alive - 1].frame, outer))
		alive--;
	if (alive == s->depth)
		return NULL;
	end_from(r, s, alive);
	return s->open[alive].module;
}

static bool is_throttled(const PyObject *module)
{
	const struct layer_note *note = code_table_find(&layer_index, module);

	return note && note->throttled && note->epoch == session_epoch;
}

static void begin(struct ring *r, struct layer_stack *s, PyObject *module, uint16_t forward,
		  const struct layer_kind *kind)
{
	struct layer_note *note;

	/* A part of a model is not to be taken for one. */
	s->amid = s->amid && forward_hooks_is_nested();
	if (s->amid || s->depth == OPEN_MAX)
		return;
	note = layer_note(r, module, s->depth ? s->open[0].module : NULL, kind);
	if (!note)
		return;
	note->forward = forward;
	s->open[s->depth++] = (struct open_layer){
		.frame = frames_newest(),
		.module = module,
		.id = note->id,
		.since = layer_throttle.measures ? stamp_now(r->clock) : 0,
	};
	push(r, s, RECORD_LAYER_BEGIN, s->open[s->depth - 1].id);
}

void layers_begin(struct ring *r, PyObject *module, const struct layer_kind *kind)
{
	struct layer_stack *s = stack_of(r);

	if (!s)
		return;
	if (is_throttled(module)) {
		count(r, s, false); /* it is the layer's around it, and so will be its end */
		return;
	}
	/* What was begun in this very frame, or rather one in its place, is over. */
	end_dead(r, s, true);
	begin(r, s, module, 0, kind);
}

void layers_begin_forward(struct ring *r, PyObject *module, uint16_t forward,
			  const struct layer_kind *kind)
{
	struct layer_stack *s = stack_of(r);

	if (!s)
		return;
	end_dead(r, s, true);
	if (is_throttled(module) || (s->depth && s->open[s->depth - 1].module == module))
		count(r, s, false);
	else
		begin(r, s, module, forward, kind);
}

void layers_end_here(struct ring *r)
{
	const void *frame = frames_newest().frame;
	struct layer_stack *s = stack_of(r);

	if (!s)
		return;
	for (unsigned i = frame ? s->depth : 0; i-- > 0;) {
		if (s->open[i].frame.frame == frame) {
			end_open(r, s, i);
			return;
		}
	}
	count(r, s, false);
}

void layers_end(struct ring *r, const PyObject *module)
{
	struct layer_stack *s = stack_of(r);

	if (!s || end_dead(r, s, false) == module)
		return;
	for (unsigned i = s->depth; i-- > 0;) {
		if (s->open[i].module == module) {
			end_open(r, s, i);
			return;
		}
	}
}
