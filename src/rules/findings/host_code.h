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
	HOST_SYNC,    /* it also waits for the GPU there: it asks for what it waits for */
};

/* Per step, in ms; and the page faults of the same code. */
double host_ms(const struct draft *d, enum host_kind kind);
double host_faults_ms(const struct draft *d, enum host_kind kind);

/* Time of a class on lines that also wait, for at least half as long. */
double waiting_lines_ms(const struct draft *d, enum time_class what, enum time_class wait);

/* The line with most time in the function with most; NULL: none. */
const struct time_cause *host_top(const struct draft *d, enum host_kind kind);

#endif
