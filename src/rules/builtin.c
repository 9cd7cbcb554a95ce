#include <stddef.h>

#include "rules/rule.h"

const struct rule *const builtin_rules[] = {
	&rule_cpu_preprocessing,
	&rule_host_numpy,
	&rule_pageable_copy,
	&rule_sync_per_step,
	&rule_launch_bound,
	&rule_framework_overhead,
	&rule_gpu_bound,
	&rule_readback,
	&rule_gil_contention,
	&rule_cpu_oversubscribed,
	&rule_model_reload,
	&rule_input_starvation,
	&rule_alloc_churn,
	&rule_no_overlap,
	&rule_gc_pause,
	&rule_io_wait,
	&rule_lock_contention,
	&rule_page_faults,
	&rule_jit_compile,
	&rule_no_tensor_cores,
	&rule_small_batch,
	&rule_pcie_saturated,
	&rule_memory_pressure,
	&rule_numa_remote,
	&rule_gpu_idle,
	&rule_transfer_overhead,
	NULL,
};
