#include "report/report_json_layers.h"

#include "report/json_put.h"
#include "report/report_json_gpu.h"

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
