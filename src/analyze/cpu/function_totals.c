#include "analyze/cpu/function_totals.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/classes/code_kind.h"
#include "analyze/figures/stats.h"
#include "base/array.h"
#include "timeline/functions.h"

void function_totals_init(struct function_totals *c, const struct trace *t,
			  const struct analysis_gpu *gpu)
{
	memset(c, 0, sizeof(*c));
	counters_init(&c->counters, t);
	layer_totals_init(&c->layers, t, gpu);
	step_finder_init(&c->finder, t);
	idmap_init(&c->mark_at);
}

void function_totals_release(struct function_totals *c)
{
	gpu_reader_free(c->gpu_reader);
	free(c->functions);
	free(c->marks);
	counters_release(&c->counters);
	layer_totals_release(&c->layers);
	step_finder_release(&c->finder);
	idmap_release(&c->mark_at);
	memset(c, 0, sizeof(*c));
}

static int make_room(struct function_totals *c, size_t functions)
{
	size_t old = c->function_cap;
	struct analysis_function *grown =
		array_grow(c->functions, &c->function_cap, functions, sizeof(*grown));

	if (!grown) {
		c->failed = true;
		return -1;
	}
	memset(grown + old, 0, (c->function_cap - old) * sizeof(*grown));
	c->functions = grown;
	return 0;
}

static void count_function(void *ctx, const struct span *s)
{
	struct function_totals *c = ctx;
	struct analysis_function *f;
	int64_t duration_ns = s->end_ns - s->start_ns;

	if (s->function >= c->function_cap && make_room(c, (size_t)s->function + 1))
		return;
	f = &c->functions[s->function];
	f->calls += s->flags & SPAN_CALL;
	f->self_ns = stats_add(f->self_ns, s->self_ns);
	if (!(s->flags & SPAN_RECURSIVE))
		f->total_ns = stats_add(f->total_ns, duration_ns);
	if (duration_ns > f->longest_ns)
		f->longest_ns = duration_ns;
}

static void mark_throttled(void *ctx, const struct throttled *l)
{
	struct function_totals *c = ctx;

	if (l->function != UINT32_MAX &&
	    (l->function < c->function_cap || !make_room(c, (size_t)l->function + 1)))
		c->functions[l->function].throttled = true;
}

static void count_gc(void *ctx, const struct span *s, uint64_t collected)
{
	struct analysis_gc *gc = &((struct function_totals *)ctx)->gc;
	int64_t duration_ns = s->end_ns - s->start_ns;

	gc->count++;
	gc->by_generation[s->id < GC_GENERATIONS ? s->id : GC_GENERATIONS - 1]++;
	gc->collected += collected;
	gc->total_ns = stats_add(gc->total_ns, duration_ns);
	if (duration_ns > gc->longest_ns)
		gc->longest_ns = duration_ns;
}

static struct mark_totals *totals_for(struct function_totals *c, uint32_t name)
{
	uint32_t at = idmap_find(&c->mark_at, name);
	struct mark_totals *grown;

	if (at != IDMAP_NONE)
		return &c->marks[at];
	grown = array_grow(c->marks, &c->mark_cap, c->mark_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	c->marks = grown;
	if (idmap_put(&c->mark_at, name, (uint32_t)c->mark_count))
		return NULL;
	grown[c->mark_count] = (struct mark_totals){ .name = name };
	return &grown[c->mark_count++];
}

static void count_annotation(void *ctx, const struct annotation *a)
{
	struct function_totals *c = ctx;
	struct mark_totals *mark;

	if (a->kind == RECORD_COUNTER && counters_add(&c->counters, a))
		c->failed = true;
	if (a->kind != RECORD_MARK)
		return;
	mark = totals_for(c, a->name);
	if (mark)
		mark->count++;
	else
		c->failed = true;
}

static void count_layer_begin(void *ctx, size_t thread, uint32_t depth, uint32_t id,
			      int64_t time_ns)
{
	struct function_totals *c = ctx;

	layer_totals_begin(&c->layers, thread, depth, id, time_ns);
	if (!depth)
		step_finder_layer_begin(&c->finder, thread, id, time_ns);
}

static void count_layer(void *ctx, const struct layer_span *s)
{
	struct function_totals *c = ctx;

	layer_totals_end(&c->layers, s);
	if (!s->depth)
		step_finder_layer_end(&c->finder, s);
}

static void drop_layer(void *ctx, size_t thread, uint32_t depth)
{
	struct function_totals *c = ctx;

	(void)thread;
	layer_totals_drop(&c->layers, depth);
	if (!depth)
		step_finder_layer_dropped(&c->finder);
}

static void forget_layer(void *ctx, size_t thread, uint32_t id)
{
	struct function_totals *c = ctx;

	if (id)
		layer_totals_merge(&c->layers, thread, id);
	else
		step_finder_layers_again(&c->finder);
}

static void follow_cuda(void *ctx, const struct cuda_begin *c)
{
	step_finder_cuda_begin(&((struct function_totals *)ctx)->finder, c);
}

static void follow_enter(void *ctx, size_t thread, uint32_t depth, uint32_t function,
			 int64_t time_ns)
{
	(void)thread;
	(void)time_ns;
	step_finder_enter(&((struct function_totals *)ctx)->finder, depth, function);
}

static void follow_function(void *ctx, const struct span *s)
{
	step_finder_leave(&((struct function_totals *)ctx)->finder, s);
	count_function(ctx, s);
}

static void follow_gc(void *ctx, const struct span *s, uint64_t collected)
{
	step_finder_leave(&((struct function_totals *)ctx)->finder, s);
	count_gc(ctx, s, collected);
}

static void follow_throttled(void *ctx, const struct throttled *l)
{
	if (l->function != UINT32_MAX)
		step_finder_throttled(&((struct function_totals *)ctx)->finder, l);
	mark_throttled(ctx, l);
}

static int read_gpu(void *ctx, size_t thread, const struct event_batch *b)
{
	return gpu_reader_batch(((struct function_totals *)ctx)->gpu_reader, thread, b);
}

struct timeline_visitor function_totals_visitor(struct function_totals *c,
						const struct timeline *tl)
{
	struct timeline_visitor v = {
		.ctx = c,
		.function = count_function,
		.gc = count_gc,
		.throttled = mark_throttled,
		.annotation = count_annotation,
		.layer_begin = count_layer_begin,
		.layer = count_layer,
		.layer_dropped = drop_layer,
		.layer_throttled = forget_layer,
	};

	c->finder.timeline = tl;
	if (c->gpu_reader)
		v.block = read_gpu;
	/* Following every call costs time, and serves layers only. */
	if (trace_has_layers(c->finder.trace)) {
		v.enter = follow_enter;
		v.function = follow_function;
		v.gc = follow_gc;
		v.throttled = follow_throttled;
		v.cuda_begin = follow_cuda;
	}
	return v;
}

static int most_self_first(const void *a, const void *b)
{
	const struct analysis_function *x = a, *y = b;
	int order;

	if (x->waits != y->waits)
		return x->waits ? 1 : -1;
	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->file, y->file);
	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static int by_name(const void *a, const void *b)
{
	const struct analysis_mark *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : compare_texts(x->domain, y->domain);
}

static int most_frequent_first(const void *a, const void *b)
{
	const struct analysis_mark *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return by_name(a, b);
}

/* Ids of different processes may stand for one name. */
static size_t merge_names(struct analysis_mark *marks, size_t count)
{
	size_t n = 0;

	qsort(marks, count, sizeof(*marks), by_name);
	for (size_t i = 0; i < count; i++) {
		if (n && !by_name(&marks[n - 1], &marks[i]))
			marks[n - 1].count += marks[i].count;
		else
			marks[n++] = marks[i];
	}
	return n;
}

static int finish_marks(struct function_totals *c, struct analysis *a, const struct trace *t)
{
	if (!c->mark_count)
		return 0;
	a->marks = calloc(c->mark_count, sizeof(*a->marks));
	if (!a->marks)
		return -1;
	for (size_t i = 0; i < c->mark_count; i++) {
		const char *name = trace_string(t, c->marks[i].name);
		const struct trace_nvtx *nvtx = trace_nvtx(t, c->marks[i].name);

		a->marks[i].name = name ? name : "(unknown)";
		a->marks[i].domain = nvtx ? nvtx->domain : NULL;
		a->marks[i].count = c->marks[i].count;
	}
	a->mark_count = merge_names(a->marks, c->mark_count);
	qsort(a->marks, a->mark_count, sizeof(*a->marks), most_frequent_first);
	return 0;
}

static void name_function(struct analysis_function *f, const struct place *known)
{
	f->name = known->name;
	f->file = known->file;
	f->line = known->line;
	f->waits = function_waits(f->name, f->file);
	/*
	 * A call was taken for recursion inside one that turned out to have ended in
	 * a gap: its time is missing from the total.
	 */
	if (f->total_ns < f->self_ns)
		f->total_ns = f->self_ns;
}

static bool calls_paused(const struct analysis *a, const struct timeline *tl)
{
	for (size_t i = 0; i < a->thread_count; i++) {
		if (timeline_thread(tl, i)->pauses)
			return true;
	}
	return false;
}

/*
 * Where calls were not recorded, samples know more: all about a function whose own
 * calls were not, and of one that called such functions what was its own time.
 */
static void use_samples(struct analysis_function *f, const struct sample_totals *s, size_t index,
			bool paused)
{
	const struct sample_sums *t = index < s->function_cap ? &s->functions[index] : NULL;
	bool traced = f->total_ns && !paused && !f->throttled;

	if (!t || !t->samples)
		return;
	f->samples = t->self_samples;
	if (traced && !t->folded)
		return;
	f->sampled = true;
	f->self_ns = t->self_ns;
	if (!traced)
		f->total_ns = t->total_ns;
	f->self_error_ns = stats_add(sample_error_ns(s, t->self_samples), t->doubtful_ns);
}

static int most_samples_first(const void *a, const void *b)
{
	const struct sample_line *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Before the functions are sorted: their lines are found by their index. */
static int finish_lines(struct function_totals *c, struct analysis *a, struct sample_totals *s)
{
	if (!s->line_count)
		return 0;
	a->lines = calloc(s->line_count, sizeof(*a->lines));
	if (!a->lines)
		return -1;
	qsort(s->lines, s->line_count, sizeof(*s->lines), most_samples_first);
	for (size_t i = 0; i < s->line_count; i++) {
		const struct sample_line *l = &s->lines[i];
		struct analysis_function *f = &c->functions[l->function];

		a->lines[i] = (struct analysis_line){ l->line, l->samples, l->self_ns };
		if (!f->line_count++)
			f->lines = &a->lines[i];
	}
	return 0;
}

/* Takes out what is InferScope's own; the number that is left. */
static size_t function_throttle_own(struct analysis_function *functions, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!own_code(functions[i].file))
			functions[n++] = functions[i];
	}
	return n;
}

int function_totals_finish(struct function_totals *c, struct analysis *a, const struct timeline *tl,
			   struct sample_totals *samples, const struct trace *t)
{
	size_t n = timeline_function_count(tl);
	bool paused = calls_paused(a, tl);

	if (c->failed || finish_marks(c, a, t) || counters_finish(&c->counters, a) ||
	    layer_totals_finish(&c->layers, &a->layers))
		return -1;
	a->gc = c->gc;
	if (!n)
		return 0;
	if (n > c->function_cap && make_room(c, n))
		return -1;
	if (finish_lines(c, a, samples))
		return -1;
	for (size_t i = 0; i < n; i++) {
		use_samples(&c->functions[i], samples, i, paused);
		name_function(&c->functions[i], timeline_function(tl, (uint32_t)i));
		if (i < samples->function_cap)
			c->functions[i].waits |= sample_sums_wait(
				&samples->functions[i], c->functions[i].name, c->functions[i].file);
	}
	n = function_throttle_own(c->functions, n);
	qsort(c->functions, n, sizeof(*c->functions), most_self_first);
	a->functions = c->functions;
	a->function_count = n;
	while (a->working_count < n && !a->functions[a->working_count].waits)
		a->working_count++;
	c->functions = NULL; /* the analysis owns it now */
	return 0;
}
