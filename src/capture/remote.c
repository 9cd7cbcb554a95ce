#include "capture/remote.h"

#include <errno.h>

#define LINE_BYTES 64u

bool remote_add(struct remote *r, void *to, uint64_t from, size_t bytes)
{
	if (r->count == REMOTE_PIECES_MAX)
		return false;
	r->local[r->count] = (struct iovec){ to, bytes };
	r->from[r->count++] = (struct iovec){ (void *)(uintptr_t)from, bytes };
	r->bytes += bytes;
	r->lines += (bytes + LINE_BYTES - 1) / LINE_BYTES;
	return true;
}

static int read_all(const struct remote_memory *m, const struct iovec *local,
		    const struct iovec *from, unsigned count, size_t bytes)
{
	ssize_t n;

	if (m->window)
		return window_read(m->window, local, from, count);
	n = process_vm_readv(m->pid, local, count, from, count, 0);
	if (n >= 0 && (size_t)n < bytes)
		errno = EFAULT;
	return n == (ssize_t)bytes ? 0 : -1;
}

int remote_read(const struct remote *r, const struct remote_memory *m)
{
	return read_all(m, r->local, r->from, r->count, r->bytes);
}

int remote_copy(const struct remote_memory *m, void *to, uint64_t from, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)from, bytes };

	return read_all(m, &local, &remote, 1, bytes);
}
