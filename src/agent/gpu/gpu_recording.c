/* The life of the GPU recording in a process; see gpu_recording.h. */
#include "agent/gpu/gpu_recording.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/core/agent_threads.h"
#include "agent/core/delayed_start.h"
#include "agent/core/hot.h"
#include "agent/core/session.h"
#include "agent/gpu/cupti.h"
#include "agent/overhead/budget.h"
#include "agent/python/frames.h"
#include "agent/python/native_attach.h"
#include "agent/python/pyapi.h"
#include "format/stamp.h"

__attribute__((visibility("default"))) int InitializeInjection(void);

#define END_FLUSH_MS 2000 /* at most, at the end of the process */
#define FLUSH_EVERY_MS 200
#define HAND_OVER_MS 5       /* at most, with the GIL: another tool waits */
#define FLUSH_QUIET_TURNS 3u /* every third time where no call was made */

enum gpu_phase { GPU_OFF, GPU_ON };

static HOT_DATA _Atomic int phase;
static _Atomic int owner;              /* pid: a forked child has no CUDA */
static HOT_DATA _Atomic int unflushed; /* enum gpu_news since the last flush */
static _Atomic bool has_graphs;

HOT bool gpu_is_on(void)
{
	return atomic_load_explicit(&phase, memory_order_relaxed) == GPU_ON;
}

void gpu_note_graphs(void)
{
	if (!atomic_load_explicit(&has_graphs, memory_order_relaxed))
		atomic_store(&has_graphs, true);
}

HOT void gpu_note(enum gpu_news news)
{
	/* Written once, its line stays shared with the thread that flushes. */
	if (atomic_load_explicit(&unflushed, memory_order_relaxed) < (int)news)
		atomic_store_explicit(&unflushed, (int)news, memory_order_relaxed);
}

/*
 * CUPTI and the driver tear themselves down at the end of the process, and a call during that may
 * crash.  So our threads call them in turns only, and no turn begins after the end.
 */
static _Atomic bool ends;
static _Atomic int in_turn; /* threads of ours that are in one */

/* False: the process ends. */
static bool begin_turn(void)
{
	atomic_fetch_add(&in_turn, 1);
	if (!atomic_load(&ends)) /* or else wait_for_turns() sees that it is one */
		return true;
	atomic_fetch_sub(&in_turn, 1);
	return false;
}

static void end_turn(void)
{
	atomic_fetch_sub(&in_turn, 1);
}

static void wait_for_turns(uint64_t until_ns)
{
	const struct timespec pause = { 0, 1000000 };

	while (atomic_load(&in_turn) && stamp_monotonic() < until_ns)
		nanosleep(&pause, NULL);
}

/* Writes a change of state; any thread. */
static void write_state(enum gpu_state state, const char *text)
{
	struct ring *r = session_ring();

	if (r)
		ring_push_payload(r, RECORD_GPU_STATE, (uint32_t)state, text,
				  (uint32_t)strlen(text));
}

void gpu_stop(const char *text)
{
	int on = GPU_ON;

	if (atomic_compare_exchange_strong(&phase, &on, GPU_OFF))
		write_state(GPU_STATE_STOPPED, text);
}

static const char *reason_of(int result)
{
	const char *reason = NULL;

	return cupti.GetResultString(result, &reason) || !reason ? "unknown error" : reason;
}

void gpu_stop_for(const char *what, int result)
{
	char text[512];

	snprintf(text, sizeof(text), "%s: %s (%d)", what, reason_of(result), result);
	gpu_stop(text);
}

static void write_refusal(int result)
{
	char text[512];

	if (result == CUPTI_TAKEN)
		snprintf(
			text, sizeof(text),
			"CUPTI is in use by another tool (nsys, ncu, cuda-gdb or a profiler in the "
			"program): end it, then the GPU can be recorded");
	else
		snprintf(text, sizeof(text), "CUPTI refused to record the GPU: %s (%d)",
			 reason_of(result), result);
	write_state(GPU_STATE_UNAVAILABLE, text);
}

/* Activities stay on in a process that uses CUDA graphs: see gpu_note_graphs(). */
static void detach(void)
{
	if (!atomic_load(&has_graphs))
		gpu_activity_stop();
	gpu_callbacks_stop();
}

/* whole_graphs: see gpu_activity_start(). */
static int start(bool whole_graphs)
{
	int result = gpu_callbacks_start(whole_graphs);

	if (result)
		return result;
	result = gpu_activity_start(whole_graphs);
	if (result)
		detach();
	return result;
}

#define FLUSHING (-1)

/* Unfinished work is not waited for. */
static void *flush(void *result)
{
	atomic_store((_Atomic int *)result, gpu_activity_fetch(true));
	return NULL;
}

static int start_thread(void *(*run)(void *), void *argument)
{
	pthread_t thread;
	int result = agent_thread_start(&thread, NULL, run, argument);

	if (!result)
		pthread_detach(thread);
	return result;
}

/*
 * In a thread of its own, so that a device that hangs cannot hold up the end of
 * the program.  A buffer that CUPTI's thread got hold of before is none of the flush's: it
 * is waited for as well.  Returns an enum cupti_result, or FLUSHING: it takes longer.
 */
static int flush_until(uint64_t until_ns)
{
	static _Atomic int result;
	struct timespec pause = { 0, 1000000 };

	atomic_store(&result, FLUSHING);
	if (stamp_monotonic() >= until_ns || start_thread(flush, (void *)&result))
		return FLUSHING;
	while (stamp_monotonic() < until_ns &&
	       (atomic_load(&result) == FLUSHING || gpu_activity_in_hand()))
		nanosleep(&pause, NULL);
	return gpu_activity_in_hand() ? FLUSHING : atomic_load(&result);
}

/*
 * CUPTI keeps a buffer until it is full.  A process that is killed must not take
 * with it what its device finished long ago, so finished work is fetched now and
 * then: soon after a call, and rarely without one, because long work may end
 * after the last.
 */
static void *flush_now_and_then(void *unused)
{
	struct timespec pause = { 0, FLUSH_EVERY_MS * 1000000L };
	unsigned quiet = 0;

	(void)unused;
	while (session_on()) {
		nanosleep(&pause, NULL);
		if (!begin_turn())
			return NULL;
		quiet = atomic_exchange_explicit(&unflushed, 0, memory_order_relaxed) ? 0
										      : quiet + 1;
		if (gpu_is_on() && quiet % FLUSH_QUIET_TURNS == 0)
			gpu_activity_fetch(false);
		gpu_cost_take_turn();
		end_turn();
	}
	/* The recording is over and the program runs on. */
	if (atomic_load(&owner) != getpid() || !begin_turn())
		return NULL;
	if (atomic_exchange(&phase, GPU_OFF) == GPU_ON)
		detach();
	end_turn();
	return NULL;
}

static uint64_t ms_from_now(unsigned ms)
{
	return stamp_monotonic() + ms * 1000000ull;
}

static void fetch_last(uint64_t until_ns)
{
	int result;

	if (!gpu_is_on() || !session_on() || atomic_load(&owner) != getpid())
		return;
	result = flush_until(until_ns);
	gpu_cost_settle();
	if (result == FLUSHING)
		gpu_stop("the last GPU work is missing: CUPTI did not deliver it within 2 seconds");
	else if (result)
		gpu_stop_for("the last GPU work is missing: CUPTI did not deliver it", result);
}

void gpu_fetch_last(void)
{
	fetch_last(ms_from_now(END_FLUSH_MS));
}

void gpu_end(void)
{
	uint64_t until_ns = ms_from_now(END_FLUSH_MS);
	bool again = atomic_exchange(&ends, true);

	/* What was fetched when Python ended is not asked for again when its libraries do. */
	if (again && (!gpu_is_on() ||
		      atomic_load_explicit(&unflushed, memory_order_relaxed) < GPU_NEWS_WORK))
		return;
	atomic_store_explicit(&unflushed, 0, memory_order_relaxed);
	wait_for_turns(until_ns);
	fetch_last(until_ns);
}

void gpu_hand_over(const char *text)
{
	if (!gpu_is_on() || atomic_load(&owner) != getpid() || !begin_turn())
		return;
	detach();
	flush_until(ms_from_now(HAND_OVER_MS));
	gpu_stop(text);
	end_turn();
}

static void in_forked_child(void)
{
	atomic_store_explicit(&phase, GPU_OFF, memory_order_relaxed);
	atomic_store_explicit(&ends, false, memory_order_relaxed);
	atomic_store_explicit(&in_turn, 0, memory_order_relaxed);
}

#define NO_DRIVER_CALLS                                                                        \
	"libcupti 11.8 does not know the driver calls of this CUDA version: GPU work that a "  \
	"library starts through them (Triton, parts of cuBLAS) has no call and no line; with " \
	"the libcupti of this version it has"
#define NODES_ANYWAY                                                                              \
	"CUDA graphs are recorded node by node: --graph-nodes off needs a recording that starts " \
	"with the program, and libcupti 12 or newer"

/* from_start: CUDA is just being initialised, so the process has no graph yet. */
static void begin_recording(bool from_start)
{
	uint64_t began_ns = stamp_monotonic();
	bool whole_asked, whole_graphs;
	struct session *s;
	char text[512];
	int result;

	if (!session_on() && native_attach())
		return;
	s = session_on();
	if (!s || !(s->header->collect & SHM_COLLECT_GPU))
		return;
	if (cupti_load(text, sizeof(text))) {
		write_state(GPU_STATE_UNAVAILABLE, text);
		return;
	}
	atomic_store(&owner, getpid());
	whole_asked = !(s->header->collect & SHM_COLLECT_GRAPH_NODES);
	whole_graphs = from_start && whole_asked;
	atomic_store(&phase, GPU_ON);
	result = start(whole_graphs);
	if (result && result != CUPTI_TAKEN && whole_graphs) {
		whole_graphs = false;
		result = start(false);
	}
	if (result) {
		atomic_store(&phase, GPU_OFF);
		write_refusal(result);
		return;
	}
	snprintf(text, sizeof(text), "CUPTI %u%s%s%s", cupti.version,
		 cupti.has_driver_calls ? "" : "\n" NO_DRIVER_CALLS,
		 whole_asked == whole_graphs ? ""
		 : cupti.has_driver_calls    ? "\n"
					     : "; ",
		 whole_asked == whole_graphs ? "" : NODES_ANYWAY);
	write_state(GPU_STATE_RECORDING, text);
	if (py.version && !frames_known() && session_process())
		atomic_store_explicit(&session_process()->no_lines, 1, memory_order_relaxed);
	pthread_atfork(NULL, NULL, in_forked_child);
	atexit(gpu_end);
	start_thread(flush_now_and_then, NULL);
	budget_spend_once_ns(stamp_monotonic() - began_ns);
}

/* In the thread of delayed_start.c the process may be about to end. */
static void begin_late(void)
{
	if (!begin_turn())
		return;
	begin_recording(false);
	end_turn();
}

/* Called by the CUDA driver while it initialises itself.  1: all is well, whatever it is. */
int InitializeInjection(void)
{
	atomic_store(&ends, false); /* an earlier Python may have ended, the program has not */
	if (!session_on() && delayed_start_wait(DELAYED_START_GPU, getenv(SHM_ENV), begin_late))
		return 1;
	if (begin_turn()) {
		begin_recording(true);
		end_turn();
	}
	return 1;
}
