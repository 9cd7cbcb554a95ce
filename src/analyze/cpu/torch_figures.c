#include "analyze/cpu/torch_figures.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"
#include "format/torch_scopes.h"
#include "format/trace.h"
#include "timeline/timeline.h"

struct compilation {
	struct torch_compiled of; /* itself: merge() makes one row for each function of these */
	const char *reason;       /* NULL: unknown, or the first time */
};

struct collection {
	struct analysis_torch *out;
	const struct timeline *timeline;
	const struct gpu_steps *gpu;
	const struct trace *trace;
	struct compilation *compilations;
	size_t compilation_count, compilation_cap;
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

static const char *keep_text(struct arena *texts, const char *text, size_t bytes)
{
	char *copy = arena_alloc(texts, bytes + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	return copy;
}

static const char *keep(struct arena *texts, const struct trace_arg *arg)
{
	return keep_text(texts, arg->text, arg->text_bytes);
}

/* Its first line, without the number of the compilation that it is about: "2/0: ...". */
static const char *keep_reason(struct arena *texts, const struct trace_arg *arg)
{
	const char *line_end = memchr(arg->text, '\n', arg->text_bytes);
	size_t bytes = line_end ? (size_t)(line_end - arg->text) : arg->text_bytes, at = 0;

	while (at < bytes && strchr("0123456789/_", arg->text[at]) && arg->text[at])
		at++;
	if (!at || bytes - at < 2 || memcmp(arg->text + at, ": ", 2) != 0)
		at = 0;
	else
		at += 2;
	return keep_text(texts, arg->text + at, bytes - at);
}

static bool is_called(const struct trace_arg *arg, enum arg_type type, const char *key)
{
	return arg->type == type && arg->key_bytes == strlen(key) &&
	       !memcmp(arg->key, key, arg->key_bytes);
}

/* What was compiled, and why again, as far as the scope says. */
static int describe(struct compilation *made, struct arena *texts, const struct scope *s)
{
	struct torch_compiled *row = &made->of;
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
	trace_args_init(&args, s->end_args, s->end_args_bytes);
	while (trace_args_next(&args, &arg)) {
		if (!is_called(&arg, ARG_STRING, TORCH_COMPILE_REASON))
			continue;
		made->reason = keep_reason(texts, &arg);
		if (!made->reason)
			return -1;
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

static int add_compilation(struct collection *c, struct torch_process *p, const struct scope *s)
{
	struct analysis_torch *out = c->out;
	struct compilation *made = array_grow(c->compilations, &c->compilation_cap,
					      c->compilation_count + 1, sizeof(*made));

	if (!made)
		return -1;
	c->compilations = made;
	made += c->compilation_count++;
	*made = (struct compilation){ .of = { .function = "", .file = "", .pid = p->pid } };
	add(&made->of.sum, s);
	if (is_inside_another(c, s))
		out->compilations.count++;
	else
		add_sum(&out->compilations, &made->of.sum);
	return describe(made, &out->texts, s);
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

static int by_place_and_reason(const void *a, const void *b)
{
	const struct compilation *x = a, *y = b;
	int order = by_place(&x->of, &y->of);

	return order ? order : strcmp(x->reason ? x->reason : "", y->reason ? y->reason : "");
}

static int most_time_first(const void *a, const void *b)
{
	const struct torch_compiled *x = a, *y = b;

	if (x->sum.total_ns != y->sum.total_ns)
		return x->sum.total_ns > y->sum.total_ns ? -1 : 1;
	return by_place(a, b);
}

static int most_frequent_first(const void *a, const void *b)
{
	const struct torch_reason *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->text, y->text);
}

/* The next reason of a function; like ones come one behind the other. */
static void add_reason(struct torch_compiled *row, struct torch_reason *reasons, const char *text)
{
	struct torch_reason *last = row->reason_count ? &reasons[row->reason_count - 1] : NULL;

	if (last && !strcmp(last->text, text))
		last->count++;
	else
		reasons[row->reason_count++] = (struct torch_reason){ text, 1 };
}

/* Compilations of a function stand one behind the other.  Returns how many these are. */
static size_t merge_one(struct torch_compiled *row, struct torch_reason *reasons,
			const struct compilation *made, size_t left)
{
	size_t n = 0;

	*row = (struct torch_compiled){ .function = made->of.function,
					.file = made->of.file,
					.line = made->of.line,
					.pid = made->of.pid,
					.reasons = reasons };
	for (; n < left && !by_place(&made[n].of, row); n++) {
		add_sum(&row->sum, &made[n].of.sum);
		if (made[n].reason)
			add_reason(row, reasons, made[n].reason);
	}
	if (row->reason_count)
		qsort(reasons, row->reason_count, sizeof(*reasons), most_frequent_first);
	return n;
}

static int merge(struct collection *c)
{
	size_t count = c->compilation_count, reasons = 0;
	struct analysis_torch *out = c->out;

	if (!count)
		return 0;
	out->compiled = calloc(count, sizeof(*out->compiled));
	out->reasons = calloc(count, sizeof(*out->reasons));
	if (!out->compiled || !out->reasons)
		return -1;
	qsort(c->compilations, count, sizeof(*c->compilations), by_place_and_reason);
	for (size_t i = 0; i < count;) {
		struct torch_compiled *row = &out->compiled[out->compiled_count++];

		i += merge_one(row, out->reasons + reasons, &c->compilations[i], count - i);
		reasons += row->reason_count;
	}
	out->recompilations = count - out->compiled_count;
	qsort(out->compiled, out->compiled_count, sizeof(*out->compiled), most_time_first);
	return 0;
}

/* The processes with figures of PyTorch, and their sums. */
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
	rc = collect(&c) || merge(&c) ? -1 : 0;
	free(c.compilations);
	sum_up(out, c.processes, count);
	return rc;
}

void torch_figures_release(struct analysis_torch *f)
{
	free(f->compiled);
	free(f->reasons);
	free(f->processes);
	arena_release(&f->texts);
}
