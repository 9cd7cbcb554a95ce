/*
 * Folded stacks, for flame graphs: "process;thread;outer;inner 1234", one line
 * for each distinct stack.  The number is the time that the innermost function
 * itself took, in microseconds: by samples where the trace has them, because they
 * tell of every function, else by the calls.  Of a sample the last frame may say what
 * the thread waited for.
 *
 * The format knows no escapes: a semicolon in a name becomes a colon, and what
 * would end the line goes.  Lines come in the order in which their stacks were
 * first seen, so the same trace gives the same file.
 *
 * Memory grows with the number of distinct stacks.  The text of each is as long
 * as it is deep, so frames beyond FOLDED_DEPTH, which are too deep to be read, count
 * for the last one shown.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "export/export.h"
#include "export/thread_intervals.h"
#include "format/sample.h"
#include "report/plain_text.h"
#include "timeline/functions.h"
#include "timeline/pair_map.h"
#include "timeline/sample_walk.h"
#include "timeline/timeline.h"

#define FOLDED_DEPTH 1024u
#define ROOT 0u

/* Frames that are no function have numbers that none can have. */
#define NO_FUNCTION (UINT32_MAX - 15u)
#define COLLECTION UINT32_MAX /* a garbage collection; as struct span says it */
#define DEEPER (UINT32_MAX - 1u)
#define STATE(state) (NO_FUNCTION + (uint32_t)(state))

/* The states that get a frame: a thread that runs, or whose state is unknown, has none. */
static bool is_wait(enum sample_state state)
{
	return state < SAMPLE_STATES && state != SAMPLE_UNKNOWN && state != SAMPLE_RUNNING;
}

static const char *frame_that_is_no_function(uint32_t number)
{
	return number == COLLECTION ? "(garbage collection)"
	       : number == DEEPER   ? "(deeper)"
				    : sample_state_frame(number - NO_FUNCTION);
}

/* Nodes are known by their position; ROOT, which has no parent, also means "none". */
struct node {
	uint32_t parent, first_child, last_child, next;
	uint32_t function; /* of threads: the position of the first one with that name */
	int64_t self_ns;
};

struct folded {
	const struct trace *trace;
	struct timeline *timeline;  /* by calls */
	struct functions functions; /* by samples */
	bool by_samples;
	struct node *nodes;
	size_t count, cap;
	struct pair_map children;      /* (parent, function): node */
	uint32_t *thread_node;         /* by position of the thread */
	uint32_t path[FOLDED_DEPTH];   /* the open frames of the thread that is being read */
	size_t ends[FOLDED_DEPTH + 2]; /* how long `line` is before a frame's name */
	struct buf line, text;
	int fd;
	int error; /* an errno, 0: none */
};

static uint32_t node_new(struct folded *x, uint32_t parent, uint32_t function)
{
	struct node *n = NULL;

	if (x->count < UINT32_MAX)
		n = array_grow(x->nodes, &x->cap, x->count + 1, sizeof(*n));
	if (n)
		x->nodes = n;
	if (!n || pair_map_put(&x->children, parent, function, x->count)) {
		x->error = ENOMEM;
		return ROOT;
	}
	x->nodes[x->count] = (struct node){ .parent = parent, .function = function };
	n = &x->nodes[parent];
	if (n->last_child)
		x->nodes[n->last_child].next = (uint32_t)x->count;
	else
		n->first_child = (uint32_t)x->count;
	n->last_child = (uint32_t)x->count;
	return (uint32_t)x->count++;
}

static uint32_t node_find(struct folded *x, uint32_t parent, uint32_t function)
{
	size_t at = pair_map_find(&x->children, parent, function);

	return at != PAIR_NONE ? (uint32_t)at : node_new(x, parent, function);
}

/* The node of a frame at this depth, whose callers are the open frames below it. */
static uint32_t node_at(struct folded *x, size_t thread, uint32_t depth, uint32_t function)
{
	if (depth >= FOLDED_DEPTH)
		return x->path[FOLDED_DEPTH - 1];
	return node_find(x, depth ? x->path[depth - 1] : x->thread_node[thread], function);
}

static void visit_enter(void *ctx, size_t thread, uint32_t depth, uint32_t function,
			int64_t time_ns)
{
	struct folded *x = ctx;

	(void)time_ns;
	if (!x->error && depth < FOLDED_DEPTH)
		x->path[depth] = node_at(x, thread, depth, function);
}

static void visit_function(void *ctx, const struct span *s)
{
	struct folded *x = ctx;
	uint32_t n;

	if (x->error)
		return;
	n = node_at(x, s->thread, s->depth, s->function); /* may move x->nodes */
	x->nodes[n].self_ns += s->self_ns;
}

static void visit_gc(void *ctx, const struct span *s, uint64_t collected)
{
	(void)collected;
	visit_function(ctx, s);
}

static uint32_t node_of_stack(struct folded *x, size_t thread, const struct sample *s)
{
	size_t count = 0;
	const struct trace_frame *frames = trace_stack(x->trace, s->stack, &count);
	uint32_t n = x->thread_node[thread], depth = 0;
	uint32_t state = STATE(sample_state(s));

	if (s->flags & SAMPLE_CUT) {
		n = node_find(x, n, DEEPER);
		depth++;
	}
	while (count-- && depth++ < FOLDED_DEPTH - 1 && !x->error) {
		uint32_t function = functions_find(&x->functions, frames[count].code);

		if (function == FUNCTION_NONE)
			x->error = ENOMEM;
		else
			n = node_find(x, n, function);
	}
	if (is_wait(sample_state(s)))
		n = node_find(x, n, state);
	return n;
}

static void visit_sample(void *ctx, const struct timed_sample *s)
{
	struct folded *x = ctx;
	uint32_t n = x->error ? ROOT : node_of_stack(x, s->thread, s->sample);

	x->by_samples = true;
	x->nodes[n].self_ns += s->end_ns - s->start_ns;
}

static const char *process_name(const struct folded *x, size_t thread)
{
	uint32_t process = trace_thread(x->trace, thread)->process;

	return trace_process(x->trace, process_position(x->trace, process))->name;
}

/* Threads of the same name in processes of the same name are one. */
static int compare_threads(const void *a, const void *b, void *ctx)
{
	const struct folded *x = ctx;
	size_t one = *(const size_t *)a, other = *(const size_t *)b;
	const struct trace_thread *t = trace_thread(x->trace, one);
	const struct trace_thread *u = trace_thread(x->trace, other);
	int order = strcmp(process_name(x, one), process_name(x, other));

	if (!order)
		order = strcmp(t->name, u->name);
	if (!order && !*t->name)
		order = (t->tid > u->tid) - (t->tid < u->tid);
	return order;
}

static int threads_place(struct folded *x)
{
	size_t count = trace_thread_count(x->trace);
	size_t *sorted = calloc(count ? count : 1, sizeof(*sorted));

	x->thread_node = calloc(count ? count : 1, sizeof(*x->thread_node));
	if (!sorted || !x->thread_node) {
		free(sorted);
		return -1;
	}
	for (size_t i = 0; i < count; i++)
		sorted[i] = i;
	qsort_r(sorted, count, sizeof(*sorted), compare_threads, x);
	for (size_t i = 0; i < count; i++) {
		bool same = i && !compare_threads(&sorted[i - 1], &sorted[i], x);

		x->thread_node[sorted[i]] = same ? x->thread_node[sorted[i - 1]]
						 : node_new(x, ROOT, (uint32_t)sorted[i]);
	}
	free(sorted);
	return x->error ? -1 : 0;
}

static void add_name(struct buf *line, const char *name)
{
	size_t start = line->len;

	text_add_clean(line, name);
	for (size_t i = start; i < line->len; i++)
		if (line->data[i] == ';')
			line->data[i] = ':';
}

static void add_thread(struct folded *x, size_t thread)
{
	const struct trace_thread *t = trace_thread(x->trace, thread);

	add_name(&x->line, process_name(x, thread));
	buf_add_byte(&x->line, ';');
	if (*t->name)
		add_name(&x->line, t->name);
	else
		buf_printf(&x->line, "thread %" PRIu32, t->tid);
}

static void add_function(struct folded *x, uint32_t function)
{
	const struct place *f;
	struct buf place;

	buf_add_byte(&x->line, ';');
	if (function >= NO_FUNCTION) {
		buf_add_str(&x->line, frame_that_is_no_function(function));
		return;
	}
	f = x->by_samples ? &x->functions.items[function]
			  : timeline_function(x->timeline, function);
	add_name(&x->line, f->name);
	if (!*f->file)
		return;
	buf_init(&place);
	text_add_place(&place, f->file, f->line, trace_info(x->trace, "cwd", 0));
	buf_add_str(&x->line, " (");
	add_name(&x->line, buf_string(&place));
	buf_add_byte(&x->line, ')');
	x->line.failed |= place.failed;
	buf_release(&place);
}

static void write_line(struct folded *x, const struct node *n)
{
	int64_t us = (n->self_ns + 500) / 1000;

	if (us <= 0)
		return;
	buf_add(&x->text, x->line.data, x->line.len);
	buf_printf(&x->text, " %" PRId64 "\n", us);
	if (x->text.len >= EXPORT_WRITE_BYTES)
		export_flush(&x->text, x->fd, &x->error);
}

/* Depth first, without recursion: a stack of the trace is no reason to overflow ours. */
static void write_nodes(struct folded *x)
{
	uint32_t n = x->nodes[ROOT].first_child;
	size_t depth = 0;

	while (n != ROOT && !x->error && !x->line.failed) {
		x->ends[depth] = x->line.len;
		if (depth)
			add_function(x, x->nodes[n].function);
		else
			add_thread(x, x->nodes[n].function);
		write_line(x, &x->nodes[n]);
		if (x->nodes[n].first_child) {
			n = x->nodes[n].first_child;
			depth++;
			continue;
		}
		x->line.len = x->ends[depth];
		while (!x->nodes[n].next && depth) {
			n = x->nodes[n].parent;
			x->line.len = x->ends[--depth];
		}
		n = x->nodes[n].next;
	}
	if (x->line.failed)
		x->error = ENOMEM;
	export_flush(&x->text, x->fd, &x->error);
}

static int read_all(struct folded *x, struct err *err)
{
	const struct sample_visitor of_samples = { .ctx = x, .sample = visit_sample };
	const struct timeline_visitor of_calls = {
		.ctx = x,
		.enter = visit_enter,
		.function = visit_function,
		.gc = visit_gc,
	};
	struct sample_walk walk;

	if (sample_walk(&walk, x->trace, &of_samples, err))
		return -1;
	if (x->by_samples)
		return 0;
	return timeline_new(&x->timeline, x->trace, err) ||
			       timeline_walk(x->timeline, &of_calls, err)
		       ? -1
		       : 0;
}

static int export_folded(const struct trace *t, const struct export_target *to, struct err *err)
{
	struct folded *x = calloc(1, sizeof(*x));
	int rc = -1;

	if (!x)
		return err_set(err, "out of memory");
	x->trace = t;
	x->fd = to->fd;
	pair_map_init(&x->children);
	buf_init(&x->line);
	buf_init(&x->text);
	x->nodes = calloc(1, sizeof(*x->nodes));
	x->count = x->cap = 1;
	if (!x->nodes || functions_init(&x->functions, t) || threads_place(x)) {
		err_set(err, "out of memory");
		goto out;
	}
	if (read_all(x, err))
		goto out;
	if (!x->error)
		write_nodes(x);
	rc = export_finish(x->error, err);
out:
	timeline_free(x->timeline);
	functions_release(&x->functions);
	pair_map_release(&x->children);
	buf_release(&x->line);
	buf_release(&x->text);
	free(x->thread_node);
	free(x->nodes);
	free(x);
	return rc;
}

const struct exporter exporter_folded = {
	.name = "folded",
	.suffixes = ".folded .collapsed",
	.write = export_folded,
};
