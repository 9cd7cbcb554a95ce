/*
 * Recording the GPU through CUPTI.
 *
 * The CUDA driver loads this library (CUDA_INJECTION64_PATH) and calls
 * InitializeInjection() when a program initialises CUDA, in Python and native
 * programs alike; a program that never does never loads CUPTI.  Whatever goes
 * wrong is one RECORD_GPU_STATE with a text for the report; the program runs on.
 */
#ifndef AGENT_GPU_GPU_RECORDING_H
#define AGENT_GPU_GPU_RECORDING_H

#include <stdbool.h>

#include "agent/core/ring.h"

/* Is the GPU of this process being recorded now? */
bool gpu_is_on(void);

/* A CUDA call was made: there may be something to fetch; if it gave the device work there is. */
enum gpu_news { GPU_NEWS_CALL = 1, GPU_NEWS_WORK = 2 };
void gpu_note(enum gpu_news news);

/*
 * The process uses CUDA graphs.  From then on activities stay enabled until it ends: to disable
 * them beside a thread that launches graphs was seen to hang both (tests/gpu/graph_probe.py).
 */
void gpu_note_graphs(void);

/* No more of it in this process: a second device got work, or CUPTI returned an error. */
void gpu_stop(const char *text);
void gpu_stop_for(const char *what, int result);

/*
 * Another tool of the program needs CUPTI, which serves one tool at a time.  It gets CUPTI; the
 * GPU recording of this process ends here, with this text.  Waits for a few milliseconds at most.
 */
void gpu_hand_over(const char *text);

/* The end of the recording: fetches what the device has done, within 2 s.  Without the GIL. */
void gpu_fetch_last(void);

/*
 * The end of the process, or of its Python, which comes before: likewise.  From then on no thread
 * of ours has anything to do with CUPTI.
 */
void gpu_end(void);

/* gpu_cost.c: so many activities and nodes of CUDA graphs were recorded; their time on the device,
 * streams added up. */
void gpu_cost_count(uint64_t activities, uint64_t nodes, uint64_t device_ns);
void gpu_cost_hook_took(uint64_t ns); /* of one launch, both ends */
uint64_t gpu_cost_settle(void);       /* charges what was counted since the last time: ns */
void gpu_cost_take_turn(void); /* the same, and updates the budget; one thread, now and then */

/*
 * gpu_activity.c: registers the buffers and enables the kinds.  0 or an enum cupti_result.
 * whole_graphs: one activity for each replay of a CUDA graph, none for its nodes.  Only before the
 * process has any graph: launching one that exists already would crash.
 */
int gpu_activity_start(bool whole_graphs);
void gpu_activity_stop(void);
/*
 * What the device has done so far, or all: what it is still to do then comes without times, and
 * CUPTI may write to it later, so those buffers are never freed.
 */
int gpu_activity_fetch(bool all);
bool gpu_activity_in_hand(void); /* a buffer is being read now, by whatever thread */

/* gpu_callbacks.c: subscribes to the CUDA calls of the table.  0 or an enum cupti_result. */
int gpu_callbacks_start(bool whole_graphs);
void gpu_callbacks_stop(void);

#endif
