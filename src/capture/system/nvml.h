/*
 * What NVIDIA's management library (libnvidia-ml, a part of the driver) says about the devices:
 * memory, clocks, power, what holds them back, the PCIe link.  It is loaded when a recorded program
 * uses a GPU, never before: it would wake one that sleeps.  One thread.
 */
#ifndef CAPTURE_SYSTEM_NVML_H
#define CAPTURE_SYSTEM_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "capture/system/system_source.h"

#define NVML_PERIOD_NS 100000000
#define NVML_DEVICES_MAX 16u
#define NVML_QUESTIONS 14u

struct nvml {
	bool tried, works;
	bool sampled; /* all has been asked once */
	void *library;
	void *functions[NVML_QUESTIONS]; /* the library's; NULL: it has none such */
	int64_t due_ns[NVML_QUESTIONS];  /* CLOCK_MONOTONIC: when they are asked again */
	int64_t took_ns[NVML_QUESTIONS]; /* the last time; 0: that was the first */
	void *devices[NVML_DEVICES_MAX]; /* the library's handles */
	bool used[NVML_DEVICES_MAX];     /* by a process that is watched */
	unsigned device_count;
};

/* A process, by its id in the trace. */
struct system_process;

/* -1: there is none, and `why` reports it. */
int nvml_open(struct nvml *n, char *why, size_t bytes);
void nvml_release(struct nvml *n); /* one that was never opened, too */

/*
 * Asks what is due, all periods `stretch` times as long, of the devices that these processes use;
 * of all of them where this is unknown (in a container the library knows processes by other
 * numbers). Returns when something is due again, on CLOCK_MONOTONIC.
 */
int64_t nvml_poll(struct nvml *n, double slowdown, struct reading *l,
		  const struct system_process *processes, size_t count);

#endif
