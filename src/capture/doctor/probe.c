/* The questions about InferScope itself and the machine; the table of all.  See probe.h. */
#include "capture/doctor/probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture/drain/ticks.h"
#include "capture/session/launch.h"
#include "capture/system/nvml.h"
#include "capture/system/system_files.h"
#include "format/shm.h"

static void list_missing(char *out, size_t bytes, const struct system_files *f)
{
	size_t n = 0;

	out[0] = '\0';
	for (size_t i = 0; i < f->missing_count && n < bytes; i++) {
		const char *text = f->missing[i].text;

		n += (size_t)snprintf(out + n, bytes - n, "%s%s", i ? "; " : "", text);
	}
}

/* As a recording does it, of ourselves. */
void probe_system(const struct probe_context *c, struct probe_result *out)
{
	struct system_points points = { 0 };
	struct system_files f;
	char missing[200];

	system_files_init(&f, c->root, 0);
	system_files_open(&f);
	system_files_add(&f, 1, getpid());
	system_files_poll(&f, 1, &points);
	list_missing(missing, sizeof(missing), &f);
	if (!points.count)
		probe_set(out, PROBE_ABSENT, "no system figures can be read (%s)", missing);
	else if (f.missing_count)
		probe_set(out, PROBE_ABSENT, "%zu files are read; not readable: %s", f.count,
			  missing);
	else
		probe_set(out, PROBE_OK,
			  "memory, page faults, pressure, nodes and control groups: %zu files",
			  f.count);
	system_files_release(&f);
	system_points_release(&points);
}

void probe_nvml(const struct probe_context *c, struct probe_result *out)
{
	struct nvml n = { 0 };
	char why[128];

	(void)c;
	if (nvml_open(&n, why, sizeof(why)))
		probe_set(out, PROBE_ABSENT,
			  "%s: memory, clocks and power of GPUs are not "
			  "recorded",
			  why);
	else
		probe_set(out, PROBE_OK, "libnvidia-ml.so.1, %u device%s", n.device_count,
			  n.device_count == 1 ? "" : "s");
	nvml_release(&n);
}

void probe_set(struct probe_result *out, enum probe_level level, const char *fmt, ...)
{
	va_list args;

	out->level = level;
	va_start(args, fmt);
	vsnprintf(out->found, sizeof(out->found), fmt, args);
	va_end(args);
}

void probe_fix(struct probe_result *out, const char *fmt, ...)
{
	va_list args;

	out->level = PROBE_PROBLEM;
	va_start(args, fmt);
	vsnprintf(out->fix, sizeof(out->fix), fmt, args);
	va_end(args);
}

void probe_advise(struct probe_result *out, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(out->fix, sizeof(out->fix), fmt, args);
	va_end(args);
}

/* Loaded as a native program does it (include/inferscope.h); loading it starts nothing. */
static void probe_parts(const struct probe_context *c, struct probe_result *out)
{
	struct launch_paths paths;
	const char *version;
	struct err err;
	void *agent;

	(void)c;
	if (launch_find_paths(&paths, &err)) {
		probe_set(out, PROBE_PROBLEM, "%s", err.text);
		probe_fix(out, "reinstall InferScope");
		return;
	}
	agent = dlopen(paths.agent, RTLD_NOW | RTLD_LOCAL);
	if (!agent) {
		probe_set(out, PROBE_PROBLEM, "%s", dlerror());
		probe_fix(out, "reinstall InferScope, for this machine");
		return;
	}
	version = dlsym(agent, SHM_AGENT_VERSION);
	if (!version || strcmp(version, INFERSCOPE_VERSION) != 0) {
		probe_set(out, PROBE_PROBLEM, "%s has version %.32s, this program has %s",
			  paths.agent, version ? version : "(unknown)", INFERSCOPE_VERSION);
		probe_fix(out,
			  "reinstall InferScope: program and agent must have the same version");
	} else {
		probe_set(out, PROBE_OK, "version %s, %s", version, paths.agent);
	}
}

static void probe_buffer(const struct probe_context *c, struct probe_result *out)
{
	int fd = memfd_create("inferscope-doctor", MFD_CLOEXEC);
	char path[64];

	(void)c;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || access(path, R_OK | W_OK)) {
		probe_set(out, PROBE_PROBLEM, "%s: %s",
			  fd < 0 ? "no memory files" : "/proc/PID/fd cannot be opened",
			  strerror(errno));
		probe_fix(out, "mount /proc, and allow memfd_create (Linux 3.17)");
	} else {
		probe_set(out, PROBE_OK, "memory files, shared through /proc");
	}
	if (fd >= 0)
		close(fd);
}

static void probe_clock(const struct probe_context *c, struct probe_result *out)
{
	if (ticks_choose_clock(c->root) == SHM_CLOCK_COUNTER)
		probe_set(out, PROBE_OK, "the CPU's invariant counter");
	else
		probe_set(out, PROBE_ABSENT,
			  "CLOCK_MONOTONIC (no invariant counter, or the kernel does not trust it: "
			  "each event costs about 15 ns more)");
}

static void probe_processes(const struct probe_context *c, struct probe_result *out)
{
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	(void)c;
	if (fd < 0) {
		probe_set(out, PROBE_ABSENT,
			  "no pidfd (needs Linux 5.3): the end of child processes is detected by "
			  "polling");
		return;
	}
	close(fd);
	probe_set(out, PROBE_OK, "pidfd");
}

const struct probe probes[] = {
	{ "agent", probe_parts },
	{ "Python", probe_python },
	{ "trace buffer", probe_buffer },
	{ "memory", probe_memory },
	{ "memory pressure", probe_pressure },
	{ "limits", probe_limits },
	{ "trace file", probe_trace_file },
	{ "clock", probe_clock },
	{ "child processes", probe_processes },
	{ "thread states", probe_thread_states },
	{ "samples", probe_samples },
	{ "native samples", probe_native_samples },
	{ "system figures", probe_system },
	{ "GPU driver", probe_gpu_driver },
	{ "CUPTI", probe_gpu_cupti },
	{ "CUDA injection", probe_gpu_injection },
	{ "NVTX injection", probe_nvtx_injection },
	{ "NVML", probe_nvml },
	{ NULL, NULL },
};
