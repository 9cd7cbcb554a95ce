/*
 * A built-in rule: one entry beside its code, listed once in builtin.c.  Its condition,
 * an SQL expression over the metrics like those of rules files, says when it is worth
 * a look; its function looks, and puts down what it finds.
 *
 * Bounds in conditions are shares of a step.  Less than 5 % is not worth a person's
 * time and lies within what recording itself may cost; where a rule asks for more its
 * comment says why.
 */
#ifndef RULES_RULE_H
#define RULES_RULE_H

#include <stdbool.h>

struct finding_builder;

struct rule {
	const char *id;                /* stable: docs/findings/ID.md */
	const char *title;             /* of the finding */
	const char *title_without_gpu; /* of a program that uses none; NULL: the same */
	const char *condition;
	/*
	 * Puts place, evidence, saving and suggestions down (finding_builder.h).  False: on a
	 * closer look there is nothing.
	 */
	bool (*evaluate)(struct finding_builder *d);
	bool of_device; /* about the GPU's own work: it explains no idle time */
	/* Looked at when all others have been: what none of them explains. */
	bool last;
};

extern const struct rule rule_cpu_preprocessing, rule_host_numpy, rule_pageable_copy,
	rule_sync_per_step, rule_launch_bound, rule_framework_overhead, rule_gpu_bound,
	rule_readback, rule_gil_contention, rule_cpu_oversubscribed, rule_model_reload,
	rule_input_starvation, rule_alloc_churn, rule_no_overlap, rule_gc_pause, rule_io_wait,
	rule_lock_contention, rule_page_faults, rule_jit_compile, rule_no_tensor_cores,
	rule_small_batch, rule_pcie_saturated, rule_memory_pressure, rule_numa_remote,
	rule_gpu_idle, rule_transfer_overhead;

extern const struct rule *const builtin_rules[]; /* NULL at the end, in order of `rules list` */

#endif
