/*
 * What the GPUs did and the calls that started it.  Activities of all kinds share one numbering,
 * their position in the GPU's timeline: a row can be reached by its id.
 */
#include "tables/table_cursor.h"

/* Where a stack comes from. */
static void place_cell(const struct gpu_timeline *g, uint32_t stack, bool user, size_t which,
		       struct cell *out)
{
	enum { FUNCTION, FILE_NAME, LINE };
	struct place inner = { 0 }, own = { 0 };
	const struct place *p = user ? &own : &inner;

	if (stack)
		gpu_stack_places(g, stack, &inner, &own);
	if (!p->name)
		return;
	if (which == FUNCTION)
		cell_text(out, p->name);
	else if (which == FILE_NAME)
		cell_text_or_null(out, p->file);
	else if (p->line)
		cell_int(out, p->line);
}

/* Activities. */

/* Before and behind what is a kind's own. */
#define ACTIVITY_HEAD(C, T)                                                                        \
	C(T, id, INTEGER, "", "number of the activity; all kinds share one numbering")             \
	C(T, start_ns, INTEGER, "ns", "when it began on the device; NULL: unknown")                \
	C(T, end_ns, INTEGER, "ns", "when it ended")                                               \
	C(T, duration_ns, INTEGER, "ns", "end_ns - start_ns")                                      \
	C(T, process, INTEGER, "", "process that it belongs to: processes.process")                \
	C(T, pid, INTEGER, "", "process id of the operating system")                               \
	C(T, device, INTEGER, "", "number of the device")                                          \
	C(T, context, INTEGER, "", "number of the CUDA context")                                   \
	C(T, stream, INTEGER, "", "number of the stream")                                          \
	C(T, correlation, INTEGER, "", "correlation id, shared with the call that started it")     \
	C(T, graph, INTEGER, "", "number of the CUDA graph that it belongs to")                    \
	C(T, graph_node, INTEGER, "", "number of its node in the graph")                           \
	C(T, api, INTEGER, "", "the call that started it: api.id")                                 \
	C(T, launch_ns, INTEGER, "ns", "when that call began")                                     \
	C(T, thread, INTEGER, "", "the thread that made the call: threads.thread")                 \
	C(T, tid, INTEGER, "", "its thread id of the operating system")                            \
	C(T, step, INTEGER, "", "the step in which that thread made the call: steps.id")           \
	C(T, layer, TEXT, "",                                                                      \
	  "innermost layer in which it was launched; of a graph's node: in which it was captured") \
	C(T, function, TEXT, "",                                                                   \
	  "function of the user's code that launched it; of a graph's node: that captured it")     \
	C(T, file, TEXT, "", "its file")                                                           \
	C(T, line, INTEGER, "", "the line in it")

#define KERNEL(C, T)                                                                  \
	ACTIVITY_HEAD(C, T)                                                           \
	C(T, name, TEXT, "", "readable name of the kernel")                           \
	C(T, full_name, TEXT, "", "its demangled name")                               \
	C(T, grid_x, INTEGER, "", "blocks in this dimension")                         \
	C(T, grid_y, INTEGER, "", "blocks in this dimension")                         \
	C(T, grid_z, INTEGER, "", "blocks in this dimension")                         \
	C(T, block_x, INTEGER, "", "threads per block in this dimension")             \
	C(T, block_y, INTEGER, "", "threads per block in this dimension")             \
	C(T, block_z, INTEGER, "", "threads per block in this dimension")             \
	C(T, registers, INTEGER, "", "registers per thread")                          \
	C(T, static_shared_bytes, INTEGER, "bytes", "static shared memory per block") \
	C(T, dynamic_shared_bytes, INTEGER, "bytes",                                  \
	  "dynamic shared memory per block, as requested at launch")

#define COPY(C, T)                                                                                 \
	ACTIVITY_HEAD(C, T)                                                                        \
	C(T, kind, TEXT, "", "`H2D`, `D2H`, `D2D`, `H2H`, `peer` or `other`")                      \
	C(T, source, TEXT, "", "kind of memory that it read: `pageable`, `pinned`, `device`, ...") \
	C(T, destination, TEXT, "", "kind of memory that it wrote")                                \
	C(T, asynchronous, BOOLEAN, "", "the program requested it as asynchronous")                \
	C(T, bytes, INTEGER, "bytes", "bytes copied")

#define MEMSET(C, T)                                                                \
	ACTIVITY_HEAD(C, T)                                                         \
	C(T, destination, TEXT, "", "kind of memory that it wrote")                 \
	C(T, asynchronous, BOOLEAN, "", "the program requested it as asynchronous") \
	C(T, bytes, INTEGER, "bytes", "bytes written")

#define GRAPH(C, T) ACTIVITY_HEAD(C, T)

enum { KERNEL(COLUMN_NUMBER, KERNEL) };
enum { COPY(COLUMN_NUMBER, COPY) };
enum { MEMSET(COLUMN_NUMBER, MEMSET) };
enum { GRAPH(COLUMN_NUMBER, GRAPH) };
static const struct column kernel_columns[] = { KERNEL(COLUMN_ENTRY, KERNEL) };
static const struct column copy_columns[] = { COPY(COLUMN_ENTRY, COPY) };
static const struct column memset_columns[] = { MEMSET(COLUMN_ENTRY, MEMSET) };
static const struct column graph_columns[] = { GRAPH(COLUMN_ENTRY, GRAPH) };

struct activity_cursor {
	struct table_cursor base;
	const struct gpu_timeline *gpu;
	enum gpu_kind kind;
	size_t next; /* the row is the one before it */
	const struct gpu_activity *row;
};

static int activities_open(struct table_cursor *c, enum gpu_kind kind, struct err *err)
{
	struct activity_cursor *a = (struct activity_cursor *)c;

	a->kind = kind;
	a->gpu = source_gpu(c->source, err);
	return a->gpu ? 0 : -1;
}

static int activities_next(struct table_cursor *c, struct err *err)
{
	struct activity_cursor *a = (struct activity_cursor *)c;
	size_t count = gpu_activity_count(a->gpu);

	(void)err;
	while (a->next < count) {
		a->row = gpu_activity(a->gpu, a->next++);
		if (gpu_activity_work(a->gpu, a->row)->kind == a->kind)
			return 1;
	}
	return 0;
}

static bool activities_seek(struct table_cursor *c, int64_t id)
{
	struct activity_cursor *a = (struct activity_cursor *)c;

	if (id < 0 || (uint64_t)id >= gpu_activity_count(a->gpu) ||
	    gpu_activity_work(a->gpu, gpu_activity(a->gpu, (size_t)id))->kind != a->kind)
		return false;
	a->row = gpu_activity(a->gpu, (size_t)id);
	a->next = (size_t)id + 1;
	return true;
}

static void owner_cell(struct table_cursor *c, const struct gpu_activity *a, size_t call,
		       struct cell *out)
{
	const struct gpu_owners *o = source_gpu_owners(c->source, NULL);

	if (!o) {
		c->failed = true;
		return;
	}
	cell_text(out, source_layer_name(c->source, a ? gpu_owners_layer(o, a)
						      : gpu_owners_call_layer(o, call)));
}

/* The columns of ACTIVITY_HEAD; their numbers are the same in all tables. */
static void activity_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct activity_cursor *cursor = (const struct activity_cursor *)c;
	const struct gpu_activity *a = cursor->row;
	const struct gpu_work *w = gpu_activity_work(cursor->gpu, a);
	const struct gpu_call *call = a->linked ? gpu_call(cursor->gpu, a->link) : NULL;
	uint32_t thread = call ? gpu_call_api(cursor->gpu, call)->thread : 0;

	switch (column) {
	case GRAPH_id:
		cell_uint(out, cursor->next - 1);
		break;
	case GRAPH_start_ns:
		if (a->timed)
			cell_int(out, a->start_ns);
		break;
	case GRAPH_end_ns:
		if (a->timed)
			cell_int(out, a->end_ns);
		break;
	case GRAPH_duration_ns:
		if (a->timed)
			cell_int(out, a->end_ns - a->start_ns);
		break;
	case GRAPH_process:
		cell_int(out, w->process);
		break;
	case GRAPH_pid:
		cell_int(out, source_pid(c->source, w->process));
		break;
	case GRAPH_device:
		cell_int(out, w->device);
		break;
	case GRAPH_context:
		cell_int(out, w->context);
		break;
	case GRAPH_stream:
		cell_int(out, w->stream);
		break;
	case GRAPH_correlation:
		cell_int(out, gpu_activity_correlation(cursor->gpu, a));
		break;
	case GRAPH_graph:
		if (w->graph)
			cell_int(out, w->graph);
		break;
	case GRAPH_graph_node:
		if (w->graph_node)
			cell_uint(out, w->graph_node);
		break;
	case GRAPH_api:
		if (call)
			cell_int(out, a->link);
		break;
	case GRAPH_launch_ns:
		if (call)
			cell_int(out, call->start_ns);
		break;
	case GRAPH_thread:
	case GRAPH_tid:
		if (call)
			cell_thread(c, thread, column == GRAPH_tid ? CELL_TID : CELL_THREAD, out);
		break;
	case GRAPH_step:
		if (call)
			cell_step(c, thread, call->start_ns, out);
		break;
	case GRAPH_layer:
		owner_cell(c, a, 0, out);
		break;
	case GRAPH_function:
	case GRAPH_file:
	case GRAPH_line:
		place_cell(cursor->gpu, gpu_activity_stack(cursor->gpu, a), true,
			   column - GRAPH_function, out);
		break;
	}
}

static int kernels_open(struct table_cursor *c, struct err *err)
{
	return activities_open(c, GPU_KERNEL, err);
}

static void kernels_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct activity_cursor *cursor = (const struct activity_cursor *)c;
	const struct gpu_work *w = gpu_activity_work(cursor->gpu, cursor->row);

	switch (column) {
	case KERNEL_name:
		cell_text(out, gpu_kernel_name(cursor->gpu, w->name)->brief);
		break;
	case KERNEL_full_name:
		cell_text(out, gpu_kernel_name(cursor->gpu, w->name)->full);
		break;
	case KERNEL_grid_x:
	case KERNEL_grid_y:
	case KERNEL_grid_z:
		cell_int(out, w->grid[column - KERNEL_grid_x]);
		break;
	case KERNEL_block_x:
	case KERNEL_block_y:
	case KERNEL_block_z:
		cell_int(out, w->block[column - KERNEL_block_x]);
		break;
	case KERNEL_registers:
		cell_int(out, w->registers);
		break;
	case KERNEL_static_shared_bytes:
		cell_int(out, w->static_shared_bytes);
		break;
	case KERNEL_dynamic_shared_bytes:
		cell_int(out, w->dynamic_shared_bytes);
		break;
	default:
		activity_cell(c, column, out);
		break;
	}
}

const struct table table_kernels = {
	.name = "kernels",
	.meaning = "a kernel that ran on a GPU",
	TABLE_COLUMNS(kernel_columns),
	.indexes = "name start_ns api",
	.cursor_bytes = sizeof(struct activity_cursor),
	.open = kernels_open,
	.next = activities_next,
	.seek = activities_seek,
	.cell = kernels_cell,
};

static int copies_open(struct table_cursor *c, struct err *err)
{
	return activities_open(c, GPU_COPY, err);
}

static void copies_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct activity_cursor *cursor = (const struct activity_cursor *)c;
	const struct gpu_work *w = gpu_activity_work(cursor->gpu, cursor->row);

	switch (column) {
	case COPY_kind:
		cell_text(out, gpu_copy_name(w->copy));
		break;
	case COPY_source:
		cell_text(out, gpu_memory_name(w->source));
		break;
	case COPY_destination:
		cell_text(out, gpu_memory_name(w->destination));
		break;
	case COPY_asynchronous:
		cell_int(out, w->asynchronous);
		break;
	case COPY_bytes:
		cell_uint(out, w->bytes);
		break;
	default:
		activity_cell(c, column, out);
		break;
	}
}

const struct table table_copies = {
	.name = "copies",
	.meaning = "a copy from, to or inside the memory of a GPU",
	TABLE_COLUMNS(copy_columns),
	.indexes = "start_ns api",
	.cursor_bytes = sizeof(struct activity_cursor),
	.open = copies_open,
	.next = activities_next,
	.seek = activities_seek,
	.cell = copies_cell,
};

static int memsets_open(struct table_cursor *c, struct err *err)
{
	return activities_open(c, GPU_MEMSET, err);
}

static void memsets_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct activity_cursor *cursor = (const struct activity_cursor *)c;
	const struct gpu_work *w = gpu_activity_work(cursor->gpu, cursor->row);

	switch (column) {
	case MEMSET_destination:
		cell_text(out, gpu_memory_name(w->destination));
		break;
	case MEMSET_asynchronous:
		cell_int(out, w->asynchronous);
		break;
	case MEMSET_bytes:
		cell_uint(out, w->bytes);
		break;
	default:
		activity_cell(c, column, out);
		break;
	}
}

const struct table table_memsets = {
	.name = "memsets",
	.meaning = "a memset: GPU memory that was set to a value",
	TABLE_COLUMNS(memset_columns),
	.indexes = "start_ns",
	.cursor_bytes = sizeof(struct activity_cursor),
	.open = memsets_open,
	.next = activities_next,
	.seek = activities_seek,
	.cell = memsets_cell,
};

static int graphs_open(struct table_cursor *c, struct err *err)
{
	return activities_open(c, GPU_GRAPH, err);
}

const struct table table_graphs = {
	.name = "graphs",
	.meaning = "a replay of a CUDA graph that was recorded as a whole, without its nodes",
	TABLE_COLUMNS(graph_columns),
	.indexes = "start_ns",
	.cursor_bytes = sizeof(struct activity_cursor),
	.open = graphs_open,
	.next = activities_next,
	.seek = activities_seek,
	.cell = activity_cell,
};

/* CUDA calls. */

#define API(C, T)                                                                        \
	C(T, id, INTEGER, "", "number of the call")                                      \
	C(T, name, TEXT, "", "name of the CUDA function, such as `cudaLaunchKernel`")    \
	C(T, class, TEXT, "",                                                            \
	  "what it does: `launch`, `graph_launch`, `copy`, `memset`, `sync_device`, "    \
	  "`sync_stream`, `sync_event`, `alloc`, `free`, ...")                           \
	C(T, start_ns, INTEGER, "ns", "when it began")                                   \
	C(T, end_ns, INTEGER, "ns",                                                      \
	  "when it returned; if its return was lost, the latest possible time")          \
	C(T, duration_ns, INTEGER, "ns", "end_ns - start_ns")                            \
	C(T, ended, BOOLEAN, "", "its return was recorded")                              \
	THREAD_COLUMNS(C, T)                                                             \
	C(T, correlation, INTEGER, "",                                                   \
	  "correlation id, shared with the activities that it started")                  \
	C(T, activities, INTEGER, "",                                                    \
	  "number of kernels, copies, memsets and graphs that it started")               \
	C(T, bytes, INTEGER, "bytes", "size of a copy or an allocation")                 \
	C(T, step, INTEGER, "", "the step of its thread in which it was made: steps.id") \
	C(T, layer, TEXT, "", "innermost layer of a model in which it was made")         \
	C(T, function, TEXT, "", "function of the user's code that led to it")           \
	C(T, file, TEXT, "", "its file")                                                 \
	C(T, line, INTEGER, "", "the line in it")                                        \
	C(T, inner_function, TEXT, "", "innermost Python function that led to it")       \
	C(T, inner_file, TEXT, "", "its file")                                           \
	C(T, inner_line, INTEGER, "", "the line in it")

enum { API(COLUMN_NUMBER, API) };
static const struct column api_columns[] = { API(COLUMN_ENTRY, API) };

static int api_open(struct table_cursor *c, struct err *err)
{
	const struct gpu_timeline *g = source_gpu(c->source, err);

	if (!g)
		return -1;
	position_count(c, gpu_call_count(g));
	return 0;
}

static void api_cell(struct table_cursor *cursor, size_t column, struct cell *out)
{
	const struct gpu_timeline *g = source_gpu(cursor->source, NULL);
	const struct gpu_call *c = gpu_call(g, position_of(cursor));
	const struct gpu_api *api = gpu_call_api(g, c);

	switch (column) {
	case API_id:
		cell_uint(out, position_of(cursor));
		break;
	case API_name:
		cell_text(out, api->name);
		break;
	case API_class:
		cell_text(out, cuda_call_name(api->what));
		break;
	case API_start_ns:
		cell_int(out, c->start_ns);
		break;
	case API_end_ns:
		cell_int(out, c->end_ns);
		break;
	case API_duration_ns:
		cell_int(out, c->end_ns - c->start_ns);
		break;
	case API_ended:
		cell_int(out, c->ended);
		break;
	case API_thread:
	case API_pid:
	case API_tid:
		cell_thread(cursor, api->thread, column - API_thread, out);
		break;
	case API_correlation:
		cell_int(out, c->correlation);
		break;
	case API_activities:
		cell_int(out, gpu_call_activities(g, c));
		break;
	case API_bytes:
		if (api->bytes)
			cell_uint(out, api->bytes);
		break;
	case API_step:
		cell_step(cursor, api->thread, c->start_ns, out);
		break;
	case API_layer:
		owner_cell(cursor, NULL, position_of(cursor), out);
		break;
	case API_function:
	case API_file:
	case API_line:
		place_cell(g, c->stack, true, column - API_function, out);
		break;
	case API_inner_function:
	case API_inner_file:
	case API_inner_line:
		place_cell(g, c->stack, false, column - API_inner_function, out);
		break;
	}
}

const struct table table_api = {
	.name = "api",
	.meaning = "a CUDA call of the program: a launch, copy, wait or allocation",
	TABLE_COLUMNS(api_columns),
	.indexes = "id name thread",
	.cursor_bytes = sizeof(struct position_cursor),
	.open = api_open,
	.next = position_next,
	.seek = position_seek,
	.cell = api_cell,
};
