/*
 * Reading the memory of a process of the workload, many places in one system call.
 * The process is not stopped: memory may change while it is read.
 */
#ifndef CAPTURE_SAMPLER_REMOTE_H
#define CAPTURE_SAMPLER_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "format/shm.h"

/*
 * Reading a process of the workload from inside, where the kernel does not let the
 * recorder do it: the recorder's end of a window (format/shm.h).  The agent reads
 * what is asked for; a question takes some 10 us, and a process that is stopped,
 * or just ends, never answers.
 *
 * All of it is for one thread.
 */

struct window {
	struct shm_window *shared;
	bool lent;
	uint32_t asked;
	bool opened;     /* the agent has answered, once */
	int64_t read_ns; /* when the last answer was read: CLOCK_MONOTONIC, as all times here */
	/* When to sample next, and what that costs in the workload: see window_due(). */
	int64_t next_ns, due_ns, period_ns, measured_ns;
	uint64_t cpu_ns, measured_cpu_ns, random;
	double share;
};

struct windows {
	struct window items[SHM_MAX_WINDOWS];
	uint32_t lent; /* how many times one was */
	bool asking;   /* the agents know */
};

void windows_init(struct windows *all, struct shm_window *shared);

/*
 * Lends a process a window; NULL: there is none left.  Nothing is asked yet, and the agent
 * may learn of it only in its next hook: window_is_idle() once it is ready to answer.
 * share: of a core, what answering may take.
 */
struct window *window_open(struct windows *all, struct shm_process *process, pid_t pid,
			   double share);

/* Now and then: notifies agents that do not know of their window yet, or stops doing so. */
void windows_notify(struct windows *all, struct shm_header *header);

/* The process is gone, or the recording is over. */
void window_close(struct window *w);

/* Nothing is asked that was not answered: only then more can be. */
bool window_is_idle(struct window *w);

/*
 * Is the next sample due?  Up to WINDOW_HZ times a second, as often as the share allows and
 * never less than ten times.
 */
#define WINDOW_HZ 200
bool window_due(struct window *w, int64_t now_ns);

/*
 * As process_vm_readv() does it, but all or nothing.  -1: errno is EFAULT where a place
 * cannot be read, ETIMEDOUT without an answer in time, another where the
 * agent cannot read either.
 */
int window_read(struct window *w, const struct iovec *to, const struct iovec *from, unsigned count);

#define REMOTE_PIECES_MAX 1024u /* the kernel's limit */

/* Whose it is, and so how it is read. */
struct remote_memory {
	pid_t pid;
	struct window *window; /* through it, as the kernel refuses; NULL: by the kernel */
};

/* Places to read, in this order. */
struct remote {
	unsigned count;
	size_t bytes; /* of all */
	size_t lines; /* of the cache, about: what its owner's CPU has to fetch again */
	struct iovec local[REMOTE_PIECES_MAX], from[REMOTE_PIECES_MAX];
};

static inline void remote_clear(struct remote *r)
{
	r->count = 0;
	r->bytes = r->lines = 0;
}

/* False: there is no room. */
bool remote_add(struct remote *r, void *to, uint64_t from, size_t bytes);

/*
 * Reads all of it.  -1: one of the places cannot be read (errno EFAULT; those before it
 * may have been), or the process cannot be: ESRCH, EPERM, ENOSYS or, through a window,
 * ETIMEDOUT.
 */
int remote_read(const struct remote *r, const struct remote_memory *m);

/* A word of what was read. */
static inline uint64_t remote_word(const uint8_t *copy, size_t offset)
{
	uint64_t w;

	memcpy(&w, copy + offset, sizeof(w));
	return w;
}

/* One place. */
int remote_copy(const struct remote_memory *m, void *to, uint64_t from, size_t bytes);

/* May the recorder read the memory of other processes?  And if not, why, and what would permit it.
 */

/* /proc/sys/kernel/NAME below `root`, a number; 0 where it cannot be read. */
long kernel_setting(const char *root, const char *name);

/* Tries it, on a child of our own: 0, or the errno. */
int permission_to_read(void);

/* Does this errno of process_vm_readv() say that it is forbidden, and will be? */
bool permission_is_refused(int error);

/* Who refuses with this errno what others are allowed, in a few words; and what would help. */
struct permission_refusal {
	char why[128];
	const char *fix;
};
struct permission_refusal permission_refusal(const char *root, int error);

#endif
