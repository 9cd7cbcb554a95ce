#include "agent/layers.h"

#include <stdlib.h>

#include "agent/budget.h"
#include "agent/frames.h"

#define OPEN_MAX 64u /* deeper ones count for the layer around them */

struct open_layer {
	struct frame_mark frame;
	PyObject *module; /* its address: it may be gone where the end was not told */
	uint32_t id;
};

struct layer_stack {
	uint32_t epoch; /* the recording that these are open in */
	unsigned depth;
	struct open_layer open[OPEN_MAX];
};

static struct layer_stack *stack_of(struct ring *r)
{
	if (!r->layers)
		r->layers = calloc(1, sizeof(*r->layers));
	if (r->layers && r->layers->epoch != session_epoch) {
		r->layers->epoch = session_epoch;
		r->layers->depth = 0;
	}
	return r->layers;
}

static void push(struct ring *r, uint8_t kind, uint32_t id)
{
	ring_push(r, kind, id);
	budget_count(r, 1);
}

/* Ends what is open from there on: the end of the outermost one is that of all. */
static void end_from(struct ring *r, struct layer_stack *s, unsigned at)
{
	s->depth = at;
	push(r, RECORD_LAYER_END, s->open[at].id);
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

void layers_begin(struct ring *r, PyObject *module, const struct layer_kind *kind)
{
	struct layer_stack *s = stack_of(r);
	const struct layer_note *note;

	if (!s)
		return;
	/* What was begun in this very frame, or rather one in its place, is over. */
	end_dead(r, s, true);
	if (s->depth == OPEN_MAX)
		return;
	note = layer_note(r, module, s->depth ? s->open[0].module : NULL, kind);
	if (!note)
		return;
	s->open[s->depth++] = (struct open_layer){ frames_newest(), module, note->id };
	push(r, RECORD_LAYER_BEGIN, note->id);
}

void layers_end_here(struct ring *r)
{
	const void *frame = frames_newest().frame;
	struct layer_stack *s = stack_of(r);

	for (unsigned i = s && frame ? s->depth : 0; i-- > 0;) {
		if (s->open[i].frame.frame == frame) {
			end_from(r, s, i);
			return;
		}
	}
}

void layers_end(struct ring *r, const PyObject *module)
{
	struct layer_stack *s = stack_of(r);

	if (!s || end_dead(r, s, false) == module)
		return;
	for (unsigned i = s->depth; i-- > 0;) {
		if (s->open[i].module == module) {
			end_from(r, s, i);
			return;
		}
	}
}
