/*
 * Layers: the calls of a model's modules, as RECORD_LAYER_BEGIN and RECORD_LAYER_END.
 *
 * Each thread has a stack of those that are open.  The end of a call that an
 * exception leaves may not be reported: at the thread's next begin or end, open layers whose
 * frame is gone are ended.
 *
 * In the thread that runs the module, with the GIL; a pending exception stays.
 */
#ifndef AGENT_TORCH_LAYERS_H
#define AGENT_TORCH_LAYERS_H

#include "agent/torch/layer_names.h"

/* The function in the newest Python frame is about to run the module. */
void layers_begin(struct ring *r, PyObject *module, const struct layer_kind *kind);

/*
 * It is the function that the module runs (forward_hooks.h).  One that it runs inside of that, as
 * super().forward(), is a part of it.
 */
void layers_begin_forward(struct ring *r, PyObject *module, uint16_t forward,
			  const struct layer_kind *kind);

/* The function in the newest Python frame has run the module that it began with. */
void layers_end_here(struct ring *r);

/* The module was run, by this frame or one that is gone. */
void layers_end(struct ring *r, const PyObject *module);

#endif
