/*
 * Functions of the program whose calls mean something to us: those of the adapters
 * (adapter.h).
 */
#ifndef AGENT_WATCH_H
#define AGENT_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/ring.h"
#include "agent/text.h"

/* Is this a function to watch?  0: no; else what to hand to watch_event(). */
uint8_t watch_of(const struct text *name, const struct text *file);

/* Is a module called through it?  See adapter.h. */
bool watch_passes(const struct text *name, const struct text *file);
bool watch_calls_modules(uint8_t watch);

/* A watched function was entered or left (enum record_kind).  With the GIL. */
void watch_event(struct ring *r, uint8_t watch, uint8_t kind);

/* Likewise a function that a module runs, by its number (layer_forwards.h). */
void watch_forward(struct ring *r, uint16_t forward, uint8_t kind);

/* Is there nobody who wants to hear of it now?  Then its places may be switched off.  With the GIL.
 */
bool watch_rests(uint8_t watch);

/*
 * What a call of watch_event() takes that leaves something in the trace, or nothing: by those that
 * were timed, the latest count most; 0: none was.  With the GIL.
 */
uint32_t watch_cost_ns(bool recorded);

#endif
