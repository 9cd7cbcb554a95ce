/* The questions about samples of threads; see probe.h. */
#ifndef CAPTURE_PROBE_CPU_H
#define CAPTURE_PROBE_CPU_H

#include "capture/probe.h"

/* Whether it can be seen what a thread of a child waits for. */
void probe_thread_states(const struct probe_context *c, struct probe_result *out);

/* Whether the recorder may read the memory of a child, and so its Python stacks. */
void probe_samples(const struct probe_context *c, struct probe_result *out);

/* Whether the kernel samples native code for us, and whether it has names. */
void probe_native_samples(const struct probe_context *c, struct probe_result *out);

#endif
