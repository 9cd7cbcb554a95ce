/*
 * What a thread of the workload is doing at this moment, seen from outside.
 *
 * /proc/PID/task/TID/syscall says whether a thread is ready to run and, if it
 * is not, the system call it waits in and the arguments of that call; of a
 * futex the first is the address of the lock.  Nothing is stopped or
 * interrupted; a reading takes about 2 us.  Where the kernel refuses it (another
 * user, no ptrace), the letter of .../stat is left, which knows no locks.
 *
 * Not for several threads at the same time.
 */
#ifndef CAPTURE_SAMPLER_THREAD_STATE_H
#define CAPTURE_SAMPLER_THREAD_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "format/sample.h"

/* One thread, its file kept open. */
struct thread_state_reader {
	int fd;       /* -1: nothing can be read */
	bool refused; /* of the two files only the one without system calls is readable */
	const char *root;
	pid_t pid, tid;
};

/* How many there are: what threads beyond some hundred do is unknown (fd_budget.h). */
struct thread_state_readeres {
	size_t open;
};

/* Addresses in the workload: begin <= a < end.  Empty where they are not known. */
struct address_range {
	uint64_t begin, end;
};

struct thread_state {
	enum sample_state state;
	/*
	 * SAMPLE_LOCK_WAIT: the address of what it waits for, 0 where that says nothing:
	 * parked threads wait at a place of their own, whatever lock they want.
	 */
	uint64_t lock;
};

/*
 * root: where /proc is, "" except in tests, and borrowed.  For a thread that is gone nothing is
 * known.
 */
void thread_state_reader_open(struct thread_state_reader *w, struct thread_state_readeres *all,
			      const char *root, pid_t pid, pid_t tid);
void thread_state_reader_close(struct thread_state_reader *w, struct thread_state_readeres *all);

/*
 * gil: where the interpreter's lock lies, with its mutexes and conditions.  A process
 * that gives up rights while it is watched may become one whose system calls are hidden.
 */
struct thread_state thread_state_reader_state(struct thread_state_reader *w,
					      struct address_range gil);

/* What the kernel has counted for a thread since it began. */
struct thread_times {
	uint64_t on_cpu_ns;
	uint64_t queued_ns; /* ready, but another thread had the CPU */
};

/* False: the kernel does not say (a thread that is gone, no CONFIG_SCHED_INFO). */
bool thread_times_read(struct thread_times *out, const char *root, pid_t pid, pid_t tid);

#endif
