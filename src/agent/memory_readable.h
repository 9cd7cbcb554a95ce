/* Asking the kernel whether memory of ours can be read, where a mistake would be a crash. */
#ifndef AGENT_MEMORY_READABLE_H
#define AGENT_MEMORY_READABLE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * At most 256 bytes.  False: reading there would be a crash.  True also where the
 * kernel does not let us ask.
 */
static inline bool memory_readable(const char *at, size_t bytes)
{
	char copy[256];
	struct iovec local = { copy, bytes }, remote = { (void *)(uintptr_t)at, bytes };
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return n == (ssize_t)bytes || (n < 0 && errno != EFAULT);
}

#endif
