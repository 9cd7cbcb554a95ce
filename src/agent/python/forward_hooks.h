/*
 * The functions that modules run (`forward`): a cheaper place to detect layers.
 *
 * All modules are called through one function of the framework, whose events are on or off for all
 * of them: a throttled layer costs nearly as much as a recorded one.  The functions that modules
 * run differ by class, and each can be switched off by itself, at no cost.  But modules that run no
 * Python function are missed there, and so is what the program's hooks do before and after: this
 * is the second choice.
 *
 * A function is recognised when it first runs: it is called by the function that calls modules,
 * with the same first argument, and between the two are only functions of the framework, or ones
 * that pass all arguments on.  From 3.12 on; all functions need the GIL.
 */
#ifndef AGENT_PYTHON_FORWARD_HOOKS_H
#define AGENT_PYTHON_FORWARD_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/python/pyapi.h"

#define FORWARD_HOOKS_MAX 2048u

/* For layer_throttle.c: calls in that count, and the sum of their lengths as powers of two. */
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
