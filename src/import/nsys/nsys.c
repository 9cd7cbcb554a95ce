/*
 * The order matters: texts and kinds first, then what names processes and threads, then calls,
 * which say whose work is that has no process.
 */
#include "import/nsys/nsys.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "import/nsys/nsys_tables.h"

static int visit_string(const struct nsys_row *r)
{
	uint32_t name;

	if (nsys_name(r, 1, &name))
		return -1;
	return name ? keymap_put(&r->n->strings, (uint64_t)nsys_integer(r, 0), name) : 0;
}

/* Kinds of memory and of copies: the file's own list where it has one. */

static const struct {
	const char *word;
	enum gpu_memory memory;
} memories[] = {
	{ "Pageable", GPU_MEMORY_PAGEABLE }, { "Pinned", GPU_MEMORY_PINNED },
	{ "Managed", GPU_MEMORY_MANAGED },   { "Device", GPU_MEMORY_DEVICE },
	{ "Array", GPU_MEMORY_ARRAY },
};

static const struct {
	const char *word;
	enum gpu_copy copy;
} copies[] = {
	{ "HTOD", GPU_COPY_HOST_TO_DEVICE },   { "HTOA", GPU_COPY_HOST_TO_DEVICE },
	{ "DTOH", GPU_COPY_DEVICE_TO_HOST },   { "ATOH", GPU_COPY_DEVICE_TO_HOST },
	{ "DTOD", GPU_COPY_DEVICE_TO_DEVICE }, { "ATOA", GPU_COPY_DEVICE_TO_DEVICE },
	{ "ATOD", GPU_COPY_DEVICE_TO_DEVICE }, { "DTOA", GPU_COPY_DEVICE_TO_DEVICE },
	{ "HTOH", GPU_COPY_HOST_TO_HOST },     { "PTOP", GPU_COPY_PEER },
};

/* What Nsight Systems writes since 2020; these are not CUPTI's numbers of memories. */
static const uint8_t usual_memories[16] = {
	GPU_MEMORY_PAGEABLE, GPU_MEMORY_PINNED, GPU_MEMORY_DEVICE,  GPU_MEMORY_ARRAY,
	GPU_MEMORY_MANAGED,  GPU_MEMORY_DEVICE, GPU_MEMORY_MANAGED,
};
static const uint8_t usual_copies[16] = {
	[1] = GPU_COPY_HOST_TO_DEVICE,    [2] = GPU_COPY_DEVICE_TO_HOST,
	[3] = GPU_COPY_HOST_TO_DEVICE,    [4] = GPU_COPY_DEVICE_TO_HOST,
	[5] = GPU_COPY_DEVICE_TO_DEVICE,  [6] = GPU_COPY_DEVICE_TO_DEVICE,
	[7] = GPU_COPY_DEVICE_TO_DEVICE,  [8] = GPU_COPY_DEVICE_TO_DEVICE,
	[9] = GPU_COPY_HOST_TO_HOST,      [10] = GPU_COPY_PEER,
	[11] = GPU_COPY_HOST_TO_DEVICE,   [12] = GPU_COPY_DEVICE_TO_HOST,
	[13] = GPU_COPY_DEVICE_TO_DEVICE,
};

static const char *const kind_columns[] = { "id", "name", "label", NULL };

static int visit_memory_kind(const struct nsys_row *r)
{
	int64_t id = nsys_integer(r, 0);
	const char *label = nsys_text(r, 2);

	if (id < 0 || id >= 16)
		return 0;
	r->n->memory_kinds[id] = GPU_MEMORY_UNKNOWN;
	for (size_t i = 0; i < sizeof(memories) / sizeof(*memories); i++)
		if (!strncasecmp(label, memories[i].word, strlen(memories[i].word)))
			r->n->memory_kinds[id] = (uint8_t)memories[i].memory;
	return 0;
}

static int visit_copy_kind(const struct nsys_row *r)
{
	int64_t id = nsys_integer(r, 0);
	const char *name = nsys_text(r, 1);

	if (id < 0 || id >= 16)
		return 0;
	r->n->copy_kinds[id] = GPU_COPY_UNKNOWN;
	for (size_t i = 0; i < sizeof(copies) / sizeof(*copies); i++)
		if (strstr(name, copies[i].word))
			r->n->copy_kinds[id] = (uint8_t)copies[i].copy;
	return 0;
}

static int read_texts_and_kinds(struct nsys *n)
{
	static const char *const columns[] = { "id", "value", NULL };

	memcpy(n->memory_kinds, usual_memories, sizeof(usual_memories));
	memcpy(n->copy_kinds, usual_copies, sizeof(usual_copies));
	if (nsys_read(n, "StringIds", columns, visit_string, NULL) ||
	    nsys_read(n, "ENUM_CUDA_MEM_KIND", kind_columns, visit_memory_kind, NULL) ||
	    nsys_read(n, "ENUM_CUDA_MEMCPY_OPER", kind_columns, visit_copy_kind, NULL))
		return -1;
	return 0;
}

/* Devices.  Work has CUDA's number of a device, which need not be the machine's. */

enum {
	GPU_ID,
	GPU_CUDA,
	GPU_NAME,
	GPU_MEMORY,
	GPU_BANDWIDTH,
	GPU_CLOCK,
	GPU_SMS,
	GPU_MAJOR,
	GPU_MINOR
};
static const char *const gpu_columns[] = { "id",          "cuDevice",        "name",
					   "totalMemory", "memoryBandwidth", "clockRate",
					   "smCount",     "computeMajor",    "computeMinor",
					   NULL };

#define GPUS_MAX 256

struct gpu_numbers {
	uint32_t id[GPUS_MAX], cuda[GPUS_MAX];
	size_t count;
};

static int visit_cuda_number(const struct nsys_row *r)
{
	struct gpu_numbers *g = r->ctx;

	if (!nsys_given(r, 0) || !nsys_given(r, 1) || g->count == GPUS_MAX)
		return 0;
	g->id[g->count] = nsys_u32(r, 0);
	g->cuda[g->count++] = nsys_u32(r, 1);
	return 0;
}

static int visit_gpu(const struct nsys_row *r)
{
	const struct gpu_numbers *g = r->ctx;
	int64_t major = nsys_integer(r, GPU_MAJOR), minor = nsys_integer(r, GPU_MINOR);
	struct build_device d = {
		.name = nsys_text(r, GPU_NAME),
		.memory_bytes = (uint64_t)nsys_integer(r, GPU_MEMORY),
		.bandwidth_kb_s = (uint64_t)nsys_integer(r, GPU_BANDWIDTH) / 1000,
		.clock_khz = (uint32_t)((uint64_t)nsys_integer(r, GPU_CLOCK) / 1000),
		.multiprocessors = nsys_u32(r, GPU_SMS),
	};
	uint32_t id = nsys_u32(r, GPU_ID);

	if (!*d.name)
		d.name = "(no name)";
	if (major > 0 && major < 1000 && minor >= 0 && minor < 10)
		d.capability = (uint32_t)(10 * major + minor);
	d.number = nsys_given(r, GPU_CUDA) ? nsys_u32(r, GPU_CUDA) : id;
	for (size_t i = 0; i < g->count; i++) {
		if (g->id[i] != id)
			continue;
		d.number = g->cuda[i];
		if (build_device_add(r->n->build, &d))
			return -1;
	}
	return g->count ? 0 : build_device_add(r->n->build, &d);
}

static int read_devices(struct nsys *n)
{
	static const char *const columns[] = { "gpuId", "cudaId", NULL };
	struct gpu_numbers numbers = { .count = 0 };

	if (nsys_read(n, "TARGET_INFO_CUDA_DEVICE", columns, visit_cuda_number, &numbers))
		return -1;
	return nsys_read(n, "TARGET_INFO_GPU", gpu_columns, visit_gpu, &numbers);
}

/* Names.  A thread or process without any event is not in the trace. */

static int visit_process_name(const struct nsys_row *r)
{
	const char *text = nsys_text(r, 1), *slash = strrchr(text, '/');
	uint32_t process, name;

	if (!*text || !nsys_given(r, 0))
		return 0;
	text = slash && slash[1] ? slash + 1 : text;
	process = nsys_process(r->n, nsys_integer(r, 0));
	name = build_name(r->n->build, text, strlen(text));
	if (!process || !name)
		return -1;
	build_process_name(r->n->build, process, name);
	return 0;
}

static int visit_thread_name(const struct nsys_row *r)
{
	uint32_t thread, name;

	if (nsys_name(r, 1, &name))
		return -1;
	if (!name || !nsys_given(r, 0))
		return 0;
	thread = nsys_thread(r->n, nsys_integer(r, 0));
	if (!thread)
		return -1;
	build_thread_name(r->n->build, thread, name);
	return 0;
}

static int read_names(struct nsys *n)
{
	static const char *const processes[] = { "globalPid", "name", NULL };
	static const char *const threads[] = { "globalTid", "nameId", NULL };

	if (nsys_read(n, "PROCESSES", processes, visit_process_name, NULL) ||
	    nsys_read(n, "ThreadNames", threads, visit_thread_name, NULL))
		return -1;
	return 0;
}

/* Facts of the run. */

static const struct {
	const char *name, *fact, *shown;
} facts[] = {
	{ "EXPORT_PRODUCT_VERSION", "import.nsys", "Nsight Systems" },
	{ "EXPORT_SCHEMA_VERSION", "import.nsys_schema", "schema" },
	{ "CudaDriverVersion", "import.cuda_driver", "driver" },
};

struct facts {
	struct buf tool;
	bool known[sizeof(facts) / sizeof(*facts)];
};

static int visit_fact(const struct nsys_row *r)
{
	const char *name = nsys_text(r, 0);
	struct facts *f = r->ctx;
	char value[128];

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++) {
		if (f->known[i] || strcmp(name, facts[i].name) != 0)
			continue;
		f->known[i] = true;
		snprintf(value, sizeof(value), "%s", nsys_text(r, 1));
		for (char *c = value; *c; c++)
			if ((unsigned char)*c < ' ' || (unsigned char)*c > '~')
				*c = '?';
		buf_printf(&f->tool, "; %s %s", facts[i].shown, value);
		if (build_info(r->n->build, facts[i].fact, value))
			return -1;
	}
	return 0;
}

/* Times are since the session's start. */
static int visit_start(const struct nsys_row *r)
{
	if (nsys_integer(r, 0) > 0)
		build_epoch(r->n->build, nsys_integer(r, 0));
	return 1;
}

static int read_facts(struct nsys *n, struct facts *f)
{
	static const char *const columns[] = { "name", "value", NULL };
	static const char *const start[] = { "utcEpochNs", NULL };
	static const char *const tables[] = { "META_DATA_EXPORT", "EXPORT_META_DATA",
					      "META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV" };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (nsys_read(n, tables[i], columns, visit_fact, f))
			return -1;
	return nsys_read(n, "TARGET_INFO_SESSION_START_TIME", start, visit_start, NULL);
}

/* Databases of others. */
static const struct {
	const char *table;
	const char *what, *advice;
} others[] = {
	{ "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "a database of nvprof",
	  "record with Nsight Systems, torch.profiler or InferScope" },
	{ "rocpd_kernel_dispatch", "a database of rocprofv3 (rocpd)",
	  "record with PyTorch's profiler" },
	{ "rocpd_op", "a database of rpd (rocpd)", "record with PyTorch's profiler" },
	{ "step_kinds", "what InferScope exported", "use the trace that it was made from" },
};

static int refuse(struct nsys *n, const char *path)
{
	for (size_t i = 0; i < n->table_count; i++)
		for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++)
			if (!strncmp(n->tables[i].name, others[k].table, strlen(others[k].table)))
				return err_set(n->err, "%s is %s; it cannot be imported: %s", path,
					       others[k].what, others[k].advice);
	if (*n->damage)
		return err_set(n->err, "%s: %s", path, n->damage);
	for (size_t i = 0; i < n->table_count; i++)
		if (!strncmp(n->tables[i].name, "CUPTI_", 6) || nsys_has(n, "StringIds"))
			return err_set(n->err, "%s has no events", path);
	return err_set(n->err,
		       "%s is an SQLite database, but no export of Nsight Systems: it has no table "
		       "like CUPTI_ACTIVITY_KIND_KERNEL or NVTX_EVENTS",
		       path);
}

static int note_count(struct nsys *n, uint64_t count, const char *what)
{
	return count ? build_note(n->build, "%llu events %s", (unsigned long long)count, what) : 0;
}

static int write_notes(struct nsys *n, struct facts *f)
{
	if (build_note(n->build,
		       "Imported from Nsight Systems SQLite (%llu events%s); times are those of "
		       "that file",
		       (unsigned long long)n->events, buf_string(&f->tool)) ||
	    (n->shown.len &&
	     build_note(n->build, "Shown as functions: %s", buf_string(&n->shown))) ||
	    (n->skipped.len &&
	     build_note(n->build, "%llu of %llu events have no counterpart here: %s",
			(unsigned long long)n->unmapped, (unsigned long long)n->events,
			buf_string(&n->skipped))) ||
	    note_count(n, n->bad_times, "have no usable time and were omitted") ||
	    note_count(n, n->negative, "have a negative duration, which counts as 0"))
		return err_set(n->err, "out of memory");
	return 0;
}

static int read_all(struct nsys *n, const char *path)
{
	struct facts f = { .known = { false } };
	int rc = -1;

	buf_init(&f.tool);
	if (read_texts_and_kinds(n) || read_devices(n) || read_names(n) || read_facts(n, &f) ||
	    nsys_read_calls(n) || nsys_read_work(n) || nsys_read_nvtx(n) || nsys_read_generic(n))
		goto out;
	rc = n->events > n->unmapped ? write_notes(n, &f) : refuse(n, path);
out:
	buf_release(&f.tool);
	return rc;
}

int nsys_import(struct nsys_import *out, struct build *b, int fd, const char *path, uint64_t part,
		struct err *err)
{
	struct nsys n = { .build = b, .err = err, .part = part };
	int rc = nsys_open(&n, fd);

	memset(out, 0, sizeof(*out));
	if (!rc)
		rc = read_all(&n, path);
	if (!rc && *n.damage)
		snprintf(out->partial, sizeof(out->partial), "%s", n.damage);
	else if (!rc && part < n.file_bytes)
		snprintf(out->partial, sizeof(out->partial),
			 "only the first %.0f %% of each table were read: the whole file needs "
			 "more memory than --max-memory allows",
			 100 * (double)part / (double)n.file_bytes);
	nsys_release(&n);
	return rc;
}
