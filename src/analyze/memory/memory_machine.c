/* What the machine and the container had left, and what others made the workload wait for. */
#include "analyze/memory/memory_collect.h"
#include "format/series.h"

/* The container's own where it is known: only that is the workload's. */
static struct memory_pressure pressure(const struct series_table *st, uint32_t container_some,
				       uint32_t container_full, uint32_t some, uint32_t full)
{
	struct memory_total a = memory_total(st, 0, container_some, 0);
	struct memory_total b = container_full ? memory_total(st, 0, container_full, 0)
					       : (struct memory_total){ 0 };
	bool of_container = a.known && a.span_ns > 0;

	if (!of_container) {
		a = memory_total(st, 0, some, 0);
		b = full ? memory_total(st, 0, full, 0) : (struct memory_total){ 0 };
	}
	if (!a.known || a.span_ns <= 0)
		return (struct memory_pressure){ 0 };
	return (struct memory_pressure){
		.known = true,
		.of_container = of_container,
		.some_share = (double)a.sum * 1e3 / (double)a.span_ns,
		.full_share =
			b.known && b.span_ns > 0 ? (double)b.sum * 1e3 / (double)b.span_ns : 0,
	};
}

/*
 * The least that was left below the container's limit: files that it holds in the cache are given
 * up before anything fails.
 */
static int64_t container_left(const struct series_table *st, int64_t max_bytes)
{
	const struct series *used = series_find(st, 0, SERIES_CGROUP_MEMORY, 0);
	const struct series *cache = series_find(st, 0, SERIES_CGROUP_CACHE, 0);
	double least = (double)max_bytes;

	for (size_t i = 0; i < used->count; i++) {
		int64_t at_ns = used->values[i].time_ns;
		double left = (double)max_bytes - (double)used->values[i].value +
			      (cache ? series_at(cache, at_ns) : 0);

		if (left < least)
			least = left;
	}
	return least > 0 ? (int64_t)least : 0;
}

/* Of the container and the machine the one that leaves less. */
static void find_limit(struct memory_machine *m, const struct series_table *st)
{
	if (m->available.known) {
		m->limit = MEMORY_LIMIT_MACHINE;
		m->least_left_bytes = m->available.least;
		m->limit_bytes = m->total.known ? m->total.last : 0;
	}
	if (m->container_max.known && m->container.known && m->container_max.least > 0) {
		int64_t left = container_left(st, m->container_max.least);

		if (m->limit == MEMORY_LIMIT_UNKNOWN || left < m->least_left_bytes) {
			m->limit = MEMORY_LIMIT_CONTAINER;
			m->limit_bytes = m->container_max.least;
			m->least_left_bytes = left;
		}
	}
}

static void find_other_nodes(struct memory_machine *m, const struct series_table *st)
{
	double local = 0, other = 0;
	size_t n;
	const struct series *s = series_instances(st, 0, SERIES_NODE_LOCAL, &n);

	for (size_t i = 0; i < n; i++) {
		local += (double)memory_total(st, 0, SERIES_NODE_LOCAL, s[i].instance).sum;
		other += (double)memory_total(st, 0, SERIES_NODE_OTHER, s[i].instance).sum;
	}
	m->other_node_known = n > 1 && local + other > 0;
	m->other_node_share = m->other_node_known ? other / (local + other) : 0;
}

static struct memory_level swap_used(const struct series_table *st)
{
	struct memory_level total = memory_level(st, 0, SERIES_MACHINE_SWAP_TOTAL, 0);
	struct memory_level left = memory_level(st, 0, SERIES_MACHINE_SWAP_FREE, 0);

	if (!total.known || !left.known)
		return (struct memory_level){ 0 };
	return (struct memory_level){
		.known = true,
		.first = total.first - left.first,
		.last = total.last - left.last,
		.least = total.last - left.peak,
		.peak = total.last - left.least,
		.mean = (double)total.last - left.mean,
	};
}

void memory_machine_collect(struct memory_machine *out, const struct series_table *st)
{
	*out = (struct memory_machine){
		.total = memory_level(st, 0, SERIES_MACHINE_TOTAL, 0),
		.available = memory_level(st, 0, SERIES_MACHINE_AVAILABLE, 0),
		.swap_used = swap_used(st),
		.container = memory_level(st, 0, SERIES_CGROUP_MEMORY, 0),
		.container_swap = memory_level(st, 0, SERIES_CGROUP_SWAP, 0),
		.container_max = memory_level(st, 0, SERIES_CGROUP_MEMORY_MAX, 0),
		.cpu_limit = memory_level(st, 0, SERIES_CGROUP_CPU_LIMIT, 0),
		.oom_kills = memory_total(st, 0, SERIES_CGROUP_OOM_KILLS, 0),
		.limit_hits = memory_total(st, 0, SERIES_CGROUP_MAX_EVENTS, 0),
		.throttled_us = memory_total(st, 0, SERIES_CGROUP_THROTTLED, 0),
		.cpu = pressure(st, SERIES_CGROUP_PSI_CPU_SOME, 0, SERIES_PSI_CPU_SOME, 0),
		.memory = pressure(st, SERIES_CGROUP_PSI_MEMORY_SOME, SERIES_CGROUP_PSI_MEMORY_FULL,
				   SERIES_PSI_MEMORY_SOME, SERIES_PSI_MEMORY_FULL),
		.io = pressure(st, SERIES_CGROUP_PSI_IO_SOME, SERIES_CGROUP_PSI_IO_FULL,
			       SERIES_PSI_IO_SOME, SERIES_PSI_IO_FULL),
	};
	find_limit(out, st);
	find_other_nodes(out, st);
}
