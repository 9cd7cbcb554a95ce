/*
 * On which nodes the threads of a process ran last: /proc/PID/task/TID/stat says the CPU, the
 * node's cpulist whose that is.
 */
#ifndef CAPTURE_NUMA_THREADS_H
#define CAPTURE_NUMA_THREADS_H

#include <stdint.h>

#include "capture/system_source.h"

#define NUMA_CPUS_MAX 4096u
#define NUMA_NODES_MAX 64u

struct cpu_nodes {
	uint8_t node_of[NUMA_CPUS_MAX]; /* 1 + node; 0: unknown */
};

/* "0-3,8,10-11", as cpulist and online have it. */
void cpu_nodes_add(struct cpu_nodes *c, uint32_t node, const char *list);

/* folder: the process's in /proc, open.  Of a thread that vanishes nothing is said. */
void numa_threads_look(const struct cpu_nodes *c, int folder, struct look *l);

#endif
