/*
 * Two passes: over the activities, which lie together process by process, and
 * over the calls, which do not.  What is equal by name or line is counted under
 * its number first and added up at the end, when there are few of them.
 */
#include "analyze/gpu/gpu_sections.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/pair_totals.h"
#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"
#include "base/idmap.h"
#include "timeline/gpu.h"
#include "timeline/timeline.h"

struct builder {
	struct pair_totals kernels, copies, streams, calls, lines, syncs;
};

/* Where the figures of a work or an api stand in its section's lists: position + 1; 0: unknown. */
struct known_at {
	uint32_t kernel, stream, call;
};

struct collector {
	const struct gpu_timeline *timeline;
	struct analysis_gpu *gpu;
	struct builder *builders; /* by index of the section, until they are sorted */
	struct known_at *of_works, *of_apis;
	struct idmap at; /* process id -> index of the section */
};

bool gpu_call_starts_work(enum cuda_call what)
{
	return what == CUDA_CALL_LAUNCH || what == CUDA_CALL_GRAPH_LAUNCH ||
	       what == CUDA_CALL_COPY || what == CUDA_CALL_MEMSET;
}

bool gpu_call_waits(enum cuda_call what)
{
	return what == CUDA_CALL_SYNC_DEVICE || what == CUDA_CALL_SYNC_STREAM ||
	       what == CUDA_CALL_SYNC_EVENT;
}

static void builder_init(struct builder *b)
{
	pair_totals_init(&b->kernels, sizeof(struct gpu_kernel_figures));
	pair_totals_init(&b->copies, sizeof(struct gpu_copy_figures));
	pair_totals_init(&b->streams, sizeof(struct gpu_stream_figures));
	pair_totals_init(&b->calls, sizeof(struct gpu_call_figures));
	pair_totals_init(&b->lines, sizeof(struct gpu_line_figures));
	pair_totals_init(&b->syncs, sizeof(struct gpu_line_figures));
}

static void builder_release(struct builder *b)
{
	pair_totals_release(&b->kernels);
	pair_totals_release(&b->copies);
	pair_totals_release(&b->streams);
	pair_totals_release(&b->calls);
	pair_totals_release(&b->lines);
	pair_totals_release(&b->syncs);
}

static void sum_add(struct gpu_sum *sum, uint64_t bytes, int64_t length_ns)
{
	sum->count++;
	sum->bytes += bytes;
	sum->total_ns = stats_add(sum->total_ns, length_ns);
}

/* pair_totals_at(), without a search but for the first time. */
static void *figures_at(struct pair_totals *t, uint32_t *known, uint64_t a, uint64_t b)
{
	char *found;

	if (*known)
		return (char *)t->items + (*known - 1) * t->bytes_each;
	found = pair_totals_at(t, a, b);
	if (found)
		*known = (uint32_t)((size_t)(found - (char *)t->items) / t->bytes_each) + 1;
	return found;
}

static int count_kernel(struct collector *c, struct builder *b, const struct gpu_work *w,
			struct known_at *known, int64_t length_ns)
{
	struct gpu_kernel_figures *k = figures_at(&b->kernels, &known->kernel, w->name, 0);

	if (!k)
		return -1;
	if (!k->count) {
		const struct gpu_kernel_name *name = gpu_kernel_name(c->timeline, w->name);

		k->name = name->brief;
		k->full_name = name->full;
		k->variants = 1;
	}
	k->count++;
	k->total_ns = stats_add(k->total_ns, length_ns);
	if (length_ns > k->longest_ns)
		k->longest_ns = length_ns;
	return 0;
}

static int count_copy(struct gpu_section *s, struct builder *b, const struct gpu_work *w,
		      int64_t length_ns)
{
	uint64_t memories = (uint64_t)w->source << 32 | w->destination;
	uint64_t kind = (uint64_t)w->copy << 1 | w->asynchronous;
	struct gpu_copy_figures *f = pair_totals_at(&b->copies, kind, memories);

	if (!f)
		return -1;
	f->kind = gpu_copy_name(w->copy);
	f->source = gpu_memory_name(w->source);
	f->destination = gpu_memory_name(w->destination);
	f->asynchronous = w->asynchronous;
	f->count++;
	f->bytes += w->bytes;
	f->total_ns = stats_add(f->total_ns, length_ns);
	if (w->copy == GPU_COPY_HOST_TO_DEVICE)
		s->h2d_bytes += w->bytes;
	else if (w->copy == GPU_COPY_DEVICE_TO_HOST)
		s->d2h_bytes += w->bytes;
	return 0;
}

static int count_stream(struct builder *b, const struct gpu_activity *a, const struct gpu_work *w,
			struct known_at *known)
{
	struct gpu_stream_figures *f = figures_at(
		&b->streams, &known->stream, (uint64_t)w->device << 32 | w->context, w->stream);

	if (!f)
		return -1;
	if (!(f->kernels + f->copies + f->memsets + f->graphs))
		f->until_ns = INT64_MIN;
	f->device = w->device;
	f->context = w->context;
	f->stream = w->stream;
	f->kernels += w->kind == GPU_KERNEL;
	f->copies += w->kind == GPU_COPY;
	f->memsets += w->kind == GPU_MEMSET;
	f->graphs += w->kind == GPU_GRAPH;
	if (!a->timed)
		return 0;
	/* Activities come in order of their start, so the streams' do too. */
	f->busy_ns = stats_add(
		f->busy_ns,
		gpu_length(a->start_ns > f->until_ns ? a->start_ns : f->until_ns, a->end_ns));
	if (a->end_ns > f->until_ns)
		f->until_ns = a->end_ns;
	return 0;
}

static int count_line_of(struct collector *c, struct builder *b, const struct gpu_activity *a,
			 int64_t length_ns)
{
	uint32_t stack = gpu_activity_stack(c->timeline, a);
	uint32_t capture = gpu_activity_work(c->timeline, a)->capture;
	bool captured = capture != GPU_NONE && gpu_capture(c->timeline, capture)->stack;
	struct gpu_line_figures *line;

	if (gpu_activity_call(a) == GPU_NONE && !captured)
		return 0;
	line = pair_totals_at(&b->lines, stack, 0);
	if (!line)
		return -1;
	line->line = stack; /* until it is named */
	line->gpu_ns = stats_add(line->gpu_ns, length_ns);
	line->captured_ns = stats_add(line->captured_ns, captured ? length_ns : 0);
	return 0;
}

static int count_activity(struct collector *c, struct gpu_section *s, struct builder *b,
			  const struct gpu_activity *a)
{
	const struct gpu_work *w = gpu_activity_work(c->timeline, a);
	struct known_at *known = &c->of_works[a->work];
	int64_t length_ns = a->timed ? gpu_length(a->start_ns, a->end_ns) : 0;

	if (count_line_of(c, b, a, length_ns))
		return -1;
	switch (w->kind) {
	case GPU_KERNEL:
		sum_add(&s->kernel_sum, 0, length_ns);
		if (count_kernel(c, b, w, known, length_ns))
			return -1;
		break;
	case GPU_COPY:
		sum_add(&s->copy_sum, w->bytes, length_ns);
		if (count_copy(s, b, w, length_ns))
			return -1;
		break;
	case GPU_MEMSET:
		sum_add(&s->memset_sum, w->bytes, length_ns);
		break;
	case GPU_GRAPH:
		sum_add(&s->graph_sum, 0, length_ns);
		break;
	}
	return count_stream(b, a, w, known);
}

static int count_line(struct pair_totals *t, const struct gpu_call *call, int64_t length_ns)
{
	struct gpu_line_figures *f = pair_totals_at(t, call->stack, 0);

	if (!f)
		return -1;
	f->calls++;
	f->line = call->stack; /* until it is named */
	f->api_ns = stats_add(f->api_ns, length_ns);
	if (length_ns > f->longest_ns)
		f->longest_ns = length_ns;
	return 0;
}

static int count_call(struct builder *b, const struct gpu_call *call, const struct gpu_api *api,
		      struct known_at *known)
{
	/* The trace keeps one copy of a string. */
	struct gpu_call_figures *f = figures_at(&b->calls, &known->call, (uintptr_t)api->name, 0);
	int64_t length_ns = gpu_length(call->start_ns, call->end_ns);

	if (!f)
		return -1;
	f->name = api->name;
	f->count++;
	f->total_ns = stats_add(f->total_ns, length_ns);
	if (length_ns > f->longest_ns)
		f->longest_ns = length_ns;
	if (gpu_call_starts_work(api->what) || gpu_call_started_work(call))
		return count_line(&b->lines, call, length_ns);
	return gpu_call_waits(api->what) ? count_line(&b->syncs, call, length_ns) : 0;
}

static void name_lines(struct pair_totals *t, const struct gpu_timeline *g)
{
	struct gpu_line_figures *lines = t->items;

	for (size_t i = 0; i < t->count; i++) {
		struct place innermost = { 0 }, user = { 0 };

		if (lines[i].line)
			gpu_stack_places(g, lines[i].line, &innermost, &user);
		lines[i].function = user.name ? user.name : "(no Python line)";
		lines[i].file = user.name && user.file ? user.file : "";
		lines[i].line = user.name ? user.line : 0;
	}
	pair_totals_merge(t, gpu_line_identity, gpu_line_add);
}

static int list_most_calls(struct gpu_section *s)
{
	s->most_calls = calloc(s->line_count + 1, sizeof(*s->most_calls));
	if (!s->most_calls)
		return -1;
	for (size_t i = 0; i < s->line_count; i++)
		s->most_calls[i].line = &s->lines[i];
	qsort(s->most_calls, s->line_count, sizeof(*s->most_calls), gpu_most_calls_first);
	return 0;
}

/* Variants of a kernel that a reader cannot distinguish by their brief names. */
static int group_kernels(struct gpu_section *s)
{
	struct pair_totals groups = { .bytes_each = sizeof(*s->kernels), .count = s->kernel_count };

	groups.items = calloc(s->kernel_count + 1, sizeof(*s->kernels));
	if (!groups.items)
		return -1;
	if (s->kernel_count)
		memcpy(groups.items, s->kernels, s->kernel_count * sizeof(*s->kernels));
	pair_totals_merge(&groups, gpu_kernel_brief_identity, gpu_kernel_join);
	s->kernel_groups = pair_totals_take(&groups, gpu_kernel_order, &s->kernel_group_count);
	return 0;
}

static int builder_finish(struct builder *b, struct gpu_section *s, const struct gpu_timeline *g)
{
	pair_totals_merge(&b->kernels, gpu_kernel_identity, gpu_kernel_add);
	pair_totals_merge(&b->copies, gpu_copy_identity, gpu_copy_add);
	pair_totals_merge(&b->calls, gpu_call_identity, gpu_call_add);
	name_lines(&b->lines, g);
	name_lines(&b->syncs, g);
	s->kernels = pair_totals_take(&b->kernels, gpu_kernel_order, &s->kernel_count);
	s->copies = pair_totals_take(&b->copies, gpu_copy_order, &s->copy_count);
	s->streams = pair_totals_take(&b->streams, gpu_stream_order, &s->stream_count);
	s->calls = pair_totals_take(&b->calls, gpu_call_order, &s->call_count);
	s->lines = pair_totals_take(&b->lines, gpu_line_order, &s->line_count);
	s->syncs = pair_totals_take(&b->syncs, gpu_sync_order, &s->sync_count);
	return list_most_calls(s) || group_kernels(s) ? -1 : 0;
}

/* The index of a process' section, made when first seen; SIZE_MAX: no memory. */
static size_t section_of(struct collector *c, const struct trace *t, uint32_t process)
{
	uint32_t at = idmap_find(&c->at, process);
	size_t position, n = c->gpu->section_count;
	struct gpu_section *sections;
	struct builder *builders;

	if (at != IDMAP_NONE)
		return at;
	sections = array_grow_by_one(c->gpu->sections, n, sizeof(*sections));
	if (!sections)
		return SIZE_MAX;
	c->gpu->sections = sections;
	builders = array_grow_by_one(c->builders, n, sizeof(*builders));
	if (!builders)
		return SIZE_MAX;
	c->builders = builders;
	if (idmap_put(&c->at, process, (uint32_t)n))
		return SIZE_MAX;
	position = process_position(t, process);
	sections[n] = (struct gpu_section){ .process = process, .name = "(unknown)" };
	if (position < trace_process_count(t)) {
		sections[n].pid = trace_process(t, position)->pid;
		sections[n].name = trace_process(t, position)->name;
	}
	builder_init(&builders[n]);
	return c->gpu->section_count++;
}

static int count_activities(struct collector *c, const struct trace *t)
{
	size_t n = gpu_activity_count(c->timeline);

	for (size_t i = 0, next; i < n; i = next) {
		uint32_t process =
			gpu_activity_work(c->timeline, gpu_activity(c->timeline, i))->process;
		size_t at = section_of(c, t, process), change_count;
		const struct gpu_change_ref *changes;

		if (at == SIZE_MAX)
			return -1;
		for (next = i; next < n; next++) {
			const struct gpu_activity *a = gpu_activity(c->timeline, next);

			if (gpu_activity_work(c->timeline, a)->process != process)
				break;
			if (count_activity(c, &c->gpu->sections[at], &c->builders[at], a))
				return -1;
		}
		changes = gpu_changes_of(c->gpu->changes, c->gpu->change_count, process,
					 &change_count);
		if (gpu_busy_collect(&c->gpu->sections[at], c->timeline, i, next, changes,
				     change_count))
			return -1;
	}
	return 0;
}

static int count_calls(struct collector *c, const struct trace *t)
{
	for (size_t i = 0; i < gpu_call_count(c->timeline); i++) {
		const struct gpu_call *call = gpu_call(c->timeline, i);
		const struct gpu_api *api = gpu_call_api(c->timeline, call);
		size_t at = section_of(c, t, api->process);

		if (at == SIZE_MAX ||
		    count_call(&c->builders[at], call, api, &c->of_apis[call->api]))
			return -1;
	}
	return 0;
}

static struct gpu_section *section_at(struct collector *c, uint32_t process)
{
	uint32_t at = idmap_find(&c->at, process);

	return at < c->gpu->section_count ? &c->gpu->sections[at] : NULL;
}

static int add_devices(struct collector *c)
{
	for (size_t i = 0; i < gpu_device_count(c->timeline); i++) {
		const struct gpu_device *d = gpu_device(c->timeline, i);
		struct gpu_section *s = section_at(c, d->process);
		struct gpu_device *grown;

		if (!s)
			continue;
		grown = array_grow_by_one(s->devices, s->device_count, sizeof(*grown));
		if (!grown)
			return -1;
		s->devices = grown;
		grown[s->device_count++] = *d;
	}
	return 0;
}

static void add_clocks(struct collector *c)
{
	for (size_t i = 0; i < gpu_clock_count(c->timeline); i++) {
		const struct gpu_clock *clock = gpu_clock(c->timeline, i);
		struct gpu_section *s = section_at(c, clock->process);

		if (s)
			s->clock = clock;
	}
}

static int list_changes(struct analysis_gpu *gpu)
{
	size_t n = gpu_change_count(gpu->timeline);

	gpu->changes = calloc(n + 1, sizeof(*gpu->changes));
	if (!gpu->changes)
		return -1;
	for (size_t i = 0; i < n; i++)
		gpu->changes[i].change = gpu_change(gpu->timeline, i);
	gpu->change_count = n;
	qsort(gpu->changes, n, sizeof(*gpu->changes), gpu_change_order);
	return 0;
}

static int collect(struct analysis_gpu *gpu, const struct trace *t, struct err *err)
{
	struct collector c = { .gpu = gpu };
	int rc = -1;

	err_set(err, "out of memory");
	c.timeline = gpu->timeline;
	idmap_init(&c.at);
	c.of_works = calloc(gpu_work_count(c.timeline) + 1, sizeof(*c.of_works));
	c.of_apis = calloc(gpu_api_count(c.timeline) + 1, sizeof(*c.of_apis));
	if (!c.of_works || !c.of_apis || list_changes(gpu) || count_activities(&c, t) ||
	    count_calls(&c, t) || add_devices(&c))
		goto out;
	add_clocks(&c);
	for (size_t i = 0; i < gpu->section_count; i++)
		if (builder_finish(&c.builders[i], &gpu->sections[i], c.timeline))
			goto out;
	if (gpu->section_count)
		qsort(gpu->sections, gpu->section_count, sizeof(*gpu->sections), gpu_section_order);
	rc = gpu_graphs_collect(gpu);
out:
	for (size_t i = 0; i < gpu->section_count; i++)
		builder_release(&c.builders[i]);
	free(c.builders);
	free(c.of_works);
	free(c.of_apis);
	idmap_release(&c.at);
	return rc;
}

int gpu_sections_collect(struct analysis_gpu *gpu, const struct trace *t, struct err *err)
{
	return gpu_timeline_new(&gpu->timeline, t, err) ? -1 : collect(gpu, t, err);
}

int gpu_sections_take(struct analysis_gpu *gpu, const struct trace *t, struct gpu_reader *reader,
		      struct err *err)
{
	return gpu_reader_finish(reader, &gpu->timeline, err) ? -1 : collect(gpu, t, err);
}

const struct gpu_section *gpu_section_find(const struct analysis_gpu *gpu, uint32_t process)
{
	for (size_t i = 0; i < gpu->section_count; i++)
		if (gpu->sections[i].process == process)
			return &gpu->sections[i];
	return NULL;
}

void gpu_sections_release(struct analysis_gpu *gpu)
{
	for (size_t i = 0; i < gpu->section_count; i++) {
		struct gpu_section *s = &gpu->sections[i];

		free(s->devices);
		free(s->busy);
		free(s->pauses);
		free(s->kernels);
		free(s->kernel_groups);
		free(s->copies);
		free(s->streams);
		free(s->calls);
		free(s->lines);
		free(s->most_calls);
		free(s->graphs);
		free(s->syncs);
		free(s->blame.items);
		free(s->blame.parts);
		free(s->blame.part_causes);
	}
	free(gpu->sections);
	free(gpu->changes);
	gpu_timeline_free(gpu->timeline);
	memset(gpu, 0, sizeof(*gpu));
}
