/*
 * The section of the process that used the GPU most stands at the top of "gpu";
 * "processes" has all of them, each whole, so that a program that cares about
 * several reads one list.
 */
#include "report/json/report_json_sections.h"

#include "report/json/json_put.h"

static void put_device(struct json *j, const struct gpu_device *d)
{
	put_uint(j, "device_id", d->number);
	put_string(j, "name", d->name);
	put_uint(j, "memory_bytes", d->memory_bytes);
	put_fixed(j, "bandwidth_gb_per_s", (double)d->bandwidth_kb_s / 1e6, 1);
	put_uint(j, "multiprocessors", d->multiprocessors);
	put_fixed(j, "clock_mhz", (double)d->clock_khz / 1e3, 1);
	put_fixed(j, "compute_capability", (double)d->capability / 10, 1);
}

static void put_devices(struct json *j, const struct gpu_section *s)
{
	begin_array(j, "devices");
	for (size_t i = 0; i < s->device_count; i++) {
		json_object_begin(j);
		put_device(j, &s->devices[i]);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_kernels(struct json *j, const struct gpu_section *s, enum report_detail detail)
{
	size_t rows = json_rows(detail, s->kernel_count, JSON_ROWS);

	put_uint(j, "kernel_count", s->kernel_count);
	begin_array(j, "kernels");
	for (size_t i = 0; i < rows; i++) {
		const struct gpu_kernel_figures *k = &s->kernels[i];

		json_object_begin(j);
		put_string(j, "name", k->name);
		put_string(j, "full_name", k->full_name);
		put_uint(j, "count", k->count);
		put_ms(j, "ms", k->total_ns);
		put_fixed(j, "mean_us", (double)k->total_ns / (double)k->count / 1e3, 3);
		put_us(j, "max_us", k->longest_ns);
		put_share(j, "share", (double)k->total_ns, (double)s->kernel_sum.total_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Bytes in a nanosecond are GB/s; null where the device did not say how long it took. */
static void put_bandwidth(struct json *j, uint64_t bytes, int64_t ns)
{
	if (ns > 0)
		put_fixed(j, "gb_per_s", (double)bytes / (double)ns, 3);
	else
		put_null(j, "gb_per_s");
}

static void put_copies(struct json *j, const struct gpu_section *s)
{
	begin_array(j, "copies");
	for (size_t i = 0; i < s->copy_count; i++) {
		const struct gpu_copy_figures *c = &s->copies[i];

		json_object_begin(j);
		put_string(j, "kind", c->kind);
		put_string(j, "source", c->source);
		put_string(j, "destination", c->destination);
		put_bool(j, "async", c->asynchronous);
		put_uint(j, "count", c->count);
		put_uint(j, "bytes", c->bytes);
		put_ms(j, "ms", c->total_ns);
		put_bandwidth(j, c->bytes, c->total_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_sum(struct json *j, const char *key, const struct gpu_sum *sum, bool bytes)
{
	begin_object(j, key);
	put_uint(j, "count", sum->count);
	if (bytes)
		put_uint(j, "bytes", sum->bytes);
	put_ms(j, "ms", sum->total_ns);
	json_object_end(j);
}

static void put_streams(struct json *j, const struct gpu_section *s, enum report_detail detail)
{
	size_t rows = json_rows(detail, s->stream_count, JSON_ROWS);

	begin_array(j, "streams");
	for (size_t i = 0; i < rows; i++) {
		const struct gpu_stream_figures *f = &s->streams[i];

		json_object_begin(j);
		put_uint(j, "device_id", f->device);
		put_uint(j, "context_id", f->context);
		put_uint(j, "stream_id", f->stream);
		put_ms(j, "busy_ms", f->busy_ns);
		put_uint(j, "kernels", f->kernels);
		put_uint(j, "copies", f->copies);
		put_uint(j, "memsets", f->memsets);
		put_uint(j, "graphs", f->graphs);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_graph_place(struct json *j, const char *key, const struct place *p)
{
	if (!p->name) {
		put_null(j, key);
		return;
	}
	begin_object(j, key);
	put_string(j, "function", p->name);
	put_string(j, "file", p->file ? p->file : "");
	put_uint(j, "line", p->line);
	json_object_end(j);
}

static void put_graphs(struct json *j, const struct gpu_section *s, enum report_detail detail)
{
	size_t rows = json_rows(detail, s->graph_count, JSON_ROWS);

	put_uint(j, "cuda_graph_count", s->graph_count);
	begin_array(j, "cuda_graphs");
	for (size_t i = 0; i < rows; i++) {
		const struct gpu_graph_figures *g = &s->graphs[i];

		json_object_begin(j);
		put_uint(j, "graph_id", g->graph);
		put_uint(j, "replays", g->replays);
		put_uint(j, "replays_by_node", g->replays_by_node);
		put_ms(j, "total_ms", g->total_ns);
		put_ms(j, "median_ms", g->median_ns);
		put_ms(j, "max_ms", g->longest_ns);
		put_uint(j, "nodes", g->nodes);
		put_uint(j, "known_nodes", g->known_nodes);
		put_uint(j, "kernels", g->kernels);
		put_uint(j, "copies", g->copies);
		put_uint(j, "memsets", g->memsets);
		put_graph_place(j, "captured", &g->captured);
		put_graph_place(j, "launched", &g->launched);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_calls(struct json *j, const struct gpu_section *s, enum report_detail detail)
{
	size_t rows = json_rows(detail, s->call_count, JSON_ROWS);

	begin_array(j, "calls");
	for (size_t i = 0; i < rows; i++) {
		const struct gpu_call_figures *c = &s->calls[i];

		json_object_begin(j);
		put_string(j, "name", c->name);
		put_uint(j, "count", c->count);
		put_ms(j, "ms", c->total_ns);
		put_us(j, "max_us", c->longest_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_place(struct json *j, const struct gpu_line_figures *l)
{
	put_string(j, "function", l->function);
	put_string(j, "file", l->file);
	put_uint(j, "line", l->line);
}

static void put_lines(struct json *j, const struct gpu_section *s, enum report_detail detail)
{
	size_t rows = json_rows(detail, s->line_count, JSON_ROWS);

	begin_array(j, "lines");
	for (size_t i = 0; i < rows; i++) {
		json_object_begin(j);
		put_place(j, &s->lines[i]);
		put_uint(j, "launches", s->lines[i].calls);
		put_ms(j, "gpu_ms", s->lines[i].gpu_ns);
		put_ms(j, "captured_ms", s->lines[i].captured_ns);
		put_ms(j, "api_ms", s->lines[i].api_ns);
		json_object_end(j);
	}
	json_array_end(j);
	rows = json_rows(detail, s->sync_count, JSON_ROWS);
	begin_array(j, "syncs");
	for (size_t i = 0; i < rows; i++) {
		json_object_begin(j);
		put_place(j, &s->syncs[i]);
		put_uint(j, "calls", s->syncs[i].calls);
		put_ms(j, "ms", s->syncs[i].api_ns);
		put_us(j, "max_us", s->syncs[i].longest_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_clock_error(struct json *j, int64_t error_ns)
{
	if (error_ns < 0)
		put_null(j, "clock_error_us");
	else
		put_us(j, "clock_error_us", error_ns);
}

static void put_section(struct json *j, const struct gpu_section *s, enum report_detail detail)
{
	double recorded_ns = (double)s->busy_ns + (double)s->idle_ns;

	put_uint(j, "pid", s->pid);
	put_string(j, "process", s->name);
	put_devices(j, s);
	put_share(j, "busy_share", (double)s->busy_ns, recorded_ns);
	put_share(j, "idle_share", (double)s->idle_ns, recorded_ns);
	put_ms(j, "busy_ms", s->busy_ns);
	put_ms(j, "idle_ms", s->idle_ns);
	put_ms(j, "not_recorded_ms", s->paused_ns);
	put_ms(j, "first_ms", s->first_ns);
	put_ms(j, "span_ms", s->last_ns - s->first_ns);
	put_clock_error(j, s->clock ? s->clock->farthest_ns : -1);
	json_put_blame(j, &s->blame, detail);
	put_kernels(j, s, detail);
	put_copies(j, s);
	put_sum(j, "memsets", &s->memset_sum, true);
	put_sum(j, "graphs", &s->graph_sum, false);
	put_graphs(j, s, detail);
	put_streams(j, s, detail);
	put_calls(j, s, detail);
	put_lines(j, s, detail);
}

void json_put_gpu(struct json *j, const struct analysis_gpu *gpu, enum report_detail detail)
{
	begin_object(j, "gpu");
	if (gpu->section_count) {
		put_section(j, &gpu->sections[0], detail);
	} else {
		put_uint(j, "busy_share", 0);
		put_uint(j, "idle_share", 0);
		put_empty_array(j, "blame");
		put_empty_array(j, "kernels");
		put_empty_array(j, "copies");
	}
	begin_array(j, "processes");
	for (size_t i = 0; i < gpu->section_count; i++) {
		json_object_begin(j);
		put_section(j, &gpu->sections[i], detail);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

void json_put_run_gpu(struct json *j, const struct analysis_gpu *gpu)
{
	begin_object(j, "gpu");
	if (gpu->section_count && gpu->sections[0].device_count)
		put_device(j, &gpu->sections[0].devices[0]);
	json_object_end(j);
}

void json_put_step_gpu(struct json *j, const struct gpu_step_figures *g)
{
	if (!g->steps)
		return;
	begin_object(j, "gpu");
	put_uint(j, "steps", g->steps);
	put_ms(j, "busy_ms", g->busy_ns);
	put_ms(j, "idle_ms", g->idle_ns);
	if (g->launches_known) {
		put_uint(j, "kernels", g->kernels);
		put_uint(j, "copies", g->copies);
		put_uint(j, "h2d_bytes", g->h2d_bytes);
		put_uint(j, "d2h_bytes", g->d2h_bytes);
		put_ms(j, "launched_ms", g->launched_ns);
	} else {
		put_null(j, "kernels");
		put_null(j, "copies");
		put_null(j, "h2d_bytes");
		put_null(j, "d2h_bytes");
		put_null(j, "launched_ms");
	}
	json_object_end(j);
}

void json_put_gpu_trust(struct json *j, const struct analysis_trust *t)
{
	put_clock_error(j, t->clock_error_ns);
	put_uint(j, "causality_violations", t->causality_violations);
	put_uint(j, "causality_violations_before", t->causality_violations_before);
	put_uint(j, "unmatched_launches", t->unmatched_launches);
	put_uint(j, "unmatched_activities", t->unmatched_activities);
	put_uint(j, "untimed_activities", t->untimed_activities);
	put_uint(j, "cupti_dropped", t->cupti_dropped);
	put_ms(j, "cupti_overhead_ms", t->cupti_overhead_ns);
}
