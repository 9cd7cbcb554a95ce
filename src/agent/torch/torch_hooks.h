/*
 * Layers before CPython 3.12: PyTorch's hooks around all modules, which are C functions of
 * ours that return None.
 *
 * Only without a budget: PyTorch itself takes microseconds longer for each module while it
 * has hooks to look after, whatever they do, so that folding would not bring them back.
 *
 * They are there from when PyTorch has defined its modules until torch.compile is about to
 * be loaded: it would compile them into the program's graphs.  An audit hook hears of
 * imports; nothing is imported for our sake.
 */
#ifndef AGENT_TORCH_TORCH_HOOKS_H
#define AGENT_TORCH_TORCH_HOOKS_H

#include "agent/torch/layer_names.h"

/* With the GIL. */
void torch_hooks_start(void);
void torch_hooks_stop(void);

/* What adapter_torch.c and torch_hooks.c know together of PyTorch. */

extern const struct layer_kind torch_modules;

/* Do the hooks tell of layers?  Then calls of the functions that run them do not. */
extern bool torch_hooks_audit;

#endif
