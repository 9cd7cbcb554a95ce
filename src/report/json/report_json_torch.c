#include "report/json/json_put.h"
#include "report/json/report_json_sections.h"

static void put_layer(struct json *j, const struct analysis_layer *l)
{
	json_object_begin(j);
	put_string(j, "name", l->name);
	put_string(j, "class", l->class_name);
	put_string(j, "root", l->root);
	put_uint(j, "pid", l->pid);
	put_uint(j, "depth", l->depth);
	put_uint(j, "calls", l->sum.calls);
	put_ms(j, "cpu_ms", l->sum.cpu_ns);
	put_ms(j, "self_cpu_ms", l->sum.self_cpu_ns);
	put_ms(j, "gpu_ms", l->sum.gpu_ns);
	put_ms(j, "self_gpu_ms", l->sum.self_gpu_ns);
	put_uint(j, "kernels", l->sum.kernels);
	put_uint(j, "self_kernels", l->sum.self_kernels);
	put_ms(j, "launch_gap_ms", l->sum.launch_gap_ns);
	put_bool(j, "folded", l->folded);
	json_object_end(j);
}

/* Their number is the models', not the run's; without some their sum would not be the total. */
void json_put_layers(struct json *j, const struct analysis_layers *l)
{
	put_uint(j, "layer_count", l->count);
	begin_array(j, "layers");
	for (size_t i = 0; i < l->count; i++)
		put_layer(j, &l->items[i]);
	json_array_end(j);
	begin_object(j, "layers_outside");
	put_ms(j, "gpu_ms", l->outside_gpu_ns);
	put_uint(j, "kernels", l->outside_kernels);
	json_object_end(j);
}

static void put_sum(struct json *j, const char *key, const struct torch_sum *s)
{
	begin_object(j, key);
	put_uint(j, "count", s->count);
	put_ms(j, "total_ms", s->total_ns);
	put_ms(j, "longest_ms", s->longest_ns);
	json_object_end(j);
}

static void put_compiled(struct json *j, const struct torch_compiled *c, enum report_detail detail)
{
	json_object_begin(j);
	put_string(j, "function", c->function);
	put_string(j, "file", c->file);
	put_uint(j, "line", c->line);
	put_uint(j, "pid", c->pid);
	put_uint(j, "compilations", c->sum.count);
	put_ms(j, "total_ms", c->sum.total_ns);
	put_ms(j, "longest_ms", c->sum.longest_ns);
	put_uint(j, "reason_count", c->reason_count);
	begin_array(j, "reasons");
	for (size_t i = 0; i < json_rows(detail, c->reason_count, JSON_ROWS); i++) {
		json_object_begin(j);
		put_string(j, "text", c->reasons[i].text);
		put_uint(j, "count", c->reasons[i].count);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void put_process(struct json *j, const struct torch_process *p)
{
	json_object_begin(j);
	put_uint(j, "pid", p->pid);
	put_string(j, "name", p->name);
	put_bool(j, "worker", p->worker);
	put_sum(j, "waits", &p->waits);
	put_sum(j, "loads", &p->loads);
	put_sum(j, "compiled_graphs", &p->graphs);
	put_known_ms(j, "compiled_graphs_gpu_ms", p->gpu_count > 0, p->gpu_ns);
	json_object_end(j);
}

void json_put_torch(struct json *j, const struct analysis_torch *t, enum report_detail detail)
{
	size_t rows = json_rows(detail, t->compiled_count, JSON_ROWS);

	begin_object(j, "pytorch");
	put_sum(j, "compilations", &t->compilations);
	put_uint(j, "recompilations", t->recompilations);
	put_uint(j, "compiled_count", t->compiled_count);
	begin_array(j, "compiled");
	for (size_t i = 0; i < rows; i++)
		put_compiled(j, &t->compiled[i], detail);
	json_array_end(j);
	put_sum(j, "waits", &t->waits);
	put_sum(j, "loads", &t->loads);
	put_uint(j, "workers", t->workers);
	begin_array(j, "processes");
	for (size_t i = 0; i < t->process_count; i++)
		put_process(j, &t->processes[i]);
	json_array_end(j);
	json_object_end(j);
}
