#include "capture/doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/session/launch.h"
#include "capture/session/recording.h"
#include "format/shm.h"
#include "format/trace.h"

#define BUFFER_BYTES (4u << 20)
#define ANSWER_WITHIN_MS 20000

/* A function, so that there is a call to see. */
static const char program[] = "(lambda: None)()";

/* Until it ends, or its time is up: then it is killed.  Its wait status, or -1. */
static int wait_for(pid_t pid, struct recording *r)
{
	const struct timespec pause = { 0, DRAIN_WAIT_MS * 1000000L };
	int status;

	for (int ms = 0; ms < ANSWER_WITHIN_MS; ms += DRAIN_WAIT_MS) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		recording_cycle(r);
		nanosleep(&pause, NULL);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return -1;
}

static int run_program(const char *python, struct recording *r, struct err *err)
{
	char *const argv[] = { (char *)(uintptr_t)python, (char *)(uintptr_t) "-c",
			       (char *)(uintptr_t)program, NULL };
	struct launch_paths paths;
	struct signals before;
	const struct launch_options how = {
		.paths = &paths,
		.where = recording_where(r),
		.before = &before,
	};
	int exec_errno, status;
	pid_t pid;

	signals_hold(&before);
	pid = launch_find_paths(&paths, err) ? -1 : launch(argv, &how, &exec_errno, err);
	if (pid < 0) {
		signals_restore(&before);
		return -1;
	}
	status = wait_for(pid, r);
	signals_restore(&before);
	if (status == -1)
		return err_set(err, "%s does not exit", python);
	if (status)
		return err_set(err, "%s cannot run a program (%s %d)", python,
			       WIFSIGNALED(status) ? "signal" : "exit status",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return 0;
}

static void read_trace(const char *python, int fd, struct probe_result *out)
{
	struct trace *t = NULL;
	struct err err;
	char path[64];
	uint32_t version = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (trace_open(&t, path, &err)) {
		probe_set(out, PROBE_PROBLEM, "%s", err.text);
		probe_fix(out, "mount /proc");
		return;
	}
	if (trace_process_count(t))
		version = trace_process(t, 0)->python_version;
	if (trace_note_count(t)) {
		probe_set(out, PROBE_PROBLEM, "%s: %s", python, trace_note(t, 0));
		probe_fix(out, "set a CPython from 3.8 on, neither debug nor free-threaded, with "
			       "--python");
	} else if (!version) {
		probe_set(out, PROBE_PROBLEM, "%s ran, but the agent was not loaded into it",
			  python);
		probe_fix(out, "set a CPython with --python; one that ignores PYTHONPATH (-I, -E, "
			       "-S) cannot be recorded");
	} else {
		probe_set(out, PROBE_OK, "CPython %u.%u.%u (%s): calls, scopes, collections",
			  version >> 24, version >> 16 & 0xff, version >> 8 & 0xff, python);
	}
	trace_close(t);
}

void probe_python(const struct probe_context *c, struct probe_result *out)
{
	const struct recording_options options = {
		.buffer_bytes = BUFFER_BYTES,
		.collect = SHM_COLLECT_GC,
		.cpu_mode = SHM_CPU_TRACE,
	};
	int fd = memfd_create("inferscope-doctor", MFD_CLOEXEC);
	struct recording *r = NULL;
	struct err err;

	if (fd < 0 || recording_new(&r, fd, &options, &err)) {
		probe_set(out, PROBE_PROBLEM, "nothing can be recorded: %s",
			  fd < 0 ? strerror(errno) : err.text);
		probe_fix(out, "see the entry 'trace buffer'");
	} else if (run_program(c->python, r, &err)) {
		probe_set(out, PROBE_PROBLEM, "%s", err.text);
		probe_fix(out, "set an interpreter with --python");
	} else {
		recording_end(r, 0);
		read_trace(c->python, fd, out);
	}
	recording_free(r);
	if (fd >= 0)
		close(fd);
}
