/*
 * What operators cost beside their work, in a process without a GPU: there nothing waits for a
 * launch, but each operator takes the host some microseconds whatever its size, and a program of
 * small ones spends its time on the way to them.
 */
#ifndef RULES_FINDINGS_OPERATOR_COST_H
#define RULES_FINDINGS_OPERATOR_COST_H

#include "rules/findings/host_code.h"

struct operator_cost {
	double ms;                    /* of a step */
	double compute_ms;            /* of it: TIME_CPU_COMPUTE; the rest is in the user's code */
	double dispatch_ms;           /* of it, outside of kernels */
	struct native_sums native;    /* by which that is known; of the heaviest function */
	const struct time_cause *top; /* the user's line with most of it; NULL: there is none */
};

/* The user's functions whose operators take longer to be called than to compute. */
void operator_cost_find(struct operator_cost *out, const struct draft *d);

/* All that is inside of models; nothing is known of dispatch_ms where samples are few: 0. */
void operator_cost_of_models(struct operator_cost *out, const struct draft *d);

#endif
