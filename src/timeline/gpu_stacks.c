/*
 * Stacks to Python lines.  Launches share their stacks, so each stack that a call or a captured
 * node has is resolved once, here, and finding one later is cheap.
 */
#include "base/array.h"
#include "timeline/code_owner.h"
#include "timeline/gpu_tables.h"
#include "timeline/line_tables.h"

static struct place place_of(const struct trace *t, const struct trace_frame *f)
{
	const struct trace_code *code = trace_code(t, f->code);
	const struct trace_lines *lines = trace_lines(t, f->code);
	struct place p = { 0 };

	if (!code)
		return p;
	p.name = code->name;
	p.file = code->file;
	if (lines)
		p.line = line_table_find(lines->python_minor, lines->table, lines->bytes,
					 code->line, f->offset);
	return p;
}

/* Frames whose code is unknown have no meaning and are skipped. */
static struct gpu_stack_entry resolve(const struct trace *t, uint32_t stack)
{
	struct gpu_stack_entry e = { 0 };
	size_t count, owner, innermost = 0;
	const struct trace_frame *frames = trace_stack(t, stack, &count);

	owner = frames ? stack_owner(t, frames, count) : count;
	if (!frames || owner == count)
		return e;
	while (!trace_code(t, frames[innermost].code))
		innermost++;
	e.innermost = place_of(t, &frames[innermost]);
	e.user = place_of(t, &frames[owner]);
	return e;
}

static int stack_add(struct gpu_timeline *g, uint32_t id)
{
	struct gpu_stack_entry *e;

	if (!id || idmap_find(&g->stack_at, id) != IDMAP_NONE)
		return 0;
	e = array_grow(g->stacks, &g->stack_cap, g->stack_count + 1, sizeof(*e));
	if (!e)
		return -1;
	g->stacks = e;
	g->stacks[g->stack_count] = resolve(g->trace, id);
	if (idmap_put(&g->stack_at, id, (uint32_t)g->stack_count))
		return -1;
	g->stack_count++;
	return 0;
}

int gpu_stacks_resolve(struct gpu_timeline *g)
{
	for (size_t i = 0; i < gpu_call_count(g); i++)
		if (stack_add(g, gpu_call(g, i)->stack))
			return -1;
	for (size_t i = 0; i < g->nodes.count; i++)
		if (stack_add(g, g->nodes.captures[i].stack))
			return -1;
	return 0;
}

void gpu_stack_places(const struct gpu_timeline *g, uint32_t stack, struct place *innermost,
		      struct place *user)
{
	uint32_t at = idmap_find(&g->stack_at, stack);
	const struct gpu_stack_entry e =
		at != IDMAP_NONE ? g->stacks[at] : resolve(g->trace, stack);

	*innermost = e.innermost;
	*user = e.user;
}

bool gpu_stack_frame(const struct gpu_timeline *g, uint32_t stack, size_t nth, struct place *p)
{
	size_t count;
	const struct trace_frame *frames = trace_stack(g->trace, stack, &count);

	if (nth >= count)
		return false;
	*p = place_of(g->trace, &frames[nth]);
	return true;
}
