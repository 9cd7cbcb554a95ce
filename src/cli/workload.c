#include "cli/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"

static bool is_elf(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char magic[4] = "";
	bool yes = fd >= 0 && read(fd, magic, 4) == 4 && !memcmp(magic, "\177ELF", 4);

	if (fd >= 0)
		close(fd);
	return yes;
}

/* Python would find these too, but only after a recording had begun. */
static int check_script(const char *script, struct err *err)
{
	struct stat st;
	char inside[PATH_MAX];

	if (!strcmp(script, "-"))
		return 0;
	if (stat(script, &st)) {
		err_errno(err, "cannot read %s", script);
		return EXIT_INPUT;
	}
	if (S_ISDIR(st.st_mode)) {
		snprintf(inside, sizeof(inside), "%s/__main__.py", script);
		if (!access(inside, R_OK))
			return 0;
		err_set(err, "%s is a directory without a __main__.py", script);
		return EXIT_INPUT;
	}
	if (access(script, R_OK)) {
		err_errno(err, "cannot read %s", script);
		return EXIT_INPUT;
	}
	if (S_ISREG(st.st_mode) && is_elf(script)) {
		err_set(err, "%s is a program, not a Python script: use 'inferscope run -- %s'",
			script, script);
		return EXIT_USAGE;
	}
	return 0;
}

static int check_program(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return EXIT_NOT_FOUND;
	return S_ISREG(st.st_mode) && !access(path, X_OK) ? 0 : EXIT_NOT_EXECUTABLE;
}

/*
 * 0 where execvp() would find something to execute, which is then in `found`, else the exit
 * status that says why not.
 */
static int find_program(char found[PATH_MAX], const char *name)
{
	const char *path = getenv("PATH");
	int status = EXIT_NOT_FOUND;

	if (!*name || strchr(name, '/')) {
		snprintf(found, PATH_MAX, "%s", name);
		return check_program(name);
	}
	for (path = path ? path : "/usr/bin:/bin"; *path;) {
		size_t n = strcspn(path, ":");

		/* An empty entry is the working directory. */
		snprintf(found, PATH_MAX, "%.*s/%s", n ? (int)n : 1, n ? path : ".", name);
		switch (check_program(found)) {
		case 0:
			return 0;
		case EXIT_NOT_EXECUTABLE:
			status = EXIT_NOT_EXECUTABLE;
		}
		path += n + (path[n] == ':');
	}
	return status;
}

/* Found out before the recording begins, so that an old trace is not overwritten for nothing. */
static int check_command(struct workload *w, const char *name, struct err *err)
{
	int status = find_program(w->program, name);

	if (status)
		err_set(err,
			status == EXIT_NOT_FOUND ? "cannot run %s: not found"
						 : "cannot run %s: not executable",
			name);
	return status;
}

static int choose_python(struct workload *w, const char **python, const struct config *c,
			 struct err *err)
{
	const char *asked = config_text(c, &setting_python);

	*python = asked && *asked ? asked : "python3";
	if (!find_program(w->program, *python))
		return 0;
	if (asked && *asked)
		err_set(err, "no Python at %s (from %s)", asked, config_origin(c, &setting_python));
	else
		err_set(err, "python3 was not found in PATH; set an interpreter with --python "
			     "PATH");
	return EXIT_NOT_FOUND;
}

int workload_init(struct workload *w, const struct config *c, int argc, char **argv, bool dashes,
		  struct err *err)
{
	const char *python = NULL;
	int n = 0, status;

	memset(w, 0, sizeof(*w));
	if (!argc) {
		err_set(err, dashes ? "run: no command after '--'"
				    : "run: give a script, or a command after '--'");
		return EXIT_USAGE;
	}
	w->script = !dashes;
	if (w->script) {
		status = check_script(argv[0], err);
		if (!status)
			status = choose_python(w, &python, c, err);
	} else {
		status = check_command(w, argv[0], err);
	}
	if (status)
		return status;
	w->argv = calloc((size_t)argc + 2, sizeof(*w->argv));
	if (!w->argv) {
		err_set(err, "out of memory");
		return EXIT_NOT_EXECUTABLE;
	}
	if (python)
		w->argv[n++] = (char *)(uintptr_t)python; /* execvp() does not write to it */
	memcpy(w->argv + n, argv, (size_t)argc * sizeof(*argv));
	return 0;
}

void workload_release(struct workload *w)
{
	free(w->argv);
	w->argv = NULL;
}
