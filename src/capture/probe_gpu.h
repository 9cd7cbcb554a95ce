/* The questions about the GPU; see probe.h. */
#ifndef CAPTURE_PROBE_GPU_H
#define CAPTURE_PROBE_GPU_H

#include "capture/probe.h"

void probe_gpu_driver(const struct probe_context *c, struct probe_result *out);
void probe_gpu_cupti(const struct probe_context *c, struct probe_result *out);
void probe_gpu_injection(const struct probe_context *c, struct probe_result *out);
void probe_nvtx_injection(const struct probe_context *c, struct probe_result *out);

#endif
