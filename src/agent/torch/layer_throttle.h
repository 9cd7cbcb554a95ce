/*
 * Which layers the budget folds: those of the shortest calls are not recorded, and count for the
 * layer around them.
 *
 * Layers may have half of the budget.  When it is overdrawn and they take more, the next ones are
 * timed, and so many of the shortest go that the rest fits, but never those whose calls are too few
 * to save anything, as the model's own.  One that is folded still costs the call that tells of it:
 * where these alone would take more than layers may have, they are heard of by the functions that
 * they run instead (forward_hooks.h), and where there are none, and it is more than all that there
 * is, all are folded and nobody listens (`rests`).  Everything is as at first again after a while,
 * when there is credit.  Each thread tells of it in its own ring.
 * All with the GIL.
 */
#ifndef AGENT_TORCH_LAYER_THROTTLE_H
#define AGENT_TORCH_LAYER_THROTTLE_H

#include "agent/python/forward_hooks.h"
#include "agent/torch/layer_names.h"

#define LAYER_THROTTLE_EVENTS 512u /* begins and ends between two looks at the budget */

enum layer_turn {
	LAYER_TURN_NONE,
	LAYER_TURN_TO_FORWARD_HOOKS, /* hear of those again that are switched off */
	LAYER_TURN_TO_CALLS,         /* listen to everything again */
};

struct layer_throttle {
	uint32_t epoch;            /* the recording that this is about */
	bool measures;             /* calls are timed */
	bool rests;                /* layers are not listened to */
	bool at_forward_hooks;     /* they are known by the functions that they run */
	bool unheard;              /* either: calls of modules are not listened to */
	enum layer_turn turn;      /* what the hook has to do next */
	uint32_t events, recorded; /* begins and ends since the last look; of them in the trace */
	uint32_t decision_count;   /* decisions so far; see layer_throttle_decision() */
};

extern struct layer_throttle layer_throttle;

void layer_throttle_evaluate(void);
void layer_throttle_reset(void); /* another recording has begun */

/* Set by the hook that can stop listening, asks for `unheard` before it tells of a layer, and does
 * what `turn` says. */
extern bool layer_throttle_can_pause;

/*
 * For a hook that still hears of the ends of calls while it rests: one came by.  It is time to
 * listen again when there is credit for that and for its cost.
 */
enum layer_rest {
	LAYER_REST_GOES_ON,
	LAYER_REST_IS_OVER,
	LAYER_REST_IS_DEAR, /* even this is too much: hear of nothing until all is listened to */
};

enum layer_rest layer_throttle_paused(uint64_t cost_ns);

/* Is there anything to hear of it, where layers are known by what they run? */
static inline bool layer_throttle_records(uint16_t forward)
{
	return layer_throttle.at_forward_hooks && forward && !forward_hooks[forward].throttled;
}

/* Everything is listened to again, for whatever reason: so are layers. */
void layer_throttle_resume(void);

/* The nth thing that each thread has to tell: a layer that is folded; 0: none is any more. */
uint32_t layer_throttle_decision(uint32_t n);

/* A begin or an end, in the trace or not. */
static inline void layer_throttle_count(bool recorded)
{
	layer_throttle.recorded += recorded;
	if (__builtin_expect(++layer_throttle.events >= LAYER_THROTTLE_EVENTS, 0))
		layer_throttle_evaluate();
}

/* A call took so many ticks of the session's clock. */
void layer_throttle_measured(struct layer_note *note, uint64_t ticks);

#endif
