#include "capture/sampler/remote.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int read_word(pid_t pid)
{
	static const char there[8] = "inside";
	char copy[sizeof(there)];
	struct iovec local = { copy, sizeof(copy) };
	struct iovec remote = { (void *)(uintptr_t)there, sizeof(there) };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) < 0 ? errno : 0;
}

int permission_to_read(void)
{
	int error = read_word(getpid()); /* refused by a filter, that is */
	pid_t child;

	if (error)
		return error;
	child = fork();
	if (child == 0) {
		for (;;)
			pause();
	}
	if (child < 0)
		return 0; /* it will be seen */
	error = read_word(child);
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	return error;
}

bool permission_is_refused(int error)
{
	return error == EPERM || error == EACCES || error == ENOSYS;
}

long kernel_setting(const char *root, const char *name)
{
	char path[4096], text[32] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/sys/kernel/%s", root, name);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	return strtol(text, NULL, 10);
}

#define CONTAINER "containers: --cap-add SYS_PTRACE, or a seccomp profile that permits it"

struct permission_refusal permission_refusal(const char *root, int error)
{
	struct permission_refusal r = { "", CONTAINER };
	long level = kernel_setting(root, "yama/ptrace_scope");

	if (read_word(getpid())) {
		snprintf(r.why, sizeof(r.why), "a filter forbids process_vm_readv (%s)",
			 strerror(error));
	} else if (level > 1) {
		snprintf(r.why, sizeof(r.why), "kernel.yama.ptrace_scope is %ld", level);
		r.fix = "sysctl kernel.yama.ptrace_scope=1, or CAP_SYS_PTRACE";
	} else {
		snprintf(r.why, sizeof(r.why),
			 "%s: it is not dumpable, runs with other rights, or is confined",
			 strerror(error));
		r.fix = "CAP_SYS_PTRACE for the recorder (containers: --cap-add SYS_PTRACE)";
	}
	return r;
}

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
