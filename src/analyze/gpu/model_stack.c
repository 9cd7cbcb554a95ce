#include "analyze/gpu/model_stack.h"

#include <string.h>

#include "analyze/classes/code_kind.h"
#include "timeline/functions.h"

/* A function that is called less often than the model by this much calls it in a loop. */
#define IN_A_LOOP 1.5

static bool calls_a_module(const struct place *p)
{
	return p->file && p->name && code_calls_module(p->name, p->file);
}

static bool is_users(const struct place *p)
{
	return p->name && p->file && user_code(p->file);
}

/* The same function, or one that is defined inside it: a comprehension, a lambda. */
static bool is_within(const struct place *p, const struct place *function)
{
	static const char inside[] = ".<locals>.";
	size_t n = strlen(function->name);

	if (strcmp(p->file, function->file) != 0 || strncmp(p->name, function->name, n) != 0)
		return false;
	return !p->name[n] || !strncmp(p->name + n, inside, sizeof(inside) - 1);
}

/* The outermost module is called in frame `module`; its forward() lies right inside of that. */
static void find_forward(struct model_stack *m, const struct gpu_timeline *g, uint32_t stack,
			 size_t module)
{
	struct place p, inner;
	bool inside = false;

	while (module-- && gpu_stack_frame(g, stack, module, &p)) {
		if (inside && calls_a_module(&p))
			return; /* a library's, which calls others */
		inside |= !calls_a_module(&p);
		if (is_users(&p))
			break;
	}
	if (module == SIZE_MAX)
		return;
	for (size_t i = 0; gpu_stack_frame(g, stack, i, &inner) && !is_users(&inner); i++)
		;
	if (is_within(&inner, &p))
		m->forward = p;
}

/* Are both methods of one class? */
static bool is_same_class(const struct place *a, const struct place *b)
{
	const char *dot = a->name ? strrchr(a->name, '.') : NULL;
	size_t n = dot ? (size_t)(dot + 1 - a->name) : 0;

	return n && a->file && b->name && b->file && !strcmp(a->file, b->file) &&
	       !strncmp(a->name, b->name, n) && !strchr(b->name + n, '.');
}

/* The outermost module is called in frame `module`. */
static bool is_generated(const struct gpu_timeline *g, uint32_t stack, size_t module)
{
	struct place caller, forward = { 0 };

	if (!gpu_stack_frame(g, stack, module + 1, &caller) || !is_users(&caller))
		return true;
	for (size_t i = module; i-- && gpu_stack_frame(g, stack, i, &forward);)
		if (!calls_a_module(&forward))
			break;
	return is_same_class(&forward, &caller);
}

void model_stack_find(struct model_stack *m, const struct gpu_timeline *g, uint32_t stack)
{
	size_t outermost = SIZE_MAX;
	struct place p;

	*m = (struct model_stack){ 0 };
	for (size_t i = 0; gpu_stack_frame(g, stack, i, &p); i++)
		if (calls_a_module(&p))
			outermost = i;
	if (outermost == SIZE_MAX)
		return;
	for (size_t i = outermost + 1; gpu_stack_frame(g, stack, i, &p); i++) {
		if (is_users(&p)) {
			m->caller = p;
			find_forward(m, g, stack, outermost);
			m->generates = is_generated(g, stack, outermost);
			return;
		}
	}
}

/* How often it was called; 0: not known. */
static uint64_t calls_of(const struct analysis *a, const struct place *p)
{
	for (size_t i = 0; i < a->function_count; i++) {
		const struct analysis_function *f = &a->functions[i];

		if (!strcmp(f->name, p->name) && !strcmp(f->file, p->file))
			return f->throttled || f->sampled ? 0 : f->calls;
	}
	return 0;
}

struct place model_stack_loop(const struct analysis *a, const struct gpu_timeline *g,
			      uint32_t stack, const struct place *from, double calls)
{
	struct place p;
	bool record_run = false;

	for (size_t i = 0; from->name && gpu_stack_frame(g, stack, i, &p); i++) {
		uint64_t times;

		if (!is_users(&p))
			continue;
		record_run |= !strcmp(p.name, from->name) && !strcmp(p.file, from->file);
		if (!record_run)
			continue;
		times = calls_of(a, &p);
		if (!times)
			break;
		if (calls > IN_A_LOOP * (double)times)
			return p;
	}
	return *from;
}
