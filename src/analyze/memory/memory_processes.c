/* Memory, process by process. */
#include <stdlib.h>

#include "analyze/memory/memory_collect.h"
#include "format/series.h"

/* The kernel's highest mark is older than the recording unless it was seen to rise. */
static int64_t peak_of(const struct memory_process *p, const struct series_table *st)
{
	struct memory_level mark = memory_level(st, p->process, SERIES_RSS_PEAK, 0);

	return mark.known && mark.last > mark.first && mark.last > p->rss.peak ? mark.last
									       : p->rss.peak;
}

#define SEEN_LEAST 0.5 /* of the memory that it had at most */

/*
 * Where threads ran is known for a moment, where pages are too: nodes count that had any.  Reading
 * the nodes of all pages takes long, so it may have been done at the start only: what a process had
 * before it loaded its model says nothing.
 */
static void find_remote(struct memory_process *p)
{
	double all = 0, remote = 0, most = 0;
	size_t with_threads = 0;

	for (size_t i = 0; i < p->node_count; i++) {
		const struct memory_node *n = &p->nodes[i];

		all += n->bytes.mean;
		most += (double)n->bytes.peak;
		with_threads += n->threads.known && n->threads.peak > 0;
		if (!n->threads.known || n->threads.peak <= 0)
			remote += n->bytes.mean;
	}
	p->remote_known = p->node_count > 1 && with_threads && all > 0 &&
			  most >= SEEN_LEAST * (double)p->rss_peak_bytes;
	p->remote_share = p->remote_known ? remote / all : 0;
}

static int collect_nodes(struct memory_process *p, const struct series_table *st)
{
	size_t n;
	const struct series *s = series_instances(st, p->process, SERIES_NUMA_NODE, &n);

	p->nodes = calloc(n + 1, sizeof(*p->nodes));
	if (!p->nodes)
		return -1;
	p->node_count = n;
	for (size_t i = 0; i < n; i++)
		p->nodes[i] = (struct memory_node){
			.node = s[i].instance,
			.bytes = memory_level(st, p->process, SERIES_NUMA_NODE, s[i].instance),
			.threads = memory_level(st, p->process, SERIES_NUMA_THREADS, s[i].instance),
		};
	find_remote(p);
	return 0;
}

/* Of all the devices that it uses, which is one. */
static struct memory_level gpu_bytes(const struct series_table *st, uint32_t process)
{
	size_t n;
	const struct series *s = series_instances(st, process, SERIES_GPU_PROCESS_MEMORY, &n);
	struct memory_level most = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct memory_level l = memory_level(st, process, s[i].kind, s[i].instance);

		if (!most.known || l.peak > most.peak)
			most = l;
	}
	return most;
}

static void collect_calls(struct memory_process *p, const struct memory_sources *m)
{
	const struct series_span always = { INT64_MIN, INT64_MAX };

	if (gpu_section_find(m->gpu, p->process))
		cuda_memory_calls_sum(m->calls, p->process, &always, 1, &p->cuda);
}

static int collect(struct memory_process *p, const struct memory_sources *m,
		   const struct trace_process *of, bool recorded)
{
	const struct series_table *st = m->series;
	uint32_t id = of->id;

	*p = (struct memory_process){
		.process = id,
		.pid = of->pid,
		.name = of->name,
		.recorded = recorded,
		.rss = memory_level(st, id, SERIES_RSS, 0),
		.anonymous = memory_level(st, id, SERIES_RSS_ANON, 0),
		.file = memory_level(st, id, SERIES_RSS_FILE, 0),
		.shared = memory_level(st, id, SERIES_RSS_SHARED, 0),
		.pss = memory_level(st, id, SERIES_PSS, 0),
		.huge = memory_level(st, id, SERIES_HUGE_ANON, 0),
		.swap = memory_level(st, id, SERIES_SWAP, 0),
		.minor_faults = memory_total(st, id, SERIES_MINOR_FAULTS, 0),
		.major_faults = memory_total(st, id, SERIES_MAJOR_FAULTS, 0),
		.read_bytes = memory_total(st, id, SERIES_READ, 0),
		.written_bytes = memory_total(st, id, SERIES_WRITTEN, 0),
		.gpu_bytes = gpu_bytes(st, id),
	};
	p->rss_peak_bytes = peak_of(p, st);
	memory_trend_over_time(series_find(st, id, SERIES_RSS, 0), memory_rss_error(st, id),
			       &p->rss_trend);
	collect_calls(p, m);
	return memory_torch_collect(p, st) || collect_nodes(p, st) ? -1 : 0;
}

void memory_process_release(struct memory_process *p)
{
	free(p->torch);
	free(p->nodes);
}

static int largest_first(const void *a, const void *b)
{
	const struct memory_process *x = a, *y = b;

	if (x->rss_peak_bytes != y->rss_peak_bytes)
		return x->rss_peak_bytes > y->rss_peak_bytes ? -1 : 1;
	return x->process < y->process ? -1 : x->process > y->process;
}

/* One that was never read, and called nothing, has nothing to show. */
static bool is_known(const struct memory_process *p)
{
	for (size_t i = 0; i < CUDA_MEMORY_CALLS; i++) {
		if (p->cuda.calls[i].count)
			return true;
	}
	return p->rss.known || p->minor_faults.known || p->read_bytes.known || p->gpu_bytes.known ||
	       p->torch_count || p->node_count;
}

int memory_processes_collect(struct analysis_memory *out, const struct memory_sources *m,
			     const struct trace *t)
{
	size_t recorded = trace_process_count(t), n = recorded + trace_observed_count(t);

	out->processes = calloc(n + 1, sizeof(*out->processes));
	if (!out->processes)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct memory_process *p = &out->processes[out->process_count];
		bool is_recorded = i < recorded;

		if (collect(p, m,
			    is_recorded ? trace_process(t, i) : trace_observed(t, i - recorded),
			    is_recorded)) {
			out->process_count++;
			return -1;
		}
		if (is_known(p))
			out->process_count++;
		else
			memory_process_release(p);
	}
	if (out->process_count)
		qsort(out->processes, out->process_count, sizeof(*out->processes), largest_first);
	return 0;
}
