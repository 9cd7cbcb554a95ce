/* What adapter_torch.c and torch_hooks.c know together of PyTorch. */
#ifndef AGENT_ADAPTER_TORCH_H
#define AGENT_ADAPTER_TORCH_H

#include "agent/layer_names.h"

extern const struct layer_kind torch_modules;

/* Do the hooks tell of layers?  Then calls of the functions that run them do not. */
extern bool torch_hooks_tell;

#endif
