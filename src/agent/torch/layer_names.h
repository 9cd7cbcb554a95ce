/*
 * The layers of a model and their names: one note for each module object that was called, or that
 * the outermost one leads to.
 *
 * Names are found by visiting the module that is called outermost (the root) and its parts,
 * without running any code of the program.  A weak reference reports when a module is freed, so an
 * address that is reused never inherits a name.
 *
 * All functions need the GIL and keep a pending exception.
 */
#ifndef AGENT_TORCH_LAYER_NAMES_H
#define AGENT_TORCH_LAYER_NAMES_H

#include "agent/core/session.h"
#include "agent/python/code_table.h"
#include "agent/python/forward_hooks.h"
#include "agent/python/pyapi.h"

/* How a framework builds modules out of modules. */
struct layer_kind {
	/*
	 * The dict of the modules (or None) that a module holds, by their names: a new
	 * reference, NULL for what is no module.  Runs no code of the program's.
	 */
	PyObject *(*parts)(PyObject *module);
};

struct layer_note {
	PyObject *weak;
	uint32_t id;
	uint32_t epoch;   /* the recording that the id belongs to: session_epoch */
	uint32_t root;    /* the id of the module that it was named from; 0: it is one itself */
	uint32_t visit;   /* the newest visit of a root that reached it */
	uint32_t unnamed; /* of a root: calls inside it of modules that were not known */
	bool shares_id;   /* with others of its class */
	/* For layer_throttle.c. */
	bool throttled;
	uint16_t forward; /* the function that reports it (forward_hooks.h); 0: its calls do */
	struct layer_lengths lengths;
};

extern struct code_index layer_index; /* modules to notes */

struct layer_note *layer_note_slow(struct ring *r, PyObject *module, PyObject *outermost,
				   const struct layer_kind *kind);

/*
 * outermost: the address of the outermost module that the thread is in, NULL: this one is it.
 * Returns NULL for what is no module, and where there are too many of them.
 */
static inline struct layer_note *layer_note(struct ring *r, PyObject *module, PyObject *outermost,
					    const struct layer_kind *kind)
{
	struct layer_note *note = code_table_find(&layer_index, module);

	if (__builtin_expect(note && note->epoch == session_epoch, 1))
		return note;
	return layer_note_slow(r, module, outermost, kind);
}

#endif
