/*
 * Throttles layers to stay within the overhead budget: the layers with the shortest calls are not
 * recorded, and their time counts for the layer around them ("throttled").
 *
 * Layers may use half of the budget.  When the budget is overdrawn and layers cost more than that:
 *   1. calls are timed, and the shortest layers are throttled until the rest fits.  Layers with too
 *      few calls to save anything, such as the model itself, stay;
 *   2. a throttled layer still costs the hook's call.  If the hooks alone cost more than layers may
 *      use, layers are detected by the functions that they run instead (forward_hooks.h);
 *   3. if there are no such functions and the hooks cost more than the whole budget, all layers
 *      are throttled and the hook is disabled (`rests`).
 * Some time later, when there is credit, everything is enabled again.  Each thread records these
 * decisions in its own ring.
 *
 * All functions need the GIL.
 */
#ifndef AGENT_TORCH_LAYER_THROTTLE_H
#define AGENT_TORCH_LAYER_THROTTLE_H

#include "agent/python/forward_hooks.h"
#include "agent/torch/layer_names.h"

#define LAYER_THROTTLE_EVENTS 512u /* begins and ends between two checks of the budget */

enum layer_turn {
	LAYER_TURN_NONE,
	LAYER_TURN_TO_FORWARD_HOOKS, /* enable the functions that were switched off */
	LAYER_TURN_TO_CALLS,         /* enable all events */
};

struct layer_throttle {
	uint32_t epoch;            /* the recording that this is about */
	bool measures;             /* calls are timed */
	bool rests;                /* no layers are recorded */
	bool at_forward_hooks;     /* layers are detected by the functions that they run */
	bool unheard;              /* either of them: calls of modules are not hooked */
	enum layer_turn turn;      /* what the hook has to do next */
	uint32_t events, recorded; /* begins and ends since the last check; of them in the trace */
	uint32_t decision_count;   /* decisions so far; see layer_throttle_decision() */
};

extern struct layer_throttle layer_throttle;

void layer_throttle_evaluate(void);
void layer_throttle_reset(void); /* another recording has begun */

/* Set by a hook that can be disabled, tests `unheard` before it reports a layer, and executes
 * `turn`. */
extern bool layer_throttle_can_pause;

/*
 * For a hook that still gets the ends of calls while layers are paused: one came.  Says whether
 * there is enough credit to enable layers again, `cost_ns` included.
 */
enum layer_rest {
	LAYER_REST_GOES_ON,
	LAYER_REST_IS_OVER,
	LAYER_REST_IS_DEAR, /* even these events cost too much: disable them as well */
};

enum layer_rest layer_throttle_paused(uint64_t cost_ns);

/* Are layers detected by what they run, and is this function one that is not throttled? */
static inline bool layer_throttle_records(uint16_t forward)
{
	return layer_throttle.at_forward_hooks && forward && !forward_hooks[forward].throttled;
}

/* All events are enabled again, for whatever reason: resumes layers as well. */
void layer_throttle_resume(void);

/* The nth decision, which each thread records: the id of a throttled layer; 0: none is throttled
 * any more. */
uint32_t layer_throttle_decision(uint32_t n);

/* Counts a begin or an end, recorded or not. */
static inline void layer_throttle_count(bool recorded)
{
	layer_throttle.recorded += recorded;
	if (__builtin_expect(++layer_throttle.events >= LAYER_THROTTLE_EVENTS, 0))
		layer_throttle_evaluate();
}

/* A call took `ticks` of the session's clock. */
void layer_throttle_measured(struct layer_note *note, uint64_t ticks);

#endif
