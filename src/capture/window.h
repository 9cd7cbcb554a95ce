/*
 * Reading a process of the workload from inside, where the kernel does not let the
 * recorder do it: the recorder's end of a window (format/shm.h).  The agent reads
 * what is asked for; a question takes some 10 us, and a process that is stopped,
 * or just ends, never answers.
 *
 * All of it is for one thread.
 */
#ifndef CAPTURE_WINDOW_H
#define CAPTURE_WINDOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "format/shm.h"

struct window {
	struct shm_window *shared;
	bool lent;
	uint32_t asked;
	bool opened;     /* the agent has answered, once */
	int64_t read_ns; /* when the last answer was read: CLOCK_MONOTONIC, as all times here */
	/* When to look next, and what that costs in the workload: see window_due(). */
	int64_t next_ns, due_ns, period_ns, measured_ns;
	uint64_t cpu_ns, measured_cpu_ns, random;
	double share;
};

struct windows {
	struct window items[SHM_MAX_WINDOWS];
	uint32_t lent; /* how many times one was */
	bool asking;   /* the agents were told */
};

void windows_init(struct windows *all, struct shm_window *shared);

/*
 * Lends a process a window; NULL: there is none left.  Nothing is asked yet, and the agent
 * may have to be told by its next hook: window_is_idle() once it is ready to answer.
 * share: of a core, what answering may take.
 */
struct window *window_open(struct windows *all, struct shm_process *process, pid_t pid,
			   double share);

/* Now and then: agents that do not know yet of their window are told, or need not be any more. */
void windows_tell(struct windows *all, struct shm_header *header);

/* The process is gone, or the recording is over. */
void window_close(struct window *w);

/* Nothing is asked that was not answered: only then more can be. */
bool window_is_idle(struct window *w);

/*
 * Is it time to look again?  Up to WINDOW_HZ times a second, as often as the share allows and
 * never less than ten times.
 */
#define WINDOW_HZ 200
bool window_due(struct window *w, int64_t now_ns);

/*
 * As process_vm_readv() does it, but all or nothing.  -1: errno is EFAULT where a place
 * cannot be read, ETIMEDOUT where nobody answered in time, another where the
 * agent cannot read either.
 */
int window_read(struct window *w, const struct iovec *to, const struct iovec *from, unsigned count);

#endif
