/*
 * The GPU is asked in a child process: a driver that hangs, crashes or keeps
 * memory does so there, and within a time limit.
 */
#include "capture/doctor/probe.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/session/launch.h"
#include "format/cupti_names.h"

#define ANSWER_WITHIN_MS 20000

#define CUPTI_VERSION_MIN 18u /* 11.8 */

static void probe_driver(struct probe_result *out)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	int (*init)(unsigned) = NULL, (*version)(int *) = NULL, (*count)(int *) = NULL;
	int (*name)(char *, int, int) = NULL;
	char first[100] = "";
	int devices = 0, number = 0, code;

	if (!library) {
		out->level = PROBE_ABSENT;
		snprintf(out->found, sizeof(out->found), "none (no libcuda.so.1)");
		return;
	}
	*(void **)&init = dlsym(library, "cuInit");
	*(void **)&version = dlsym(library, "cuDriverGetVersion");
	*(void **)&count = dlsym(library, "cuDeviceGetCount");
	*(void **)&name = dlsym(library, "cuDeviceGetName");
	code = init && version && count && name ? init(0) : -1;
	if (code) {
		out->level = PROBE_PROBLEM;
		snprintf(out->found, sizeof(out->found), "the driver does not start (error %d)",
			 code);
		snprintf(out->fix, sizeof(out->fix),
			 "check nvidia-smi; in a container, pass the GPU through");
		return;
	}
	version(&number);
	count(&devices);
	if (devices)
		name(first, sizeof(first), 0);
	snprintf(out->found, sizeof(out->found), "CUDA %d.%d, %d GPU%s%s%s", number / 1000,
		 number % 1000 / 10, devices, devices == 1 ? "" : "s", devices ? ": " : "", first);
	if (!devices) {
		out->level = PROBE_PROBLEM;
		snprintf(out->fix, sizeof(out->fix),
			 "CUDA_VISIBLE_DEVICES hides all GPUs, or there is none");
	}
}

static void probe_cupti(struct probe_result *out)
{
	const char *asked = getenv(CUPTI_ENV), *name = asked;
	int (*get_version)(uint32_t *) = NULL;
	void *library = asked && *asked ? dlopen(asked, RTLD_NOW) : NULL;
	uint32_t version = 0;

	for (size_t i = 0; !library && !(asked && *asked) && i < CUPTI_NAMES; i++) {
		name = cupti_names[i];
		library = dlopen(name, RTLD_NOW);
	}
	if (!library) {
		out->level = asked && *asked ? PROBE_PROBLEM : PROBE_ABSENT;
		snprintf(out->found, sizeof(out->found),
			 "not among the system's libraries (PyTorch brings its own)");
		if (asked && *asked)
			snprintf(out->fix, sizeof(out->fix),
				 CUPTI_ENV " names %.150s, which cannot be loaded", asked);
		return;
	}
	*(void **)&get_version = dlsym(library, "cuptiGetVersion");
	if (!get_version || get_version(&version) || version < CUPTI_VERSION_MIN) {
		out->level = PROBE_PROBLEM;
		snprintf(out->fix, sizeof(out->fix), "install the CUPTI of CUDA 11.8 or newer");
	}
	snprintf(out->found, sizeof(out->found), "%.150s, version %u", name, version);
}

static void probe_in_a_child(void (*ask)(struct probe_result *), struct probe_result *out)
{
	struct pollfd answer;
	int fds[2];
	pid_t pid;

	if (pipe(fds))
		return;
	pid = fork();
	if (pid == 0) {
		close(fds[0]);
		unsetenv(LAUNCH_CUDA);
		ask(out);
		if (write(fds[1], out, sizeof(*out)) != (ssize_t)sizeof(*out))
			_exit(1);
		_exit(0);
	}
	close(fds[1]);
	answer = (struct pollfd){ fds[0], POLLIN, 0 };
	if (pid < 0 || poll(&answer, 1, ANSWER_WITHIN_MS) <= 0 ||
	    read(fds[0], out, sizeof(*out)) != (ssize_t)sizeof(*out)) {
		memset(out, 0, sizeof(*out));
		out->level = PROBE_PROBLEM;
		snprintf(out->found, sizeof(out->found), "no answer, or a crash");
		snprintf(out->fix, sizeof(out->fix),
			 "check nvidia-smi and the driver's installation");
	}
	close(fds[0]);
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

void probe_gpu_driver(const struct probe_context *c, struct probe_result *out)
{
	(void)c;
	probe_in_a_child(probe_driver, out);
}

void probe_gpu_cupti(const struct probe_context *c, struct probe_result *out)
{
	(void)c;
	probe_in_a_child(probe_cupti, out);
}

static void probe_injection(const char *variable, const char *what, struct probe_result *out)
{
	const char *other = getenv(variable);

	if (!other || !*other) {
		snprintf(out->found, sizeof(out->found), "free");
		return;
	}
	out->level = PROBE_PROBLEM;
	snprintf(out->found, sizeof(out->found), "used by %.200s", other);
	snprintf(out->fix, sizeof(out->fix), "unset %s to record %s", variable, what);
}

void probe_gpu_injection(const struct probe_context *c, struct probe_result *out)
{
	(void)c;
	probe_injection(LAUNCH_CUDA, "the GPU", out);
}

void probe_nvtx_injection(const struct probe_context *c, struct probe_result *out)
{
	(void)c;
	probe_injection(LAUNCH_NVTX, "NVTX ranges", out);
}
