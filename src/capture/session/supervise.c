#include "capture/session/supervise.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/stamp.h"

#define TICK_NS 500000000

static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };

void supervisor_plan(struct supervisor *s, int64_t delay_ns, int64_t duration_ns)
{
	int64_t now_ns = (int64_t)stamp_monotonic();

	s->part = delay_ns ? SUPERVISE_DELAYED : SUPERVISE_ON;
	s->begin_ns = now_ns + delay_ns;
	s->duration_ns = duration_ns;
	s->end_ns = duration_ns == SUPERVISE_FOREVER ? SUPERVISE_FOREVER : now_ns + duration_ns;
}

int supervisor_init(struct supervisor *s, bool wait_children, struct err *err)
{
	sigset_t mask;

	memset(s, 0, sizeof(*s));
	s->wait_children = wait_children;
	supervisor_plan(s, 0, SUPERVISE_FOREVER);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	for (size_t i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&mask, forwarded[i]);
	sigprocmask(SIG_BLOCK, &mask, &s->before);
	s->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->signals < 0)
		return err_errno(err, "cannot set up signal handling");
	/* Orphans come to us, so that there is someone to wait for them. */
	if (wait_children)
		prctl(PR_SET_CHILD_SUBREAPER, 1);
	return 0;
}

void supervisor_release(struct supervisor *s)
{
	close(s->signals);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

/*
 * The terminal sends ^C to the workload as well as to us; kill(1) only to us.  A signal that
 * comes when the workload has ended (0) is not forwarded: its number may be another process's.
 * True: the signal asks us to end.
 */
static bool forward_signals(struct supervisor *s, pid_t workload)
{
	struct signalfd_siginfo info;
	bool ends = false;

	while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		bool from_a_process = info.ssi_code <= 0;

		if (info.ssi_signo == SIGCHLD)
			continue;
		if (!workload)
			ends |= info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2;
		else if (from_a_process && info.ssi_pid != (uint32_t)workload)
			kill(workload, (int)info.ssi_signo);
	}
	return ends;
}

static int status_of(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

static void tick(struct supervisor *s, int64_t now_ns, int64_t *last_ns, struct recording *r)
{
	if (!s->tick || now_ns - *last_ns < TICK_NS)
		return;
	*last_ns = now_ns;
	s->tick(s->context, r);
}

/* How many milliseconds until then, for poll(); at most so many. */
static int wait_ms(int64_t until_ns, int64_t now_ns, int most_ms)
{
	int64_t left_ms = (until_ns - now_ns + 999999) / 1000000;

	return left_ms < most_ms ? (int)left_ms : most_ms;
}

/* Does what is due; returns how many milliseconds there is nothing to do, -1: until a signal. */
static int live(struct supervisor *s, int64_t *ticked_ns, struct recording *r)
{
	int64_t now_ns = (int64_t)stamp_monotonic();

	if (s->part == SUPERVISE_DELAYED) {
		if (s->begin_ns > now_ns)
			return wait_ms(s->begin_ns, now_ns, INT_MAX);
		recording_begin(r);
		s->part = SUPERVISE_ON;
		if (s->duration_ns != SUPERVISE_FOREVER)
			s->end_ns = now_ns + s->duration_ns;
	}
	if (s->part == SUPERVISE_OVER)
		return -1;
	recording_cycle(r);
	if (now_ns >= s->end_ns) {
		s->part = SUPERVISE_OVER;
		if (s->over)
			s->over(s->context, r);
		return 0;
	}
	tick(s, now_ns, ticked_ns, r);
	return wait_ms(s->end_ns, now_ns, drain_wait_ms(recording_drain(r)));
}

/* A child that has ended and was not waited for; 0: none, -1: there are no children. */
static pid_t ended_child(const struct supervisor *s, pid_t workload)
{
	siginfo_t info = { 0 };

	if (waitid(s->wait_children ? P_ALL : P_PID, (id_t)workload, &info,
		   WEXITED | WNOHANG | WNOWAIT))
		return -1;
	return info.si_pid;
}

int supervise(struct supervisor *s, pid_t workload, struct recording *r)
{
	struct pollfd wake = { s->signals, POLLIN, 0 };
	bool running = true;
	int64_t ticked_ns = (int64_t)stamp_monotonic();
	int status = 0;

	if (r)
		recording_follow(r, workload);
	for (;;) {
		int wait_status;
		pid_t pid;

		while ((pid = ended_child(s, workload)) > 0) {
			if (s->part == SUPERVISE_ON)
				drain_process_ends(recording_drain(r), (uint32_t)pid);
			waitpid(pid, &wait_status, 0);
			if (pid == s->helper) {
				s->helper = 0;
				s->helper_status = wait_status;
				continue;
			}
			if (s->part == SUPERVISE_ON)
				drain_process_died(recording_drain(r), (uint32_t)pid);
			if (pid == workload) {
				running = false;
				status = status_of(wait_status);
			}
			if (!running && !s->wait_children)
				break;
		}
		if (!running && (!s->wait_children || (pid < 0 && errno == ECHILD)))
			break;
		poll(&wake, 1, live(s, &ticked_ns, r));
		if (forward_signals(s, running ? workload : 0))
			return status;
	}
	forward_signals(s, 0); /* those that ended it are not to end us */
	return status;
}

void supervise_other(struct supervisor *s, pid_t pid, int stop_fd, struct recording *r)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd wake[] = { { stop_fd, POLLIN, 0 }, { pidfd, POLLIN, 0 } };
	int64_t ticked_ns = (int64_t)stamp_monotonic();

	for (;;) {
		struct signalfd_siginfo info;

		poll(wake, 2, live(s, &ticked_ns, r));
		/* The program's signals are its own: we outlive it to write the report. */
		while (read(s->signals, &info, sizeof(info)) == (ssize_t)sizeof(info))
			;
		if (wake[0].revents || wake[1].revents || s->part == SUPERVISE_OVER ||
		    (pidfd < 0 && kill(pid, 0) && errno == ESRCH))
			break;
	}
	if (pidfd >= 0)
		close(pidfd);
}
