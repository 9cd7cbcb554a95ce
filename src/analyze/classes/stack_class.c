#include "analyze/classes/stack_class.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/classes/code_kind.h"
#include "base/array.h"

const struct stack_class stack_class_empty = { .what = TIME_UNATTRIBUTED,
					       .user = NO_FUNCTION,
					       .inner = NO_FUNCTION };

void stack_classes_init(struct stack_classes *c, const struct trace *t, struct timeline *tl)
{
	memset(c, 0, sizeof(*c));
	c->trace = t;
	c->timeline = tl;
	idmap_init(&c->stack_at);
}

void stack_classes_release(struct stack_classes *c)
{
	free(c->kinds);
	free(c->stacks);
	idmap_release(&c->stack_at);
	memset(c, 0, sizeof(*c));
}

static enum code_kind kind_of(struct stack_classes *c, uint32_t function)
{
	size_t old = c->kind_cap;

	if (function >= c->kind_cap) {
		uint8_t *grown = array_grow(c->kinds, &c->kind_cap, (size_t)function + 1, 1);

		if (!grown) {
			c->failed = true;
			return CODE_STANDARD;
		}
		memset(grown + old, 0, c->kind_cap - old);
		c->kinds = grown;
	}
	if (!c->kinds[function]) {
		const struct place *f = timeline_function(c->timeline, function);

		c->kinds[function] = (uint8_t)(code_kind(f->name, f->file) + 1);
	}
	return (enum code_kind)(c->kinds[function] - 1);
}

static const struct {
	enum time_class what;
	bool inherits; /* the class of its caller, if there is one */
	bool whole, users, models, waits;
} effects[] = {
	[CODE_USER] = { TIME_CPU_PREPROCESSING, .users = true, .models = true },
	[CODE_LIBRARY] = { TIME_CPU_PREPROCESSING, .models = true },
	[CODE_PREPARES] = { TIME_CPU_PREPROCESSING },
	[CODE_STANDARD] = { TIME_CPU_PREPROCESSING, .inherits = true },
	[CODE_IMPORTS] = { TIME_CPU_PREPROCESSING, .inherits = true },
	[CODE_FRAMEWORK] = { TIME_FRAMEWORK },
	[CODE_MODULE] = { TIME_FRAMEWORK },
	[CODE_COMPILES] = { TIME_COMPILE, .whole = true },
	[CODE_BUILDS] = { TIME_MODEL_LOAD, .whole = true },
	[CODE_LOADS] = { TIME_IO_WAIT, .whole = true },
	[CODE_WAITS] = { TIME_LOCK_WAIT, .waits = true },
};

struct stack_class stack_classes_push(struct stack_classes *c, const struct stack_class *around,
				      uint32_t function)
{
	struct stack_class s = *around;
	enum code_kind kind;

	s.inner = function;
	if (function == NO_FUNCTION && s.whole && s.what == TIME_COMPILE)
		return s; /* it made the objects that are searched */
	if (function == NO_FUNCTION) {
		s.what = TIME_GC;
		s.whole = true;
		s.users = s.models = s.waits = false;
		return s;
	}
	kind = kind_of(c, function);
	if (kind == CODE_OWN) /* as if nothing ran; what it calls stands by itself */
		return stack_class_empty;
	s.in_module |= kind == CODE_MODULE;
	s.imports |= kind == CODE_IMPORTS;
	if (effects[kind].users && !s.whole)
		s.user = function;
	if (s.whole)
		return s;
	/* What a function that waits calls is no waiting. */
	if (effects[kind].inherits && s.what != TIME_UNATTRIBUTED && !s.waits)
		return s;
	s.what = effects[kind].what;
	s.whole = effects[kind].whole;
	s.users = effects[kind].users;
	s.models = effects[kind].models;
	s.waits = effects[kind].waits;
	return s;
}

static struct stack_class resolve(struct stack_classes *c, uint32_t stack)
{
	struct stack_class s = stack_class_empty;
	size_t count;
	const struct trace_frame *frames = trace_stack(c->trace, stack, &count);

	while (frames && count--) {
		uint32_t function;

		if (!trace_code(c->trace, frames[count].code))
			continue;
		function = timeline_function_of(c->timeline, frames[count].code);
		if (function == NO_FUNCTION) {
			c->failed = true;
			return s;
		}
		s = stack_classes_push(c, &s, function);
	}
	return s;
}

/* Its position; UINT32_MAX: no memory. */
static uint32_t find(struct stack_classes *c, uint32_t stack)
{
	uint32_t at = idmap_find(&c->stack_at, stack);
	struct stack_class *grown;

	if (at != IDMAP_NONE)
		return at;
	grown = array_grow(c->stacks, &c->stack_cap, c->stack_count + 1, sizeof(*grown));
	if (grown)
		c->stacks = grown;
	if (!grown || idmap_put(&c->stack_at, stack, (uint32_t)c->stack_count)) {
		c->failed = true;
		return UINT32_MAX;
	}
	grown[c->stack_count] = resolve(c, stack);
	return (uint32_t)c->stack_count++;
}

const struct stack_class *stack_classes_of(struct stack_classes *c, uint32_t stack)
{
	size_t slot = stack % (sizeof(c->recent) / sizeof(c->recent[0]));
	uint32_t at;

	if (!stack)
		return &stack_class_empty;
	if (c->recent[slot].stack == stack)
		return &c->stacks[c->recent[slot].at];
	at = find(c, stack);
	if (at == UINT32_MAX)
		return &stack_class_empty;
	c->recent[slot].stack = stack;
	c->recent[slot].at = at;
	return &c->stacks[at];
}
