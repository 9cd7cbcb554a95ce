/* The questions that have nothing to do with a GPU; the table of all.  See probe.h. */
#include "capture/probe.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/launch.h"
#include "capture/probe_gpu.h"
#include "capture/ticks.h"
#include "format/shm.h"

static void probe_parts(struct probe_result *out)
{
	struct launch_paths paths;
	struct err err;

	if (launch_find_paths(&paths, &err)) {
		out->level = PROBE_PROBLEM;
		snprintf(out->found, sizeof(out->found), "%.255s", err.text);
		snprintf(out->fix, sizeof(out->fix), "install InferScope again");
	} else if (access(paths.agent, R_OK)) {
		out->level = PROBE_PROBLEM;
		snprintf(out->found, sizeof(out->found), "no agent at %.200s", paths.agent);
		snprintf(out->fix, sizeof(out->fix), "install InferScope again");
	} else {
		snprintf(out->found, sizeof(out->found), "%.255s", paths.agent);
	}
}

static void probe_buffer(struct probe_result *out)
{
	int fd = memfd_create("inferscope-doctor", MFD_CLOEXEC);
	char path[64], text[128];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || access(path, R_OK | W_OK)) {
		out->level = PROBE_PROBLEM;
		snprintf(out->found, sizeof(out->found), "%s: %s",
			 fd < 0 ? "no memory files" : "/proc/PID/fd cannot be opened",
			 strerror_r(errno, text, sizeof(text)));
		snprintf(out->fix, sizeof(out->fix),
			 "mount /proc, and allow memfd_create (Linux 3.17)");
	} else {
		snprintf(out->found, sizeof(out->found), "memory files, shared through /proc");
	}
	if (fd >= 0)
		close(fd);
}

static void probe_clock(struct probe_result *out)
{
	if (ticks_choose_clock() == SHM_CLOCK_COUNTER)
		snprintf(out->found, sizeof(out->found), "the CPU's invariant counter");
	else
		snprintf(out->found, sizeof(out->found),
			 "CLOCK_MONOTONIC (no invariant counter: events cost some 15 ns more)");
}

static void probe_processes(struct probe_result *out)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd < 0) {
		out->level = PROBE_ABSENT;
		snprintf(out->found, sizeof(out->found),
			 "no pidfd (Linux 5.3): the end of child processes is seen by polling");
		return;
	}
	close(fd);
	snprintf(out->found, sizeof(out->found), "pidfd");
}

const struct probe probes[] = {
	{ "agent", probe_parts },
	{ "trace buffer", probe_buffer },
	{ "clock", probe_clock },
	{ "child processes", probe_processes },
	{ "GPU driver", probe_gpu_driver },
	{ "CUPTI", probe_gpu_cupti },
	{ "CUDA injection", probe_gpu_injection },
	{ NULL, NULL },
};
