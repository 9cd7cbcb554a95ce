/*
 * What a sample of a thread says beside its Python stack.  One numbering serves
 * the sampler, the trace file and the analysis; numbers are never reused.
 */
#ifndef FORMAT_SAMPLE_H
#define FORMAT_SAMPLE_H

/* What the thread was doing. */
enum sample_state {
	SAMPLE_UNKNOWN = 0,
	SAMPLE_RUNNING = 1,   /* on a CPU, or ready and waiting for one */
	SAMPLE_GIL_WAIT = 2,  /* waits for the interpreter's lock */
	SAMPLE_LOCK_WAIT = 3, /* waits for another lock, condition or thread */
	SAMPLE_IO_WAIT = 4,   /* in a system call that waits for data, a device or a time */
	SAMPLE_OFF_CPU = 5,   /* waits for something else */
};

#define SAMPLE_STATES 6

#endif
