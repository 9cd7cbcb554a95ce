/*
 * What recording costs on this machine and with this interpreter: small Python
 * functions are called before and after the hook is switched on.  Nothing of it
 * reaches the trace.
 *
 * Once per process, with the GIL, in the thread that starts the hook; takes
 * about a millisecond.  The cost of a call event goes to the budget.
 */
#ifndef AGENT_OVERHEAD_CALIBRATION_H
#define AGENT_OVERHEAD_CALIBRATION_H

#include <stdint.h>

/* In the order in which they are measured: a hook may do with the first. */
enum calibration {
	CALIBRATION_CALLS,   /* of an empty Python function */
	CALIBRATION_C_CALLS, /* of a C function that does next to nothing */
	CALIBRATION_LOOP,    /* nothing is called: some indexing, comparing and adding */
	CALIBRATIONS,
};

#define CALIBRATION_ROUNDS 500 /* calls, or turns of the loop */

/* While no hook is on; measures the first `count`. */
void calibration_without_hook(unsigned count);

/* When it is; the events of other threads go to the trace as ever. */
void calibration_with_hook(unsigned count);

/* What the rounds took; 0: not measured. */
uint64_t calibration_plain_ns(enum calibration what);
uint64_t calibration_hooked_ns(enum calibration what);

#endif
