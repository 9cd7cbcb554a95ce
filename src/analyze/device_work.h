/*
 * What the device did, as tracks: for a process, which many of its threads read, or for one
 * of its threads.  Taking the first of these from all activities for each thread anew would
 * cost a server with a thread for each request its whole trace for each of them.
 */
#ifndef ANALYZE_DEVICE_WORK_H
#define ANALYZE_DEVICE_WORK_H

#include "analyze/gpu_sections.h"
#include "analyze/track.h"

/* Kernels hide copies: that is the order in which the device's tracks are asked. */
enum device_track { DEVICE_COMPUTE, DEVICE_H2D, DEVICE_D2H, DEVICE_TRACKS };

struct device_tracks {
	struct track tracks[DEVICE_TRACKS]; /* id: stack; more: enum time_class */
};

void device_tracks_release(struct device_tracks *d);

struct device_process {
	bool filled;
	struct device_tracks all;
	size_t *strays; /* activities of which nobody knows who started them: they are everybody's
			 */
	size_t stray_count, stray_cap;
};

struct device_work {
	const struct analysis_gpu *gpu;
	struct device_process *processes; /* as the sections */
};

int device_work_init(struct device_work *d, const struct analysis_gpu *gpu); /* -1: no memory */
void device_work_release(struct device_work *d);

/*
 * All that was done for a process, collected when first asked for.  NULL: no memory; borrowed: copy
 * a track to move its cursor.
 */
const struct device_tracks *device_work_all(struct device_work *d, uint32_t process);

/* Only what one of its threads started; the caller's own.  -1: no memory; release it nevertheless.
 */
int device_work_of_thread(struct device_work *d, uint32_t process, size_t thread,
			  struct device_tracks *out);

#endif
