/* What edits are called and take for granted, and what they are about. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "replay/replay_graph.h"

static const struct {
	const char *name, *assumption;
	void (*apply)(struct plan *p, const struct replay_edit *e);
} edits[] = {
	[REPLAY_FASTER] = { "free",
			    "its own CPU time changes; what it launches and waits for stays",
			    edit_faster },
	[REPLAY_OVERLAP] = { "overlap",
			     "another thread runs it for the next step while this one computes: a "
			     "CPU is free for it, and it does not hold the GIL for long",
			     edit_overlap },
	[REPLAY_REMOVE_SYNC] = { "remove-sync", "the host needs the result later, or not at all",
				 edit_remove_sync },
	[REPLAY_PIN] = { "pin",
			 "copies to the device are asynchronous, at the bandwidth of pinned "
			 "memory; "
			 "copies to the host still wait for their data",
			 edit_pin },
	[REPLAY_ASYNC_COPY] = { "async-copy",
				"memory is pinned; copies to the device are made one step ahead, "
				"on a "
				"stream of their own: the next input is known, and there is room "
				"for "
				"two",
				edit_async_copy },
	[REPLAY_GRAPH] = { "graph",
			   "shapes do not change; launches between two waits become one, without "
			   "the framework's code between them",
			   edit_graph },
	[REPLAY_KERNEL] = { "speedup", "all else about the kernels stays as it is", edit_kernel },
};

const char *replay_edit_name(enum replay_edit_kind kind)
{
	return edits[kind].name;
}

const char *replay_edit_assumption(enum replay_edit_kind kind)
{
	return edits[kind].assumption;
}

/* "bar" and "Foo.bar" are names of "Foo.bar". */
static bool is_name_of(const char *name, const char *function)
{
	size_t n = strlen(name), m = function ? strlen(function) : 0;

	return function && m >= n && !strcmp(function + m - n, name) &&
	       (m == n || function[m - n - 1] == '.');
}

/* "serve.py" and "app/serve.py" name "/srv/app/serve.py". */
static bool is_path_of(const char *name, const char *file)
{
	size_t n = strlen(name), m = file ? strlen(file) : 0;

	return file && m >= n && !strcmp(file + m - n, name) && (m == n || file[m - n - 1] == '/');
}

static bool matches_place(const struct replay_edit *e, const struct place *at)
{
	return (!e->name || is_name_of(e->name, at->name)) &&
	       (!e->file || is_path_of(e->file, at->file)) && (!e->line || e->line == at->line);
}

static bool matches_stack(const struct graph *g, const struct replay_edit *e, uint32_t stack)
{
	struct place at;

	for (size_t i = 0; stack && gpu_stack_frame(g->gpu, stack, i, &at); i++)
		if (matches_place(e, &at))
			return true;
	return false;
}

/* Only the function of a call is known: any line of it may be meant, if its stack has none. */
static bool matches_function(const struct graph *g, const struct replay_edit *e, uint32_t function)
{
	return function < g->log->function_count && !e->line &&
	       matches_place(e, &g->log->functions[function]);
}

/* By frame: whether it, or one around it, is what the edit is about. */
static bool *match_frames(const struct graph *g, const struct replay_edit *e)
{
	bool *matched = calloc(g->log->frame_count + 1, sizeof(*matched));

	for (size_t i = 1; matched && i < g->log->frame_count; i++)
		matched[i] = matched[g->log->frames[i].around] ||
			     matches_function(g, e, g->log->frames[i].function);
	return matched;
}

void edit_match_places(struct plan *p, const struct replay_edit *e)
{
	const struct host_log *l = p->graph->log;
	bool of_device = e->kind == REPLAY_KERNEL,
	     any = of_device || (!e->name && !e->file && !e->line);
	bool *frames = match_frames(p->graph, e);

	if (!frames) {
		p->failed = true;
		return;
	}
	for (size_t i = 0; i < l->place_count; i++) {
		const struct host_place *at = &l->places[i];

		p->matched[i] = any || frames[at->frame] || matches_stack(p->graph, e, at->stack) ||
				(!at->stack && (matches_function(p->graph, e, at->user) ||
						matches_function(p->graph, e, at->inner)));
		if (e->classes && !(e->classes >> at->what & 1))
			p->matched[i] = false;
	}
	free(frames);
}

bool edit_matches_kernel(const struct graph *g, const struct replay_edit *e,
			 const struct gpu_work *w)
{
	const struct gpu_kernel_name *k;

	if (w->kind != GPU_KERNEL)
		return false;
	if (!e->name)
		return true;
	k = gpu_kernel_name(g->gpu, w->name);
	return k &&
	       ((k->brief && strstr(k->brief, e->name)) || (k->full && strstr(k->full, e->name)));
}

static void tell_kernels(const struct graph *g, void (*tell)(void *ctx, const char *name),
			 void *ctx)
{
	for (uint32_t i = 0; i < gpu_kernel_name_count(g->gpu); i++)
		tell(ctx, gpu_kernel_name(g->gpu, i)->brief);
}

void graph_names(const struct graph *g, enum replay_edit_kind kind,
		 void (*tell)(void *ctx, const char *name), void *ctx)
{
	const struct host_log *l = g->log;

	if (kind == REPLAY_KERNEL) {
		tell_kernels(g, tell, ctx);
		return;
	}
	for (size_t i = 1; i < l->frame_count; i++)
		if (l->frames[i].function < l->function_count)
			tell(ctx, l->functions[l->frames[i].function].name);
	for (size_t i = 0; i < l->place_count; i++) {
		struct place at;

		for (size_t k = 0;
		     l->places[i].stack && gpu_stack_frame(g->gpu, l->places[i].stack, k, &at); k++)
			tell(ctx, at.name);
	}
}

void edit_apply(struct plan *p, const struct replay_edit *e)
{
	edit_match_places(p, e);
	if (!p->failed)
		edits[e->kind].apply(p, e);
}

uint32_t *plan_chain(struct plan *p, const struct graph_step *s, size_t *count)
{
	const struct node *nodes = p->graph->nodes;
	uint32_t *chain;
	size_t n = 0;

	for (uint32_t at = s->end; at != s->begin && at != NODE_NONE; at = nodes[at].prev)
		n++;
	chain = malloc((n + 1) * sizeof(*chain));
	p->failed |= !chain;
	*count = chain ? n : 0;
	for (uint32_t at = s->end; chain && n; at = nodes[at].prev)
		chain[--n] = at;
	return chain;
}

uint32_t *plan_steps(struct plan *p, bool between)
{
	const struct graph *g = p->graph;
	uint32_t *steps = malloc((g->node_count + 1) * sizeof(*steps));

	if (!steps) {
		p->failed = true;
		return NULL;
	}
	for (size_t i = 0; i < g->node_count; i++)
		steps[i] = NODE_NONE;
	for (uint32_t k = 0; k < g->step_count; k++) {
		uint32_t at = g->steps[k].end;

		for (; at != NODE_NONE && at != g->steps[k].begin; at = g->nodes[at].prev)
			steps[at] = k;
		for (; between && at != NODE_NONE && steps[at] == NODE_NONE; at = g->nodes[at].prev)
			steps[at] = k;
	}
	return steps;
}

uint32_t plan_step_before(const struct plan *p, uint32_t step)
{
	const struct graph_step *s = p->graph->steps;

	return step != NODE_NONE && step && s[step - 1].window == s[step].window ? s[step - 1].begin
										 : NODE_NONE;
}
