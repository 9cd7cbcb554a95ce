/*
 * Layers before CPython 3.12: PyTorch's hooks around all modules, which are C functions of
 * ours that return None.
 *
 * Only without a budget: while any hook is installed PyTorch itself takes microseconds longer for
 * each module, whatever the hook does, so that throttling would save nothing.
 *
 * They are installed when PyTorch has defined its modules and removed before torch.compile is
 * loaded, which would compile them into the program's graphs.  An audit hook detects the
 * imports; nothing is imported on our behalf.
 */
#ifndef AGENT_TORCH_TORCH_HOOKS_H
#define AGENT_TORCH_TORCH_HOOKS_H

#include "agent/torch/layer_names.h"

/* With the GIL. */
void torch_hooks_start(void);
void torch_hooks_stop(void);

/* Shared by adapter_torch.c and torch_hooks.c. */

extern const struct layer_kind torch_modules;

/* Do the hooks report layers?  Then calls of the functions that run modules do not. */
extern bool torch_hooks_audit;

#endif
