/*
 * What happened: calls of CUDA, what the devices did, NVTX, and ranges of other libraries.
 *
 * A kernel and its call have the process and the correlation in common: two processes may use the
 * same numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "format/torch_scopes.h"
#include "import/nsys/nsys_tables.h"

#define STREAM_MAX ((1u << 23) - 2) /* of build_span */

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ a >> 29) * 0xbf58476d1ce4e5b9u;
	return (a ^ a >> 32) * 0x94d049bb133111ebu + b;
}

uint32_t nsys_process(struct nsys *n, int64_t global)
{
	uint64_t key = (uint64_t)global >> 24;

	if (!n->last_process || n->last_global_pid >> 24 != global >> 24) {
		n->last_process = build_process(n->build, key, (uint32_t)(key & 0xffffff));
		n->last_global_pid = global;
	}
	return n->last_process;
}

uint32_t nsys_thread(struct nsys *n, int64_t global)
{
	uint32_t process = nsys_process(n, global);

	if (!n->last_thread || n->last_global_tid != global) {
		n->last_thread = process ? build_thread(n->build, process, (uint64_t)global,
							(uint32_t)global & 0xffffff)
					 : 0;
		n->last_global_tid = global;
	}
	return n->last_thread;
}

static uint64_t call_key(uint32_t process, uint32_t correlation)
{
	return (uint64_t)process << 32 | correlation;
}

/* false: it has no usable start.  An end before the start counts as the start. */
static bool read_times(const struct nsys_row *r, int start, int end, int64_t *from, int64_t *to)
{
	r->n->events++;
	if (!nsys_time(r, start, from))
		return false;
	if (!nsys_given(r, end)) {
		*to = BUILD_OPEN;
		return true;
	}
	if (!nsys_time(r, end, to))
		return false;
	if (*to < *from) {
		r->n->negative++;
		*to = *from;
	}
	return true;
}

/* Waits for a stream: which one it was, the call does not say. */

enum { WAIT_TYPE, WAIT_PROCESS, WAIT_CORRELATION, WAIT_STREAM };
static const char *const wait_columns[] = { "syncType", "globalPid", "correlationId", "streamId",
					    NULL };

#define SYNC_STREAM 3 /* CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE */

static int visit_wait(const struct nsys_row *r)
{
	uint32_t correlation = (uint32_t)nsys_integer(r, WAIT_CORRELATION), process;
	uint32_t stream = nsys_u32(r, WAIT_STREAM);

	if (nsys_integer(r, WAIT_TYPE) != SYNC_STREAM || !correlation || stream > STREAM_MAX)
		return 0;
	process = nsys_process(r->n, nsys_integer(r, WAIT_PROCESS));
	if (!process)
		return -1;
	return keymap_put(&r->n->waits, call_key(process, correlation), stream + 1);
}

/* Calls of the runtime and the driver. */

enum { CALL_START, CALL_END, CALL_THREAD, CALL_CORRELATION, CALL_NAME };
static const char *const call_columns[] = { "start",         "end",    "globalTid",
					    "correlationId", "nameId", NULL };

/* "cudaLaunchKernel_v7000" is what CUPTI calls cudaLaunchKernel since CUDA 7.0. */
static size_t bytes_without_version(const char *name)
{
	size_t bytes = strlen(name), digits = 0;

	while (digits < bytes && name[bytes - 1 - digits] >= '0' && name[bytes - 1 - digits] <= '9')
		digits++;
	if (strncmp(name, "cuda", 4) != 0 || digits < 4 || bytes < digits + 2 ||
	    memcmp(name + bytes - digits - 2, "_v", 2) != 0)
		return bytes;
	bytes -= digits + 2;
	if (bytes > 5 &&
	    (!memcmp(name + bytes - 5, "_ptsz", 5) || !memcmp(name + bytes - 5, "_ptds", 5)))
		bytes -= 5;
	return bytes;
}

static int call_name(const struct nsys_row *r, uint32_t *name)
{
	uint32_t given, known;
	const char *text;

	if (nsys_name(r, CALL_NAME, &given))
		return -1;
	known = keymap_find(&r->n->calls, given);
	if (known == KEYMAP_NONE) {
		char copy[256];

		text = given ? build_text(r->n->build, given) : "(no name)";
		snprintf(copy, sizeof(copy), "%s", text);
		known = build_name(r->n->build, copy, bytes_without_version(copy));
		if (!known || keymap_put(&r->n->calls, given, known))
			return -1;
	}
	*name = known;
	return 0;
}

static int visit_call(const struct nsys_row *r)
{
	struct build_span s = { .kind = BUILD_CUDA };
	uint32_t stream;

	if (!read_times(r, CALL_START, CALL_END, &s.start_ns, &s.end_ns))
		return 0;
	s.thread = nsys_thread(r->n, nsys_integer(r, CALL_THREAD));
	s.detail = (uint32_t)nsys_integer(r, CALL_CORRELATION);
	if (!s.thread || call_name(r, &s.name))
		return -1;
	stream = s.detail ? keymap_find(&r->n->waits,
					call_key(build_process_of(r->n->build, s.thread), s.detail))
			  : KEYMAP_NONE;
	if (stream != KEYMAP_NONE)
		s.stream = stream & (STREAM_MAX + 1);
	return build_span_add(r->n->build, &s);
}

int nsys_read_calls(struct nsys *n)
{
	if (nsys_read(n, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", wait_columns, visit_wait, NULL) ||
	    nsys_read(n, "CUPTI_ACTIVITY_KIND_RUNTIME", call_columns, visit_call, NULL) ||
	    nsys_read(n, "CUPTI_ACTIVITY_KIND_DRIVER", call_columns, visit_call, NULL))
		return -1;
	return 0;
}

/* Device work: the columns that all tables have come first. */

enum {
	WORK_START,
	WORK_END,
	WORK_DEVICE,
	WORK_CONTEXT,
	WORK_STREAM,
	WORK_CORRELATION,
	WORK_PROCESS,
	WORK_GRAPH,
	WORK_NODE,
	WORK_OWN
};
#define WORK_COLUMNS                                                                       \
	"start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", \
		"graphId", "graphNodeId"

/* 1: it is to be added; 0: it is omitted; -1: no memory. */
static int read_work(const struct nsys_row *r, uint8_t kind, struct build_activity *a)
{
	memset(a, 0, sizeof(*a));
	if (!read_times(r, WORK_START, WORK_END, &a->start_ns, &a->end_ns))
		return 0;
	if (a->end_ns == BUILD_OPEN)
		a->end_ns = a->start_ns;
	a->kind = kind;
	a->device = nsys_u32(r, WORK_DEVICE);
	a->context = nsys_u32(r, WORK_CONTEXT);
	a->stream = nsys_u32(r, WORK_STREAM);
	a->correlation = (uint32_t)nsys_integer(r, WORK_CORRELATION);
	a->graph = nsys_u32(r, WORK_GRAPH);
	a->graph_node = (uint64_t)nsys_integer(r, WORK_NODE);
	if (!nsys_given(r, WORK_PROCESS))
		return 1; /* the process of the call with this correlation */
	a->process = nsys_process(r->n, nsys_integer(r, WORK_PROCESS));
	return a->process ? 1 : -1;
}

enum {
	KERNEL_NAME = WORK_OWN,
	KERNEL_SHORT_NAME,
	KERNEL_MANGLED_NAME,
	KERNEL_PLAIN_NAME,
	KERNEL_GRID,
	KERNEL_BLOCK = KERNEL_GRID + 3,
	KERNEL_REGISTERS = KERNEL_BLOCK + 3,
	KERNEL_STATIC,
	KERNEL_DYNAMIC
};
static const char *const kernel_columns[] = { WORK_COLUMNS,
					      "demangledName",
					      "shortName",
					      "mangledName",
					      "name",
					      "gridX",
					      "gridY",
					      "gridZ",
					      "blockX",
					      "blockY",
					      "blockZ",
					      "registersPerThread",
					      "staticSharedMemory",
					      "dynamicSharedMemory",
					      NULL };

static int visit_kernel(const struct nsys_row *r)
{
	struct build_activity a;
	int rc = read_work(r, RECORD_GPU_KERNEL, &a);

	if (rc != 1)
		return rc;
	for (int i = KERNEL_NAME; i <= KERNEL_PLAIN_NAME && !a.name; i++)
		if (nsys_name(r, i, &a.name))
			return -1;
	if (!a.name)
		a.name = build_name(r->n->build, "(no name)", 9);
	for (int i = 0; i < 3; i++) {
		a.grid[i] = nsys_u32(r, KERNEL_GRID + i);
		a.block[i] = nsys_u32(r, KERNEL_BLOCK + i);
	}
	a.registers = nsys_u32(r, KERNEL_REGISTERS);
	a.static_shared_bytes = nsys_u32(r, KERNEL_STATIC);
	a.dynamic_shared_bytes = nsys_u32(r, KERNEL_DYNAMIC);
	return a.name ? build_activity_add(r->n->build, &a) : -1;
}

enum { COPY_BYTES = WORK_OWN, COPY_KIND, COPY_SOURCE, COPY_DESTINATION };
static const char *const copy_columns[] = { WORK_COLUMNS, "bytes",   "copyKind",
					    "srcKind",    "dstKind", NULL };

/* By number, as the file's own list or else the usual one has it. */
static uint8_t kind_at(const struct nsys_row *r, int column, const uint8_t *kinds)
{
	int64_t number = nsys_integer(r, column);

	return nsys_given(r, column) && number >= 0 && number < 16 ? kinds[number] : 0;
}

static int visit_copy(const struct nsys_row *r)
{
	struct build_activity a;
	int rc = read_work(r, RECORD_GPU_COPY, &a);

	if (rc != 1)
		return rc;
	a.bytes = (uint64_t)nsys_integer(r, COPY_BYTES);
	a.copy = kind_at(r, COPY_KIND, r->n->copy_kinds);
	a.source = kind_at(r, COPY_SOURCE, r->n->memory_kinds);
	a.destination = kind_at(r, COPY_DESTINATION, r->n->memory_kinds);
	return build_activity_add(r->n->build, &a);
}

enum { SET_BYTES = WORK_OWN, SET_MEMORY };
static const char *const memset_columns[] = { WORK_COLUMNS, "bytes", "memKind", NULL };

static int visit_memset(const struct nsys_row *r)
{
	struct build_activity a;
	int rc = read_work(r, RECORD_GPU_MEMSET, &a);

	if (rc != 1)
		return rc;
	a.bytes = (uint64_t)nsys_integer(r, SET_BYTES);
	a.destination = kind_at(r, SET_MEMORY, r->n->memory_kinds);
	return build_activity_add(r->n->build, &a);
}

static const char *const graph_columns[] = { WORK_COLUMNS, NULL };

static int visit_graph(const struct nsys_row *r)
{
	struct build_activity a;
	int rc = read_work(r, RECORD_GPU_GRAPH, &a);

	return rc == 1 ? build_activity_add(r->n->build, &a) : rc;
}

int nsys_read_work(struct nsys *n)
{
	if (nsys_read(n, "CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns, visit_kernel, NULL) ||
	    nsys_read(n, "CUPTI_ACTIVITY_KIND_MEMCPY", copy_columns, visit_copy, NULL) ||
	    nsys_read(n, "CUPTI_ACTIVITY_KIND_MEMSET", memset_columns, visit_memset, NULL) ||
	    nsys_read(n, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph_columns, visit_graph, NULL))
		return -1;
	return 0;
}

/* NVTX: names of domains and categories are rows as well, wherever they stand. */

enum {
	NVTX_START,
	NVTX_END,
	NVTX_TYPE,
	NVTX_TEXT,
	NVTX_TEXT_ID,
	NVTX_THREAD,
	NVTX_DOMAIN,
	NVTX_CATEGORY,
	NVTX_COLOUR
};
static const char *const nvtx_columns[] = { "start",     "end",      "eventType", "text",  "textId",
					    "globalTid", "domainId", "category",  "color", NULL };

enum nvtx_event {
	EVENT_CATEGORY = 33,
	EVENT_MARK = 34,
	EVENT_PUSH_POP = 59,
	EVENT_START_END = 60,
	EVENT_TEXT_CATEGORY = 64, /* these were read from a text file */
	EVENT_TEXT_MARK = 65,
	EVENT_TEXT_PUSH_POP = 70,
	EVENT_TEXT_START_END = 71,
	EVENT_DOMAIN = 75
};

static uint64_t domain_key(const struct nsys_row *r)
{
	return mix((uint64_t)nsys_integer(r, NVTX_THREAD) >> 24,
		   (uint64_t)nsys_integer(r, NVTX_DOMAIN) << 8);
}

static uint64_t category_key(const struct nsys_row *r)
{
	return mix(domain_key(r), (uint64_t)nsys_integer(r, NVTX_CATEGORY) << 8 | 1);
}

static int nvtx_text(const struct nsys_row *r, uint32_t *name)
{
	if (nsys_name(r, NVTX_TEXT, name))
		return -1;
	return *name ? 0 : nsys_name(r, NVTX_TEXT_ID, name);
}

static int visit_nvtx_name(const struct nsys_row *r)
{
	uint32_t name;
	uint64_t key;

	switch (nsys_integer(r, NVTX_TYPE)) {
	case EVENT_DOMAIN:
		key = domain_key(r);
		break;
	case EVENT_CATEGORY:
	case EVENT_TEXT_CATEGORY:
		key = category_key(r);
		break;
	default:
		return 0;
	}
	if (nvtx_text(r, &name))
		return -1;
	return name ? keymap_put(&r->n->ranges, key, name) : 0;
}

static uint32_t known_name(const struct nsys_row *r, uint64_t key)
{
	uint32_t name = keymap_find(&r->n->ranges, key);

	return name == KEYMAP_NONE ? 0 : name;
}

/* 0: neither a range nor a mark. */
static enum nvtx_kind nvtx_kind_of(const struct nsys_row *r)
{
	if (!nsys_given(r, NVTX_TYPE))
		return nsys_given(r, NVTX_END) ? NVTX_PUSHED : NVTX_MARKED;
	switch (nsys_integer(r, NVTX_TYPE)) {
	case EVENT_MARK:
	case EVENT_TEXT_MARK:
		return NVTX_MARKED;
	case EVENT_PUSH_POP:
	case EVENT_TEXT_PUSH_POP:
		return NVTX_PUSHED;
	case EVENT_START_END:
	case EVENT_TEXT_START_END:
		return NVTX_STARTED;
	default:
		return 0;
	}
}

static int visit_nvtx(const struct nsys_row *r)
{
	struct build_nvtx what = { .kind = nvtx_kind_of(r) };
	struct build_span s = { .kind = BUILD_SCOPE, .call = BUILD_SPAN_NVTX };

	if (!what.kind || !read_times(r, NVTX_START, NVTX_END, &s.start_ns, &s.end_ns))
		return 0;
	if (what.kind == NVTX_MARKED) {
		s.kind = BUILD_MARK;
		s.end_ns = s.start_ns;
	}
	if (nvtx_text(r, &what.name))
		return -1;
	if (!what.name)
		what.name = build_name(r->n->build, "(no name)", 9);
	what.domain = known_name(r, domain_key(r));
	if (nsys_given(r, NVTX_CATEGORY)) {
		what.category = nsys_u32(r, NVTX_CATEGORY);
		what.category_name = known_name(r, category_key(r));
	}
	what.colour = (uint32_t)nsys_integer(r, NVTX_COLOUR);
	s.thread = nsys_thread(r->n, nsys_integer(r, NVTX_THREAD));
	s.name = what.name ? build_nvtx(r->n->build, &what) : 0;
	return s.thread && s.name ? build_span_add(r->n->build, &s) : -1;
}

int nsys_read_nvtx(struct nsys *n)
{
	if (nsys_has_column(n, "NVTX_EVENTS", "eventType") &&
	    nsys_read(n, "NVTX_EVENTS", nvtx_columns, visit_nvtx_name, NULL))
		return -1;
	return nsys_read(n, "NVTX_EVENTS", nvtx_columns, visit_nvtx, NULL);
}

/* Ranges of other libraries: the C library, cuDNN, MPI.  They become functions. */

enum { RANGE_START, RANGE_END, RANGE_THREAD, RANGE_NAME, RANGE_TEXT_ID, RANGE_TEXT };
static const char *const range_columns[] = { "start",  "end",  "globalTid", "nameId",
					     "textId", "text", NULL };

struct generic {
	uint32_t file;
	uint64_t count;
};

static int generic_function(struct nsys *n, uint32_t name, uint32_t file, uint32_t *function)
{
	uint64_t key = (uint64_t)file << 32 | name;
	uint32_t known = keymap_find(&n->generic, key);

	if (known == KEYMAP_NONE) {
		known = build_function(n->build, name, file, 0);
		if (!known || keymap_put(&n->generic, key, known))
			return -1;
	}
	*function = known;
	return 0;
}

static int visit_generic(const struct nsys_row *r)
{
	struct build_span s = { .kind = BUILD_FUNCTION };
	struct generic *g = r->ctx;
	uint32_t name = 0;

	if (!nsys_given(r, RANGE_END) ||
	    !read_times(r, RANGE_START, RANGE_END, &s.start_ns, &s.end_ns))
		return 0;
	for (int i = RANGE_NAME; i <= RANGE_TEXT && !name; i++)
		if (nsys_name(r, i, &name))
			return -1;
	if (!name)
		name = build_name(r->n->build, "(no name)", 9);
	s.thread = nsys_thread(r->n, nsys_integer(r, RANGE_THREAD));
	if (!s.thread || !name || generic_function(r->n, name, g->file, &s.name))
		return -1;
	g->count++;
	return build_span_add(r->n->build, &s);
}

/* What the profiler itself did is no part of the program. */
static bool is_overhead(const char *table)
{
	return strstr(table, "OVERHEAD") != NULL;
}

static bool is_ranges(struct nsys *n, const char *table)
{
	return !is_overhead(table) && nsys_has_column(n, table, "start") &&
	       nsys_has_column(n, table, "end") && nsys_has_column(n, table, "globalTid") &&
	       (nsys_has_column(n, table, "nameId") || nsys_has_column(n, table, "textId") ||
		nsys_has_column(n, table, "text"));
}

static int read_ranges(struct nsys *n, const char *table)
{
	struct generic g = { .count = 0 };
	bool os = !strcasecmp(table, "OSRT_API");
	char file[128];

	snprintf(file, sizeof(file), os ? IMPORT_OS_RUNTIME : "<%.100s>", table);
	g.file = build_name(n->build, file, strlen(file));
	if (!g.file)
		return err_set(n->err, "out of memory");
	if (nsys_read(n, table, range_columns, visit_generic, &g))
		return -1;
	if (g.count)
		buf_printf(&n->shown, "%s%.64s %llu", n->shown.len ? ", " : "", table,
			   (unsigned long long)g.count);
	return 0;
}

/* Tables with times that have no counterpart are counted row by row. */

static const char *const count_columns[] = { "start", NULL };

static int visit_counted(const struct nsys_row *r)
{
	++*(uint64_t *)r->ctx;
	return 0;
}

static int count_rows(struct nsys *n, const char *table)
{
	uint64_t count = 0;

	if (nsys_read(n, table, count_columns, visit_counted, &count))
		return -1;
	n->events += count;
	n->unmapped += count;
	if (count)
		buf_printf(&n->skipped, "%s%.64s %llu", n->skipped.len ? ", " : "", table,
			   (unsigned long long)count);
	return 0;
}

int nsys_read_generic(struct nsys *n)
{
	for (size_t i = 0; i < n->table_count; i++) {
		const struct nsys_table *t = &n->tables[i];

		if (!t->usable || t->taken)
			continue;
		if (is_ranges(n, t->name)                  ? read_ranges(n, t->name)
		    : nsys_has_column(n, t->name, "start") ? count_rows(n, t->name)
							   : 0)
			return -1;
	}
	return 0;
}
