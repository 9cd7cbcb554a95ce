/*
 * CUDA calls, in the thread that makes them: when, what, from which Python line.
 * Runs inside the call: no lock, no CUDA, no allocation after a thread's first.
 */
#include <string.h>

#include "agent/cuda_calls.h"
#include "agent/cupti.h"
#include "agent/gpu_recording.h"
#include "agent/intern.h"
#include "agent/session.h"
#include "agent/stacks.h"
#include "base/varint.h"

static cupti_subscriber subscriber;
static struct intern names;

/*
 * The runtime implements its calls by driver calls; those are part of the same
 * call and not recorded again.
 */
static __thread unsigned depth;

/*
 * A call that is under way when we let go of CUPTI never tells its end: depths
 * counted then mean nothing once we are back.
 */
static _Atomic unsigned subscription;
static __thread unsigned depth_subscription;

static void forget_old_depth(void)
{
	unsigned now = atomic_load_explicit(&subscription, memory_order_relaxed);

	if (depth_subscription != now)
		depth = 0;
	depth_subscription = now;
}

/* "cudaLaunchKernel" of "cudaLaunchKernel_v7000"; defined once. */
static uint32_t name_id(struct ring *r, const char *function)
{
	size_t n = strlen(function);
	const char *suffix = strstr(function, "_v");
	uint64_t hash = 0;
	uint32_t id;

	if (suffix && suffix[2] >= '0' && suffix[2] <= '9')
		n = (size_t)(suffix - function);
	for (size_t i = 0; i < n; i++)
		hash = intern_mix(hash, (uint8_t)function[i]);
	id = intern_find(&names, hash);
	if (id)
		return id;
	id = session_next_id(r->session);
	if (!ring_define(r, DEF_STRING, id, function, (uint32_t)n, NULL, 0))
		return 0;
	intern_put(&names, hash, id);
	return id;
}

/* cudaMalloc(void **, size_t, ...) and its kin have the size in second place. */
static uint64_t allocated_bytes(enum cuda_call what, const struct cupti_callback_data *data)
{
	size_t bytes = 0;

	if ((what == CUDA_CALL_ALLOC || what == CUDA_CALL_HOST_ALLOC) && data->params &&
	    data->function && !strstr(data->function, "Pitch") && !strstr(data->function, "3D"))
		memcpy(&bytes, (const char *)data->params + sizeof(void *), sizeof(bytes));
	return bytes;
}

/* 1 + the number of the stream that is waited for; 0: unknown. */
static uint64_t stream_waited_for(const struct cupti_callback_data *data)
{
	bool per_thread = data->function && strstr(data->function, "_ptsz");
	uint32_t id = 0;
	void *stream;

	if (!cupti.GetStreamId || !data->params || !data->context)
		return 0;
	memcpy(&stream, data->params, sizeof(stream)); /* the only argument */
	return cupti.GetStreamId(data->context, stream, per_thread, &id) ? 0 : 1ull + id;
}

static void on_enter(struct ring *r, enum cuda_call what, const struct cupti_callback_data *data)
{
	uint8_t payload[5 * VARINT_MAX];
	size_t n = varint_put(payload, what);

	n += varint_put(payload + n, data->correlation);
	n += varint_put(payload + n, stacks_current(r));
	n += varint_put(payload + n, allocated_bytes(what, data));
	if (what == CUDA_CALL_SYNC_STREAM)
		n += varint_put(payload + n, stream_waited_for(data));
	/* A CUPTI older than the call has no name for it. */
	ring_push_payload(r, RECORD_CUDA_ENTER,
			  name_id(r, data->function ? data->function : "(unknown)"), payload,
			  (uint32_t)n);
}

static void on_call(void *user, int domain, uint32_t id, const void *argument)
{
	const struct cupti_callback_data *data = argument;
	int what = cuda_call_what(domain, id);
	struct ring *r;

	(void)user;
	if (what < 0 || !gpu_is_on())
		return;
	forget_old_depth();
	if (data->site == CUPTI_ENTER) {
		if (depth++)
			return;
		r = session_ring();
		if (r)
			on_enter(r, (enum cuda_call)what, data);
		return;
	}
	if (!depth || --depth) /* switched on in the middle of a call, or nested */
		return;
	gpu_note_call();
	r = session_ring();
	if (r)
		ring_push(r, RECORD_CUDA_EXIT, data->correlation);
}

int gpu_callbacks_start(void)
{
	int result = cupti.Subscribe(&subscriber, on_call, NULL);
	size_t enabled = 0;

	if (result)
		return result;
	cuda_calls_init();
	atomic_fetch_add_explicit(&subscription, 1, memory_order_relaxed);
	/* A row that this CUPTI does not know is an error we can do without; not so all of them. */
	for (const struct cuda_call_row *row = cuda_call_rows; row->name; row++) {
		int refusal = cupti.EnableCallback(1, subscriber, row->domain, row->id);

		enabled += !refusal;
		result = refusal ? refusal : result;
	}
	if (enabled)
		return CUPTI_OK;
	gpu_callbacks_stop();
	return result;
}

void gpu_callbacks_stop(void)
{
	if (subscriber)
		cupti.Unsubscribe(subscriber);
	subscriber = NULL;
}
