/*
 * Recording the GPU through CUPTI.
 *
 * The CUDA driver loads this library (CUDA_INJECTION64_PATH) and calls
 * InitializeInjection() when a program initialises CUDA, in Python and native
 * programs alike; a program that never does never loads CUPTI.  Whatever goes
 * wrong is one RECORD_GPU_STATE with a text for the report; the program runs on.
 */
#ifndef AGENT_GPU_RECORDING_H
#define AGENT_GPU_RECORDING_H

#include <stdbool.h>

#include "agent/ring.h"

/* In use by all that follows: is the GPU of this process being recorded now? */
bool gpu_is_on(void);
bool gpu_is_over(void); /* ... and it is not paused either */

/*
 * CUPTI is being let go of or taken: calls and activities cannot be switched at the
 * same moment, so neither are recorded of calls that begin meanwhile.
 */
bool gpu_is_changing(void);
void gpu_ignore_call(uint32_t correlation);
bool gpu_is_ignored(uint32_t correlation);

/* A CUDA call was made: there may be something to fetch; if it gave the device work there is. */
enum gpu_news { GPU_NEWS_CALL = 1, GPU_NEWS_WORK = 2 };
void gpu_note(enum gpu_news news);

/* No more of it in this process: a second device got work, or CUPTI returned an error. */
void gpu_stop(const char *text);
void gpu_stop_for(const char *what, int result);

/* The end of the recording: fetches what the device has done, within 2 s. */
void gpu_fetch_last(void);

/*
 * The end of the process, or of its Python, which comes before: likewise.  From then on no thread
 * of ours has anything to do with CUPTI.
 */
void gpu_end(void);

/*
 * Let go of CUPTI, and take it again when nobody asks for the pause any more.  The
 * one who asks first gives the text.
 */
enum gpu_pause_reason {
	GPU_PAUSE_TOOL = 1u << 0,    /* another tool in this process wants CUPTI */
	GPU_PAUSE_BUDGET = 1u << 1,  /* the overhead budget is spent */
	GPU_PAUSE_PROGRAM = 1u << 2, /* the program asks for it */
};

void gpu_pause(enum gpu_pause_reason reason, const char *text);
void gpu_resume(enum gpu_pause_reason reason);

/*
 * gpu_windows.c: so much was recorded, of CUDA graphs and other activities, and took the device so
 * long, one stream's beside another's; and what to do about it, now and then.
 */
void gpu_windows_count(uint64_t activities, uint64_t nodes, uint64_t device_ns);
void gpu_windows_spent(uint64_t ns); /* the program lost so much besides */
void gpu_windows_turn(void);

/*
 * gpu_leave.c: out of CUPTI altogether, for what it costs those who have subscribed once.  Asked
 * for in a pause, done at the end of whatever CUDA call is heard next.
 */
bool gpu_leave_ask(void); /* false: we must stay */
bool gpu_leave_is_asked(void);
void gpu_leave_here(void);   /* at the end of a call */
bool gpu_leave_settle(void); /* asked no longer; true: we are out, since the last one */
void gpu_leave_never(void);  /* any more, in this process */

/* gpu_activity.c: registers the buffers and enables the kinds.  0 or an enum cupti_result. */
int gpu_activity_start(void);
void gpu_activity_stop(void);
/*
 * What the device has done so far, or all: what it is still to do then comes without times, and
 * CUPTI may write to it later, so those buffers are never freed.
 */
int gpu_activity_fetch(bool all);
bool gpu_activity_is_fetched(void); /* CUPTI has no buffer of ours, and none is being read ... */
bool gpu_activity_in_hand(void);    /* ... now, by whatever thread */

/*
 * gpu_callbacks.c.  At rest no call is heard of; the subscription is kept, and graphs that are
 * captured meanwhile are known when they run later.  What launches cost all the same: gpu_leave.c.
 */
int gpu_callbacks_start(void);
void gpu_callbacks_rest(void);
void gpu_callbacks_stop(void);
bool gpu_callbacks_leave(void); /* from rest; see gpu_leave_ask() */
void gpu_callbacks_left(void);

#endif
