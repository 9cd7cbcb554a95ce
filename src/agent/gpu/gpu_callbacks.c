/*
 * CUDA calls, in the thread that makes them: when, what, from which Python line.
 * Runs inside the call: no lock, no CUDA, no allocation after a thread's first.
 */
#include <string.h>

#include "agent/core/hot.h"
#include "agent/core/session.h"
#include "agent/gpu/cupti.h"
#include "agent/gpu/gpu_recording.h"
#include "agent/python/call_stacks.h"
#include "base/varint.h"
#include "format/stamp.h"

static cupti_subscriber subscriber;

/* What the thread is in. */
static __thread struct {
	/*
	 * The runtime implements its calls by driver calls; those are part of the same
	 * call and not recorded again.
	 */
	unsigned depth;
	unsigned subscription; /* that depth was counted in */
	bool ignored;          /* it began while nothing was recorded */
	bool works;            /* it gives the device something to do */

	/*
	 * A launch takes microseconds, in which the driver fills the nearest cache.  So the
	 * record of its beginning is kept here and written together with its end: the ring
	 * is fetched into the cache once, not twice.
	 */
	struct cuda_call_entry *launch; /* NULL: none */
	struct ring *ring;
	uint64_t launch_stamp;
	uint32_t launch_stack;
	unsigned launches; /* one in HOOK_TIMED_EACH is timed, for gpu_cost.c */
	uint64_t hook_ns;  /* that its beginning took; 0: not timed */
} in;

#define HOOK_TIMED_EACH 64u

/* A call that is under way when the recording ends has no end: a later one must not take it up. */
static HOT_DATA _Atomic unsigned subscription;

static void forget_old_calls(void)
{
	unsigned now = atomic_load_explicit(&subscription, memory_order_relaxed);

	if (__builtin_expect(in.subscription == now, 1))
		return;
	in.depth = 0;
	in.launch = NULL;
	in.subscription = now;
}

/*
 * "cudaLaunchKernel" of "cudaLaunchKernel_v7000"; defined once.  Our own table has
 * the names: for a call that is newer than the CUPTI in use, CUPTI's is not to be trusted.
 */
static COLD uint32_t define_name(struct ring *r, struct cuda_call_entry *call)
{
	const char *name = call->row->name;
	const char *suffix = strchr(name + 2, '_'); /* behind those of __cudaLaunchKernel */
	uint32_t id = session_next_id(r->session);

	if (!ring_define(r, DEF_STRING, id, name,
			 (uint32_t)(suffix ? (size_t)(suffix - name) : strlen(name)), NULL, 0))
		return 0;
	atomic_store_explicit(&call->name, (uint64_t)session_epoch << 32 | id,
			      memory_order_relaxed);
	return id;
}

static uint32_t name_id(struct ring *r, struct cuda_call_entry *call)
{
	uint64_t found = atomic_load_explicit(&call->name, memory_order_relaxed);

	return found >> 32 == session_epoch ? (uint32_t)found : define_name(r, call);
}

/* cudaMalloc(void **, size_t, ...) and its kin have the size in second place. */
static uint64_t allocated_bytes(const struct cuda_call_entry *call,
				const struct cupti_callback_data *data)
{
	size_t bytes = 0;

	if ((call->what == CUDA_CALL_ALLOC || call->what == CUDA_CALL_HOST_ALLOC) && data->params &&
	    !strstr(call->row->name, "Pitch") && !strstr(call->row->name, "3D"))
		memcpy(&bytes, (const char *)data->params + sizeof(void *), sizeof(bytes));
	return bytes;
}

/* 1 + the number of the stream that is waited for; 0: unknown. */
static uint64_t stream_waited_for(const struct cuda_call_row *row,
				  const struct cupti_callback_data *data)
{
	bool per_thread = strstr(row->name, "_ptsz") != NULL;
	uint32_t id = 0;
	void *stream;

	if (!cupti.GetStreamId || !data->params || !data->context)
		return 0;
	memcpy(&stream, data->params, sizeof(stream)); /* the only argument */
	return cupti.GetStreamId(data->context, stream, per_thread, &id) ? 0 : 1ull + id;
}

static size_t put_call(uint8_t *payload, const struct cuda_call_entry *call, uint32_t correlation,
		       uint32_t stack, uint64_t bytes)
{
	size_t n = varint_put(payload, call->what);

	n += varint_put(payload + n, correlation);
	n += varint_put(payload + n, stack);
	return n + varint_put(payload + n, bytes);
}

static HOT void begin_launch(struct ring *r, struct cuda_call_entry *call)
{
	bool timed = !(in.launches++ % HOOK_TIMED_EACH);
	uint64_t began_ns = timed ? stamp_monotonic() : 0;

	in.launch = call;
	in.ring = r;
	in.launch_stamp = stamp_now(r->clock);
	in.launch_stack = stacks_current(r);
	in.hook_ns = timed ? stamp_monotonic() - began_ns : 0;
}

static HOT void end_launch(struct ring *r, uint32_t correlation)
{
	uint8_t payload[4 * VARINT_MAX];
	struct cuda_call_entry *call = in.launch;
	uint64_t began_ns = in.hook_ns ? stamp_monotonic() : 0;

	in.launch = NULL;
	if (r != in.ring) /* another recording: nothing that was noted is of it */
		return;
	ring_push_late(r, in.launch_stamp, RECORD_CUDA_ENTER, name_id(r, call), payload,
		       (uint32_t)put_call(payload, call, correlation, in.launch_stack, 0));
	ring_push(r, RECORD_CUDA_EXIT, correlation);
	if (in.hook_ns)
		gpu_cost_hook_took(in.hook_ns + stamp_monotonic() - began_ns);
}

/*
 * A node of a graph was made, by a call that was captured or one that adds nodes, or
 * cloned of another.  This takes time when graphs are built, none when they run.
 */
static COLD void on_graph_node(uint32_t id, const struct cupti_resource_data *data)
{
	const struct cupti_graph_data *graph = data->descriptor;
	struct ring *r = session_ring();
	uint8_t payload[2 * VARINT_MAX];
	uint64_t node, original;
	size_t n;

	forget_old_calls();
	gpu_note_graphs();
	if (!r || !gpu_is_on() || !graph || cupti.GetGraphNodeId(graph->node, &node))
		return;
	n = varint_put(payload, node);
	if (id == CUPTI_GRAPH_NODE_CLONED) {
		if (cupti.GetGraphNodeId(graph->original_node, &original))
			return;
		n += varint_put(payload + n, original);
		ring_push_payload(r, RECORD_GRAPH_CLONE, 0, payload, (uint32_t)n);
	} else if (in.launch && in.ring == r) {
		/* Its beginning is yet to be written: events stay in order. */
		ring_push_late(r, in.launch_stamp, RECORD_GRAPH_NODE, in.launch_stack, payload,
			       (uint32_t)n);
	} else {
		ring_push_payload(r, RECORD_GRAPH_NODE, stacks_current(r), payload, (uint32_t)n);
	}
}

static COLD void on_enter(struct ring *r, struct cuda_call_entry *call,
			  const struct cupti_callback_data *data)
{
	uint8_t payload[5 * VARINT_MAX];
	size_t n = put_call(payload, call, data->correlation, stacks_current(r),
			    allocated_bytes(call, data));
	if (call->what == CUDA_CALL_SYNC_STREAM)
		n += varint_put(payload + n, stream_waited_for(call->row, data));
	ring_push_payload(r, RECORD_CUDA_ENTER, name_id(r, call), payload, (uint32_t)n);
}

static bool is_work(enum cuda_call what)
{
	return what == CUDA_CALL_LAUNCH || what == CUDA_CALL_GRAPH_LAUNCH ||
	       what == CUDA_CALL_COPY || what == CUDA_CALL_MEMSET;
}

static void on_exit_of(struct ring *r, const struct cupti_callback_data *data)
{
	if (in.launch)
		end_launch(r, data->correlation);
	else
		ring_push(r, RECORD_CUDA_EXIT, data->correlation);
}

static bool is_of_graphs(enum cuda_call what)
{
	return what == CUDA_CALL_GRAPH_LAUNCH || what == CUDA_CALL_GRAPH_BUILD;
}

static HOT void begin_call(struct cuda_call_entry *call, const struct cupti_callback_data *data)
{
	struct ring *r;

	if (call && is_of_graphs(call->what))
		gpu_note_graphs();
	in.ignored = !gpu_is_on();
	if (in.ignored)
		return;
	in.works = call && is_work(call->what);
	r = call ? session_ring() : NULL;
	if (r && call->what == CUDA_CALL_LAUNCH)
		begin_launch(r, call);
	else if (r)
		on_enter(r, call, data);
}

static HOT void end_call(const struct cupti_callback_data *data)
{
	struct ring *r;

	if (in.ignored)
		return;
	gpu_note(in.works ? GPU_NEWS_WORK : GPU_NEWS_CALL);
	r = session_ring();
	if (r)
		on_exit_of(r, data);
}

/* Only calls of the table are enabled, so most of what comes here is given by depth alone. */
static HOT void on_call(void *user, int domain, uint32_t id, const void *argument)
{
	const struct cupti_callback_data *data = argument;

	(void)user;
	if (__builtin_expect(domain == CUPTI_DOMAIN_RESOURCE, 0)) {
		on_graph_node(id, argument);
		return;
	}
	forget_old_calls();
	if (data->site == CUPTI_ENTER) {
		if (!in.depth++)
			begin_call(cuda_call_find(domain, id), data);
	} else if (in.depth && !--in.depth) { /* else nested, or switched on in the middle of it */
		end_call(data);
	}
}

/*
 * The runtime starts kernels by a call of the driver, which is reported as well: recording both
 * costs half a microsecond more per launch (H200; the driver's alone 0.5 us).
 */
static bool is_reported_by_driver(const struct cuda_call_row *row)
{
	return cupti.version > CUPTI_VERSION_MIN && row->domain == CUPTI_DOMAIN_RUNTIME &&
	       row->what == CUDA_CALL_LAUNCH;
}

/* Enables all calls of the table; returns how many could be, with the last refusal of the others.
 */
static size_t enable_calls(int *refusal)
{
	size_t enabled = 0;

	/* What was noted of a call that is under way means nothing from here on. */
	atomic_fetch_add_explicit(&subscription, 1, memory_order_relaxed);
	/* A row that this CUPTI does not know is an error we can do without; not so all of them. */
	for (const struct cuda_call_row *row = cuda_call_rows; row->name; row++) {
		int result;

		if (is_reported_by_driver(row) ||
		    (row->domain == CUPTI_DOMAIN_DRIVER && !cupti.has_driver_calls))
			continue;
		result = cupti.EnableCallback(1, subscriber, row->domain, row->id);
		enabled += !result;
		*refusal = result ? result : *refusal;
	}
	return enabled;
}

/* Without them nodes have no line of their own: that of the graph's launch. */
static void enable_graph_nodes(void)
{
	static const uint32_t events[] = { CUPTI_GRAPH_NODE_CREATED, CUPTI_GRAPH_NODE_CLONED };

	for (size_t i = 0; cupti.GetGraphNodeId && i < sizeof(events) / sizeof(*events); i++)
		cupti.EnableCallback(1, subscriber, CUPTI_DOMAIN_RESOURCE, events[i]);
}

int gpu_callbacks_start(bool whole_graphs)
{
	int result = cupti.Subscribe(&subscriber, on_call, NULL);

	if (result) {
		subscriber = NULL;
		return result;
	}
	cuda_calls_init();
	if (enable_calls(&result)) {
		if (!whole_graphs)
			enable_graph_nodes();
		return CUPTI_OK;
	}
	gpu_callbacks_stop();
	return result;
}

void gpu_callbacks_stop(void)
{
	if (subscriber)
		cupti.Unsubscribe(subscriber);
	subscriber = NULL;
}
