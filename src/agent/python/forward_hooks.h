/*
 * The functions that modules run (`forward`), where layers are heard of at less cost.
 *
 * All modules are called through one function of the framework.  To hear of some of them there is
 * to hear of all: what is folded costs as much as what is recorded but for the record.  What they
 * run are functions of their own, one for each class of modules, and each can be switched off by
 * itself, for nothing.  But there modules that run no Python function are missed, and what hooks
 * of the program do before and after: so it is the second choice.
 *
 * Known by the first time that they run: called by what calls modules, with the same first
 * argument, and nothing but the framework's own functions, or such as hand all arguments on,
 * between. From 3.12 on; all with the GIL.
 */
#ifndef AGENT_PYTHON_FORWARD_HOOKS_H
#define AGENT_PYTHON_FORWARD_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/python/pyapi.h"

#define FORWARD_HOOKS_MAX 2048u

/* For layer_throttle.c: in that count so many calls and their lengths, each as a power of two. */
struct layer_lengths {
	uint32_t function_totals, calls, powers;
};

/* One for each such function: all layers that run it together. */
struct forward_hook {
	bool throttled;
	struct layer_lengths lengths;
};

extern struct forward_hook forward_hooks[FORWARD_HOOKS_MAX + 1]; /* by number */
extern uint16_t forward_hooks_count;

/* What calls modules has been seen: there may be some from now on. */
extern bool forward_hooks_wanted;

/* Is a module called further out than the one that the newest frame calls, or runs? */
bool forward_hooks_is_nested(void);

/* A number for this function, which the newest frame is in; 0: no module runs it. */
uint16_t forward_hooks_number(PyObject *code);

#endif
