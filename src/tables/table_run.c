/* The run as a whole: facts, processes, threads, and when what was not recorded. */
#include "tables/table_cursor.h"

/* Facts. */

#define INFO(C, T)                                                                                 \
	C(T, key, TEXT, "",                                                                        \
	  "name of the fact; `command` occurs once per argument, `started` is the date of time 0") \
	C(T, value, TEXT, "", "value of the fact")

enum { INFO(COLUMN_NUMBER, INFO) };
static const struct column info_columns[] = { INFO(COLUMN_ENTRY, INFO) };

static int info_open(struct table_cursor *c, struct err *err)
{
	(void)err;
	position_count(c, trace_info_count(source_trace(c->source)));
	return 0;
}

static void info_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct trace *t = source_trace(c->source);

	cell_text(out, column == INFO_key ? trace_info_key(t, position_of(c))
					  : trace_info_value(t, position_of(c)));
}

const struct table table_info = {
	.name = "info",
	.meaning = "a fact about the recording",
	TABLE_COLUMNS(info_columns),
	.indexes = "",
	.cursor_bytes = sizeof(struct position_cursor),
	.open = info_open,
	.next = position_next,
	.cell = info_cell,
};

/* Processes. */

#define PROCESS(C, T)                                                           \
	C(T, process, INTEGER, "", "number of the process in this trace")       \
	C(T, pid, INTEGER, "", "process id of the operating system")            \
	C(T, parent_pid, INTEGER, "", "process id of its parent")               \
	C(T, name, TEXT, "", "its name")                                        \
	C(T, is_main, BOOLEAN, "", "it is the first recorded process")          \
	C(T, start_ns, INTEGER, "ns",                                           \
	  "when it began; if it was running already, when its recording began") \
	C(T, end_ns, INTEGER, "ns", "when it ended; NULL: unknown")             \
	C(T, python, TEXT, "", "version of CPython; NULL: no Python runs in it")

enum { PROCESS(COLUMN_NUMBER, PROCESS) };
static const struct column process_columns[] = { PROCESS(COLUMN_ENTRY, PROCESS) };

static int processes_open(struct table_cursor *c, struct err *err)
{
	(void)err;
	position_count(c, trace_process_count(source_trace(c->source)));
	return 0;
}

static void processes_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct trace_process *p = trace_process(source_trace(c->source), position_of(c));
	uint32_t v = p->python_version;

	switch (column) {
	case PROCESS_process:
		cell_int(out, p->id);
		break;
	case PROCESS_pid:
		cell_int(out, p->pid);
		break;
	case PROCESS_parent_pid:
		cell_int(out, p->parent_pid);
		break;
	case PROCESS_name:
		cell_text(out, p->name);
		break;
	case PROCESS_is_main:
		cell_int(out, position_of(c) == 0);
		break;
	case PROCESS_start_ns:
		cell_time(out, p->start_ns);
		break;
	case PROCESS_end_ns:
		cell_time(out, p->end_ns);
		break;
	case PROCESS_python:
		if (!v)
			break;
		buf_printf(cell_compose(c), "%u.%u.%u", v >> 24, v >> 16 & 0xff, v >> 8 & 0xff);
		cell_composed(c, out);
		break;
	}
}

const struct table table_processes = {
	.name = "processes",
	.meaning = "a process that was recorded",
	TABLE_COLUMNS(process_columns),
	.indexes = "process",
	.cursor_bytes = sizeof(struct position_cursor),
	.open = processes_open,
	.next = position_next,
	.cell = processes_cell,
};

/* Threads. */

#define THREAD(C, T)                                                               \
	C(T, thread, INTEGER, "", "number of the thread in this trace")            \
	C(T, process, INTEGER, "", "its process: processes.process")               \
	C(T, pid, INTEGER, "", "process id of the operating system")               \
	C(T, tid, INTEGER, "", "thread id of the operating system")                \
	C(T, name, TEXT, "", "its name; NULL: it has none")                        \
	C(T, process_name, TEXT, "", "the name of its process")                    \
	C(T, start_ns, INTEGER, "ns",                                              \
	  "when it began; if it was running already, when its recording began")    \
	C(T, end_ns, INTEGER, "ns",                                                \
	  "when it ended; if unknown, the end of its process or of the recording") \
	C(T, on_cpu_ns, INTEGER, "ns", "time on a CPU, as counted by the kernel")  \
	C(T, queued_ns, INTEGER, "ns",                                             \
	  "time ready to run but without a CPU, as counted by the kernel")         \
	C(T, events, INTEGER, "", "events of the thread in this trace")            \
	C(T, lost, INTEGER, "", "events that were lost")

enum { THREAD(COLUMN_NUMBER, THREAD) };
static const struct column thread_columns[] = { THREAD(COLUMN_ENTRY, THREAD) };

static int threads_open(struct table_cursor *c, struct err *err)
{
	position_count(c, trace_thread_count(source_trace(c->source)));
	return source_timeline(c->source, err) ? 0 : -1;
}

static void threads_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct trace_thread *t = trace_thread(source_trace(c->source), position_of(c));
	const struct thread_counts *counts =
		timeline_thread(source_timeline(c->source, NULL), position_of(c));
	const struct trace_process *p = source_process(c->source, t->process);

	switch (column) {
	case THREAD_thread:
		cell_int(out, t->id);
		break;
	case THREAD_process:
		cell_int(out, t->process);
		break;
	case THREAD_pid:
		cell_int(out, p ? p->pid : 0);
		break;
	case THREAD_tid:
		cell_int(out, t->tid);
		break;
	case THREAD_name:
		cell_text_or_null(out, t->name);
		break;
	case THREAD_process_name:
		cell_text(out, p ? p->name : NULL);
		break;
	case THREAD_start_ns:
		cell_int(out, counts->start_ns);
		break;
	case THREAD_end_ns:
		cell_int(out, counts->end_ns);
		break;
	case THREAD_on_cpu_ns:
		if (t->timed)
			cell_int(out, t->on_cpu_ns);
		break;
	case THREAD_queued_ns:
		if (t->timed)
			cell_int(out, t->queued_ns);
		break;
	case THREAD_events:
		cell_uint(out, counts->events);
		break;
	case THREAD_lost:
		cell_uint(out, counts->lost);
		break;
	}
}

const struct table table_threads = {
	.name = "threads",
	.meaning = "a thread that was recorded",
	TABLE_COLUMNS(thread_columns),
	.indexes = "thread process",
	.cursor_bytes = sizeof(struct position_cursor),
	.open = threads_open,
	.next = position_next,
	.cell = threads_cell,
};

/* Devices. */

#define DEVICE(C, T)                                                                            \
	C(T, process, INTEGER, "", "the process that uses it: processes.process")               \
	C(T, pid, INTEGER, "", "process id of the operating system")                            \
	C(T, device, INTEGER, "", "number of the device in that process, as in kernels.device") \
	C(T, name, TEXT, "", "name of the model, such as \"NVIDIA H200\"")                      \
	C(T, memory_bytes, INTEGER, "bytes", "its memory")                                      \
	C(T, bandwidth_kb_per_s, INTEGER, "kB/s", "memory bandwidth")                           \
	C(T, multiprocessors, INTEGER, "", "number of multiprocessors")                         \
	C(T, clock_khz, INTEGER, "kHz", "clock rate of its cores")                              \
	C(T, capability, REAL, "", "compute capability, such as 9.0")

enum { DEVICE(COLUMN_NUMBER, DEVICE) };
static const struct column device_columns[] = { DEVICE(COLUMN_ENTRY, DEVICE) };

static int devices_open(struct table_cursor *c, struct err *err)
{
	const struct gpu_timeline *g = source_gpu(c->source, err);

	if (!g)
		return -1;
	position_count(c, gpu_device_count(g));
	return 0;
}

static void devices_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	const struct gpu_device *d = gpu_device(source_gpu(c->source, NULL), position_of(c));

	switch (column) {
	case DEVICE_process:
		cell_int(out, d->process);
		break;
	case DEVICE_pid:
		cell_int(out, source_pid(c->source, d->process));
		break;
	case DEVICE_device:
		cell_int(out, d->number);
		break;
	case DEVICE_name:
		cell_text(out, d->name);
		break;
	case DEVICE_memory_bytes:
		cell_uint(out, d->memory_bytes);
		break;
	case DEVICE_bandwidth_kb_per_s:
		cell_uint(out, d->bandwidth_kb_s);
		break;
	case DEVICE_multiprocessors:
		cell_int(out, d->multiprocessors);
		break;
	case DEVICE_clock_khz:
		cell_int(out, d->clock_khz);
		break;
	case DEVICE_capability:
		cell_real(out, d->capability / 10.0);
		break;
	}
}

const struct table table_devices = {
	.name = "devices",
	.meaning = "a GPU that a process uses",
	TABLE_COLUMNS(device_columns),
	.indexes = "",
	.cursor_bytes = sizeof(struct position_cursor),
	.open = devices_open,
	.next = position_next,
	.cell = devices_cell,
};
