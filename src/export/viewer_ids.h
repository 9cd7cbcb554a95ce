/*
 * Numbers of processes and threads that viewers can distinguish.
 *
 * In a trace a pid or tid may occur twice (exec, ended threads, pid namespaces), and tracks of
 * GPUs have none.  The first to have a number keeps it; others get one that no Linux gives.
 */
#ifndef EXPORT_VIEWER_IDS_H
#define EXPORT_VIEWER_IDS_H

#include "export/event_walk.h"

struct viewer_ids {
	const struct trace *trace;
	uint32_t *pids; /* by position of the process */
	uint32_t *tids; /* by position of the thread */
	struct viewer_gpu {
		uint32_t process, device;
	} * gpus; /* in the order in which they were asked for */
	size_t gpu_count, gpu_cap;
	bool failed; /* no memory */
};

#define VIEWER_NO_PID 5000000u /* above PID_MAX_LIMIT of Linux */
#define VIEWER_NO_TID 10000000u
#define VIEWER_MACHINE_PID (VIEWER_NO_PID - 1) /* whose are the counters of the machine */

int viewer_ids_init(struct viewer_ids *v, const struct trace *t); /* -1: no memory */
void viewer_ids_release(struct viewer_ids *v);

uint32_t viewer_pid(const struct viewer_ids *v, uint32_t process); /* 0: the machine */
/* Number of a GPU of a process: from 0, in the order of first use. */
size_t viewer_gpu(struct viewer_ids *v, uint32_t process, uint32_t device);
uint32_t viewer_gpu_pid(const struct viewer_ids *v, size_t gpu);
uint32_t viewer_tid(const struct viewer_ids *v, const struct track *t);
void viewer_add_gpu_name(struct buf *out, const struct event_walk *w, const struct viewer_gpu *g);

#endif
