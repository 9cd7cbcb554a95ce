/*
 * PyTorch's categories of complete events, as libkineto wrote them since 2021, on CUDA and HIP.
 *
 * Device work has the device as its pid and the stream as its tid; both are in the args as well,
 * which count.  Of which process it is tells the call with its correlation (build_link.c).
 */
#include <stdlib.h>
#include <string.h>

#include "import/chrome.h"
#include "import/python_names.h"

enum chrome_category {
	CATEGORY_OTHER = 1,
	CATEGORY_KERNEL,
	CATEGORY_COPY,
	CATEGORY_MEMSET,
	CATEGORY_GRAPH,
	CATEGORY_CALL,
	CATEGORY_OPERATOR,
	CATEGORY_PYTHON,
	CATEGORY_ANNOTATION,
	CATEGORY_LAYER,
	CATEGORY_UNMAPPED, /* known, and without a counterpart here */
};

static const struct {
	const char *name;
	enum chrome_category category;
} categories[] = {
	{ "kernel", CATEGORY_KERNEL },
	{ "Kernel", CATEGORY_KERNEL },
	{ "gpu_memcpy", CATEGORY_COPY },
	{ "Memcpy", CATEGORY_COPY },
	{ "gpu_memset", CATEGORY_MEMSET },
	{ "Memset", CATEGORY_MEMSET },
	{ "cuda_runtime", CATEGORY_CALL },
	{ "cuda_driver", CATEGORY_CALL },
	{ "hip_runtime", CATEGORY_CALL },
	{ "hip_driver", CATEGORY_CALL },
	{ "xpu_runtime", CATEGORY_CALL },
	{ "xpu_driver", CATEGORY_CALL },
	{ "mtia_runtime", CATEGORY_CALL },
	{ "privateuse1_runtime", CATEGORY_CALL },
	{ "privateuse1_driver", CATEGORY_CALL },
	{ "Runtime", CATEGORY_CALL },
	{ "cpu_op", CATEGORY_OPERATOR },
	{ "Operator", CATEGORY_OPERATOR },
	{ "python_function", CATEGORY_PYTHON },
	{ "user_annotation", CATEGORY_ANNOTATION },
	{ "layer", CATEGORY_LAYER },                  /* as InferScope exports it */
	{ "gc", CATEGORY_UNMAPPED },                  /* likewise */
	{ "gpu_graph", CATEGORY_GRAPH },              /* likewise: a whole one */
	{ "inferscope_sampled", CATEGORY_UNMAPPED },  /* what it computed */
	{ "inferscope_state", CATEGORY_UNMAPPED },    /* likewise */
	{ "inferscope_step", CATEGORY_UNMAPPED },     /* likewise */
	{ "gpu_user_annotation", CATEGORY_UNMAPPED }, /* the shadow of one of the host's */
	{ "cuda_sync", CATEGORY_UNMAPPED },           /* likewise of a call */
	{ "overhead", CATEGORY_UNMAPPED },
	{ "cuda_event", CATEGORY_UNMAPPED },
	{ "external_correlation", CATEGORY_UNMAPPED },
	{ "collective_comm", CATEGORY_UNMAPPED }, /* its kernels are there as well */
	{ "gpu_pm_counter", CATEGORY_UNMAPPED },
	{ "Trace", CATEGORY_UNMAPPED }, /* the profiler's own window */
};

#define CATEGORIES (sizeof(categories) / sizeof(*categories))

/* 0: no memory. */
static enum chrome_category category_of(struct chrome *c, uint32_t name)
{
	uint32_t known = keymap_find(&c->categories, name);
	const char *text = build_text(c->build, name);
	enum chrome_category category = CATEGORY_OTHER;

	if (known != KEYMAP_NONE)
		return (enum chrome_category)known;
	for (size_t i = 0; i < CATEGORIES; i++)
		if (!strcmp(text, categories[i].name))
			category = categories[i].category;
	return keymap_put(&c->categories, name, category) ? 0 : category;
}

static uint32_t u32(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* "stream 7", "7"; 0 where it has none. */
static uint32_t number_in(const struct chrome *c, const struct chrome_key *key)
{
	const char *digits;
	uint64_t value = 0;

	if (!key->text)
		return (int64_t)key->value > 0 ? u32(key->value) : 0;
	digits = build_text(c->build, (uint32_t)key->value);
	digits += strcspn(digits, "0123456789");
	json_unsigned(digits, strspn(digits, "0123456789"), &value);
	return u32(value);
}

/* Numbers above 32 bits are distinguished by their lower half: they count up. */
static uint32_t correlation_of(const struct chrome_args *a)
{
	return a->has_correlation ? (uint32_t)a->correlation : 0;
}

static const struct {
	const char *word;
	enum gpu_memory memory;
} memories[] = {
	{ "Pageable", GPU_MEMORY_PAGEABLE }, { "Pinned", GPU_MEMORY_PINNED },
	{ "Device", GPU_MEMORY_DEVICE },     { "Array", GPU_MEMORY_ARRAY },
	{ "Managed", GPU_MEMORY_MANAGED },
};

static uint8_t memory_in(const char *text, size_t bytes)
{
	for (size_t i = 0; i < sizeof(memories) / sizeof(*memories); i++) {
		size_t n = strlen(memories[i].word);

		for (size_t at = 0; at + n <= bytes; at++)
			if (!memcmp(text + at, memories[i].word, n))
				return (uint8_t)memories[i].memory;
	}
	return GPU_MEMORY_UNKNOWN;
}

static const struct {
	const char *part;
	enum gpu_copy copy;
} copies[] = {
	{ "HtoD", GPU_COPY_HOST_TO_DEVICE },
	{ "HtoA", GPU_COPY_HOST_TO_DEVICE },
	{ "HostToDevice", GPU_COPY_HOST_TO_DEVICE },
	{ "DtoH", GPU_COPY_DEVICE_TO_HOST },
	{ "AtoH", GPU_COPY_DEVICE_TO_HOST },
	{ "DeviceToHost", GPU_COPY_DEVICE_TO_HOST },
	{ "DtoD", GPU_COPY_DEVICE_TO_DEVICE },
	{ "AtoA", GPU_COPY_DEVICE_TO_DEVICE },
	{ "AtoD", GPU_COPY_DEVICE_TO_DEVICE },
	{ "DtoA", GPU_COPY_DEVICE_TO_DEVICE },
	{ "DeviceToDevice", GPU_COPY_DEVICE_TO_DEVICE },
	{ "HtoH", GPU_COPY_HOST_TO_HOST },
	{ "PtoP", GPU_COPY_PEER },
};

/* "Memcpy HtoD (Pageable -> Device)" */
static void read_copy_name(struct build_activity *a, const char *name)
{
	const char *open = strchr(name, '('), *arrow = open ? strstr(open, "->") : NULL;

	for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++) {
		if (strstr(name, copies[i].part)) {
			a->copy = (uint8_t)copies[i].copy;
			break;
		}
	}
	if (!arrow)
		return;
	a->source = memory_in(open, (size_t)(arrow - open));
	a->destination = memory_in(arrow, strlen(arrow));
}

static int add_activity(struct chrome *c, const struct chrome_event *e, uint8_t kind)
{
	const struct chrome_args *from = &e->args;
	const char *name = build_text(c->build, e->name);
	struct build_activity a = {
		.start_ns = e->ts_ns,
		.end_ns = e->ts_ns + e->dur_ns,
		.name = e->name ? e->name : c->empty_name,
		.device = from->has_device ? u32(from->device) : number_in(c, &e->pid),
		.context = u32(from->context),
		.stream = from->has_stream ? u32(from->stream) : number_in(c, &e->tid),
		.correlation = correlation_of(from),
		.registers = u32(from->registers),
		.static_shared_bytes = u32(from->shared_bytes),
		.graph = u32(from->graph),
		.graph_node = from->graph_node,
		.bytes = from->bytes,
		.kind = kind,
	};

	for (size_t i = 0; i < 3; i++) {
		a.grid[i] = u32(from->grid[i]);
		a.block[i] = u32(from->block[i]);
	}
	if (kind == RECORD_GPU_COPY)
		read_copy_name(&a, name);
	else if (kind == RECORD_GPU_MEMSET)
		a.destination = memory_in(name, strlen(name));
	c->kineto = true;
	return build_activity_add(c->build, &a) ? -1 : 1;
}

/* Threads that PyTorch has no number for are pid 0, tid 0: theirs is the process of the others. */
static bool is_stray(const struct chrome_event *e)
{
	return !e->pid.text && !e->pid.value && !e->tid.text && !e->tid.value;
}

void kineto_finish(struct chrome *c)
{
	if (c->stray_thread && c->host_thread)
		build_thread_assign(c->build, c->stray_thread,
				    build_process_of(c->build, c->host_thread));
}

static int add_host(struct chrome *c, const struct chrome_event *e, struct build_span s)
{
	s.thread = chrome_thread(c, e);
	s.start_ns = e->ts_ns;
	s.end_ns = e->ts_ns + e->dur_ns;
	c->kineto = true;
	if (!is_stray(e))
		c->host_thread = s.thread;
	else if (s.kind == BUILD_PYTHON || s.kind == BUILD_LAYER)
		c->stray_thread = s.thread;
	if (!s.thread || !s.name || build_span_add(c->build, &s))
		return -1;
	return 1;
}

/* What InferScope exported says from where: else the stack is what is open around the call. */
static int add_call(struct chrome *c, const struct chrome_event *e)
{
	struct build_span s = {
		.name = e->name ? e->name : c->empty_name,
		.detail = correlation_of(&e->args),
		.kind = BUILD_CUDA,
	};

	if (e->args.function) {
		uint32_t function =
			build_function(c->build, e->args.function, e->args.file, u32(e->args.line));

		s.stack = function ? build_frame(c->build, 0, function) : 0;
		if (!s.stack)
			return -1;
	}
	return add_host(c, e, s);
}

/* As InferScope exports it; 0: another tool has a category of that name. */
static int add_layer(struct chrome *c, const struct chrome_event *e)
{
	const struct chrome_args *a = &e->args;
	bool is_root = e->name == a->class_name && a->model == a->class_name;

	if (!e->name || !a->class_name || !a->model)
		return 0;
	return add_host(c, e,
			(struct build_span){
				.name = build_layer(c->build, is_root ? 0 : e->name, a->class_name,
						    is_root ? 0 : a->model),
				.kind = BUILD_LAYER,
			});
}

static int add_annotation(struct chrome *c, const struct chrome_event *e)
{
	return add_host(c, e,
			(struct build_span){
				.name = e->name ? e->name : c->empty_name,
				.kind = BUILD_SCOPE,
			});
}

/* Operators that are something else by their names; before 2021 these had no category of theirs. */
static const struct {
	const char *prefix;
	const char *file; /* NULL: an annotation */
} special[] = {
	{ "ProfilerStep#", NULL },
	{ "enumerate(DataLoader)#", "/site-packages/torch/utils/data/dataloader.py" },
};

static int add_operator(struct chrome *c, const struct chrome_event *e)
{
	uint32_t name = e->name ? e->name : c->empty_name, file = c->operator_file;
	const char *text = build_text(c->build, name);

	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++) {
		if (strncmp(text, special[i].prefix, strlen(special[i].prefix)) != 0)
			continue;
		if (!special[i].file)
			return add_annotation(c, e);
		file = build_name(c->build, special[i].file, strlen(special[i].file));
	}
	return add_host(c, e,
			(struct build_span){
				.name = file ? build_function(c->build, name, file, 0) : 0,
				.kind = BUILD_FUNCTION,
			});
}

#define PYTHON_LAYER (1u << 31) /* in c->python: it is the name of a layer */

static int add_python(struct chrome *c, const struct chrome_event *e)
{
	uint32_t name = e->name ? e->name : c->empty_name;
	uint32_t known = keymap_find(&c->python, name);
	struct python_name parsed;

	if (known == KEYMAP_NONE) {
		if (python_name_parse(&parsed, c->build, name))
			return -1;
		known = parsed.layer ? parsed.layer | PYTHON_LAYER
				     : build_function(c->build, parsed.function, parsed.file,
						      parsed.line);
		if (!known || keymap_put(&c->python, name, known))
			return -1;
	}
	return add_host(c, e,
			(struct build_span){
				.name = known & ~PYTHON_LAYER,
				.kind = known & PYTHON_LAYER ? BUILD_LAYER : BUILD_PYTHON,
			});
}

int kineto_event_add(struct chrome *c, const struct chrome_event *e)
{
	switch (e->category ? category_of(c, e->category) : CATEGORY_OTHER) {
	case CATEGORY_KERNEL:
		return add_activity(c, e, RECORD_GPU_KERNEL);
	case CATEGORY_COPY:
		return add_activity(c, e, RECORD_GPU_COPY);
	case CATEGORY_MEMSET:
		return add_activity(c, e, RECORD_GPU_MEMSET);
	case CATEGORY_GRAPH:
		return add_activity(c, e, RECORD_GPU_GRAPH);
	case CATEGORY_CALL:
		return add_call(c, e);
	case CATEGORY_OPERATOR:
		return add_operator(c, e);
	case CATEGORY_PYTHON:
		return add_python(c, e);
	case CATEGORY_ANNOTATION:
		return add_annotation(c, e);
	case CATEGORY_LAYER:
		return add_layer(c, e);
	case CATEGORY_UNMAPPED:
		return chrome_count_unmapped(c, e) ? -1 : 1;
	case CATEGORY_OTHER:
		return 0;
	}
	return -1;
}

bool kineto_instant_is_known(struct chrome *c, const struct chrome_event *e)
{
	static const char *const names[] = { "[memory]", "Iteration Start: PyTorch Profiler",
					     "Record Window End" };
	const char *name = build_text(c->build, e->name);

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}
