/* inferscope run: start a workload, record it, report on it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/session/launch.h"
#include "capture/session/supervise.h"
#include "cli/command.h"
#include "cli/record_setup.h"
#include "cli/workload.h"
#include "format/stamp.h"

#define STRAGGLERS_MS 100
#define STRAGGLER_PAUSE_MS 5

static int exec_failure(int code)
{
	return code == ENOENT || code == ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* INFERSCOPE_ENABLE=0: as if we were not there. */
static int run_plainly(const struct workload *w)
{
	execvp(w->argv[0], w->argv);
	return complain(exec_failure(errno), "cannot run %s: %s", w->argv[0], strerror(errno));
}

/* What was not recorded is said at once, and stands in the report. */
static void warn_unrecorded(struct record_run *b, const struct workload *w)
{
	const struct drain *d = recording_drain(b->recording);
	const char *text = drain_refusal(d);
	struct err err;

	if (!text && drain_totals(d).processes)
		return;
	if (!text) {
		text = w->script ? "the agent did not load in Python: calls were not recorded"
				 : "no Python process with the agent was started: no calls were "
				   "recorded (python -I, -E and -S keep the agent from loading: "
				   "start Python without them; a container or sandbox started by "
				   "the command does too: put 'inferscope run' inside it)";
		/* A trace that cannot be written is noticed by recording_end(). */
		(void)trace_write_note(recording_writer(b->recording), text, &err);
	}
	b->fell_short = true;
	if (config_warns(b->config))
		complain(0, "%s", text);
}

static void warn_not_started(struct record_run *b)
{
	char text[128];
	struct err err;

	snprintf(text, sizeof(text),
		 "nothing was recorded: the workload ended before the %g s of --delay elapsed",
		 config_number(b->config, &setting_delay));
	(void)trace_write_note(recording_writer(b->recording), text, &err);
	b->fell_short = true;
	if (config_warns(b->config))
		complain(0, "%s", text);
}

/* Only one tool can be injected into CUDA or NVTX; one that the user has chosen stays. */
static void note_other_injections(struct record_run *b, const struct launch_options *how)
{
	for (const struct launch_injection *i = launch_injections; i->variable; i++) {
		const char *other = getenv(i->variable);
		char text[512];
		struct err err;

		if (!other || !*other || !(how->collect & i->collect) ||
		    !strcmp(other, how->paths->agent)) /* of a recording around this one */
			continue;
		snprintf(text, sizeof(text),
			 "%s not recorded: %s is set to another tool (%.200s); "
			 "unset it to record %s",
			 i->what_is, i->variable, other, i->what);
		b->fell_short = true;
		(void)trace_write_note(recording_writer(b->recording), text, &err);
		if (config_warns(b->config))
			complain(0, "%s", text);
	}
}

/* What ends right behind its parent, as the process does that multiprocessing leaves to tidy up,
 * does not live on. */
static void wait_for_stragglers(struct recording *r)
{
	struct timespec pause = { 0, STRAGGLER_PAUSE_MS * 1000000L };

	for (int ms = 0; ms < STRAGGLERS_MS && drain_living(recording_drain(r), 0);
	     ms += STRAGGLER_PAUSE_MS) {
		recording_cycle(r);
		nanosleep(&pause, NULL);
	}
}

/* The recording ends with the main process; what its children do after that is not in it. */
static void warn_living(struct record_run *b)
{
	uint32_t living = drain_living(recording_drain(b->recording), 0);
	char text[160];
	struct err err;

	if (!living)
		return;
	snprintf(text, sizeof(text),
		 "%u child process%s outlived the workload and %s no longer recorded "
		 "(--wait-children waits for them)",
		 living, living == 1 ? "" : "es", living == 1 ? "was" : "were");
	/* A trace that cannot be written is noticed by recording_end(). */
	(void)trace_write_note(recording_writer(b->recording), text, &err);
}

/* A recording on its way to its end. */
struct run {
	struct record_run *record_run;
	const struct workload *workload;
	struct supervisor supervisor;
};

static void end(struct run *run, int status)
{
	struct record_run *b = run->record_run;

	progress_clear();
	if (run->supervisor.part == SUPERVISE_DELAYED) {
		warn_not_started(b);
		record_end(b, status);
		return;
	}
	if (status != STILL_RUNNING)
		wait_for_stragglers(b->recording);
	recording_cycle(b->recording);
	if (!recording_trouble(b->recording)) {
		warn_unrecorded(b, run->workload);
		if (status != STILL_RUNNING)
			warn_living(b);
	}
	record_end(b, status);
}

/*
 * --duration: the workload runs on.  Its signals must not wait for the reports, so
 * a child of ours writes them.
 */
static void report_meanwhile(void *context, struct recording *r)
{
	struct run *run = context;
	pid_t child;

	(void)r;
	end(run, STILL_RUNNING);
	child = fork();
	if (child <= 0) {
		int status = record_write_reports(run->record_run, EXIT_OK);

		if (child == 0) {
			fflush(NULL);
			_exit(status);
		}
	} else {
		run->supervisor.helper = child;
	}
	record_release(run->record_run);
}

/* The recording was over before the workload; the reports may be on their way still. */
static int after_reports(struct run *run, int status)
{
	struct supervisor *s = &run->supervisor;

	while (s->helper && waitpid(s->helper, &s->helper_status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(s->helper_status))
		complain(0, "the reports were not written: their process was killed");
	if (!WIFEXITED(s->helper_status) || WEXITSTATUS(s->helper_status) == EXIT_STRICT)
		run->record_run->fell_short = true;
	return record_status(run->record_run, status);
}

static int record(struct record_run *b, const struct workload *w, const struct signals *before,
		  struct err *err)
{
	struct run run = { .record_run = b, .workload = w };
	struct supervisor *s = &run.supervisor;
	struct launch_paths paths;
	struct verify v = {
		.record_run = b,
		.workload = w,
		.paths = &paths,
		.before = before,
	};
	struct launch_options how = {
		.paths = &paths,
		.where = recording_where(b->recording),
		.collect = record_collect(b->config),
		.before = before,
	};
	int64_t start_ns;
	int status, exec_errno = 0;
	pid_t pid;

	if (launch_find_paths(&paths, err))
		return complain(EXIT_NOT_EXECUTABLE, "%s", err->text);
	if (supervisor_init(s, config_flag(b->config, &setting_wait_children), err))
		return complain(EXIT_NOT_EXECUTABLE, "%s", err->text);
	if (b->progress)
		s->tick = progress_tick;
	s->over = report_meanwhile;
	s->context = &run;
	note_other_injections(b, &how);
	verify_input_init(&v.input);
	start_ns = (int64_t)stamp_monotonic();
	pid = launch(w->argv, &how, &exec_errno, err);
	if (pid < 0) {
		supervisor_release(s);
		return complain(exec_failure(exec_errno), "%s", err->text);
	}
	record_plan(b, s);
	status = supervise(s, pid, b->recording);
	if (config_flag(b->config, &setting_verify_overhead) && s->part == SUPERVISE_ON) {
		v.status = status;
		v.elapsed_ns = (int64_t)stamp_monotonic() - start_ns;
		recording_cycle(b->recording);
		recording_stop(b->recording);
		verify_overhead(&v);
	}
	/* What ^C ends now is the report, not the workload. */
	supervisor_release(s);
	if (s->part == SUPERVISE_OVER)
		return after_reports(&run, status);
	end(&run, status);
	return record_write_reports(b, status);
}

static int run_recorded(const struct workload *w, const struct config *c)
{
	struct signals before;
	struct record_run b;
	struct err err;
	int status;

	signals_hold(&before);
	if (record_setup(&b, c, w->program, w->argv, stderr, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	status = record(&b, w, &before, &err);
	record_release(&b);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct config *c = NULL;
	struct workload w = { 0 };
	struct err err;
	int operand, status;
	bool dashes;

	if (config_load(&c, self->scope, argc, argv, &operand, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	status = workload_init(&w, c, argc - operand, argv + operand, dashes, &err);
	if (status)
		complain(status, "%s", err.text);
	else if (config_flag(c, &setting_verify_overhead) &&
		 config_number(c, &setting_duration) > 0)
		status = complain(
			EXIT_USAGE,
			"--verify-overhead needs the whole run: it cannot be combined with "
			"--duration");
	else if (!config_flag(c, &setting_enable))
		status = run_plainly(&w);
	else
		status = run_recorded(&w, c);
	workload_release(&w);
	config_free(c);
	return status;
}

const struct command command_run = {
	.name = "run",
	.operands = "[options] script.py [args]\n"
		    "[options] -- command [args]",
	.summary = "run a workload, record it and write a report",
	.details =
		"Runs the script with python3 (--python chooses another), or any command behind "
		"'--',\n"
		"and records it and the processes it starts.  Input, output, signals and the exit\n"
		"status are the workload's own.  The summary goes to standard error.\n"
		"\n"
		"Exit status: the workload's, 128 + N when signal N killed it; 1 when the script\n"
		"cannot be read; 126 or 127 when the command or Python cannot be executed or "
		"found;\n"
		"2 for a mistake in the options; 4 with --strict when something requested "
		"could not\n"
		"be recorded.",
	.scope = SETTING_FOR_RUN,
	.run = run,
};
