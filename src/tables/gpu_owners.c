#include "tables/gpu_owners.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "timeline/layer_stack.h"

/* Calls, or captures: things that started activities, in order of (thread, time). */
struct starters {
	size_t count;
	uint32_t *layers;      /* of each: layer id */
	struct launched *sums; /* of those before it; one more than count */
	size_t next;           /* while layers are walked */
};

struct gpu_owners {
	const struct gpu_timeline *gpu;
	struct starters calls, captures;
	uint32_t open[LAYER_DEPTH_MAX]; /* layers, outermost first */
	uint32_t depth;
	size_t thread;
};

static bool is_before(size_t thread, int64_t time_ns, size_t other, int64_t other_ns)
{
	return thread < other || (thread == other && time_ns < other_ns);
}

static bool call_is_before(const struct gpu_owners *o, size_t call, size_t thread, int64_t time_ns)
{
	const struct gpu_call *c = gpu_call(o->gpu, call);

	return is_before(gpu_call_api(o->gpu, c)->thread, c->start_ns, thread, time_ns);
}

static bool capture_is_before(const struct gpu_owners *o, size_t capture, size_t thread,
			      int64_t time_ns)
{
	const struct gpu_capture *c = gpu_capture(o->gpu, capture);

	return is_before(c->thread, c->time_ns, thread, time_ns);
}

static uint32_t innermost(const struct gpu_owners *o, size_t thread)
{
	return thread == o->thread && o->depth ? o->open[o->depth - 1] : 0;
}

/* What is before a moment is in the layers that were open until then. */
static void reach(struct gpu_owners *o, size_t thread, int64_t time_ns)
{
	struct starters *s = &o->calls;

	for (; s->next < s->count && call_is_before(o, s->next, thread, time_ns); s->next++)
		s->layers[s->next] =
			innermost(o, gpu_call_api(o->gpu, gpu_call(o->gpu, s->next))->thread);
	s = &o->captures;
	for (; s->next < s->count && capture_is_before(o, s->next, thread, time_ns); s->next++)
		s->layers[s->next] = innermost(o, gpu_capture(o->gpu, s->next)->thread);
}

static void visit_begin(void *ctx, size_t thread, uint32_t depth, uint32_t id, int64_t time_ns)
{
	struct gpu_owners *o = ctx;

	if (thread != o->thread)
		o->depth = 0;
	o->thread = thread;
	reach(o, thread, time_ns);
	if (depth < LAYER_DEPTH_MAX) {
		o->open[depth] = id;
		o->depth = depth + 1;
	}
}

static void visit_layer(void *ctx, const struct layer_span *s)
{
	struct gpu_owners *o = ctx;

	reach(o, s->thread, s->end_ns);
	o->depth = s->depth;
}

static void visit_dropped(void *ctx, size_t thread, uint32_t depth)
{
	struct gpu_owners *o = ctx;

	(void)thread;
	if (depth >= o->depth)
		return;
	o->depth--;
	memmove(&o->open[depth], &o->open[depth + 1], (o->depth - depth) * sizeof(*o->open));
}

static struct launched with(struct launched sum, const struct gpu_timeline *g,
			    const struct gpu_activity *a)
{
	sum.kernels += gpu_activity_work(g, a)->kind == GPU_KERNEL;
	if (a->timed && a->end_ns > a->start_ns &&
	    __builtin_add_overflow(sum.gpu_ns, a->end_ns - a->start_ns, &sum.gpu_ns))
		sum.gpu_ns = INT64_MAX;
	return sum;
}

static void sum_up(struct gpu_owners *o)
{
	for (size_t i = 0; i < o->calls.count; i++) {
		const struct gpu_call *c = gpu_call(o->gpu, i);
		struct launched sum = o->calls.sums[i];

		for (size_t k = 0; k < gpu_call_activities(o->gpu, c); k++) {
			const struct gpu_activity *a =
				gpu_activity(o->gpu, gpu_call_activity(o->gpu, c, k));

			if (gpu_activity_work(o->gpu, a)->capture == GPU_NONE)
				sum = with(sum, o->gpu, a);
		}
		o->calls.sums[i + 1] = sum;
	}
	for (size_t i = 0; i < o->captures.count; i++) {
		const struct gpu_capture *c = gpu_capture(o->gpu, i);
		struct launched sum = o->captures.sums[i];

		for (size_t k = 0; k < c->activities; k++)
			sum = with(sum, o->gpu,
				   gpu_activity(o->gpu, gpu_capture_activity(o->gpu, c, k)));
		o->captures.sums[i + 1] = sum;
	}
}

static int starters_init(struct starters *s, size_t count)
{
	s->count = count;
	s->layers = calloc(count + 1, sizeof(*s->layers));
	s->sums = calloc(count + 1, sizeof(*s->sums));
	return s->layers && s->sums ? 0 : -1;
}

struct gpu_owners *gpu_owners_new(struct timeline *tl, const struct gpu_timeline *g,
				  struct err *err)
{
	struct gpu_owners *o = calloc(1, sizeof(*o));
	const struct timeline_visitor visitor = {
		.ctx = o,
		.layer_begin = visit_begin,
		.layer = visit_layer,
		.layer_dropped = visit_dropped,
	};
	struct timeline_reader *reader = NULL;
	int rc = -1;

	if (!o) {
		err_set(err, "out of memory");
		return NULL;
	}
	o->gpu = g;
	if (starters_init(&o->calls, gpu_call_count(g)) ||
	    starters_init(&o->captures, gpu_capture_count(g)))
		err_set(err, "out of memory");
	else
		rc = timeline_reader_new(&reader, tl, &visitor, err);
	while (!rc && (rc = timeline_reader_next(reader, err)) > 0)
		rc = 0;
	timeline_reader_free(reader);
	if (rc) {
		gpu_owners_free(o);
		return NULL;
	}
	reach(o, SIZE_MAX, INT64_MAX);
	sum_up(o);
	return o;
}

void gpu_owners_free(struct gpu_owners *o)
{
	if (!o)
		return;
	free(o->calls.layers);
	free(o->calls.sums);
	free(o->captures.layers);
	free(o->captures.sums);
	free(o);
}

uint32_t gpu_owners_call_layer(const struct gpu_owners *o, size_t call)
{
	return o->calls.layers[call];
}

uint32_t gpu_owners_layer(const struct gpu_owners *o, const struct gpu_activity *a)
{
	uint32_t capture = gpu_activity_work(o->gpu, a)->capture;

	if (capture != GPU_NONE)
		return o->captures.layers[capture];
	return a->linked ? o->calls.layers[a->link] : 0;
}

struct launched gpu_owners_launched(const struct gpu_owners *o, size_t thread, int64_t start_ns,
				    int64_t end_ns)
{
	size_t from = 0, to = 0, captured_from = 0, captured_to = 0;
	const struct launched *calls = o->calls.sums, *captures = o->captures.sums;

	BISECT(from, o->calls.count, call_is_before(o, from, thread, start_ns));
	BISECT(to, o->calls.count, call_is_before(o, to, thread, end_ns));
	BISECT(captured_from, o->captures.count,
	       capture_is_before(o, captured_from, thread, start_ns));
	BISECT(captured_to, o->captures.count, capture_is_before(o, captured_to, thread, end_ns));
	return (struct launched){
		.kernels = calls[to].kernels - calls[from].kernels + captures[captured_to].kernels -
			   captures[captured_from].kernels,
		.gpu_ns = calls[to].gpu_ns - calls[from].gpu_ns + captures[captured_to].gpu_ns -
			  captures[captured_from].gpu_ns,
	};
}
