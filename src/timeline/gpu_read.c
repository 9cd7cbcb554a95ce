/*
 * From events to CUDA calls and GPU activities.
 *
 * A call is open from its enter to the exit with its correlation.  Calls nest a
 * few deep at most; what is open further down, above an outer call's exit or
 * across a gap has lost its exit.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "base/varint.h"
#include "timeline/gpu_tables.h"
#include "timeline/pair_map.h"

#define OPEN_CALLS 16u
#define POSITIONS_MAX ((size_t)UINT32_MAX - 1)
/* Half of what the trace allows: a correction may still be added without overflow. */
#define DEVICE_TIME_MAX ((uint64_t)1 << 61)

/* A call that has not returned yet. */
struct open_call {
	size_t at;       /* in g->calls */
	uint32_t stream; /* it waits for */
};

struct reader {
	struct gpu_timeline *g;
	struct event_batch batch;
	struct pair_map device_at; /* (process, number) */
	size_t thread;
	uint32_t process;
	int64_t last_ns;
	struct open_call open[OPEN_CALLS]; /* innermost last */
	size_t open_count;
};

/* Copies exist to and from arrays too; here an array is device memory. */
static const enum gpu_copy copies[] = {
	[1] = GPU_COPY_HOST_TO_DEVICE,   [2] = GPU_COPY_DEVICE_TO_HOST,
	[3] = GPU_COPY_HOST_TO_DEVICE,   [4] = GPU_COPY_DEVICE_TO_HOST,
	[5] = GPU_COPY_DEVICE_TO_DEVICE, [6] = GPU_COPY_DEVICE_TO_DEVICE,
	[7] = GPU_COPY_DEVICE_TO_DEVICE, [8] = GPU_COPY_DEVICE_TO_DEVICE,
	[9] = GPU_COPY_HOST_TO_HOST,     [10] = GPU_COPY_PEER,
};

/* 6 and 7 are variables that live where 3 and 5 do. */
static const enum gpu_memory memories[] = {
	[1] = GPU_MEMORY_PAGEABLE, [2] = GPU_MEMORY_PINNED,  [3] = GPU_MEMORY_DEVICE,
	[4] = GPU_MEMORY_ARRAY,    [5] = GPU_MEMORY_MANAGED, [6] = GPU_MEMORY_DEVICE,
	[7] = GPU_MEMORY_MANAGED,
};

static enum cuda_call call_of(uint64_t n)
{
	return n <= CUDA_CALL_GRAPH_BUILD ? (enum cuda_call)n : CUDA_CALL_OTHER;
}

static enum gpu_copy copy_of(uint64_t n)
{
	return n < sizeof(copies) / sizeof(*copies) ? copies[n] : GPU_COPY_UNKNOWN;
}

static enum gpu_memory memory_of(uint64_t n)
{
	return n < sizeof(memories) / sizeof(*memories) ? memories[n] : GPU_MEMORY_UNKNOWN;
}

static uint32_t u32(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* The payload of event i as up to n varints, 0 where it ends early; NULL in *rest then. */
static size_t fields_read(const struct reader *r, size_t i, uint64_t *fields, size_t n,
			  const uint8_t **rest)
{
	const struct event_batch *b = &r->batch;
	const uint8_t *p = b->payload + b->payload_at[i];
	const uint8_t *end = b->payload + b->payload_at[i + 1];
	size_t got = 0;

	memset(fields, 0, n * sizeof(*fields));
	while (got < n) {
		p = varint_get(p, end, &fields[got]);
		if (!p)
			break;
		got++;
	}
	*rest = p;
	return got;
}

/* [p, end of event i's payload) as a text of the timeline; NULL: no memory. */
static const char *text_keep(struct reader *r, size_t i, const uint8_t *p)
{
	const char *from = (const char *)p;
	size_t n = r->batch.payload_at[i + 1] - (size_t)(p - r->batch.payload);
	char *text = arena_alloc(&r->g->texts, utf8_clean_bytes(from, n) + 1);

	if (text)
		utf8_clean(text, from, n);
	return text;
}

/* Closes what lies above `keep` without having seen it return. */
static void give_up_calls(struct reader *r, size_t keep, int64_t now_ns)
{
	while (r->open_count > keep)
		r->g->calls[r->open[--r->open_count].at].end_ns = now_ns;
}

static int read_enter(struct reader *r, size_t i, int64_t now_ns)
{
	enum { WHAT, CORRELATION, STACK, BYTES, STREAM, FIELDS };
	struct gpu_timeline *g = r->g;
	uint64_t f[FIELDS];
	const uint8_t *rest;
	struct gpu_call *c;
	const char *name;

	if (fields_read(r, i, f, FIELDS, &rest) < STREAM) {
		g->malformed++;
		return 0;
	}
	if (g->call_count >= POSITIONS_MAX)
		return -1;
	c = array_grow(g->calls, &g->call_cap, g->call_count + 1, sizeof(*c));
	if (!c)
		return -1;
	g->calls = c;
	name = trace_string(g->trace, r->batch.ids[i]);
	g->calls[g->call_count] = (struct gpu_call){
		.name = name ? name : "(unknown)",
		.what = call_of(f[WHAT]),
		.correlation = u32(f[CORRELATION]),
		.stack = u32(f[STACK]),
		.bytes = f[BYTES],
		.thread = (uint32_t)r->thread,
		.process = r->process,
		.start_ns = now_ns,
		.end_ns = now_ns,
	};
	if (r->open_count == OPEN_CALLS) {
		g->calls[r->open[0].at].end_ns = now_ns;
		memmove(r->open, r->open + 1, --r->open_count * sizeof(*r->open));
	}
	r->open[r->open_count++] = (struct open_call){
		.at = g->call_count++,
		.stream = f[STREAM] && f[STREAM] <= STREAM_UNKNOWN ? (uint32_t)(f[STREAM] - 1)
								   : STREAM_UNKNOWN,
	};
	return 0;
}

static int wait_add(struct gpu_timeline *g, const struct gpu_call *c, uint32_t stream)
{
	struct gpu_wait *w = array_grow(g->waits, &g->wait_cap, g->wait_count + 1, sizeof(*w));

	if (!w)
		return -1;
	g->waits = w;
	g->waits[g->wait_count++] = (struct gpu_wait){
		.process = c->process,
		.stream = c->what == CUDA_CALL_SYNC_DEVICE ? STREAM_UNKNOWN : stream,
		.all = c->what == CUDA_CALL_SYNC_DEVICE,
		.start_ns = c->start_ns,
		.end_ns = c->end_ns,
	};
	return 0;
}

static int read_exit(struct reader *r, size_t i, int64_t now_ns)
{
	size_t at = r->open_count;
	struct open_call *open;
	struct gpu_call *c;

	while (at > 0 && r->g->calls[r->open[at - 1].at].correlation != r->batch.ids[i])
		at--;
	if (!at)
		return 0; /* entered before the recording, or in a gap */
	give_up_calls(r, at, now_ns);
	open = &r->open[--r->open_count];
	c = &r->g->calls[open->at];
	c->end_ns = now_ns;
	c->ended = true;
	return c->what == CUDA_CALL_SYNC_DEVICE || c->what == CUDA_CALL_SYNC_STREAM
		       ? wait_add(r->g, c, open->stream)
		       : 0;
}

/* What all activities begin with. */
enum { START, DURATION, DEVICE, CONTEXT, STREAM, CORRELATION, COMMON };

/* Times on the trace's clock, where the device gave any that can be. */
static void times_set(struct reader *r, struct gpu_activity *a, const uint64_t *f)
{
	int64_t zero_ns = trace_start(r->g->trace)->monotonic_ns;
	int64_t start_ns;

	if (!f[START] || f[START] >= DEVICE_TIME_MAX || f[DURATION] >= DEVICE_TIME_MAX ||
	    __builtin_sub_overflow((int64_t)f[START], zero_ns, &start_ns) ||
	    start_ns <= -(int64_t)DEVICE_TIME_MAX || start_ns >= (int64_t)DEVICE_TIME_MAX ||
	    start_ns + (int64_t)f[DURATION] >= (int64_t)DEVICE_TIME_MAX) {
		r->g->untimed++;
		return;
	}
	a->timed = true;
	a->start_ns = start_ns;
	a->end_ns = start_ns + (int64_t)f[DURATION];
}

static int kernel_set(struct reader *r, size_t i, struct gpu_activity *a, const uint64_t *f)
{
	for (size_t k = 0; k < 3; k++) {
		a->grid[k] = u32(f[COMMON + k]);
		a->block[k] = u32(f[COMMON + 3 + k]);
	}
	a->registers = u32(f[COMMON + 6]);
	a->static_shared_bytes = u32(f[COMMON + 7]);
	a->dynamic_shared_bytes = u32(f[COMMON + 8]);
	a->graph = u32(f[COMMON + 9]);
	a->graph_node = f[COMMON + 10];
	a->name = kernel_names_find(&r->g->names, r->batch.ids[i]);
	return a->name == KERNEL_NAME_NONE ? -1 : 0;
}

static void copy_set(struct reader *r, size_t i, struct gpu_activity *a, const uint64_t *f)
{
	a->copy = copy_of(r->batch.ids[i]);
	a->bytes = f[COMMON];
	a->source = memory_of(f[COMMON + 1]);
	a->destination = memory_of(f[COMMON + 2]);
	a->asynchronous = f[COMMON + 3] != 0;
	a->graph = u32(f[COMMON + 4]);
	a->graph_node = f[COMMON + 5];
}

static void memset_set(struct reader *r, size_t i, struct gpu_activity *a, const uint64_t *f)
{
	a->bytes = f[COMMON];
	a->destination = memory_of(r->batch.ids[i]);
	a->asynchronous = f[COMMON + 2] != 0;
	a->graph = u32(f[COMMON + 3]);
	a->graph_node = f[COMMON + 4];
}

static int read_activity(struct reader *r, size_t i)
{
	struct gpu_timeline *g = r->g;
	uint64_t f[COMMON + 11];
	const uint8_t *rest;
	struct gpu_activity *a;
	int rc = 0;

	if (fields_read(r, i, f, sizeof(f) / sizeof(*f), &rest) < COMMON) {
		g->malformed++;
		return 0;
	}
	if (g->activity_count >= POSITIONS_MAX)
		return -1;
	a = array_grow(g->activities, &g->activity_cap, g->activity_count + 1, sizeof(*a));
	if (!a)
		return -1;
	g->activities = a;
	a = &g->activities[g->activity_count++];
	*a = (struct gpu_activity){
		.process = r->process,
		.device = u32(f[DEVICE]),
		.context = u32(f[CONTEXT]),
		.stream = u32(f[STREAM]),
		.correlation = u32(f[CORRELATION]),
		.call = GPU_NONE,
		.capture = GPU_NONE,
	};
	times_set(r, a, f);
	switch (r->batch.kinds[i]) {
	case RECORD_GPU_KERNEL:
		a->kind = GPU_KERNEL;
		rc = kernel_set(r, i, a, f);
		break;
	case RECORD_GPU_COPY:
		a->kind = GPU_COPY;
		copy_set(r, i, a, f);
		break;
	case RECORD_GPU_MEMSET:
		a->kind = GPU_MEMSET;
		memset_set(r, i, a, f);
		break;
	default:
		a->kind = GPU_GRAPH;
		a->graph = u32(f[COMMON]);
		break;
	}
	return rc;
}

static int read_overhead(struct reader *r, size_t i)
{
	uint64_t f[2];
	const uint8_t *rest;

	if (fields_read(r, i, f, 2, &rest) < 2 || f[1] >= DEVICE_TIME_MAX ||
	    __builtin_add_overflow(r->g->overhead_ns, (int64_t)f[1], &r->g->overhead_ns))
		r->g->malformed++;
	return 0;
}

static int read_state(struct reader *r, size_t i, int64_t now_ns)
{
	struct gpu_timeline *g = r->g;
	uint32_t state = r->batch.ids[i];
	const char *text = text_keep(r, i, r->batch.payload + r->batch.payload_at[i]);
	struct gpu_change *c =
		array_grow(g->changes, &g->change_cap, g->change_count + 1, sizeof(*c));

	if (c)
		g->changes = c;
	if (!c || !text)
		return -1;
	if (state < GPU_STATE_RECORDING || state > GPU_STATE_STOPPED)
		return 0;
	g->changes[g->change_count++] = (struct gpu_change){
		.process = r->process,
		.state = (enum gpu_state)state,
		.time_ns = now_ns,
		.text = text,
	};
	return 0;
}

static int read_device(struct reader *r, size_t i)
{
	enum { MEMORY, BANDWIDTH, MULTIPROCESSORS, CLOCK, CAPABILITY, FIELDS };
	struct gpu_timeline *g = r->g;
	uint32_t number = r->batch.ids[i];
	size_t at = pair_map_find(&r->device_at, r->process, number);
	uint64_t f[FIELDS];
	const uint8_t *rest;
	struct gpu_device *d;
	const char *name;

	if (fields_read(r, i, f, FIELDS, &rest) < FIELDS) {
		g->malformed++;
		return 0;
	}
	name = text_keep(r, i, rest);
	if (!name)
		return -1;
	if (at == PAIR_NONE) {
		d = array_grow(g->devices, &g->device_cap, g->device_count + 1, sizeof(*d));
		if (!d)
			return -1;
		g->devices = d;
		at = g->device_count;
		if (pair_map_put(&r->device_at, r->process, number, at))
			return -1;
		g->device_count++;
	}
	g->devices[at] = (struct gpu_device){
		.process = r->process,
		.number = number,
		.name = name,
		.memory_bytes = f[MEMORY],
		.bandwidth_kb_s = f[BANDWIDTH],
		.multiprocessors = u32(f[MULTIPROCESSORS]),
		.clock_khz = u32(f[CLOCK]),
		.capability = u32(f[CAPABILITY]),
	};
	return 0;
}

static int read_node(struct reader *r, size_t i, int64_t now_ns)
{
	const struct gpu_capture made = {
		.process = r->process,
		.stack = r->batch.ids[i],
		.thread = r->thread,
		.time_ns = now_ns,
	};
	bool cloned = r->batch.kinds[i] == RECORD_GRAPH_CLONE;
	const uint8_t *rest;
	uint64_t f[2];

	if (fields_read(r, i, f, cloned ? 2 : 1, &rest) < (cloned ? 2 : 1)) {
		r->g->malformed++;
		return 0;
	}
	return cloned ? graph_nodes_clone(&r->g->nodes, r->process, f[0], f[1])
		      : graph_nodes_add(&r->g->nodes, &made, f[0]);
}

static int read_event(struct reader *r, size_t i, int64_t now_ns)
{
	switch (r->batch.kinds[i]) {
	case RECORD_CUDA_ENTER:
		return read_enter(r, i, now_ns);
	case RECORD_CUDA_EXIT:
		return read_exit(r, i, now_ns);
	case RECORD_GPU_KERNEL:
	case RECORD_GPU_COPY:
	case RECORD_GPU_MEMSET:
	case RECORD_GPU_GRAPH:
		return read_activity(r, i);
	case RECORD_GRAPH_NODE:
	case RECORD_GRAPH_CLONE:
		return read_node(r, i, now_ns);
	case RECORD_GPU_OVERHEAD:
		return read_overhead(r, i);
	case RECORD_GPU_STATE:
		return read_state(r, i, now_ns);
	case RECORD_GPU_DROPPED:
		r->g->dropped += r->batch.ids[i];
		return 0;
	case RECORD_GPU_DEVICE:
		return read_device(r, i);
	default:
		return 0;
	}
}

static int read_thread(struct reader *r, size_t thread)
{
	const struct trace *t = r->g->trace;
	uint64_t next_index = 0;

	r->thread = thread;
	r->process = trace_thread(t, thread)->process;
	r->last_ns = INT64_MIN;
	for (size_t nth = 0; nth < trace_batch_count(t, thread); nth++) {
		const struct event_batch *b = &r->batch;
		struct err why; /* the timeline tells it */

		if (trace_batch_read(t, thread, nth, &r->batch, &why)) {
			if (err_is_memory(&why))
				return -1;
			continue;
		}
		if (!b->count)
			continue;
		if (b->first_index != next_index)
			give_up_calls(r, 0, b->times_ns[0]);
		next_index = b->first_index + b->count;
		for (size_t i = 0; i < b->count; i++) {
			/* Stamps of a thread may step back; what it did does not. */
			if (b->times_ns[i] > r->last_ns)
				r->last_ns = b->times_ns[i];
			if (read_event(r, i, r->last_ns))
				return -1;
		}
	}
	give_up_calls(r, 0, r->last_ns);
	return 0;
}

int gpu_read(struct gpu_timeline *g)
{
	struct reader r = { .g = g };
	int rc = 0;

	event_batch_init(&r.batch);
	pair_map_init(&r.device_at);
	for (size_t i = 0; i < trace_thread_count(g->trace) && !rc; i++)
		rc = read_thread(&r, i);
	pair_map_release(&r.device_at);
	event_batch_release(&r.batch);
	return rc;
}
