/* What is not known is omitted: most machines lack most of the sources. */
#include "report/json/report_json_sections.h"

#include "report/json/json_put.h"
#include "report/memory_text.h"

static void put_int(struct json *j, const char *key, int64_t value)
{
	json_key(j, key);
	json_int(j, value);
}

static void put_known_share(struct json *j, const char *key, bool known, double share)
{
	if (known)
		put_fixed(j, key, share, 6);
}

static void put_level(struct json *j, const char *key, const struct memory_level *l)
{
	if (!l->known)
		return;
	begin_object(j, key);
	put_int(j, "first", l->first);
	put_int(j, "last", l->last);
	put_int(j, "least", l->least);
	put_int(j, "peak", l->peak);
	put_fixed(j, "mean", l->mean, 1);
	json_object_end(j);
}

static void put_total(struct json *j, const char *key, const struct memory_total *t)
{
	if (t->known)
		put_int(j, key, t->sum);
}

static void put_trend(struct json *j, const char *key, const struct trend *t)
{
	begin_object(j, key);
	put_string(j, "kind", trend_name(t->kind));
	if (t->late.known) {
		put_fixed(j, "slope", t->late.slope, 1);
		put_fixed(j, "low", t->late.low, 1);
		put_fixed(j, "high", t->late.high, 1);
		put_fixed(j, "confidence", t->late.confidence, 4);
	}
	json_object_end(j);
}

static void put_cuda(struct json *j, const struct cuda_memory *c)
{
	static const char *const keys[CUDA_MEMORY_CALLS] = {
		[CUDA_MEMORY_ALLOC] = "alloc",
		[CUDA_MEMORY_FREE] = "free",
		[CUDA_MEMORY_HOST_ALLOC] = "host_alloc",
		[CUDA_MEMORY_HOST_FREE] = "host_free",
	};

	if (!c->known)
		return;
	begin_object(j, "cuda");
	for (size_t i = 0; i < CUDA_MEMORY_CALLS; i++) {
		if (!c->calls[i].count)
			continue;
		begin_object(j, keys[i]);
		put_uint(j, "count", c->calls[i].count);
		put_uint(j, "bytes", c->calls[i].bytes);
		put_ms(j, "ms", c->calls[i].ns);
		json_object_end(j);
	}
	json_object_end(j);
}

static void put_per_step(struct json *j, const char *key, const struct memory_per_step *p)
{
	if (!p->known)
		return;
	begin_object(j, key);
	put_fixed(j, "mean", p->mean, 3);
	put_fixed(j, "least", p->least, 3);
	put_fixed(j, "most", p->most, 3);
	json_object_end(j);
}

void json_put_step_memory(struct json *j, const struct memory_step_figures *m)
{
	if (!m->steps && !m->cuda.known)
		return;
	begin_object(j, "memory");
	put_uint(j, "steps", m->steps);
	if (m->steps) {
		put_fixed(j, "rss_growth_bytes", m->rss_growth_bytes, 1);
		put_trend(j, "rss_trend", &m->rss);
	}
	put_per_step(j, "minor_faults", &m->minor_faults);
	put_per_step(j, "major_faults", &m->major_faults);
	put_per_step(j, "read_bytes", &m->read_bytes);
	put_per_step(j, "written_bytes", &m->written_bytes);
	put_per_step(j, "kernel_us", &m->kernel_us);
	put_uint(j, "cuda_steps", m->cuda_steps);
	put_cuda(j, &m->cuda);
	json_object_end(j);
}

static void put_warnings(struct json *j, const struct analysis *a)
{
	struct buf text;

	buf_init(&text);
	memory_text_meaning(&text, a);
	put_string(j, "meaning", buf_string(&text));
	begin_array(j, "concerns");
	for (size_t i = 0; i < a->memory.warning_count; i++) {
		const struct memory_warning *w = &a->memory.warnings[i];

		buf_clear(&text);
		memory_text_warning(&text, a, w);
		json_object_begin(j);
		put_string(j, "id", memory_concern_name(w->what));
		put_string(j, "text", buf_string(&text));
		json_object_end(j);
	}
	json_array_end(j);
	buf_release(&text);
}

static void put_lines(struct json *j, const struct analysis_memory *m, enum report_detail detail)
{
	size_t rows = report_rows(detail, m->line_count, 10, 50);

	if (!m->line_count)
		return;
	begin_array(j, "fault_lines");
	for (size_t i = 0; i < rows; i++) {
		const struct memory_line *l = &m->lines[i];

		json_object_begin(j);
		put_string(j, "function", l->place.name);
		put_string(j, "file", l->place.file);
		put_uint(j, "line", l->place.line);
		put_share(j, "minor_share", (double)l->minor, (double)m->seen_minor);
		put_share(j, "major_share", (double)l->major, (double)m->seen_major);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_nodes(struct json *j, const struct memory_process *p)
{
	if (!p->node_count)
		return;
	begin_array(j, "nodes");
	for (size_t i = 0; i < p->node_count; i++) {
		json_object_begin(j);
		put_uint(j, "node", p->nodes[i].node);
		put_level(j, "bytes", &p->nodes[i].bytes);
		put_level(j, "threads", &p->nodes[i].threads);
		json_object_end(j);
	}
	json_array_end(j);
	put_known_share(j, "remote_share", p->remote_known, p->remote_share);
}

static void put_torch(struct json *j, const struct memory_process *p)
{
	if (!p->torch_count)
		return;
	begin_array(j, "torch");
	for (size_t i = 0; i < p->torch_count; i++) {
		const struct memory_torch *t = &p->torch[i];

		json_object_begin(j);
		put_uint(j, "device", t->device);
		put_level(j, "allocated_bytes", &t->allocated);
		put_int(j, "allocated_peak_bytes", t->allocated_peak_bytes);
		put_level(j, "reserved_bytes", &t->reserved);
		put_int(j, "reserved_peak_bytes", t->reserved_peak_bytes);
		put_level(j, "split_bytes", &t->split);
		put_int(j, "retries", t->retries);
		put_int(j, "ooms", t->ooms);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_process(struct json *j, const struct memory_process *p)
{
	json_object_begin(j);
	put_uint(j, "pid", p->pid);
	put_string(j, "name", p->name);
	put_bool(j, "recorded", p->recorded);
	put_level(j, "rss_bytes", &p->rss);
	if (p->rss.known) {
		put_int(j, "rss_peak_bytes", p->rss_peak_bytes);
		put_trend(j, "rss_trend", &p->rss_trend);
	}
	put_level(j, "anonymous_bytes", &p->anonymous);
	put_level(j, "file_bytes", &p->file);
	put_level(j, "shared_bytes", &p->shared);
	put_level(j, "pss_bytes", &p->pss);
	put_level(j, "huge_bytes", &p->huge);
	put_level(j, "swap_bytes", &p->swap);
	put_total(j, "minor_faults", &p->minor_faults);
	put_total(j, "major_faults", &p->major_faults);
	put_total(j, "read_bytes", &p->read_bytes);
	put_total(j, "written_bytes", &p->written_bytes);
	put_level(j, "gpu_bytes", &p->gpu_bytes);
	put_cuda(j, &p->cuda);
	put_torch(j, p);
	put_nodes(j, p);
	json_object_end(j);
}

static void put_pressure(struct json *j, const char *key, const struct memory_pressure *p,
			 bool has_full)
{
	if (!p->known)
		return;
	begin_object(j, key);
	put_string(j, "of", p->of_container ? "container" : "machine");
	put_fixed(j, "some_share", p->some_share, 6);
	put_known_share(j, "full_share", has_full, p->full_share);
	json_object_end(j);
}

static void put_machine(struct json *j, const struct memory_machine *m)
{
	static const char *const limits[] = {
		[MEMORY_LIMIT_UNKNOWN] = "unknown",
		[MEMORY_LIMIT_MACHINE] = "machine",
		[MEMORY_LIMIT_CONTAINER] = "container",
	};
	bool limited = m->limit != MEMORY_LIMIT_UNKNOWN;

	begin_object(j, "machine");
	put_level(j, "total_bytes", &m->total);
	put_level(j, "available_bytes", &m->available);
	put_level(j, "swap_used_bytes", &m->swap_used);
	put_known_share(j, "other_node_share", m->other_node_known, m->other_node_share);
	json_object_end(j);
	begin_object(j, "container");
	put_level(j, "used_bytes", &m->container);
	put_level(j, "limit_bytes", &m->container_max);
	put_level(j, "swap_bytes", &m->container_swap);
	put_level(j, "cpu_limit_millicpus", &m->cpu_limit);
	put_total(j, "oom_kills", &m->oom_kills);
	put_total(j, "limit_hits", &m->limit_hits);
	if (m->throttled_us.known)
		put_fixed(j, "throttled_ms", (double)m->throttled_us.sum / 1e3, 3);
	json_object_end(j);
	begin_object(j, "limit");
	put_string(j, "of", limits[m->limit]);
	if (limited && m->limit_bytes > 0)
		put_int(j, "bytes", m->limit_bytes);
	if (limited)
		put_int(j, "least_left_bytes", m->least_left_bytes);
	json_object_end(j);
	begin_object(j, "pressure");
	put_pressure(j, "memory", &m->memory, true);
	put_pressure(j, "io", &m->io, true);
	put_pressure(j, "cpu", &m->cpu, false);
	json_object_end(j);
}

static void put_gpu(struct json *j, const struct memory_gpu *g)
{
	json_object_begin(j);
	put_uint(j, "device_index", g->device);
	put_level(j, "used_bytes", &g->used);
	put_int(j, "peak_bytes", g->peak_bytes);
	put_trend(j, "used_trend", &g->used_trend);
	put_level(j, "total_bytes", &g->total);
	put_level(j, "busy_percent", &g->busy_percent);
	put_level(j, "memory_busy_percent", &g->memory_busy_percent);
	put_level(j, "sm_clock_mhz", &g->sm_clock_mhz);
	put_level(j, "sm_clock_max_mhz", &g->sm_clock_max_mhz);
	put_level(j, "memory_clock_mhz", &g->memory_clock_mhz);
	put_level(j, "power_mw", &g->power_mw);
	put_level(j, "power_limit_mw", &g->power_limit_mw);
	put_level(j, "temperature_c", &g->temperature_c);
	put_level(j, "pcie_generation", &g->pcie_generation);
	put_level(j, "pcie_generation_max", &g->pcie_generation_max);
	put_level(j, "pcie_width", &g->pcie_width);
	put_level(j, "pcie_width_max", &g->pcie_width_max);
	put_known_share(j, "throttled_share", g->throttles_known, g->throttled_share);
	begin_array(j, "throttles");
	for (size_t i = 0; i < MEMORY_THROTTLES; i++) {
		if (g->throttles[i].share <= 0)
			continue;
		json_object_begin(j);
		put_string(j, "reason", g->throttles[i].name);
		put_fixed(j, "share", g->throttles[i].share, 6);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

void json_put_memory(struct json *j, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_memory *m = &a->memory;
	size_t rows = json_rows(detail, m->process_count, JSON_ROWS);

	begin_object(j, "memory");
	put_bool(j, "recorded", m->recorded);
	put_warnings(j, a);
	put_uint(j, "process_count", m->process_count);
	begin_array(j, "processes");
	for (size_t i = 0; i < rows; i++)
		put_process(j, &m->processes[i]);
	json_array_end(j);
	put_lines(j, m, detail);
	put_machine(j, &m->machine);
	begin_array(j, "gpus");
	for (size_t i = 0; i < m->gpu_count; i++)
		put_gpu(j, &m->gpus[i]);
	json_array_end(j);
	begin_array(j, "missing");
	for (size_t i = 0; i < m->missing_count; i++)
		json_string(j, m->missing[i]);
	json_array_end(j);
	json_object_end(j);
}
