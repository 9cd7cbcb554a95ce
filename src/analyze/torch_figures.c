#include "analyze/torch_figures.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stats.h"
#include "base/array.h"
#include "format/torch_scopes.h"
#include "format/trace_args.h"
#include "timeline/process_position.h"

struct collection {
	struct analysis_torch *out;
	const struct timeline *timeline;
	const struct gpu_steps *gpu;
	const struct trace *trace;
	size_t compiled_cap;
	struct torch_process *processes; /* by position in the trace */
};

static void add(struct torch_sum *to, const struct scope *s)
{
	int64_t duration_ns = s->end_ns - s->start_ns;

	to->count++;
	if (!s->ended)
		return;
	to->total_ns = stats_add(to->total_ns, duration_ns);
	if (duration_ns > to->longest_ns)
		to->longest_ns = duration_ns;
}

static void add_sum(struct torch_sum *to, const struct torch_sum *more)
{
	to->count += more->count;
	to->total_ns = stats_add(to->total_ns, more->total_ns);
	if (more->longest_ns > to->longest_ns)
		to->longest_ns = more->longest_ns;
}

static int add_wait(struct collection *c, struct torch_process *p, const struct scope *s)
{
	(void)c;
	add(&p->waits, s);
	return 0;
}

static int add_load(struct collection *c, struct torch_process *p, const struct scope *s)
{
	(void)c;
	add(&p->loads, s);
	return 0;
}

static int add_graph(struct collection *c, struct torch_process *p, const struct scope *s)
{
	int64_t device_ns;

	add(&p->graphs, s);
	if (gpu_steps_launched(c->gpu, s, &device_ns)) {
		p->gpu_count++;
		p->gpu_ns = stats_add(p->gpu_ns, device_ns);
	}
	return 0;
}

static const char *keep(struct arena *texts, const struct trace_arg *arg)
{
	char *copy = arena_alloc(texts, arg->text_bytes + 1);

	if (!copy)
		return NULL;
	memcpy(copy, arg->text, arg->text_bytes);
	copy[arg->text_bytes] = '\0';
	return copy;
}

static bool is_called(const struct trace_arg *arg, enum arg_type type, const char *key)
{
	return arg->type == type && arg->key_bytes == strlen(key) &&
	       !memcmp(arg->key, key, arg->key_bytes);
}

/* What was compiled, as far as the scope says. */
static int describe(struct torch_compiled *row, struct arena *texts, const struct scope *s)
{
	struct trace_args args;
	struct trace_arg arg;

	trace_args_init(&args, s->args, s->args_bytes);
	while (trace_args_next(&args, &arg)) {
		if (is_called(&arg, ARG_STRING, TORCH_COMPILE_FUNCTION))
			row->function = keep(texts, &arg);
		else if (is_called(&arg, ARG_STRING, TORCH_COMPILE_FILE))
			row->file = keep(texts, &arg);
		else if (is_called(&arg, ARG_INT, TORCH_COMPILE_LINE) && arg.integer > 0 &&
			 arg.integer <= UINT32_MAX)
			row->line = (uint32_t)arg.integer;
	}
	return row->function && row->file ? 0 : -1;
}

static bool is_inside_another(const struct collection *c, const struct scope *s)
{
	size_t around = s->parent;

	while (around != SCOPE_NONE &&
	       strcmp(timeline_scope(c->timeline, around)->name, TORCH_COMPILE) != 0)
		around = timeline_scope(c->timeline, around)->parent;
	return around != SCOPE_NONE;
}

/* A row for each compilation; merge() makes one for each function of them. */
static int add_compilation(struct collection *c, struct torch_process *p, const struct scope *s)
{
	struct analysis_torch *out = c->out;
	struct torch_compiled *row =
		array_grow(out->compiled, &c->compiled_cap, out->compiled_count + 1, sizeof(*row));

	if (!row)
		return -1;
	out->compiled = row;
	row += out->compiled_count++;
	*row = (struct torch_compiled){ .function = "", .file = "", .pid = p->pid };
	add(&row->sum, s);
	if (is_inside_another(c, s))
		out->compilations.count++;
	else
		add_sum(&out->compilations, &row->sum);
	return describe(row, &out->texts, s);
}

static const struct {
	const char *scope;
	int (*add)(struct collection *c, struct torch_process *p, const struct scope *s);
} kinds[] = {
	{ TORCH_WAIT, add_wait },
	{ TORCH_LOAD, add_load },
	{ TORCH_COMPILE, add_compilation },
	{ TORCH_GRAPH, add_graph },
};

static int collect(struct collection *c)
{
	for (size_t i = 0; i < timeline_scope_count(c->timeline); i++) {
		const struct scope *s = timeline_scope(c->timeline, i);
		size_t process = process_position(c->trace, s->process);

		if (s->nvtx || strncmp(s->name, TORCH_SCOPES, strlen(TORCH_SCOPES)) != 0 ||
		    process == trace_process_count(c->trace))
			continue;
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			if (!strcmp(s->name, kinds[k].scope) &&
			    kinds[k].add(c, &c->processes[process], s))
				return -1;
		}
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct torch_compiled *x = a, *y = b;
	int order = strcmp(x->file, y->file);

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (!order && x->line != y->line)
		order = x->line < y->line ? -1 : 1;
	return order ? order : strcmp(x->function, y->function);
}

static int most_time_first(const void *a, const void *b)
{
	const struct torch_compiled *x = a, *y = b;

	if (x->sum.total_ns != y->sum.total_ns)
		return x->sum.total_ns > y->sum.total_ns ? -1 : 1;
	return by_place(a, b);
}

static void merge(struct analysis_torch *out)
{
	size_t n = 0;

	if (!out->compiled_count)
		return;
	qsort(out->compiled, out->compiled_count, sizeof(*out->compiled), by_place);
	for (size_t i = 0; i < out->compiled_count; i++) {
		const struct torch_compiled *row = &out->compiled[i];

		if (n && !by_place(&out->compiled[n - 1], row))
			add_sum(&out->compiled[n - 1].sum, &row->sum);
		else
			out->compiled[n++] = *row;
	}
	out->recompilations = out->compiled_count - n;
	out->compiled_count = n;
	qsort(out->compiled, n, sizeof(*out->compiled), most_time_first);
}

/* The processes that have anything to tell, and their sums. */
static void sum_up(struct analysis_torch *out, struct torch_process *all, size_t count)
{
	struct torch_sum own = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		add_sum(&out->waits, &all[i].waits);
	for (size_t i = 0; i < count; i++) {
		struct torch_process *p = &all[i];

		p->worker = out->waits.count && p->loads.count && !p->waits.count;
		if (!p->waits.count && !p->loads.count && !p->graphs.count)
			continue;
		out->workers += p->worker;
		add_sum(p->worker ? &out->loads : &own, &p->loads);
		all[n++] = *p;
	}
	if (!out->workers)
		out->loads = own;
	out->processes = all;
	out->process_count = n;
}

int torch_figures_collect(struct analysis_torch *out, const struct timeline *tl,
			  const struct gpu_steps *gpu, const struct trace *t)
{
	struct collection c = { .out = out, .timeline = tl, .gpu = gpu, .trace = t };
	size_t count = trace_process_count(t);
	int rc;

	arena_init(&out->texts);
	c.processes = calloc(count + 1, sizeof(*c.processes));
	if (!c.processes)
		return -1;
	for (size_t i = 0; i < count; i++) {
		c.processes[i].pid = trace_process(t, i)->pid;
		c.processes[i].name = trace_process(t, i)->name;
	}
	rc = collect(&c);
	merge(out);
	sum_up(out, c.processes, count);
	return rc;
}

void torch_figures_release(struct analysis_torch *f)
{
	free(f->compiled);
	free(f->processes);
	arena_release(&f->texts);
}
