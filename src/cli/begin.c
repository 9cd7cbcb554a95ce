#include "cli/begin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/outfile.h"
#include "cli/command.h"
#include "cli/progress.h"

/* A kept trace: created, locked against a second recording, then emptied. */
static int open_trace(const char *path, struct err *err)
{
	char file[PATH_MAX];
	struct stat st;
	int fd;

	if (outfile_resolve(file, path, err))
		return -1;
	/* Its owner's alone, like a report: base/outfile.h. */
	fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
	if (fd < 0)
		return err_errno(err, "cannot write the trace %s", path);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || outfile_is_trap(file, &st)) {
		close(fd);
		return err_set(err, "cannot write the trace %s: not a regular file", path);
	}
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return err_set(err,
			       "another recording is writing %s; choose another file with --trace",
			       path);
	}
	if (ftruncate(fd, 0)) {
		err_errno(err, "cannot write the trace %s", path);
		close(fd);
		return -1;
	}
	return fd;
}

/* --no-trace: the trace exists while we do. */
static int open_nameless_trace(struct err *err)
{
	const char *folder = getenv("TMPDIR");
	char path[4096];
	int fd;

	if (!folder || !*folder)
		folder = "/tmp";
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "%s/inferscope-XXXXXX", folder);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, "cannot create a temporary file in %s", folder);
	unlink(path);
	return fd;
}

static int write_facts(struct begun *b, char *const command[], struct err *err)
{
	struct trace_writer *w = recording_writer(b->recording);
	time_t now = time(NULL);
	struct tm utc;
	char text[4096];

	for (size_t i = 0; command[i]; i++) {
		if (trace_write_info(w, "command", command[i], err))
			return -1;
	}
	if (getcwd(text, sizeof(text)) && trace_write_info(w, "cwd", text, err))
		return -1;
	if (gmtime_r(&now, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) &&
	    trace_write_info(w, "started", text, err))
		return -1;
	return trace_write_info(w, "cpu", config_text(b->config, &setting_cpu), err) ||
			       trace_write_info(w, "gpu",
						config_flag(b->config, &setting_gpu) ? "on" : "off",
						err) ||
			       trace_write_info(w, "max_overhead",
						config_text(b->config, &setting_max_overhead),
						err) ||
			       trace_write_info(w, "trace_size_mb",
						config_text(b->config, &setting_trace_size_mb), err)
		       ? -1
		       : 0;
}

static const struct {
	const char *name;
	enum shm_cpu mode;
} cpu_modes[] = {
	{ "off", SHM_CPU_OFF },
	{ "auto", SHM_CPU_AUTO },
	{ "trace", SHM_CPU_TRACE },
	{ "sample", SHM_CPU_SAMPLE },
};

static enum shm_cpu cpu_mode(const struct config *c)
{
	const char *name = config_text(c, &setting_cpu);
	size_t i = 0;

	while (strcmp(cpu_modes[i].name, name) != 0) /* one of them, or the setting was refused */
		i++;
	return cpu_modes[i].mode;
}

static uint32_t budget_ppm(const struct config *c)
{
	double percent = config_number(c, &setting_max_overhead);

	return percent >= 100 ? SHM_NO_BUDGET : (uint32_t)lround(percent * 1e4);
}

uint32_t begun_collect(const struct config *c)
{
	uint32_t collect = 0;

	if (cpu_mode(c) != SHM_CPU_OFF)
		collect |= SHM_COLLECT_GC;
	if (config_flag(c, &setting_gpu))
		collect |= SHM_COLLECT_GPU;
	if (config_flag(c, &setting_nvtx))
		collect |= SHM_COLLECT_NVTX;
	if (config_flag(c, &setting_gpu) && config_flag(c, &setting_memory))
		collect |= SHM_COLLECT_TORCH_MEMORY;
	return collect;
}

static struct recording_options recording_options(const struct config *c)
{
	struct recording_options options = {
		.buffer_bytes = (uint64_t)config_number(c, &setting_trace_size_mb) << 20,
		.keep_newest = config_flag(c, &setting_ring),
		.collect = begun_collect(c),
		.memory = config_flag(c, &setting_memory),
		.cpu_mode = cpu_mode(c),
		.budget_ppm = budget_ppm(c),
		.sample_hz = (uint32_t)config_number(c, &setting_sample_hz),
		.ahead = config_number(c, &setting_delay) > 0,
	};

	return options;
}

/* With the trace open. */
static int create_recording(struct begun *b, struct err *err)
{
	struct recording_options options = recording_options(b->config);

	/* Not by its name: the workload may have put something else there by then. */
	snprintf(b->trace_path, sizeof(b->trace_path), "/proc/self/fd/%d", b->trace_fd);
	return recording_new(&b->recording, b->trace_fd, &options, err);
}

int begin_recording(struct begun *b, const struct config *c, char *const command[], FILE *summary,
		    struct err *err)
{
	const char *trace = config_text(c, &setting_trace);
	bool keep = trace && *trace;

	memset(b, 0, sizeof(*b));
	b->config = c;
	b->trace_fd = -1;
	b->finish.config = c;
	b->finish.default_report = true;
	b->finish.summary = config_flag(c, &setting_quiet) ? NULL : summary;
	b->finish.kept_trace = keep ? trace : NULL;
	b->progress =
		b->finish.summary && isatty(STDERR_FILENO) && progress_possible(getenv("TERM"));
	if (finish_check(&b->finish, keep ? trace : NULL, err)) {
		finish_release(&b->finish);
		return -1;
	}
	b->trace_fd = keep ? open_trace(trace, err) : open_nameless_trace(err);
	if (b->trace_fd < 0 || create_recording(b, err) || write_facts(b, command, err)) {
		begun_release(b);
		return -1;
	}
	if (complain_pending(c, SETTING_FOR_RUN))
		b->fell_short = true;
	return 0;
}

int begin_scratch(struct begun *b, const struct config *c, struct err *err)
{
	memset(b, 0, sizeof(*b));
	b->config = c;
	b->trace_fd = open_nameless_trace(err);
	if (b->trace_fd < 0)
		return -1;
	if (create_recording(b, err)) {
		begun_release(b);
		return -1;
	}
	return 0;
}

static int64_t setting_ns(const struct config *c, const struct setting *s)
{
	return llround(config_number(c, s) * 1e9);
}

void begun_plan(const struct begun *b, struct supervisor *s)
{
	int64_t duration_ns = setting_ns(b->config, &setting_duration);

	supervisor_plan(s, setting_ns(b->config, &setting_delay),
			duration_ns ? duration_ns : SUPERVISE_FOREVER);
}

void begun_release(struct begun *b)
{
	recording_free(b->recording);
	b->recording = NULL;
	finish_release(&b->finish);
	if (b->trace_fd >= 0)
		close(b->trace_fd);
	b->trace_fd = -1;
}

/* The report has it as well; here it is said even to who reads none. */
static void tell_gpu_refusal(struct begun *b)
{
	const char *text = drain_gpu_refusal(recording_drain(b->recording));

	if (!text)
		return;
	b->fell_short = true;
	if (strcmp(config_text(b->config, &setting_log_level), "error") != 0)
		complain(0, "%s", text);
}

void end_recording(struct begun *b, int status)
{
	recording_end(b->recording, status);
	tell_gpu_refusal(b);
	if (recording_trouble(b->recording)) {
		b->fell_short = true;
		b->finish.known_partial = true;
		complain(0, "the recording is incomplete: %s", recording_trouble(b->recording));
	}
}

int begun_status(const struct begun *b, int status)
{
	return b->fell_short && config_flag(b->config, &setting_strict) ? EXIT_STRICT : status;
}

int write_reports(struct begun *b, int status)
{
	struct err err;

	if (finish_reports(&b->finish, b->trace_path, NULL, &err)) {
		b->fell_short = true;
		complain(0, "%s", err.text);
	}
	begun_release(b);
	return begun_status(b, status);
}
