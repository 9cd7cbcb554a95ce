/*
 * What one call event costs on this machine and with this interpreter: an empty
 * Python function is called some thousand times, before and after the hook is
 * switched on.  Nothing of it reaches the trace.
 *
 * Once per process, with the GIL, in the thread that starts the hook; takes
 * about a millisecond.  The result goes to the budget.
 */
#ifndef AGENT_CALIBRATION_H
#define AGENT_CALIBRATION_H

/* While no hook is on. */
void calibration_without_hook(void);

/* When it is; the events of other threads go to the trace as ever. */
void calibration_with_hook(void);

#endif
