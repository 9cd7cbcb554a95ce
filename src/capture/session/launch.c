#include "capture/session/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/shm.h"

void signals_hold(struct signals *before)
{
	struct sigaction ignore;

	memset(&ignore, 0, sizeof(ignore));
	ignore.sa_handler = SIG_IGN;
	sigprocmask(SIG_SETMASK, NULL, &before->mask);
	sigaction(SIGPIPE, &ignore, &before->pipe);
	sigaction(SIGXFSZ, &ignore, &before->file_size);
}

void signals_restore(const struct signals *before)
{
	sigaction(SIGPIPE, &before->pipe, NULL);
	sigaction(SIGXFSZ, &before->file_size, NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
}

/* Where the parts may lie, seen from the folder above the program's own. */
static const struct layout {
	const char *shim, *python, *agent;
} layouts[] = {
	/* An installation, and the build tree. */
	{ "lib/inferscope/shim", "lib/inferscope/python",
	  "lib/inferscope/python/inferscope/_agent.abi3.so" },
	/* A wheel: inferscope/bin/inferscope in the package itself. */
	{ "shim", "", "_agent.abi3.so" },
};

static bool join(char out[4096], const char *home, const char *part)
{
	return snprintf(out, 4096, "%s%s%s", *part ? home : "", *part ? "/" : "", part) < 4096;
}

/* "/usr/bin/inferscope" gives "/usr". */
static int find_home(char home[PATH_MAX], struct err *err)
{
	ssize_t n = readlink("/proc/self/exe", home, PATH_MAX - 1);
	char *slash;

	if (n < 0)
		return err_errno(err, "cannot find the inferscope program file (is /proc "
				      "mounted?)");
	home[n] = '\0';
	for (int up = 0; up < 2; up++) {
		slash = strrchr(home, '/');
		if (slash)
			*slash = '\0';
	}
	return 0;
}

int launch_find_paths(struct launch_paths *paths, struct err *err)
{
	char home[PATH_MAX];

	if (find_home(home, err))
		return -1;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		const struct layout *l = &layouts[i];

		if (!join(paths->shim, home, l->shim) || access(paths->shim, R_OK | X_OK) ||
		    !join(paths->python, home, l->python) || !join(paths->agent, home, l->agent))
			continue;
		return 0;
	}
	return err_set(err, "the installation is incomplete: no start-up shim beside %s/bin", home);
}

const struct launch_injection launch_injections[] = {
	{ LAUNCH_CUDA, SHM_COLLECT_GPU, "the GPU", "the GPU is" },
	{ LAUNCH_NVTX, SHM_COLLECT_NVTX, "NVTX ranges", "NVTX ranges are" },
	{ NULL, 0, NULL, NULL },
};

/* Where another tool is injected already, it stays. */
static int set_injections(const char *agent, uint32_t collect)
{
	for (const struct launch_injection *i = launch_injections; i->variable; i++) {
		const char *other = getenv(i->variable);

		if (collect & i->collect && !(other && *other) && setenv(i->variable, agent, 1))
			return -1;
	}
	return 0;
}

static int set_environment(const struct launch_paths *paths, const char *where, uint32_t collect)
{
	const char *before = getenv("PYTHONPATH");
	size_t bytes = strlen(paths->shim) + strlen(paths->python) + 3;
	char *path;
	int rc;

	if (before)
		bytes += strlen(before);
	path = malloc(bytes);
	if (!path)
		return -1;
	snprintf(path, bytes, "%s%s%s%s%s", paths->shim, *paths->python ? ":" : "", paths->python,
		 before && *before ? ":" : "", before ? before : "");
	rc = setenv("PYTHONPATH", path, 1) || setenv(SHM_ENV, where, 1) ||
	     setenv(SHM_AGENT_ENV, paths->agent, 1) || set_injections(paths->agent, collect);
	free(path);
	return rc ? -1 : 0;
}

/* 0, or -1 with errno set. */
static int redirect(const struct launch_options *how)
{
	int null = how->discard || how->no_input ? open("/dev/null", O_RDWR | O_CLOEXEC) : 0;

	return null < 0 || (how->no_input && dup2(null, STDIN_FILENO) < 0) ||
			       (how->discard &&
				(dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0))
		       ? -1
		       : 0;
}

static void run_child(char *const argv[], const struct launch_options *how, int report_fd)
{
	int code;

	signals_restore(how->before);
	if ((!how->paths || !set_environment(how->paths, how->where, how->collect)) &&
	    !redirect(how))
		execvp(argv[0], argv);
	code = errno;
	if (write(report_fd, &code, sizeof(code)) != (ssize_t)sizeof(code))
		code = 0; /* the parent sees the exit status */
	_exit(127);
}

pid_t launch(char *const argv[], const struct launch_options *how, int *exec_errno, struct err *err)
{
	int pipe_fds[2];
	pid_t pid;
	ssize_t n;

	*exec_errno = 0;
	if (pipe2(pipe_fds, O_CLOEXEC))
		return err_errno(err, "cannot create a pipe");
	pid = fork();
	if (pid < 0) {
		err_errno(err, "cannot start a process");
		close(pipe_fds[0]);
		close(pipe_fds[1]);
		return -1;
	}
	if (pid == 0)
		run_child(argv, how, pipe_fds[1]);
	close(pipe_fds[1]);
	do {
		n = read(pipe_fds[0], exec_errno, sizeof(*exec_errno));
	} while (n < 0 && errno == EINTR);
	close(pipe_fds[0]);
	if (n != (ssize_t)sizeof(*exec_errno)) {
		*exec_errno = 0;
		return pid; /* the pipe closed at exec */
	}
	errno = *exec_errno;
	return err_errno(err, "cannot run %s", argv[0]);
}
