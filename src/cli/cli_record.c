/*
 * inferscope record: the recorder of a program that was not started by `run`.
 *
 * Started by inferscope.start() (python/inferscope/_recorder.py, which describes
 * the conversation over standard input and output).  It leaves its parent at
 * once, so that the program has no child it does not know of, and its session,
 * so that ^C does not keep it from writing the report.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/session/launch.h"
#include "capture/session/supervise.h"
#include "cli/command.h"
#include "cli/record_setup.h"

#define COMMAND_WORDS 256

static int parse_pid(int argc, char **argv, pid_t *pid)
{
	char *end;
	long n;

	if (argc < 3 || strcmp(argv[1], "--pid") != 0)
		return -1;
	errno = 0;
	n = strtol(argv[2], &end, 10);
	if (errno || *end || n <= 0 || kill((pid_t)n, 0))
		return -1;
	*pid = (pid_t)n;
	return 0;
}

/* The words of the program's command line, in `text`. */
static void read_command(pid_t pid, char *text, size_t bytes, char *words[COMMAND_WORDS + 1])
{
	char path[64];
	size_t count = 0;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, bytes - 1);
		close(fd);
	}
	if (n > 0) {
		text[n] = '\0';
		for (char *p = text; p < text + n && count < COMMAND_WORDS; p += strlen(p) + 1)
			words[count++] = p;
	}
	words[count] = NULL;
}

static int detach(void)
{
	struct signals before;
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (pid > 0)
		_exit(EXIT_OK);
	setsid();
	signals_hold(&before); /* the program may be gone when we answer */
	return 0;
}

static void print_reports(const struct config *c)
{
	for (size_t i = 0; i < config_list_count(c, &setting_report); i++)
		printf("report %s\n", config_list(c, &setting_report, i));
	fflush(stdout);
}

static int record(const struct config *c, pid_t pid)
{
	char text[65536];
	char *words[COMMAND_WORDS + 1];
	char program[64];
	struct supervisor s;
	struct record_run b;
	struct err err;
	int status;

	if (config_flag(c, &setting_verify_overhead))
		complain(0, "verify_overhead is for 'inferscope run': a program that is already "
			    "running cannot be run again");
	read_command(pid, text, sizeof(text), words);
	snprintf(program, sizeof(program), "/proc/%d/exe", (int)pid);
	if (record_setup(&b, c, program, words, stderr, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (supervisor_init(&s, false, &err)) {
		record_release(&b);
		return complain(EXIT_NOT_EXECUTABLE, "%s", err.text);
	}
	record_plan(&b, &s);
	printf("session %s\n", recording_where(b.recording));
	fflush(stdout);
	supervise_other(&s, pid, STDIN_FILENO, b.recording);
	supervisor_release(&s);
	/* How the program ended is not for us to know. */
	record_end(&b, STILL_RUNNING);
	status = record_write_reports(&b, EXIT_OK);
	print_reports(c);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct config *c = NULL;
	struct err err;
	int operand, status;
	bool dashes;
	pid_t pid;

	if (parse_pid(argc, argv, &pid))
		return complain(EXIT_USAGE, "record: give --pid PID, a running process, first");
	if (config_load(&c, self->scope, argc - 2, argv + 2, &operand, &dashes, &err))
		return complain(EXIT_USAGE, "%s", err.text);
	if (detach())
		status =
			complain(EXIT_NOT_EXECUTABLE, "record: cannot detach: %s", strerror(errno));
	else
		status = record(c, pid);
	config_free(c);
	return status;
}

const struct command command_record = {
	.name = "record",
	.operands = "--pid PID [options]",
	.summary = "record a program on its own request (used by inferscope.start())",
	.scope = SETTING_FOR_RECORD,
	.hidden = true,
	.run = run,
};
