/*
 * A gpu_timeline: assembled and queried here; the work is done in the files that gpu_tables.h
 * lists.
 */
#include <stddef.h>
#include <stdlib.h>

#include "timeline/gpu.h"
#include "timeline/gpu_tables.h"

const char *gpu_copy_name(enum gpu_copy kind)
{
	switch (kind) {
	case GPU_COPY_HOST_TO_DEVICE:
		return "H2D";
	case GPU_COPY_DEVICE_TO_HOST:
		return "D2H";
	case GPU_COPY_DEVICE_TO_DEVICE:
		return "D2D";
	case GPU_COPY_HOST_TO_HOST:
		return "H2H";
	case GPU_COPY_PEER:
		return "peer";
	case GPU_COPY_UNKNOWN:
		break;
	}
	return "other";
}

const char *gpu_memory_name(enum gpu_memory memory)
{
	static const char *const names[] = {
		[GPU_MEMORY_UNKNOWN] = "unknown", [GPU_MEMORY_PAGEABLE] = "pageable",
		[GPU_MEMORY_PINNED] = "pinned",   [GPU_MEMORY_DEVICE] = "device",
		[GPU_MEMORY_ARRAY] = "array",     [GPU_MEMORY_MANAGED] = "managed",
	};

	return (size_t)memory < sizeof(names) / sizeof(*names) ? names[memory] : "unknown";
}

struct gpu_timeline *gpu_timeline_empty(const struct trace *t)
{
	struct gpu_timeline *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->trace = t;
	arena_init(&g->texts);
	idmap_init(&g->stack_at);
	graph_nodes_init(&g->nodes);
	kernel_names_init(&g->names, t);
	key_table_init(&g->works);
	key_table_init(&g->apis);
	return g;
}

int gpu_timeline_link(struct gpu_timeline *g)
{
	return gpu_link(g) || graph_nodes_link(&g->nodes, &g->lists, g->works.count) ||
			       gpu_clock_merge(g) || gpu_stacks_resolve(g)
		       ? -1
		       : 0;
}

void gpu_timeline_free(struct gpu_timeline *g)
{
	if (!g)
		return;
	graph_nodes_release(&g->nodes);
	kernel_names_release(&g->names);
	idmap_release(&g->stack_at);
	arena_release(&g->texts);
	key_table_release(&g->works);
	key_table_release(&g->apis);
	free(g->lists.activities);
	free(g->lists.works);
	free(g->lists.calls);
	free(g->lists.apis);
	free(g->lists.links);
	free(g->waits);
	free(g->stacks);
	free(g->clocks);
	free(g->devices);
	free(g->changes);
	free(g);
}

size_t gpu_work_count(const struct gpu_timeline *g)
{
	return g->works.count;
}

size_t gpu_api_count(const struct gpu_timeline *g)
{
	return g->apis.count;
}

size_t gpu_capture_count(const struct gpu_timeline *g)
{
	return g->nodes.count;
}

const struct gpu_capture *gpu_capture(const struct gpu_timeline *g, size_t i)
{
	return &g->nodes.captures[i];
}

size_t gpu_capture_activity(const struct gpu_timeline *g, const struct gpu_capture *c, size_t nth)
{
	return g->nodes.links[g->nodes.link_at[c - g->nodes.captures] + nth];
}

uint32_t gpu_activity_stack(const struct gpu_timeline *g, const struct gpu_activity *a)
{
	uint32_t capture = gpu_activity_work(g, a)->capture, call = gpu_activity_call(a);
	uint32_t stack = capture != GPU_NONE ? g->nodes.captures[capture].stack : 0;

	return stack || call == GPU_NONE ? stack : g->lists.calls[call].stack;
}

const struct gpu_kernel_name *gpu_kernel_name(const struct gpu_timeline *g, uint32_t index)
{
	return &g->names.items[index];
}

size_t gpu_kernel_name_count(const struct gpu_timeline *g)
{
	return g->names.count;
}

size_t gpu_clock_count(const struct gpu_timeline *g)
{
	return g->clock_count;
}

const struct gpu_clock *gpu_clock(const struct gpu_timeline *g, size_t i)
{
	return &g->clocks[i];
}

size_t gpu_device_count(const struct gpu_timeline *g)
{
	return g->device_count;
}

const struct gpu_device *gpu_device(const struct gpu_timeline *g, size_t i)
{
	return &g->devices[i];
}

size_t gpu_change_count(const struct gpu_timeline *g)
{
	return g->change_count;
}

const struct gpu_change *gpu_change(const struct gpu_timeline *g, size_t i)
{
	return &g->changes[i];
}

uint64_t gpu_unmatched_activities(const struct gpu_timeline *g)
{
	return g->unmatched_activities;
}

uint64_t gpu_ambiguous_activities(const struct gpu_timeline *g)
{
	return g->ambiguous;
}

uint64_t gpu_unmatched_launches(const struct gpu_timeline *g)
{
	return g->unmatched_launches;
}

uint64_t gpu_untimed_activities(const struct gpu_timeline *g)
{
	return g->untimed;
}

uint64_t gpu_malformed(const struct gpu_timeline *g)
{
	return g->malformed;
}

uint64_t gpu_dropped(const struct gpu_timeline *g)
{
	return g->dropped;
}

int64_t gpu_overhead_ns(const struct gpu_timeline *g)
{
	return g->overhead_ns;
}
