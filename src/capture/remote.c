#include "capture/remote.h"

#include <errno.h>

bool remote_add(struct remote *r, void *to, uint64_t from, size_t bytes)
{
	if (r->count == REMOTE_PIECES_MAX)
		return false;
	r->local[r->count] = (struct iovec){ to, bytes };
	r->from[r->count++] = (struct iovec){ (void *)(uintptr_t)from, bytes };
	r->bytes += bytes;
	return true;
}

int remote_read(const struct remote *r, const struct remote_memory *m)
{
	ssize_t n = process_vm_readv(m->pid, r->local, r->count, r->from, r->count, 0);

	if (n >= 0 && (size_t)n < r->bytes)
		errno = EFAULT;
	return n == (ssize_t)r->bytes ? 0 : -1;
}

int remote_copy(const struct remote_memory *m, void *to, uint64_t from, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)from, bytes };
	ssize_t n = process_vm_readv(m->pid, &local, 1, &remote, 1, 0);

	if (n >= 0 && (size_t)n < bytes)
		errno = EFAULT;
	return n == (ssize_t)bytes ? 0 : -1;
}
