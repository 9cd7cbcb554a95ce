/*
 * The host's own part of a step, TIME_CPU_PREPROCESSING, function by function: what several
 * findings share out among themselves.
 */
#ifndef RULES_FINDINGS_HOST_CODE_H
#define RULES_FINDINGS_HOST_CODE_H

#include "rules/draft.h"

/* Whose a function's time is. */
enum host_kind {
	HOST_CODE,    /* its own */
	HOST_NUMPY,   /* numpy's, by its Python code or by native samples */
	HOST_COMPUTE, /* a framework's operators, in a process that uses no GPU */
	HOST_IO,      /* it also waits for data there: it runs in the system call that reads them */
};

/* Per step, in ms; without what page faults take, where those are a finding of their own. */
double host_ms(const struct draft *d, enum host_kind kind);

/* The line with most time in the function with most; NULL: none. */
const struct time_cause *host_top(const struct draft *d, enum host_kind kind);

/* The same of all kinds. */
const struct time_cause *host_cause(const struct draft *d);

#endif
