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
#include "timeline/cuda_decode.h"
#include "timeline/gpu_tables.h"
#include "timeline/pair_map.h"

#define OPEN_CALLS 16u
#define CALLS_MAX ((size_t)1 << 31)
#define WORKS_MAX                                                                      \
	((size_t)1 << 30) /* activities too: gpu_call.link points at half as many more \
			   */
/* Half of what the trace allows: a correction may still be added without overflow. */
#define DEVICE_TIME_MAX ((uint64_t)1 << 61)

/* A call that has not returned yet. */
struct open_call {
	size_t at;       /* of the calls */
	bool waits;      /* for the device or a stream */
	uint32_t stream; /* it waits for */
};

#define APIS_RECENT 64u

struct gpu_reader {
	struct gpu_timeline *g;
	struct {
		uint32_t name, api;
	} recent[APIS_RECENT];           /* by the name's id; name 0: none */
	const struct event_batch *batch; /* that is read */
	struct pair_map device_at;       /* (process, number) */
	size_t thread;                   /* SIZE_MAX: none yet */
	uint32_t process;
	int64_t last_ns;
	uint64_t next_index;               /* of the thread's next event if none is lost */
	struct open_call open[OPEN_CALLS]; /* innermost last */
	size_t open_count;
};

/* [p, end of event i's payload) as a text of the timeline; NULL: no memory. */
static const char *text_keep(struct gpu_reader *r, struct payload p)
{
	const char *from = (const char *)p.at;
	size_t n = (size_t)(p.end - p.at);
	char *text = arena_alloc(&r->g->texts, utf8_clean_bytes(from, n) + 1);

	if (text)
		utf8_clean(text, from, n);
	return text;
}

/* Closes what lies above `keep` without having seen it return. */
static void give_up_calls(struct gpu_reader *r, size_t keep, int64_t now_ns)
{
	while (r->open_count > keep)
		r->g->lists.calls[r->open[--r->open_count].at].end_ns = now_ns;
}

/* The number of what a call has in common with others; KEY_NONE: no memory. */
static uint32_t api_search(struct gpu_reader *r, const struct cuda_entry *e, uint32_t name)
{
	const uint64_t key[] = { (uint64_t)name << 32 | (uint32_t)r->thread, (uint64_t)e->what,
				 e->bytes };
	struct gpu_timeline *g = r->g;
	struct gpu_api *grown;
	const char *text;
	bool added;
	uint32_t number = key_table_number(&g->apis, key, sizeof(key), &added);

	if (number == KEY_NONE || !added)
		return number;
	grown = array_grow(g->lists.apis, &g->api_cap, g->apis.count, sizeof(*grown));
	if (!grown)
		return KEY_NONE;
	g->lists.apis = grown;
	text = trace_string(g->trace, name);
	grown[number] = (struct gpu_api){
		.name = text ? text : "(unknown)",
		.what = e->what,
		.process = r->process,
		.thread = (uint32_t)r->thread,
		.bytes = e->bytes,
	};
	return number;
}

/* A thread makes the same calls again and again. */
static uint32_t api_number(struct gpu_reader *r, const struct cuda_entry *e, uint32_t name)
{
	uint32_t at = name % APIS_RECENT;

	if (name && r->recent[at].name == name) {
		const struct gpu_api *api = &r->g->lists.apis[r->recent[at].api];

		if (api->thread == r->thread && api->what == e->what && api->bytes == e->bytes)
			return r->recent[at].api;
	}
	r->recent[at].name = name;
	r->recent[at].api = api_search(r, e, name);
	return r->recent[at].api;
}

static bool is_wait(enum cuda_call what)
{
	return what == CUDA_CALL_SYNC_DEVICE || what == CUDA_CALL_SYNC_STREAM;
}

static int read_enter(struct gpu_reader *r, size_t i, int64_t now_ns)
{
	struct gpu_timeline *g = r->g;
	struct cuda_entry e;
	struct gpu_call *c;
	uint32_t api;

	if (!cuda_entry_decode(&e, r->batch, i)) {
		g->malformed++;
		return 0;
	}
	api = api_number(r, &e, r->batch->ids[i]);
	if (api >= CALLS_MAX || g->lists.call_count >= CALLS_MAX)
		return -1;
	c = array_grow(g->lists.calls, &g->call_cap, g->lists.call_count + 1, sizeof(*c));
	if (!c)
		return -1;
	g->lists.calls = c;
	c[g->lists.call_count] = (struct gpu_call){
		.start_ns = now_ns,
		.end_ns = now_ns,
		.correlation = e.correlation,
		.stack = e.stack,
		.link = GPU_NONE,
		.api = api & (CALLS_MAX - 1),
	};
	if (r->open_count == OPEN_CALLS) {
		c[r->open[0].at].end_ns = now_ns;
		memmove(r->open, r->open + 1, --r->open_count * sizeof(*r->open));
	}
	r->open[r->open_count++] = (struct open_call){
		.at = g->lists.call_count++,
		.waits = is_wait(e.what),
		.stream = e.stream,
	};
	return 0;
}

static int wait_add(struct gpu_timeline *g, const struct gpu_call *c, uint32_t stream)
{
	struct gpu_wait *w = array_grow(g->waits, &g->wait_cap, g->wait_count + 1, sizeof(*w));
	const struct gpu_api *api = gpu_call_api(g, c);

	if (!w)
		return -1;
	g->waits = w;
	g->waits[g->wait_count++] = (struct gpu_wait){
		.process = api->process,
		.stream = api->what == CUDA_CALL_SYNC_DEVICE ? STREAM_UNKNOWN : stream,
		.all = api->what == CUDA_CALL_SYNC_DEVICE,
		.start_ns = c->start_ns,
		.end_ns = c->end_ns,
	};
	return 0;
}

static int read_exit(struct gpu_reader *r, size_t i, int64_t now_ns)
{
	struct gpu_call *calls = r->g->lists.calls;
	size_t at = r->open_count;
	const struct open_call *open;

	while (at > 0 && calls[r->open[at - 1].at].correlation != r->batch->ids[i])
		at--;
	if (!at)
		return 0; /* entered before the recording, or in a gap */
	give_up_calls(r, at, now_ns);
	open = &r->open[--r->open_count];
	calls[open->at].end_ns = now_ns;
	calls[open->at].ended = true;
	return open->waits ? wait_add(r->g, &calls[open->at], open->stream) : 0;
}

/* Times on the trace's clock, where the device gave any that can be. */
static void times_set(struct gpu_reader *r, struct gpu_activity *a, const struct work_record *w)
{
	int64_t zero_ns = trace_start(r->g->trace)->monotonic_ns;
	int64_t start_ns;

	if (!w->start_ns || w->start_ns >= DEVICE_TIME_MAX || w->duration_ns >= DEVICE_TIME_MAX ||
	    __builtin_sub_overflow((int64_t)w->start_ns, zero_ns, &start_ns) ||
	    start_ns <= -(int64_t)DEVICE_TIME_MAX || start_ns >= (int64_t)DEVICE_TIME_MAX ||
	    start_ns + (int64_t)w->duration_ns >= (int64_t)DEVICE_TIME_MAX) {
		r->g->untimed++;
		return;
	}
	a->timed = true;
	a->start_ns = start_ns;
	a->end_ns = start_ns + (int64_t)w->duration_ns;
}

/* The number of what an activity has in common with others; KEY_NONE: no memory. */
static uint32_t work_number(struct gpu_reader *r, const struct work_record *w, uint8_t kind,
			    uint32_t id)
{
	uint8_t key[2 * sizeof(uint32_t) + 1 + WORK_WHERE_MAX + WORK_WHAT_MAX];
	size_t where = (size_t)(w->where.end - w->where.at);
	size_t what = (size_t)(w->what.end - w->what.at), n = 2 * sizeof(uint32_t);
	struct gpu_timeline *g = r->g;
	struct gpu_work *grown;
	uint32_t number;
	bool added;

	memcpy(key, &r->process, sizeof(uint32_t));
	memcpy(key + sizeof(uint32_t), &id, sizeof(uint32_t));
	key[n++] = kind;
	memcpy(key + n, w->where.at, where);
	memcpy(key + n + where, w->what.at, what);
	number = key_table_number(&g->works, key, n + where + what, &added);
	if (number == KEY_NONE || !added)
		return number;
	grown = array_grow(g->lists.works, &g->work_cap, g->works.count, sizeof(*grown));
	if (!grown)
		return KEY_NONE;
	g->lists.works = grown;
	work_decode(&grown[number], w, kind, id);
	grown[number].process = r->process;
	if (kind == RECORD_GPU_KERNEL)
		grown[number].name = kernel_names_find(&g->names, id);
	return grown[number].name == KERNEL_NAME_NONE ? KEY_NONE : number;
}

static int read_activity(struct gpu_reader *r, size_t i)
{
	struct gpu_lists *lists = &r->g->lists;
	struct gpu_activity *a;
	struct work_record w;
	uint32_t work;

	if (!work_record_decode(&w, r->batch, i)) {
		r->g->malformed++;
		return 0;
	}
	work = work_number(r, &w, r->batch->kinds[i], r->batch->ids[i]);
	if (work >= WORKS_MAX || lists->activity_count >= WORKS_MAX)
		return -1;
	a = array_grow(lists->activities, &r->g->activity_cap, lists->activity_count + 1,
		       sizeof(*a));
	if (!a)
		return -1;
	lists->activities = a;
	a += lists->activity_count++;
	*a = (struct gpu_activity){ .link = w.correlation, .work = work & (WORKS_MAX - 1) };
	times_set(r, a, &w);
	return 0;
}

static int read_overhead(struct gpu_reader *r, size_t i)
{
	struct payload p = event_payload(r->batch, i);
	uint64_t f[2];

	if (payload_fields(&p, f, 2) < 2 || f[1] >= DEVICE_TIME_MAX ||
	    __builtin_add_overflow(r->g->overhead_ns, (int64_t)f[1], &r->g->overhead_ns))
		r->g->malformed++;
	return 0;
}

static int read_state(struct gpu_reader *r, size_t i, int64_t now_ns)
{
	struct gpu_timeline *g = r->g;
	uint32_t state = r->batch->ids[i];
	const char *text = text_keep(r, event_payload(r->batch, i));
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

static int read_device(struct gpu_reader *r, size_t i)
{
	enum { MEMORY, BANDWIDTH, MULTIPROCESSORS, CLOCK, CAPABILITY, FIELDS };
	struct gpu_timeline *g = r->g;
	uint32_t number = r->batch->ids[i];
	size_t at = pair_map_find(&r->device_at, r->process, number);
	struct payload p = event_payload(r->batch, i);
	uint64_t f[FIELDS];
	struct gpu_device *d;
	const char *name;

	if (payload_fields(&p, f, FIELDS) < FIELDS) {
		g->malformed++;
		return 0;
	}
	name = text_keep(r, p);
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
		.multiprocessors = cut_to_u32(f[MULTIPROCESSORS]),
		.clock_khz = cut_to_u32(f[CLOCK]),
		.capability = cut_to_u32(f[CAPABILITY]),
	};
	return 0;
}

static int read_node(struct gpu_reader *r, size_t i, int64_t now_ns)
{
	const struct gpu_capture made = {
		.process = r->process,
		.stack = r->batch->ids[i],
		.thread = r->thread,
		.time_ns = now_ns,
	};
	bool cloned = r->batch->kinds[i] == RECORD_GRAPH_CLONE;
	struct payload p = event_payload(r->batch, i);
	uint64_t f[2];

	if (payload_fields(&p, f, cloned ? 2 : 1) < (cloned ? 2 : 1)) {
		r->g->malformed++;
		return 0;
	}
	return cloned ? graph_nodes_clone(&r->g->nodes, r->process, f[0], f[1])
		      : graph_nodes_add(&r->g->nodes, &made, f[0]);
}

static int read_event(struct gpu_reader *r, size_t i, int64_t now_ns)
{
	switch (r->batch->kinds[i]) {
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
		r->g->dropped += r->batch->ids[i];
		return 0;
	case RECORD_GPU_DEVICE:
		return read_device(r, i);
	default:
		return 0;
	}
}

static void thread_end(struct gpu_reader *r)
{
	give_up_calls(r, 0, r->last_ns);
}

static void thread_begin(struct gpu_reader *r, size_t thread)
{
	thread_end(r);
	r->thread = thread;
	r->process = trace_thread(r->g->trace, thread)->process;
	r->last_ns = INT64_MIN;
	r->next_index = 0;
}

int gpu_reader_new(struct gpu_reader **out, const struct trace *t, struct err *err)
{
	struct gpu_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, "out of memory");
	pair_map_init(&r->device_at);
	r->thread = SIZE_MAX;
	r->g = gpu_timeline_empty(t);
	if (!r->g) {
		gpu_reader_free(r);
		return err_set(err, "out of memory");
	}
	*out = r;
	return 0;
}

int gpu_reader_batch(struct gpu_reader *r, size_t thread, const struct event_batch *b)
{
	if (!b->count)
		return 0;
	if (thread != r->thread)
		thread_begin(r, thread);
	if (b->first_index != r->next_index)
		give_up_calls(r, 0, b->times_ns[0]);
	r->next_index = b->first_index + b->count;
	r->batch = b;
	for (size_t i = 0; i < b->count; i++) {
		/* Stamps of a thread may step back; what it did does not. */
		if (b->times_ns[i] > r->last_ns)
			r->last_ns = b->times_ns[i];
		if (read_event(r, i, r->last_ns))
			return -1;
	}
	return 0;
}

int gpu_reader_finish(struct gpu_reader *r, struct gpu_timeline **out, struct err *err)
{
	struct gpu_timeline *g = r->g;

	thread_end(r);
	g->lists.activities = array_shrink(g->lists.activities, &g->activity_cap,
					   g->lists.activity_count, sizeof(*g->lists.activities));
	g->lists.calls = array_shrink(g->lists.calls, &g->call_cap, g->lists.call_count,
				      sizeof(*g->lists.calls));
	r->g = NULL;
	gpu_reader_free(r);
	if (gpu_timeline_link(g)) {
		gpu_timeline_free(g);
		return err_set(err, "out of memory");
	}
	*out = g;
	return 0;
}

void gpu_reader_free(struct gpu_reader *r)
{
	if (!r)
		return;
	pair_map_release(&r->device_at);
	gpu_timeline_free(r->g);
	free(r);
}

/* The timeline reports what cannot be read. */
static int read_blocks(struct gpu_reader *r, const struct trace *t, struct event_batch *b)
{
	struct err why;

	for (size_t thread = 0; thread < trace_thread_count(t); thread++) {
		for (size_t nth = 0; nth < trace_batch_count(t, thread); nth++) {
			if (!trace_batch_read(t, thread, nth, b, &why)) {
				if (gpu_reader_batch(r, thread, b))
					return -1;
			} else if (err_is_memory(&why)) {
				return -1;
			}
		}
	}
	return 0;
}

int gpu_timeline_new(struct gpu_timeline **out, const struct trace *t, struct err *err)
{
	struct gpu_reader *r = NULL;
	struct event_batch b;
	int rc;

	if (gpu_reader_new(&r, t, err))
		return -1;
	event_batch_init(&b);
	rc = read_blocks(r, t, &b);
	event_batch_release(&b);
	if (!rc)
		return gpu_reader_finish(r, out, err);
	gpu_reader_free(r);
	return err_set(err, "out of memory");
}
