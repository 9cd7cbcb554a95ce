/*
 * Reading the memory of a process of the workload, many places in one system call.
 * The process is not stopped: what is read may change meanwhile.
 */
#ifndef CAPTURE_REMOTE_H
#define CAPTURE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "capture/window.h"

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

#endif
