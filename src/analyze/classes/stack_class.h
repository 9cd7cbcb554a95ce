/*
 * What a thread is at, by the functions on its stack: the innermost one decides, but
 * the standard library works for its caller, and all that a compilation calls is a part of it.
 * The owner of an unknown library depends on where it is called: inside of a model it is the
 * model's, ultralytics' layers and the helpers of anybody's; outside it prepares data.
 */
#ifndef ANALYZE_CLASSES_STACK_CLASS_H
#define ANALYZE_CLASSES_STACK_CLASS_H

#include "analyze/figures/breakdown.h"
#include "base/idmap.h"
#include "timeline/timeline.h"

#define NO_FUNCTION UINT32_MAX

struct stack_class {
	enum time_class what : 8; /* TIME_UNATTRIBUTED: it is empty */
	bool whole : 1;           /* what is called from here is the same */
	bool users : 1;           /* it is the user's own code */
	bool models : 1;          /* it is a model's, if it is inside of one: no library for data */
	bool in_module : 1;       /* a model or a layer is called further out */
	bool imports : 1;         /* ... a module imported */
	bool waits : 1;           /* for something else to happen */
	uint32_t user, inner;     /* innermost functions: of the user's, of all; NO_FUNCTION */
};

struct stack_classes {
	const struct trace *trace;
	struct timeline *timeline;
	uint8_t *kinds; /* by function: enum code_kind + 1; 0: not asked yet */
	size_t kind_cap;
	struct stack_class *stacks;
	size_t stack_count, stack_cap;
	struct idmap stack_at; /* stack id -> position */
	struct {
		uint32_t stack, at;
	} recent[256]; /* by the last bits of the id; stack 0: none */
	bool failed;   /* no memory */
};

/* Both are borrowed; the timeline has been walked. */
void stack_classes_init(struct stack_classes *c, const struct trace *t, struct timeline *tl);
void stack_classes_release(struct stack_classes *c);

extern const struct stack_class stack_class_empty;

/* A function (NO_FUNCTION: a collection) is called with `around` on the stack. */
struct stack_class stack_classes_push(struct stack_classes *c, const struct stack_class *around,
				      uint32_t function);

/* That of a stack of the trace (0: none); valid until the next of these calls. */
const struct stack_class *stack_classes_of(struct stack_classes *c, uint32_t stack);

#endif
