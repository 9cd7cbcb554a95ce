/*
 * Functions of the program whose calls mean something to us: those of the adapters
 * (adapter.h).
 */
#ifndef AGENT_PYTHON_WATCHED_FUNCTIONS_H
#define AGENT_PYTHON_WATCHED_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/ring.h"
#include "agent/python/text.h"

/* Is this a function to watch?  0: no; else what to hand to watched_function_event(). */
uint8_t watched_function_find(const struct text *name, const struct text *file);

/* Is a module called through it?  See adapter.h. */
bool watched_function_passes(const struct text *name, const struct text *file);
bool watched_function_calls_modules(uint8_t watch);

/* A watched function was entered or left (enum record_kind).  With the GIL. */
void watched_function_event(struct ring *r, uint8_t watch, uint8_t kind);

/* Likewise a function that a module runs, by its number (forward_hooks.h). */
void watched_forward_event(struct ring *r, uint16_t forward, uint8_t kind);

/* Does no adapter need it at present?  Then its events may be switched off.  With the GIL. */
bool watched_function_is_paused(uint8_t watch);

/*
 * Duration of a call of watched_function_event() that writes a record, or that writes none: from
 * timed calls, of which the latest count most; 0: none was timed.  With the GIL.
 */
uint32_t watched_function_cost_ns(bool recorded);

#endif
