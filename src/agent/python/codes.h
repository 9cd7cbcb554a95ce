/*
 * Code objects and their ids: qualified name, file and first line are copied
 * into the definitions the first time a code object is seen.
 *
 * The id is found by the code object's address (code_table.h).  The interpreter
 * reports when one is freed, so an address that comes back as another function
 * never inherits a name.
 * All functions need the GIL.
 */
#ifndef AGENT_PYTHON_CODES_H
#define AGENT_PYTHON_CODES_H

#include "agent/core/session.h"
#include "agent/python/code_table.h"
#include "agent/python/pyapi.h"

/*
 * From 3.12 on: what CPython takes to instrument a code object when it runs for the first time,
 * and again after events were switched on or off.
 */
#define CODES_INSTRUMENT_NS 3000u

/* Once per process, before anything else here.  -1: this interpreter cannot. */
int codes_init(void);

/*
 * Before 3.11, when a recording begins: names the functions that are loaded
 * already, whose modules will not be seen.
 */
void codes_name_loaded(void);

/*
 * What we keep of a code object.  Before 3.12 the profile callback also needs
 * to distinguish a generator's first entry from a resumption, and a yield from a
 * return: `bytecode` is a copy then, NULL for plain functions.
 */
struct code_note {
	PyObject *code;
	uint32_t id;
	_Atomic uint32_t epoch; /* the recording that the id belongs to: session_epoch */
	uint8_t watch;          /* see watched_functions.h */
	bool passes;            /* see forward_hooks.h, */
	uint16_t forward;       /* likewise; 0: it is none */
	bool throttled;         /* its events are not recorded: see function_throttle.h */
	bool was_throttled;
	bool users;                       /* it is the user's own code, not a library's */
	bool calls_unheard;               /* ... and listening to its native calls is due */
	bool called_there;                /* ... or was called by such, the first time */
	uint32_t function_totals, events; /* in that count */
	char *name;                       /* qualified; NULL: ask the code object */
	uint8_t *bytecode;
	uint32_t bytecode_bytes;
	_Atomic uint32_t lines_epoch; /* the recording that has its line table; see call_stacks.c */
};

extern struct code_index codes_index; /* code objects to notes */
extern _Atomic uint64_t codes_freed;  /* code objects that are gone: addresses may have come back */

/* Defines the code object; NULL when out of memory.  Keeps a pending exception as it is. */
struct code_note *codes_note_slow(struct ring *r, PyObject *code, struct code_note *note);

/* A code object whose calls mean nothing to the trace: its id is 0.  NULL when out of memory. */
struct code_note *codes_note_nameless(PyObject *code);

/*
 * NULL for what is no code object (PyMonitoring_Fire*() of 3.13 reports events
 * of anything) and when out of memory; an id of 0 stands for a function that
 * could not be named.
 */
static inline struct code_note *codes_note(struct ring *r, PyObject *code)
{
	struct code_note *note = code_table_find(&codes_index, code);

	if (__builtin_expect(note && atomic_load_explicit(&note->epoch, memory_order_relaxed) ==
					     session_epoch,
			     1))
		return note;
	return codes_note_slow(r, code, note);
}

/*
 * The note of a code object that is running in the calling thread; NULL: never
 * seen.  Needs no GIL: the frame keeps the code object, and so its note, alive.
 */
struct code_note *codes_lookup(const void *code);

#endif
