/*
 * What the CPUs that recorder and workload may use have done, by /proc/stat: the workload had to
 * wait for the recorder only if none of them was idle.
 */
#ifndef CAPTURE_SYSTEM_CPU_USAGE_H
#define CAPTURE_SYSTEM_CPU_USAGE_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * How long the CPUs of the set have been idle since the system started, together, by the
 * text of /proc/stat.  False: it does not contain all of them.
 */
bool cpus_parse_idle(const char *stat, const cpu_set_t *set, uint64_t *idle_ns);

/* The same, of now.  Takes some 50 us, more on large machines. */
bool cpus_idle(const cpu_set_t *set, uint64_t *idle_ns);

/*
 * Are they a virtual machine's?  Then two of them may be two halves of one core, which the kernel
 * does not know, and the host may change that at any time.  By the text of /proc/cpuinfo of one
 * CPU; false if it does not show it.
 */
bool cpus_parse_virtual(const char *cpuinfo);
bool cpus_virtual(void);

#endif
