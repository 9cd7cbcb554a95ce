/* Names and facts of slices: what viewers show when one is clicked at, the same in all formats. */
#include <inttypes.h>
#include <string.h>

#include "export/event_walk.h"
#include "export/thread_intervals.h"
#include "tables/table_source.h"

static const struct gpu_work *work_of(const struct event_walk *w, const struct slice *s)
{
	return gpu_activity_work(w->gpu, gpu_activity(w->gpu, s->index));
}

static const struct place *function_of(const struct event_walk *w, const struct slice *s)
{
	return timeline_function(w->timeline, s->kind == SLICE_SAMPLED ? s->of.sampled.function
								       : s->of.span.function);
}

static const struct step_item *step_of(const struct event_walk *w, const struct slice *s)
{
	return &source_analysis(w->source, NULL)->step_items.items[s->index];
}

/* As PyTorch's profiler names them: "Memcpy HtoD (Pageable -> Device)". */

static const char *copy_letters(enum gpu_copy kind)
{
	switch (kind) {
	case GPU_COPY_HOST_TO_DEVICE:
		return "HtoD";
	case GPU_COPY_DEVICE_TO_HOST:
		return "DtoH";
	case GPU_COPY_DEVICE_TO_DEVICE:
		return "DtoD";
	case GPU_COPY_HOST_TO_HOST:
		return "HtoH";
	case GPU_COPY_PEER:
		return "PtoP";
	case GPU_COPY_UNKNOWN:
		break;
	}
	return "Unknown";
}

static const char *memory_word(enum gpu_memory memory)
{
	switch (memory) {
	case GPU_MEMORY_PAGEABLE:
		return "Pageable";
	case GPU_MEMORY_PINNED:
		return "Pinned";
	case GPU_MEMORY_DEVICE:
		return "Device";
	case GPU_MEMORY_ARRAY:
		return "Array";
	case GPU_MEMORY_MANAGED:
		return "Managed";
	case GPU_MEMORY_UNKNOWN:
		break;
	}
	return "Unknown";
}

static void add_activity_name(struct buf *out, const struct event_walk *w, const struct slice *s)
{
	const struct gpu_work *work = work_of(w, s);

	switch (work->kind) {
	case GPU_KERNEL:
		buf_add_str(out, gpu_kernel_name(w->gpu, work->name)->full);
		break;
	case GPU_COPY:
		buf_printf(out, "Memcpy %s (%s -> %s)", copy_letters(work->copy),
			   memory_word(work->source), memory_word(work->destination));
		break;
	case GPU_MEMSET:
		buf_printf(out, "Memset (%s)", memory_word(work->destination));
		break;
	case GPU_GRAPH:
		buf_printf(out, "CUDA graph %" PRIu32, work->graph);
		break;
	}
}

/* As VizTracer names them: "infer (/srv/app/serve.py:40)". */
static void add_function_name(struct buf *out, const struct place *f)
{
	buf_add_str(out, f->name);
	if (f->file && *f->file)
		buf_printf(out, " (%s:%" PRIu32 ")", f->file, f->line);
}

void slice_add_name(struct buf *out, const struct event_walk *w, const struct slice *s)
{
	const char *layer;

	switch (s->kind) {
	case SLICE_FUNCTION:
	case SLICE_SAMPLED:
		add_function_name(out, function_of(w, s));
		break;
	case SLICE_GC:
		buf_add_str(out, "garbage collection");
		break;
	case SLICE_SCOPE:
		buf_add_str(out, timeline_scope(w->timeline, s->index)->name);
		break;
	case SLICE_LAYER:
		layer = source_layer_name(w->source, s->of.layer.id);
		buf_add_str(out, layer ? layer : "(unknown)");
		break;
	case SLICE_CALL:
		buf_add_str(out, gpu_call_api(w->gpu, gpu_call(w->gpu, s->index))->name);
		break;
	case SLICE_ACTIVITY:
		add_activity_name(out, w, s);
		break;
	case SLICE_STATE:
		buf_add_str(out, thread_state_name((enum sample_state)s->index));
		break;
	case SLICE_STEP:
		buf_add_str(out, source_analysis(w->source, NULL)->steps[step_of(w, s)->kind].name);
		break;
	}
}

static bool is_of_the_driver(const char *call)
{
	return call[0] == 'c' && call[1] == 'u' && call[2] >= 'A' && call[2] <= 'Z';
}

/* PyTorch's words where it has them. */
const char *slice_category(const struct event_walk *w, const struct slice *s)
{
	static const char *const of_activities[] = {
		[GPU_KERNEL] = "kernel",
		[GPU_COPY] = "gpu_memcpy",
		[GPU_MEMSET] = "gpu_memset",
		[GPU_GRAPH] = "gpu_graph",
	};

	switch (s->kind) {
	case SLICE_FUNCTION:
		return "python";
	case SLICE_GC:
		return "gc";
	case SLICE_SAMPLED:
		return "inferscope_sampled";
	case SLICE_SCOPE:
		return "user_annotation";
	case SLICE_LAYER:
		return "layer";
	case SLICE_CALL:
		return is_of_the_driver(gpu_call_api(w->gpu, gpu_call(w->gpu, s->index))->name)
			       ? "cuda_driver"
			       : "cuda_runtime";
	case SLICE_ACTIVITY:
		return of_activities[work_of(w, s)->kind];
	case SLICE_STATE:
		return "inferscope_state";
	case SLICE_STEP:
		return "inferscope_step";
	}
	return "";
}

static void add_thread_name(struct buf *out, const struct event_walk *w, size_t thread)
{
	const struct trace_thread *t = trace_thread(w->trace, thread);

	if (*t->name)
		buf_add_str(out, t->name);
	else
		buf_printf(out, "thread %" PRIu32, t->tid);
}

void track_add_name(struct buf *out, const struct event_walk *w, const struct track *t)
{
	const struct analysis *a;

	switch (t->kind) {
	case TRACK_THREAD:
		add_thread_name(out, w, t->thread);
		break;
	case TRACK_SAMPLED:
		add_thread_name(out, w, t->thread);
		buf_add_str(out, ": functions by samples");
		break;
	case TRACK_STATES:
		add_thread_name(out, w, t->thread);
		buf_add_str(out, ": states by samples");
		break;
	case TRACK_STREAM:
		buf_printf(out, "stream %" PRIu32, t->stream);
		break;
	case TRACK_STEPS:
		a = source_analysis(w->source, NULL);
		buf_printf(out, "steps: %s",
			   a && t->stream < a->step_count ? a->steps[t->stream].name : "");
		break;
	}
	if (t->lane)
		buf_printf(out, " (overlap %" PRIu32 ")", t->lane);
}

/* Facts. */

static void write_place(const struct fact_sink *to, const struct place *p)
{
	if (!p->name)
		return;
	to->text(to->ctx, "function", p->name);
	if (p->file && *p->file)
		to->text(to->ctx, "file", p->file);
	if (p->line)
		to->integer(to->ctx, "line", p->line);
}

static void write_stack(const struct event_walk *w, uint32_t stack, const struct fact_sink *to)
{
	struct place inner = { 0 }, user = { 0 };

	if (stack)
		gpu_stack_places(w->gpu, stack, &inner, &user);
	write_place(to, &user);
}

const struct span_key span_keys[] = {
	{ SPAN_REPAIRED, "repaired" }, { SPAN_OPEN_START, "open_start" },
	{ SPAN_OPEN_END, "open_end" }, { SPAN_GAP, "gap" },
	{ SPAN_PAUSED, "paused" },     { 0, NULL },
};

static void write_span(const struct slice *s, const struct fact_sink *to)
{
	for (size_t i = 0; span_keys[i].key; i++)
		if (s->of.span.flags & span_keys[i].flag)
			to->integer(to->ctx, span_keys[i].key, 1);
}

static void write_scope(const struct event_walk *w, const struct slice *s,
			const struct fact_sink *to)
{
	const struct scope *scope = timeline_scope(w->timeline, s->index);

	if (scope->nvtx && *scope->nvtx->domain)
		to->text(to->ctx, "domain", scope->nvtx->domain);
	if (scope->task)
		to->integer(to->ctx, "task", (int64_t)scope->task);
	if (!scope->ended)
		to->integer(to->ctx, "open_end", 1);
	if (scope->args_bytes)
		to->metadata(to->ctx, "args", scope->args, scope->args_bytes);
	if (scope->end_args_bytes)
		to->metadata(to->ctx, "end_args", scope->end_args, scope->end_args_bytes);
}

static void write_layer(const struct event_walk *w, const struct slice *s,
			const struct fact_sink *to)
{
	const struct trace_layer *l = trace_layer(w->trace, s->of.layer.id);
	const struct trace_layer *root = l && l->root ? trace_layer(w->trace, l->root) : l;

	if (l)
		to->text(to->ctx, "class", l->class_name);
	if (root)
		to->text(to->ctx, "model", root->class_name);
}

static void write_call(const struct event_walk *w, const struct slice *s,
		       const struct fact_sink *to)
{
	const struct gpu_call *c = gpu_call(w->gpu, s->index);
	const struct gpu_api *api = gpu_call_api(w->gpu, c);

	to->integer(to->ctx, "correlation", c->correlation);
	to->text(to->ctx, "class", cuda_call_name(api->what));
	if (api->bytes)
		to->integer(to->ctx, "bytes", (int64_t)api->bytes);
	if (!c->ended)
		to->integer(to->ctx, "open_end", 1);
	write_stack(w, c->stack, to);
}

/* Keys as PyTorch's profiler has them. */
static void write_activity(const struct event_walk *w, const struct slice *s,
			   const struct fact_sink *to)
{
	const struct gpu_activity *a = gpu_activity(w->gpu, s->index);
	const struct gpu_work *work = work_of(w, s);

	to->integer(to->ctx, "device", work->device);
	to->integer(to->ctx, "context", work->context);
	to->integer(to->ctx, "stream", work->stream);
	to->integer(to->ctx, "correlation", gpu_activity_correlation(w->gpu, a));
	if (work->graph)
		to->integer(to->ctx, "graph id", work->graph);
	if (work->graph_node)
		to->integer(to->ctx, "graph node id", (int64_t)work->graph_node);
	if (work->kind == GPU_KERNEL) {
		to->three(to->ctx, "grid", work->grid);
		to->three(to->ctx, "block", work->block);
		to->integer(to->ctx, "registers per thread", work->registers);
		to->integer(to->ctx, "shared memory",
			    (int64_t)work->static_shared_bytes + work->dynamic_shared_bytes);
	} else if (work->kind != GPU_GRAPH) {
		to->integer(to->ctx, "bytes", (int64_t)work->bytes);
	}
	write_stack(w, gpu_activity_stack(w->gpu, a), to);
}

void slice_write_facts(const struct event_walk *w, const struct slice *s,
		       const struct fact_sink *to)
{
	switch (s->kind) {
	case SLICE_FUNCTION:
		write_span(s, to);
		break;
	case SLICE_GC:
		to->integer(to->ctx, "generation", s->of.span.id);
		to->integer(to->ctx, "collected", (int64_t)s->collected);
		break;
	case SLICE_SAMPLED:
		to->integer(to->ctx, "samples", (int64_t)s->of.sampled.samples);
		to->integer(to->ctx, "error_ns", s->of.sampled.error_ns);
		break;
	case SLICE_SCOPE:
		write_scope(w, s, to);
		break;
	case SLICE_LAYER:
		write_layer(w, s, to);
		break;
	case SLICE_CALL:
		write_call(w, s, to);
		break;
	case SLICE_ACTIVITY:
		write_activity(w, s, to);
		break;
	case SLICE_STATE:
		break;
	case SLICE_STEP:
		to->integer(to->ctx, "tid", trace_thread(w->trace, step_of(w, s)->thread)->tid);
		break;
	}
}
