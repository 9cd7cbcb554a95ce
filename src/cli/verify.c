#include "cli/record_setup.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture/session/supervise.h"
#include "cli/command.h"
#include "format/stamp.h"
#include "format/trace_writer.h"

#define PAIRS_MAX 5 /* of a short workload; an odd number: the median is one of them */
#define SHORT_NS 2000000000

void verify_input_init(struct verify_input *in)
{
	struct stat st;
	bool known = !fstat(STDIN_FILENO, &st);

	in->offset = known && S_ISREG(st.st_mode) ? lseek(STDIN_FILENO, 0, SEEK_CUR) : -1;
	in->again = !known || in->offset >= 0 ||
		    (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)); /* /dev/null */
}

static void note(const struct verify *v, const char *text)
{
	struct err err;

	/* A trace that cannot be written is noticed by recording_end(). */
	(void)trace_write_note(recording_writer(v->record_run->recording), text, &err);
}

/* Seconds and status of one more run; -1: it could not be started. */
static int run(const struct verify *v, struct record_run *scratch, int64_t *elapsed_ns, int *status)
{
	struct launch_options how = {
		.discard = true,
		.no_input = !v->input.again,
		.before = v->before,
	};
	struct supervisor s;
	int exec_errno;
	struct err err;
	int64_t start_ns;
	pid_t pid;

	if (supervisor_init(&s, config_flag(v->record_run->config, &setting_wait_children), &err))
		return -1;
	if (v->input.offset >= 0)
		lseek(STDIN_FILENO, v->input.offset, SEEK_SET);
	if (scratch) {
		how.paths = v->paths;
		how.where = recording_where(scratch->recording);
		how.collect = record_collect(scratch->config);
	}
	start_ns = (int64_t)stamp_monotonic();
	pid = launch(v->workload->argv, &how, &exec_errno, &err);
	if (pid >= 0) {
		if (scratch)
			record_plan(scratch, &s);
		else
			s.part = SUPERVISE_OVER; /* there is no recording */
		*status = supervise(&s, pid, scratch ? scratch->recording : NULL);
		*elapsed_ns = (int64_t)stamp_monotonic() - start_ns;
	}
	supervisor_release(&s);
	return pid < 0 ? -1 : 0;
}

static int run_recorded(const struct verify *v, int64_t *elapsed_ns, int *status)
{
	struct record_run scratch;
	struct err err;
	int rc;

	if (record_setup_scratch(&scratch, v->record_run->config, &err))
		return -1;
	rc = run(v, &scratch, elapsed_ns, status);
	recording_end(scratch.recording, STILL_RUNNING);
	record_release(&scratch);
	return rc;
}

/* The n-th run of a pair: recorded and plain, plain and recorded, in turns. */
static int run_one(const struct verify *v, bool recorded, int64_t *elapsed_ns)
{
	char text[256];
	int status = 0;
	int rc =
		recorded ? run_recorded(v, elapsed_ns, &status) : run(v, NULL, elapsed_ns, &status);

	if (!rc && status == v->status)
		return 0;
	if (rc)
		snprintf(text, sizeof(text),
			 "the overhead was not verified: the workload could not be started again");
	else
		snprintf(text, sizeof(text),
			 "the overhead was not verified: when run again %s recording, the workload "
			 "exited with status %d, not %d",
			 recorded ? "with" : "without", status, v->status);
	note(v, text);
	v->record_run->fell_short = true;
	return -1;
}

static void write_times(const struct verify *v, const char *key, const int64_t *ns, int count)
{
	struct err err;
	char text[32];

	for (int i = 0; i < count; i++) {
		snprintf(text, sizeof(text), "%.6f", (double)ns[i] / 1e6);
		(void)trace_write_info(recording_writer(v->record_run->recording), key, text, &err);
	}
}

static void print_progress(const struct verify *v, int pairs)
{
	if (!v->record_run->finish.summary)
		return;
	if (pairs == 1)
		complain(0,
			 "running the workload again without recording; its output is discarded");
	else
		complain(0,
			 "running the workload %d more times, with and without recording; its "
			 "output is discarded",
			 2 * pairs - 1);
}

void verify_overhead(const struct verify *v)
{
	int64_t recorded_ns[PAIRS_MAX] = { v->elapsed_ns }, plain_ns[PAIRS_MAX];
	int pairs = v->elapsed_ns < SHORT_NS ? PAIRS_MAX : 1;

	print_progress(v, pairs);
	for (int i = 0; i < pairs; i++) {
		bool plain_first = i % 2;

		if (plain_first && run_one(v, false, &plain_ns[i]))
			return;
		if (i && run_one(v, true, &recorded_ns[i]))
			return;
		if (!plain_first && run_one(v, false, &plain_ns[i]))
			return;
	}
	if (!v->input.again)
		note(v, "the workload was run again without input to verify the overhead: input "
			"from a terminal or a pipe cannot be read twice");
	write_times(v, "verify.recorded_ms", recorded_ns, pairs);
	write_times(v, "verify.plain_ms", plain_ns, pairs);
}
