#include "capture/doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/native/elf_symbols.h"
#include "capture/native/perf_events.h"
#include "capture/sampler/remote.h"
#include "capture/sampler/thread_state.h"

#define PATIENCE_MS 200 /* until a child is where it waits */
#define PROBE_HZ 100u

/* A child that waits, as one of the workload would. */
static pid_t start_sleeper(void)
{
	pid_t child = fork();

	if (child == 0) {
		for (;;)
			pause();
	}
	return child;
}

static void end_sleeper(pid_t child)
{
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
}

static enum sample_state state_when_asleep(struct thread_state_reader *w)
{
	const struct address_range no_gil = { 0, 0 };
	enum sample_state state = SAMPLE_UNKNOWN;

	for (int i = 0; i < PATIENCE_MS; i++) {
		state = thread_state_reader_state(w, no_gil).state;
		if (state != SAMPLE_RUNNING && state != SAMPLE_UNKNOWN)
			break;
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	}
	return state;
}

void probe_thread_states(const struct probe_context *c, struct probe_result *out)
{
	pid_t child = start_sleeper();
	struct thread_times times;
	struct thread_state_readeres all = { 0 };
	struct thread_state_reader w;
	enum sample_state state;

	thread_state_reader_open(&w, &all, c->root, child, child);
	state = state_when_asleep(&w);
	/* Some machines have no call of their own for pause(): there it waits for no file. */
	if ((state == SAMPLE_IO_WAIT || state == SAMPLE_SLEEP) && !w.refused) {
		probe_set(out, PROBE_OK, "/proc/PID/task/TID/syscall%s",
			  thread_times_read(&times, c->root, child, child) ? ", schedstat" : "");
	} else if (state != SAMPLE_UNKNOWN) {
		probe_set(out, PROBE_ABSENT,
			  "/proc/PID/task/TID/syscall is refused: waits of threads are detected, "
			  "but not what they wait for");
		probe_advise(out, "permit tracing (kernel.yama.ptrace_scope 0 or 1, containers: "
				  "--cap-add SYS_PTRACE)");
	} else {
		probe_set(out, PROBE_ABSENT, "/proc has no information about threads");
	}
	thread_state_reader_close(&w, &all);
	end_sleeper(child);
}

void probe_samples(const struct probe_context *c, struct probe_result *out)
{
	int error = permission_to_read();
	struct permission_refusal r;

	if (!error) {
		probe_set(out, PROBE_OK, "Python stacks are read from outside (process_vm_readv)");
		return;
	}
	r = permission_refusal(c->root, error);
	probe_set(out, PROBE_ABSENT,
		  "Python stacks are read from inside, by a thread of the agent, at most %d times "
		  "a second: %s",
		  WINDOW_HZ, r.why);
	probe_advise(out, "%s", r.fix);
}

/* With 2 a user may sample his own programs; Debian and Ubuntu know 3 and 4. */
static void explain_refusal(const struct probe_context *c, struct probe_result *out, int why)
{
	long level = kernel_setting(c->root, "perf_event_paranoid");

	probe_set(out, PROBE_ABSENT, "perf_event_open: %s: native functions are not sampled",
		  strerror(why));
	if (why == ENOSYS)
		probe_advise(out, "use a kernel with perf events");
	else if (level > 2)
		probe_advise(out, "sysctl kernel.perf_event_paranoid=2 (now %ld), or CAP_PERFMON",
			     level);
	else
		probe_advise(out,
			     "the container's seccomp filter refuses it: permit perf_event_open "
			     "(docker run --cap-add PERFMON, or --security-opt seccomp=...)");
}

void probe_native_samples(const struct probe_context *c, struct probe_result *out)
{
	pid_t child = start_sleeper();
	struct perf_events p;

	if (child < 0 || perf_events_open(&p, child, PROBE_HZ, false)) {
		explain_refusal(c, out, errno);
	} else {
		perf_events_close(&p);
		if (elf_symbols_supported()) {
			probe_set(out, PROBE_OK, "perf_event_open, names from the libraries");
		} else {
			probe_set(out, PROBE_ABSENT,
				  "perf_event_open, but functions have no names: built without "
				  "libelf");
			probe_advise(out, "install libelf-dev and rebuild");
		}
	}
	end_sleeper(child);
}
