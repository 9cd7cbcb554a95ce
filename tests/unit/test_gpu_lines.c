/* links: is_timeline */
/*
 * Line tables: one function as 3.8, 3.10 and 3.12 compile it, any bytes, and every
 * two bytes of a few thousand functions of each CPython on this machine.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "timeline/functions.h"
#include "timeline/line_tables.h"

static uint8_t hex_digit(char c)
{
	return (uint8_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
}

static size_t from_hex(const char *hex, uint8_t *out)
{
	size_t n = 0;

	for (; isxdigit((unsigned char)hex[2 * n]); n++)
		out[n] = (uint8_t)(hex_digit(hex[2 * n]) << 4 | hex_digit(hex[2 * n + 1]));
	return n;
}

/* Line by line as the interpreter tells it; `expected` ends with the text.  Returns how many. */
static size_t check_table(uint32_t minor, uint32_t first, const uint8_t *table, size_t bytes,
			  const char *expected)
{
	uint32_t offset = 0;
	char *end;

	for (;; offset += 2) {
		uint32_t want = (uint32_t)strtoul(expected, &end, 10);
		uint32_t got;

		if (end == expected)
			return offset / 2;
		expected = end;
		got = line_table_find(minor, table, bytes, first, offset);
		if (got != want)
			fail_msg("3.%u, code at line %u, offset %u: line %u, not %u", minor, first,
				 offset, got, want);
	}
}

static void each_format_is_decoded(void **state)
{
	static const struct {
		uint32_t minor;
		const char *table, *lines;
	} cases[] = {
		{ 8, "0001020102ff040304010c010a01",
		  "3 4 3 3 6 6 7 7 7 7 7 7 8 8 8 8 8 9 9 9 9 9 9 9" },
		{ 10, "0201020104ff04030c010a010e01",
		  "3 4 3 3 6 6 7 7 7 7 7 7 8 8 8 8 8 9 9 9 9 9 9 9" },
		{ 12,
		  "8000d8090ad8090af103010a0b8041f106000809dc111690719318f2000109138841d80c0d901189"
		  "468941f003010913e01718f600010c0e90218a41f200010c0ef00001050ef9f200010c0e",
		  "2 3 4 3 3 3 6 6 7 7 7 7 7 7 7 7 7 7 7 7 7 7 8 8 8 8 8 8 7 9 9 9 9 9 9 9 9 9 9 9 "
		  "9 9 9 9 9 0 0 9 9 9" },
	};
	uint8_t table[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t bytes = from_hex(cases[i].table, table);

		assert_true(check_table(cases[i].minor, 2, table, bytes, cases[i].lines) > 20);
	}
}

static void what_a_table_does_not_say_is_no_line(void **state)
{
	static const uint8_t long_delta[] = { 0xf0, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x7f };
	uint8_t byte = 0x80;

	(void)state;
	assert_int_equal(line_table_find(7, &byte, 1, 5, 0), 0);
	assert_int_equal(line_table_find(10, &byte, 0, 5, 0), 0);
	assert_int_equal(line_table_find(12, &byte, 1, 5, 0), 5);
	assert_int_equal(line_table_find(12, &byte, 1, 5, 2), 0);
	assert_int_equal(line_table_find(12, long_delta, sizeof(long_delta), 5, 0), 0);
	byte = 0xf8; /* no location */
	assert_int_equal(line_table_find(12, &byte, 1, 5, 0), 0);
}

/* Under the sanitizers this finds what reads or computes out of bounds. */
static void any_bytes_are_taken(void **state)
{
	uint8_t table[64];

	(void)state;
	srand(1);
	for (int i = 0; i < 100000; i++) {
		size_t bytes = (size_t)rand() % sizeof(table);
		uint32_t line;

		for (size_t k = 0; k < bytes; k++)
			table[k] = (uint8_t)rand();
		line = line_table_find((uint32_t)rand() % 16, table, bytes, UINT32_MAX,
				       (uint32_t)rand() % 300);
		assert_true(line <= INT32_MAX);
	}
}

struct output {
	pid_t pid;
	FILE *file;
};

/* Runs a script of this tree, with an argument unless that is NULL; its standard output is read. */
static void script_run(struct output *o, const char *python, const char *root, const char *script,
		       const char *argument)
{
	char path[4096];
	int ends[2];

	snprintf(path, sizeof(path), "%s/%s", root, script);
	assert_int_equal(pipe(ends), 0);
	o->pid = fork();
	if (!o->pid) {
		dup2(ends[1], STDOUT_FILENO);
		close(ends[0]);
		close(ends[1]);
		execlp(python, python, path, argument, (char *)NULL);
		_exit(127);
	}
	close(ends[1]);
	o->file = fdopen(ends[0], "r");
	assert_non_null(o->file);
}

/* Its exit status. */
static int script_end(struct output *o)
{
	int status = -1;

	fclose(o->file);
	waitpid(o->pid, &status, 0);
	return status;
}

/*
 * Separated by colons: those of INFERSCOPE_PYTHONS, else the oldest and the newest there are; NULL
 * where there is no Python at all.
 */
static char *python_list(const char *root)
{
	const char *given = getenv("INFERSCOPE_PYTHONS");
	struct output o;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	if (given)
		return strdup(given);
	script_run(&o, "python3", root, "scripts/find_pythons.py", "--ends");
	n = getline(&line, &room, o.file);
	if (script_end(&o) || n < 2) {
		free(line);
		return NULL;
	}
	line[n - 1] = 0;
	return line;
}

static void check_python(const char *root, const char *python)
{
	size_t room = 0, tables = 0, offsets = 0;
	char *line = NULL;
	struct output o;

	script_run(&o, python, root, "tests/unit/dump_line_tables.py", NULL);
	while (getline(&line, &room, o.file) > 0) {
		uint8_t *table = malloc(room);
		char *rest;
		uint32_t minor = (uint32_t)strtoul(line, &rest, 10);
		uint32_t first = (uint32_t)strtoul(rest, &rest, 10);

		offsets += check_table(minor, first, table, from_hex(rest + 1, table),
				       rest + 1 + strcspn(rest + 1, " "));
		tables++;
		free(table);
	}
	free(line);
	assert_int_equal(script_end(&o), 0);
	assert_true(tables > 2000 && offsets > 100000);
	printf("%s: %zu tables, %zu offsets\n", python, tables, offsets);
}

static void cpython_agrees(void **state)
{
	char root[2048], *pythons, *next, *python;

	(void)state;
	snprintf(root, sizeof(root), "%s", __FILE__);
	assert_non_null(strstr(root, "/tests/unit/"));
	*strstr(root, "/tests/unit/") = 0;
	pythons = next = python_list(root);
	if (!pythons)
		skip();
	while ((python = strsep(&next, ":")) != NULL)
		check_python(root, python);
	free(pythons);
}

static void library_code_is_told_from_the_users(void **state)
{
	static const char *const users[] = {
		"/home/u/serve.py",
		"app.py",
		"<string>",
		"<stdin>",
		"<ipython-input-3-abc>",
		"/home/u/python3/model.py",
		"/srv/lib/python3model/a.py",
		"",
		"/opt/lib/model.py",
	};
	static const char *const libraries[] = {
		"/usr/lib/python3.12/json/decoder.py",
		"/usr/lib64/python3.9/asyncio/events.py",
		"/home/u/.venv/lib/python3.11/site-packages/torch/nn/modules/linear.py",
		"/usr/lib/python3/dist-packages/numpy/core.py",
		"/usr/lib/python312.zip/os.py",
		"<frozen importlib._bootstrap>",
		"<eval_with_key>.12",
		"<__array_function__ internals>",
		"__init__", /* a name that a library gave to code that it made */
		"/tmp/torchinductor_u/ab/cabc.py",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++)
		if (!user_code(users[i]))
			fail_msg("%s is the user's", users[i]);
	for (size_t i = 0; i < sizeof(libraries) / sizeof(*libraries); i++)
		if (user_code(libraries[i]))
			fail_msg("%s is a library's", libraries[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_format_is_decoded),
		cmocka_unit_test(what_a_table_does_not_say_is_no_line),
		cmocka_unit_test(any_bytes_are_taken),
		cmocka_unit_test(cpython_agrees),
		cmocka_unit_test(library_code_is_told_from_the_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
