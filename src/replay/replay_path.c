/*
 * The critical path of the steps, as they were replayed: from the end of each back along what
 * determined every time, to its begin.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"
#include "replay/replay_graph.h"
#include "timeline/pair_map.h"

#define PARTS_KEPT 200u
#define NAMED_MOST 500u /* sums, the longest: to look lines up is slow */

/* Time of one kind at a place of the log, or of a stack's launches of one kernel. */
struct path_sum {
	enum critical_kind kind;
	enum time_class what;
	uint32_t place, stack; /* of the log; of the device: id, with place HOST_NONE */
	uint32_t kernel;       /* index of a name; GPU_NONE */
	int64_t ns;
};

struct path_sums {
	struct path_sum *items;
	size_t count, cap;
	struct pair_map at;
};

struct walk {
	const struct graph *g;
	const struct replay_times *t;
	struct path_sums sums;
	struct path_sums layers; /* by layer, in `place` */
	int64_t begin_ns;        /* of the step */
	bool failed;
};

static void add_sum(struct walk *w, struct path_sums *to, const struct path_sum *sum)
{
	uint64_t a = (uint64_t)sum->place << 32 | sum->stack;
	uint64_t b = (uint64_t)sum->kernel << 16 | (uint64_t)sum->kind << 8 | (uint64_t)sum->what;
	size_t at = pair_map_find(&to->at, a, b);
	struct path_sum *grown;

	if (at == PAIR_NONE) {
		grown = array_grow(to->items, &to->cap, to->count + 1, sizeof(*grown));
		if (grown)
			to->items = grown;
		if (!grown || pair_map_put(&to->at, a, b, to->count)) {
			w->failed = true;
			return;
		}
		at = to->count++;
		grown[at] = *sum;
		grown[at].ns = 0;
	}
	to->items[at].ns = stats_add(to->items[at].ns, sum->ns);
}

static enum time_class class_of_work(const struct gpu_work *w)
{
	if (w->kind == GPU_COPY && w->copy == GPU_COPY_HOST_TO_DEVICE)
		return TIME_H2D;
	if (w->kind == GPU_COPY && w->copy == GPU_COPY_DEVICE_TO_HOST)
		return TIME_D2H;
	return TIME_GPU_COMPUTE;
}

/* Time of a node, or of what it waits for behind its dependency (latency). */
static void add_time(struct walk *w, const struct node *n, bool latency, int64_t ns)
{
	struct path_sum sum = {
		.kind = CRITICAL_HOST, .place = n->place, .kernel = GPU_NONE, .ns = ns
	};
	uint32_t layer = 0;

	if (ns <= 0)
		return;
	if (n->place != HOST_NONE) {
		sum.what = w->g->log->places[n->place].what;
		layer = w->g->log->places[n->place].layer;
	}
	if (n->activity != GPU_NONE) {
		const struct gpu_activity *a = gpu_activity(w->g->gpu, n->activity);
		const struct gpu_work *work = gpu_activity_work(w->g->gpu, a);

		sum.kind = CRITICAL_DEVICE;
		sum.what = class_of_work(work);
		sum.place = HOST_NONE;
		sum.stack = gpu_activity_stack(w->g->gpu, a);
		sum.kernel = work->kind == GPU_KERNEL && !latency ? work->name : GPU_NONE;
	}
	if (latency) {
		sum.kind = CRITICAL_LATENCY;
		sum.what = n->activity == GPU_NONE ? sum.what : TIME_LAUNCH;
	}
	add_sum(w, &w->sums, &sum);
	if (layer)
		add_sum(w, &w->layers, &(struct path_sum){ .place = layer, .ns = ns });
}

/* The part of [from, to) that lies in the step. */
static int64_t in_step(const struct walk *w, int64_t from_ns, int64_t to_ns)
{
	if (from_ns < w->begin_ns)
		from_ns = w->begin_ns;
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/*
 * What a node has of the path, which it determines until a time; the one before it on the path, and
 * until when that does.
 */
static uint32_t walk_node(struct walk *w, uint32_t at, int64_t *until_ns)
{
	const struct node *n = &w->g->nodes[at];
	uint32_t before = w->t->bound[at] < NODE_DEPS ? n->deps[w->t->bound[at]] : n->prev;
	int64_t goes_on_ns = w->begin_ns;

	if (n->activity != GPU_NONE) {
		int64_t start_ns = w->t->start_ns[at] < *until_ns ? w->t->start_ns[at] : *until_ns;

		add_time(w, n, false, in_step(w, start_ns, *until_ns));
		*until_ns = start_ns;
	}
	if (before != NODE_NONE)
		goes_on_ns = w->t->end_ns[before] < *until_ns ? w->t->end_ns[before] : *until_ns;
	else if (n->activity != GPU_NONE)
		goes_on_ns = *until_ns;
	add_time(w, n, n->activity != GPU_NONE || w->t->bound[at] < NODE_DEPS,
		 in_step(w, goes_on_ns, *until_ns));
	*until_ns = goes_on_ns;
	return before;
}

static void walk_step(struct walk *w, uint32_t end, uint32_t begin)
{
	int64_t until_ns = w->t->end_ns[end];
	uint32_t at = end;

	w->begin_ns = w->t->end_ns[begin];
	while (at != NODE_NONE && until_ns > w->begin_ns && !w->failed)
		at = walk_node(w, at, &until_ns);
}

/*
 * Where steps leave work to the device, the path is that of all steps of the window together, from
 * the end of that work.
 */
static void walk_window(struct walk *w, const struct graph_window *of,
			struct analysis_critical_path *out)
{
	const struct graph_step *first = NULL;
	uint32_t last = NODE_NONE;

	for (uint32_t k = of->first_step; k < of->first_step + of->step_count; k++) {
		const struct graph_step *s = &w->g->steps[k];

		if (!s->counted)
			continue;
		first = first ? first : s;
		out->steps++;
		if (!out->behind)
			walk_step(w, s->end, s->begin);
	}
	if (!out->behind || !first)
		return;
	graph_backlog_ns(w->g, w->t, of, &last);
	if (last == NODE_NONE)
		last = w->g->steps[of->first_step + of->step_count - 1].end;
	walk_step(w, last, first->begin);
}

static struct place place_of(const struct graph *g, const struct path_sum *s)
{
	const struct host_place *at = s->place == HOST_NONE ? NULL : &g->log->places[s->place];
	uint32_t stack = at ? at->stack : s->stack;
	uint32_t function = !at ? HOST_NONE : at->user != HOST_NONE ? at->user : at->inner;
	struct place innermost, user = { 0 };

	if (stack)
		gpu_stack_places(g->gpu, stack, &innermost, &user);
	else if (function < g->log->function_count)
		user = g->log->functions[function];
	return user;
}

static int compare_parts(const struct critical_part *x, const struct critical_part *y)
{
	int order;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->what != y->what)
		return x->what < y->what ? -1 : 1;
	order = compare_texts(x->where.file, y->where.file);
	if (!order && x->where.line != y->where.line)
		order = x->where.line < y->where.line ? -1 : 1;
	if (!order)
		order = compare_texts(x->where.name, y->where.name);
	return order ? order : compare_texts(x->kernel, y->kernel);
}

static int by_identity(const void *a, const void *b)
{
	return compare_parts(a, b);
}

static int most_first(const void *a, const void *b)
{
	const struct critical_part *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return compare_parts(x, y);
}

static int longest_first(const void *a, const void *b)
{
	const struct path_sum *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->stack != y->stack)
		return x->stack < y->stack ? -1 : 1;
	if (x->kernel != y->kernel)
		return x->kernel < y->kernel ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->what < y->what ? -1 : x->what > y->what;
}

/* Adds the sums up, and puts them into order; how many of them are to be named. */
static size_t order_sums(struct path_sums *sums, struct analysis_critical_path *out)
{
	for (size_t i = 0; i < sums->count; i++) {
		const struct path_sum *s = &sums->items[i];

		out->kinds_ns[s->kind] = stats_add(out->kinds_ns[s->kind], s->ns);
		out->total_ns = stats_add(out->total_ns, s->ns);
	}
	if (sums->count)
		qsort(sums->items, sums->count, sizeof(*sums->items), longest_first);
	return sums->count < NAMED_MOST ? sums->count : NAMED_MOST;
}

/* Names the sums, and puts those of one name together.  -1: no memory. */
static int name_parts(const struct graph *g, struct path_sums *sums,
		      struct analysis_critical_path *out)
{
	size_t named = order_sums(sums, out), n = 0;
	struct critical_part *parts = calloc(named + 1, sizeof(*parts));

	if (!parts)
		return -1;
	for (size_t i = 0; i < named; i++) {
		const struct path_sum *s = &sums->items[i];

		parts[i] = (struct critical_part){
			.kind = s->kind, .what = s->what, .where = place_of(g, s), .ns = s->ns
		};
		if (s->kernel != GPU_NONE)
			parts[i].kernel = gpu_kernel_name(g->gpu, s->kernel)->brief;
	}
	qsort(parts, named, sizeof(*parts), by_identity);
	for (size_t i = 0; i < named; i++) {
		if (n && !compare_parts(&parts[n - 1], &parts[i]))
			parts[n - 1].ns = stats_add(parts[n - 1].ns, parts[i].ns);
		else
			parts[n++] = parts[i];
	}
	qsort(parts, n, sizeof(*parts), most_first);
	out->parts = parts;
	out->part_count = n < PARTS_KEPT ? n : PARTS_KEPT;
	return 0;
}

static int most_of_layer(const void *a, const void *b)
{
	const struct critical_layer *x = a, *y = b;
	int order;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	order = compare_texts(x->name, y->name);
	return order ? order : compare_texts(x->class_name, y->class_name);
}

static int name_layers(const struct graph *g, const struct path_sums *sums,
		       struct analysis_critical_path *out)
{
	out->layers = calloc(sums->count + 1, sizeof(*out->layers));
	if (!out->layers)
		return -1;
	for (size_t i = 0; i < sums->count; i++) {
		const struct trace_layer *l = trace_layer(g->analysis->trace, sums->items[i].place);

		if (l)
			out->layers[out->layer_count++] =
				(struct critical_layer){ l->name, l->class_name,
							 sums->items[i].ns };
	}
	qsort(out->layers, out->layer_count, sizeof(*out->layers), most_of_layer);
	if (out->layer_count > PARTS_KEPT)
		out->layer_count = PARTS_KEPT;
	return 0;
}

int graph_path_find(const struct graph *g, const struct replay_times *t,
		    struct analysis_critical_path *out)
{
	struct walk w = { .g = g, .t = t };
	int rc = -1;

	pair_map_init(&w.sums.at);
	pair_map_init(&w.layers.at);
	out->behind = graph_is_behind(g, t);
	for (size_t i = 0; i < g->window_count && !w.failed; i++)
		walk_window(&w, &g->windows[i], out);
	if (!w.failed && !name_parts(g, &w.sums, out))
		rc = name_layers(g, &w.layers, out);
	free(w.sums.items);
	free(w.layers.items);
	pair_map_release(&w.sums.at);
	pair_map_release(&w.layers.at);
	return rc;
}
