/* The life of the GPU recording in a process; see gpu_recording.h. */
#include "agent/gpu_recording.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/budget.h"
#include "agent/cupti.h"
#include "agent/frames.h"
#include "agent/hot.h"
#include "agent/join_here.h"
#include "agent/own_thread.h"
#include "agent/pyapi.h"
#include "agent/session.h"
#include "agent/ahead.h"
#include "format/stamp.h"

__attribute__((visibility("default"))) int InitializeInjection(void);

#define END_FLUSH_MS 2000 /* at most, at the end of the process */
#define FLUSH_EVERY_MS 200
#define LAST_WORK_MS 10 /* until the next look whether what was started before a pause is done */
#define FLUSH_QUIET_TURNS 3u /* every third time where no call was made */

enum gpu_phase { GPU_OFF, GPU_ON, GPU_PAUSED };

static HOT_DATA _Atomic int phase;
static _Atomic int owner;              /* pid: a forked child has no CUDA */
static HOT_DATA _Atomic int unflushed; /* enum gpu_news since the last flush */

HOT bool gpu_is_on(void)
{
	return atomic_load_explicit(&phase, memory_order_relaxed) == GPU_ON;
}

bool gpu_is_over(void)
{
	return atomic_load_explicit(&phase, memory_order_relaxed) == GPU_OFF;
}

HOT void gpu_note(enum gpu_news news)
{
	/* Written once, its line stays shared with the thread that flushes. */
	if (atomic_load_explicit(&unflushed, memory_order_relaxed) < (int)news)
		atomic_store_explicit(&unflushed, (int)news, memory_order_relaxed);
}

/*
 * CUPTI and the driver take themselves down with the process, and whoever calls them meanwhile may
 * crash.  So what our threads do with them is done in turns, and from the end on there are none.
 */
static _Atomic bool ends;
static _Atomic bool in_turn;

/* False: the process ends. */
static bool begin_turn(void)
{
	atomic_store(&in_turn, true);
	if (!atomic_load(&ends)) /* or else wait_for_turn() sees that it is one */
		return true;
	atomic_store(&in_turn, false);
	return false;
}

static void end_turn(void)
{
	atomic_store(&in_turn, false);
}

static void wait_for_turn(uint64_t until_ns)
{
	const struct timespec pause = { 0, 1000000 };

	while (atomic_load(&in_turn) && stamp_monotonic() < until_ns)
		nanosleep(&pause, NULL);
}

/* Writes a change of state; any thread. */
static void say(enum gpu_state state, const char *text)
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
		say(GPU_STATE_STOPPED, text);
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

static void say_result(int result)
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
	say(GPU_STATE_UNAVAILABLE, text);
}

static int start(void)
{
	int result = gpu_callbacks_start();

	if (result)
		return result;
	result = gpu_activity_start();
	if (result) {
		gpu_activity_stop();
		gpu_callbacks_stop();
	}
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
	int result = own_thread_start(&thread, NULL, run, argument);

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

/* Work that was started is waited for.  False: it is not done within 2 s, or the process ends. */
static bool fetch_what_was_started(void)
{
	const struct timespec pause = { 0, LAST_WORK_MS * 1000000L };

	for (int ms = 0; ms < END_FLUSH_MS && !atomic_load(&ends); ms += LAST_WORK_MS) {
		nanosleep(&pause, NULL);
		if (gpu_activity_fetch(false))
			return false;
		if (gpu_activity_is_fetched())
			return true;
	}
	return false;
}

/* From here on we are either in or out, and know which. */
static void end_leave(void)
{
	if (gpu_leave_settle())
		gpu_callbacks_left();
}

/*
 * CUPTI keeps a buffer until it is full.  A process that is killed must not take
 * with it what its device finished long ago, so finished work is fetched now and
 * then: soon after a call, and seldom without one, because long work may end
 * after the last.
 */
static void *flush_now_and_then(void *unused)
{
	struct timespec pause = { 0, FLUSH_EVERY_MS * 1000000L };
	unsigned quiet = 0;
	bool may_leave = false;
	int was;

	(void)unused;
	while (session_on()) {
		nanosleep(&pause, NULL);
		if (!begin_turn())
			return NULL;
		quiet = atomic_exchange_explicit(&unflushed, 0, memory_order_relaxed) ? 0
										      : quiet + 1;
		if (gpu_is_on() && quiet % FLUSH_QUIET_TURNS == 0)
			gpu_activity_fetch(false);
		gpu_windows_turn();
		end_turn();
	}
	/* The recording is over and the program runs on: CUPTI costs it nothing any more. */
	if (atomic_load(&owner) != getpid() || !begin_turn())
		return NULL;
	was = atomic_exchange(&phase, GPU_OFF);
	end_leave();
	if (was == GPU_ON) {
		gpu_activity_stop();
		gpu_callbacks_rest();
		may_leave = fetch_what_was_started();
	}
	if (was != GPU_OFF && !(may_leave && gpu_callbacks_leave()))
		gpu_callbacks_stop();
	end_turn();
	return NULL;
}

static uint64_t end_of_patience(void)
{
	return stamp_monotonic() + END_FLUSH_MS * 1000000ull;
}

static void fetch_last(uint64_t until_ns)
{
	int result;

	if (!gpu_is_on() || !session_on() || atomic_load(&owner) != getpid())
		return;
	result = flush_until(until_ns);
	if (result == FLUSHING)
		gpu_stop("the last GPU work is missing: CUPTI did not hand it over within 2 "
			 "seconds");
	else if (result)
		gpu_stop_for("the last GPU work is missing: CUPTI did not hand it over", result);
}

void gpu_fetch_last(void)
{
	fetch_last(end_of_patience());
}

void gpu_end(void)
{
	uint64_t until_ns = end_of_patience();
	bool again = atomic_exchange(&ends, true);

	/* What was fetched when Python ended is not asked for again when its libraries do. */
	if (again && (gpu_is_over() ||
		      atomic_load_explicit(&unflushed, memory_order_relaxed) < GPU_NEWS_WORK))
		return;
	atomic_store_explicit(&unflushed, 0, memory_order_relaxed);
	gpu_leave_never();
	wait_for_turn(until_ns);
	end_leave();
	fetch_last(until_ns);
}

/* Calls that began while CUPTI changed hands the last time: all between these two. */
static _Atomic uint32_t first_ignored = UINT32_MAX, last_ignored;
static HOT_DATA _Atomic bool changes;

HOT bool gpu_is_changing(void)
{
	return atomic_load_explicit(&changes, memory_order_relaxed);
}

void gpu_ignore_call(uint32_t correlation)
{
	uint32_t first = atomic_load(&first_ignored), last = atomic_load(&last_ignored);

	while (correlation < first &&
	       !atomic_compare_exchange_weak(&first_ignored, &first, correlation))
		;
	while (correlation > last &&
	       !atomic_compare_exchange_weak(&last_ignored, &last, correlation))
		;
}

bool gpu_is_ignored(uint32_t correlation)
{
	return correlation >= atomic_load_explicit(&first_ignored, memory_order_relaxed) &&
	       correlation <= atomic_load_explicit(&last_ignored, memory_order_relaxed);
}

static void begin_to_ignore(void)
{
	atomic_store(&first_ignored, UINT32_MAX);
	atomic_store(&last_ignored, 0);
	atomic_store(&changes, true);
}

static _Atomic unsigned reasons; /* to pause: enum gpu_pause_reason */
static atomic_flag changing = ATOMIC_FLAG_INIT;

/* Letting go and taking again exclude each other.  Both take milliseconds at most, unless the
 * device hangs: then the other one goes ahead. */
static void begin_change(void)
{
	struct timespec pause = { 0, 1000000 };

	for (int ms = 0; ms < END_FLUSH_MS && atomic_flag_test_and_set(&changing); ms++)
		nanosleep(&pause, NULL);
}

/* The other tool waits for it: what was started so far is fetched as far as it is done. */
static void let_go_for_tool(void)
{
	gpu_callbacks_stop();
	atomic_store(&changes, false);
	flush_until(end_of_patience());
}

/* CUPTI is wanted by nobody else: we may leave it once all that was started is fetched. */
static bool let_go_of_all(void)
{
	gpu_callbacks_rest();
	atomic_store(&changes, false);
	return fetch_what_was_started();
}

static void let_go(enum gpu_pause_reason reason, const char *text)
{
	int on = GPU_ON;
	bool may_leave = false;

	begin_to_ignore();
	gpu_activity_stop();
	if (reason == GPU_PAUSE_TOOL)
		let_go_for_tool();
	else
		may_leave = let_go_of_all();
	if (atomic_compare_exchange_strong(&phase, &on, GPU_PAUSED))
		say(GPU_STATE_PAUSED, text);
	if (may_leave)
		gpu_callbacks_leave();
}

void gpu_pause(enum gpu_pause_reason reason, const char *text)
{
	if (atomic_load(&owner) != getpid())
		return;
	begin_change();
	if (reason == GPU_PAUSE_TOOL)
		gpu_leave_never(); /* it would be out with us */
	if (!atomic_fetch_or(&reasons, reason) && gpu_is_on()) {
		let_go(reason, text);
	} else if (reason == GPU_PAUSE_TOOL) {
		end_leave();
		gpu_callbacks_stop(); /* which a pause for the budget may have kept */
	}
	atomic_flag_clear(&changing);
}

/* tool: the other one is done with CUPTI. */
static void take_again(bool tool)
{
	uint64_t began_ns = stamp_monotonic();
	int paused = GPU_PAUSED, result;

	end_leave();
	begin_to_ignore();
	if (!atomic_compare_exchange_strong(&phase, &paused, GPU_ON)) {
		atomic_store(&changes, false);
		return;
	}
	result = start();
	atomic_store(&changes, false);
	gpu_windows_spent(stamp_monotonic() - began_ns);
	if (tool && result == CUPTI_TAKEN && !gpu_activity_start()) {
		/* A profiler that has run once keeps its subscription. */
		say(GPU_STATE_RECORDING,
		    "\nthe other tool keeps CUPTI's callbacks: from here on "
		    "the GPU is recorded without the calls that start its work");
	} else if (result) {
		atomic_store(&phase, GPU_OFF);
		say_result(result);
	} else {
		say(GPU_STATE_RECORDING, "");
	}
}

void gpu_resume(enum gpu_pause_reason reason)
{
	if (atomic_load(&owner) != getpid())
		return;
	begin_change();
	if (atomic_fetch_and(&reasons, ~(unsigned)reason) == reason)
		take_again(reason == GPU_PAUSE_TOOL);
	atomic_flag_clear(&changing);
}

static void in_forked_child(void)
{
	atomic_store_explicit(&phase, GPU_OFF, memory_order_relaxed);
	atomic_store_explicit(&ends, false, memory_order_relaxed);
	atomic_store_explicit(&in_turn, false, memory_order_relaxed);
}

static void begin_recording(void)
{
	uint64_t began_ns = stamp_monotonic();
	struct session *s;
	char text[512];
	int result;

	if (!session_on() && join_here())
		return;
	s = session_on();
	if (!s || !(s->header->collect & SHM_COLLECT_GPU))
		return;
	if (cupti_load(text, sizeof(text))) {
		say(GPU_STATE_UNAVAILABLE, text);
		return;
	}
	atomic_store(&owner, getpid());
	end_leave(); /* for which an earlier recording has asked */
	atomic_store(&phase, GPU_ON);
	result = start();
	if (result) {
		atomic_store(&phase, GPU_OFF);
		say_result(result);
		return;
	}
	snprintf(text, sizeof(text), "CUPTI %u%s", cupti.version,
		 cupti.tells_driver_calls
			 ? ""
			 : "\nlibcupti 11.8 does not know the driver calls of this "
			   "CUDA version: GPU work that a library starts through them "
			   "(Triton, parts of cuBLAS) has no call and no line; with the "
			   "libcupti of this version it has");
	say(GPU_STATE_RECORDING, text);
	if (py.version && !frames_known() && session_process())
		atomic_store_explicit(&session_process()->no_lines, 1, memory_order_relaxed);
	pthread_atfork(NULL, NULL, in_forked_child);
	atexit(gpu_end);
	start_thread(flush_now_and_then, NULL);
	budget_spend_once_ns(stamp_monotonic() - began_ns);
}

/* In the thread of ahead.c the process may be about to end. */
static void begin(void)
{
	if (!begin_turn())
		return;
	begin_recording();
	end_turn();
}

/* Called by the CUDA driver while it initialises itself.  1: all is well, whatever it is. */
int InitializeInjection(void)
{
	atomic_store(&ends, false); /* an earlier Python may have ended, the program has not */
	if (session_on() || !ahead_wait(AHEAD_GPU, getenv(SHM_ENV), begin))
		begin();
	return 1;
}
