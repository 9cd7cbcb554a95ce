/*
 * The metrics: every figure of a run that a rule may use, by a documented name.
 * All are reals.  NAN: it is not known, which in a condition is NULL.
 *
 * One list makes the structure, the columns that conditions see and docs/METRICS.md
 * (`inferscope rules metrics`).  They are about the most important kind of step, the
 * first of the report; per step means the mean over those that are counted.
 */
#ifndef RULES_METRICS_H
#define RULES_METRICS_H

#include <stddef.h>

#include "analyze/analysis.h"

/* clang-format off */
#define METRICS(M) \
	M(steps, "", "steps that are counted: without warm-up") \
	M(total_time, "ms", "mean step, the sum of its parts") \
	M(p50_time, "ms", "median step") \
	M(p95_time, "ms", "95th percentile of the steps") \
	M(p99_time, "ms", "99th percentile of the steps") \
	M(longest_share, "", "share of the time of all steps that the longest of them takes") \
	M(slow_excess_time, "ms", "excess of the slowest 5 % of the steps over typical ones") \
	M(gpu_compute_time, "ms", "part of the step: kernels, graphs and memsets ran for it") \
	M(h2d_time, "ms", "part of the step: copies to the device, not hidden by a kernel") \
	M(d2h_time, "ms", "part of the step: copies from the device, not hidden by a kernel") \
	M(sync_wait_time, "ms", "part of the step: in a synchronisation while the device ran nothing for it") \
	M(cpu_preprocessing_time, "ms", "part of the step: the user's own code and libraries other than the framework, while the device ran nothing for it (as in all that follow)") \
	M(cpu_compute_time, "ms", "part of the step: layers and operators on the CPU, in a process that uses no GPU") \
	M(framework_time, "ms", "part of the step: the framework's code outside of CUDA calls") \
	M(launch_time, "ms", "part of the step: in CUDA calls that start work") \
	M(allocation_time, "ms", "part of the step: in CUDA calls for memory") \
	M(gc_time, "ms", "part of the step: garbage collection") \
	M(cpu_wait_time, "ms", "part of the step: ready to run, while other threads had all CPUs") \
	M(gil_wait_time, "ms", "part of the step: waiting for the GIL") \
	M(lock_wait_time, "ms", "part of the step: waiting for a lock, a condition, a queue or a thread") \
	M(io_wait_time, "ms", "part of the step: waiting for data or a device") \
	M(sleep_time, "ms", "part of the step: asleep, or in a wait that ended by timeout") \
	M(page_faults_time, "ms", "part of the step: page faults of the host's running code") \
	M(compile_time, "ms", "part of the step: compilation, CUDA modules and graphs being built") \
	M(model_load_time, "ms", "part of the step: a model is loaded, built, converted or moved") \
	M(idle_time, "ms", "part of the step: waiting for work while none was in progress") \
	M(unattributed_time, "ms", "part of the step without an explanation") \
	M(gpu_busy_share, "", "share of the steps in which the device worked for any thread of the process") \
	M(idle_share, "", "share of the steps in which the device did nothing") \
	M(gpu_busy_time, "ms", "gpu_busy_share of a step") \
	M(sync_gap_time, "ms", "the device was idle because its queue ran empty while the host waited for it") \
	M(sync_avoidable_time, "ms", "how much shorter steps would be with no waits for the device except for their result: at most the waits, at most the idle time of the device") \
	M(launch_gap_time, "ms", "the device was idle for up to 0.1 ms at a time because launches came late") \
	M(late_gap_time, "ms", "the device was idle for longer because launches came late") \
	M(latency_gap_time, "ms", "the device was idle although the launch had been issued") \
	M(copy_alone_time, "ms", "copies between host and device ran, and no kernel") \
	M(launches_per_step, "", "kernel launches and graph launches, by CUDA calls") \
	M(graph_launches_per_step, "", "launches of CUDA graphs") \
	M(kernels_per_step, "", "kernels that ran") \
	M(kernel_mean_us, "us", "mean kernel") \
	M(few_blocks_share, "", "share of the kernels' time in kernels with fewer blocks than the device has multiprocessors") \
	M(plain_matrix_share, "", "share of the kernels' time in matrix kernels that use no tensor cores, by their names") \
	M(tensor_matrix_share, "", "share of the kernels' time in matrix kernels on tensor cores, by their names") \
	M(model_calls_per_step, "", "calls of the model that is called most often") \
	M(steps_per_outer, "", "number of these steps per iteration of the enclosing loop; 1 without one") \
	M(h2d_bytes_per_step, "B", "bytes that were copied to the device") \
	M(d2h_bytes_per_step, "B", "bytes that were copied from the device") \
	M(pageable_bytes_per_step, "B", "of both, from or to pageable memory") \
	M(h2d_copy_time, "ms", "copies to the device, hidden or not; overlaps count twice") \
	M(d2h_copy_time, "ms", "copies from the device, likewise") \
	M(h2d_pageable_time, "ms", "copies to the device from pageable memory, likewise") \
	M(h2d_gb_per_s, "GB/s", "bandwidth of the copies to the device of 1 MB and more") \
	M(d2h_gb_per_s, "GB/s", "bandwidth of the copies from the device of 1 MB and more") \
	M(link_gb_per_s, "GB/s", "maximum bandwidth of the link to the device, by its generation and width") \
	M(sync_count_per_step, "", "synchronisations, by CUDA calls") \
	M(sync_call_time, "ms", "time in them, regardless of what the device did") \
	M(alloc_count_per_step, "", "CUDA calls that allocate or free memory, pinned memory included") \
	M(alloc_call_time, "ms", "time in them, regardless of what the device did") \
	M(gil_wait_share, "", "share of the threads' time in which they waited for the GIL, by samples") \
	M(lock_wait_share, "", "... for other locks, conditions and threads") \
	M(gc_share, "", "garbage collection, share of the wall time") \
	M(gc_longest, "ms", "longest garbage collection") \
	M(cpu_cores_used, "", "CPU time of all threads by the wall time") \
	M(step_cores_used, "", "CPU time of all processes while steps lasted, by that time") \
	M(cpus, "", "CPUs that the program might use") \
	M(runnable_threads, "", "its threads that ran or were ready to run while steps lasted, on average") \
	M(queued_share, "", "share of the threads' CPU time that they had to wait for a CPU") \
	M(rss_peak_bytes, "B", "largest resident memory of a process") \
	M(rss_growth_per_step, "B", "growth of resident memory") \
	M(fault_time, "ms", "time of all page faults of the process, by their number and the time in the kernel") \
	M(minor_faults_per_step, "", "page faults that needed no disk") \
	M(major_faults_per_step, "", "page faults that did") \
	M(memory_stall_share, "", "share of the time in which some task waited for memory (PSI)") \
	M(swap_bytes, "B", "swapped out at most") \
	M(numa_remote_share, "", "share of the pages on other NUMA nodes than the threads run on") \
	M(gpu_memory_share, "", "share of the device's memory in use at most") \
	M(torch_reserved_bytes, "B", "peak of the memory that PyTorch reserved on a device; of the device with the highest peak, as the four that follow") \
	M(torch_allocated_bytes, "B", "of it for tensors at most") \
	M(torch_split_share, "", "of it in pieces between tensors, on average: fragmentation") \
	M(torch_retries, "", "times that device memory ran out and PyTorch released its cache, since the program began") \
	M(torch_ooms, "", "times that this was not enough: out of memory") \
	M(io_bytes_per_step, "B", "bytes that were read from disks") \
	M(wall_time, "ms", "of the whole recording") \
	M(gpu_no_load_share, "", "share of the device's idle time in which the program had no requests") \
	M(overhead_share, "", "what recording cost") \
	M(dropped_share, "", "share of the events that were lost") \
	M(clock_error_us, "us", "largest possible error between times of host and device")
/* clang-format on */

#define METRIC_FIELD(name, unit, meaning) double name;
struct metrics {
	METRICS(METRIC_FIELD)
};
#undef METRIC_FIELD

#define METRIC_COUNT (sizeof(struct metrics) / sizeof(double))

struct metric {
	const char *name;
	const char *unit; /* "": none; times are per step unless said otherwise */
	const char *meaning;
};

extern const struct metric metrics_table[METRIC_COUNT];

/* In the order of the table. */
double metric_value(const struct metrics *m, size_t i);

void metrics_unknown(struct metrics *m); /* NAN, all of them */
void metrics_measure(struct metrics *m, const struct analysis *a);

#endif
