#include "cli/record_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/outfile.h"
#include "base/secrets.h"
#include "cli/command.h"
#include "format/trace_layout.h"

/* Those that take "set title" and ignore "push title" and "pop title" if they lack them. */
static const char *const titled_terminals[] = {
	"alacritty", "contour", "foot",   "ghostty", "gnome", "kitty", "konsole", "mintty",
	"putty",     "rxvt",    "screen", "st",      "tmux",  "vte",   "wezterm", "xterm",
};

#define TITLE(text) "\033]2;" text "\a"
#define PUSH_TITLE "\033[22;2t"
#define POP_TITLE "\033[23;2t"

static bool shown;

/* Does a terminal of this type (TERM; NULL: unknown) have a title? */
static bool progress_possible(const char *term)
{
	size_t family = term ? strcspn(term, "-+.") : 0;

	for (size_t i = 0; i < sizeof(titled_terminals) / sizeof(titled_terminals[0]); i++) {
		if (family == strlen(titled_terminals[i]) &&
		    !strncmp(term, titled_terminals[i], family))
			return true;
	}
	return false;
}

void progress_tick(void *context, struct recording *r)
{
	struct drain_totals t = drain_totals(recording_drain(r));

	(void)context;
	fprintf(stderr, "%s" TITLE("inferscope: recording, %.1f M events, %.0f MB, %u process%s"),
		shown ? "" : PUSH_TITLE, (double)t.stored / 1e6,
		(double)trace_writer_bytes(recording_writer(r)) / 1e6, t.processes,
		t.processes == 1 ? "" : "es");
	fflush(stderr);
	shown = true;
}

void progress_clear(void)
{
	/* Empty is what is left where titles cannot be pushed; the next prompt sets its own. */
	if (shown)
		fputs(TITLE("") POP_TITLE, stderr);
	shown = false;
}

/* Only a trace may be replaced by a trace: a slip in the command line costs no other file. */
static int check_old_trace(int fd, const char *path, struct err *err)
{
	char magic[sizeof(TRACE_MAGIC) - 1];
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st))
		return err_errno(err, "cannot write the trace %s", path);
	if (outfile_check_entry(path, &st, err))
		return -1;
	/* Written through, the file would change under its other names too. */
	if (st.st_nlink > 1)
		return err_set(err,
			       "cannot write the trace %s: the file has several names (hard "
			       "links); remove this one or choose another",
			       path);
	n = pread(fd, magic, sizeof(magic), 0);
	if (n && (n < (ssize_t)sizeof(magic) || memcmp(magic, TRACE_MAGIC, sizeof(magic)) != 0))
		return err_set(err,
			       "cannot write the trace %s: the file exists and is not a trace; "
			       "remove it or choose another name",
			       path);
	return 0;
}

/* A kept trace: created, locked against a second recording, then emptied. */
static int open_trace(const char *path, struct err *err)
{
	int fd;

	if (outfile_check(path, err))
		return -1;
	/* 0600 like a report: base/outfile.h. */
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
	if (fd < 0)
		return err_errno(err, "cannot write the trace %s", path);
	if (check_old_trace(fd, path, err)) {
		close(fd);
		return -1;
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

static int write_command(struct record_run *b, char *const command[], struct err *err)
{
	struct trace_writer *w = recording_writer(b->recording);
	bool keep = config_flag(b->config, &setting_keep_secrets);
	struct secrets secrets = { 0 };
	int rc = 0;

	for (size_t i = 0; command[i] && !rc; i++) {
		struct buf word;

		buf_init(&word);
		if (keep)
			buf_add_str(&word, command[i]);
		else
			secrets_add_word(&secrets, &word, command[i]);
		rc = word.failed ? err_set(err, "out of memory")
				 : trace_write_info(w, "command", buf_string(&word), err);
		buf_release(&word);
	}
	return rc;
}

/* That the workload may use, which inherits them from the recorder. */
static int write_cpus(struct trace_writer *w, struct err *err)
{
	char text[16];
	cpu_set_t cpus;

	if (sched_getaffinity(0, sizeof(cpus), &cpus))
		return 0;
	snprintf(text, sizeof(text), "%d", CPU_COUNT(&cpus));
	return trace_write_info(w, "cpus", text, err);
}

static int write_facts(struct record_run *b, char *const command[], struct err *err)
{
	struct trace_writer *w = recording_writer(b->recording);
	time_t now = time(NULL);
	struct tm utc;
	char text[4096];

	if (write_command(b, command, err))
		return -1;
	if (getcwd(text, sizeof(text)) && trace_write_info(w, "cwd", text, err))
		return -1;
	if (gmtime_r(&now, &utc) && strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc) &&
	    trace_write_info(w, "started", text, err))
		return -1;
	if (write_cpus(w, err))
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

uint32_t record_collect(const struct config *c)
{
	uint32_t collect = 0;

	if (cpu_mode(c) != SHM_CPU_OFF)
		collect |= SHM_COLLECT_GC;
	if (config_flag(c, &setting_gpu))
		collect |= SHM_COLLECT_GPU;
	if (!strcmp(config_text(c, &setting_graph_nodes), "on"))
		collect |= SHM_COLLECT_GRAPH_NODES;
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
		.collect = record_collect(c),
		.memory = config_flag(c, &setting_memory),
		.keep_secrets = config_flag(c, &setting_keep_secrets),
		.cpu_mode = cpu_mode(c),
		.budget_ppm = budget_ppm(c),
		.sample_hz = (uint32_t)config_number(c, &setting_sample_hz),
		.ahead = config_number(c, &setting_delay) > 0,
	};

	return options;
}

/* With the trace open. */
static int create_recording(struct record_run *b, struct err *err)
{
	struct recording_options options = recording_options(b->config);

	/* Not by its name: the workload may have put something else there by then. */
	snprintf(b->trace_path, sizeof(b->trace_path), "/proc/self/fd/%d", b->trace_fd);
	return recording_new(&b->recording, b->trace_fd, &options, err);
}

int record_setup(struct record_run *b, const struct config *c, const char *program,
		 char *const command[], FILE *summary, struct err *err)
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
	b->finish.program = program;
	b->finish.command = command;
	b->progress =
		b->finish.summary && isatty(STDERR_FILENO) && progress_possible(getenv("TERM"));
	if (report_output_check(&b->finish, err)) {
		report_output_release(&b->finish);
		return -1;
	}
	b->trace_fd = keep ? open_trace(trace, err) : open_nameless_trace(err);
	if (b->trace_fd < 0 || create_recording(b, err) || write_facts(b, command, err)) {
		record_release(b);
		return -1;
	}
	print_used_files(c, b->finish.rules.path);
	return 0;
}

int record_setup_scratch(struct record_run *b, const struct config *c, struct err *err)
{
	memset(b, 0, sizeof(*b));
	b->config = c;
	b->trace_fd = open_nameless_trace(err);
	if (b->trace_fd < 0)
		return -1;
	if (create_recording(b, err)) {
		record_release(b);
		return -1;
	}
	return 0;
}

static int64_t setting_ns(const struct config *c, const struct setting *s)
{
	return llround(config_number(c, s) * 1e9);
}

void record_plan(const struct record_run *b, struct supervisor *s)
{
	int64_t duration_ns = setting_ns(b->config, &setting_duration);

	supervisor_plan(s, setting_ns(b->config, &setting_delay),
			duration_ns ? duration_ns : SUPERVISE_FOREVER);
}

void record_release(struct record_run *b)
{
	recording_free(b->recording);
	b->recording = NULL;
	report_output_release(&b->finish);
	if (b->trace_fd >= 0)
		close(b->trace_fd);
	b->trace_fd = -1;
}

/* The report has it as well; this reaches users who do not read one. */
static void warn_gpu_refusal(struct record_run *b)
{
	const char *text = drain_gpu_refusal(recording_drain(b->recording));

	if (!text)
		return;
	b->fell_short = true;
	if (config_warns(b->config))
		complain(0, "%s", text);
}

void record_end(struct record_run *b, int status)
{
	recording_end(b->recording, status);
	warn_gpu_refusal(b);
	if (recording_trouble(b->recording)) {
		b->fell_short = true;
		b->finish.known_partial = true;
		complain(0, "the recording is incomplete: %s", recording_trouble(b->recording));
	}
}

int record_status(const struct record_run *b, int status)
{
	return b->fell_short && config_flag(b->config, &setting_strict) ? EXIT_STRICT : status;
}

int record_write_reports(struct record_run *b, int status)
{
	struct err err;

	if (report_output_write(&b->finish, b->trace_path, NULL, &err)) {
		b->fell_short = true;
		complain(0, "%s", err.text);
	}
	record_release(b);
	return record_status(b, status);
}
