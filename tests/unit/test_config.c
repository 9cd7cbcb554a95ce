/* links: is_cli */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "cli/config.h"
#include "cli/config_file.h"
#include "cli/help.h"
#include "cli/options.h"
#include "export/export.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* An empty file as --config keeps whatever lies above the build out of these tests. */
#define LOAD(c, scope, err, ...) \
	load(c, scope, err, (char *[]){ "test", "--config", "/dev/null", __VA_ARGS__, NULL })

static int operand;
static bool dashes;
static char **words;

static int load(struct config **c, unsigned scope, struct err *err, char **argv)
{
	static char *kept[16];
	int argc = 0;

	for (; argv[argc]; argc++)
		kept[argc] = argv[argc];
	words = kept;
	return config_load(c, scope, argc, kept, &operand, &dashes, err);
}

static int clear_environment(void **state)
{
	(void)state;
	for (const struct setting *const *s = settings; *s; s++)
		if ((*s)->env)
			unsetenv((*s)->env);
	return 0;
}

static void every_default_passes_its_own_check(void **state)
{
	struct config *c;
	struct err err;

	(void)state;
	assert_int_equal(LOAD(&c, SETTING_FOR_RUN, &err, "s.py"), 0);
	for (const struct setting *const *s = settings; *s; s++) {
		if (*s == &setting_config)
			continue;
		assert_true(config_is_default(c, *s));
		assert_string_equal(config_origin(c, *s), "default");
	}
	assert_string_equal(config_text(c, &setting_trace), "inferscope-trace.isc");
	assert_string_equal(config_list(c, &setting_report, 0), "inferscope-report.md");
	assert_int_equal(config_list_count(c, &setting_report), 1);
	assert_int_equal(config_list_count(c, &setting_fail_on), 0);
	assert_null(config_list(c, &setting_report, 1));
	assert_null(config_text(c, &setting_python));
	assert_true(config_flag(c, &setting_gpu));
	assert_false(config_flag(c, &setting_ring));
	assert_true(config_number(c, &setting_trace_size_mb) == 100);
	assert_true(config_number(c, &setting_duration) == 0);
	config_free(c);
}

static void the_table_has_no_name_twice(void **state)
{
	(void)state;
	for (size_t i = 0; settings[i]; i++) {
		const struct setting *a = settings[i];

		assert_non_null(a->help);
		assert_true(a->type == SETTING_FLAG || a->metavar);
		assert_true((a->type == SETTING_CHOICE) == (a->choices != NULL));
		for (size_t j = 0; j < i; j++) {
			const struct setting *b = settings[j];

			assert_false(a->key && b->key && !strcmp(a->key, b->key));
			assert_false(a->env && b->env && !strcmp(a->env, b->env));
			/* Commands may mean different things by one flag: --fail-on. */
			assert_false((a->scope & b->scope) && a->flag && b->flag &&
				     !strcmp(a->flag, b->flag));
		}
	}
}

static void stronger_sources_win(void **state)
{
	char path[] = "/tmp/test_config.XXXXXX";
	static const char text[] = "cpu: trace\ndetail: short\nring: true\n";
	struct config *c;
	struct err err;
	int fd = mkstemp(path);
	char origin[64];

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	setenv("INFERSCOPE_CONFIG", path, 1);
	setenv("INFERSCOPE_DETAIL", "full", 1);
	setenv("INFERSCOPE_RING", "0", 1);
	setenv("INFERSCOPE_GPU", "", 1); /* empty is unset */
	assert_int_equal(load(&c, SETTING_FOR_RUN, &err, (char *[]){ "run", "--ring", NULL }), 0);
	unlink(path);

	snprintf(origin, sizeof(origin), "%s:1", path);
	assert_string_equal(config_text(c, &setting_cpu), "trace");
	assert_string_equal(config_origin(c, &setting_cpu), origin);
	assert_string_equal(config_text(c, &setting_detail), "full");
	assert_string_equal(config_origin(c, &setting_detail), "INFERSCOPE_DETAIL");
	assert_true(config_flag(c, &setting_ring));
	assert_string_equal(config_origin(c, &setting_ring), "command line");
	assert_true(config_is_default(c, &setting_gpu));
	assert_false(config_is_default(c, &setting_cpu));
	config_free(c);
}

static void an_overridden_mistake_is_still_one(void **state)
{
	struct config *c;
	struct err err;

	(void)state;
	setenv("INFERSCOPE_CPU", "fast", 1);
	assert_int_equal(LOAD(&c, SETTING_FOR_RUN, &err, "--cpu", "off"), -1);
	assert_string_equal(err.text, "INFERSCOPE_CPU: expected auto|trace|sample|off, not 'fast'");
}

static void lists_append_within_a_source_and_replace_weaker_ones(void **state)
{
	struct config *c;
	struct err err;

	(void)state;
	setenv("INFERSCOPE_REPORT", "a.md,b.json", 1);
	assert_int_equal(LOAD(&c, SETTING_FOR_RUN, &err, "s.py"), 0);
	assert_int_equal(config_list_count(c, &setting_report), 2);
	assert_string_equal(config_list(c, &setting_report, 1), "b.json");
	config_free(c);
	assert_int_equal(LOAD(&c, SETTING_FOR_RUN, &err, "--report", "-", "--report=x.html",
			      "--report", "y.md"),
			 0);
	assert_int_equal(config_list_count(c, &setting_report), 3);
	assert_string_equal(config_list(c, &setting_report, 0), "-");
	assert_string_equal(config_list(c, &setting_report, 1), "x.html");
	assert_string_equal(config_list(c, &setting_report, 2), "y.md");
	config_free(c);
}

static void off_flags_switch_off_each_type(void **state)
{
	struct config *c;
	struct err err;

	(void)state;
	assert_int_equal(LOAD(&c, SETTING_FOR_RUN, &err, "--no-cpu", "--no-gpu", "--no-trace"), 0);
	assert_string_equal(config_text(c, &setting_cpu), "off");
	assert_false(config_flag(c, &setting_gpu));
	assert_string_equal(config_text(c, &setting_trace), "");
	config_free(c);
	/* the last one counts */
	assert_int_equal(LOAD(&c, SETTING_FOR_RUN, &err, "--no-cpu", "--cpu=trace"), 0);
	assert_string_equal(config_text(c, &setting_cpu), "trace");
	config_free(c);
}

static void options_of_run_end_at_the_first_operand(void **state)
{
	struct config *c;
	struct err err;

	(void)state;
	assert_int_equal(LOAD(&c, SETTING_FOR_RUN, &err, "--quiet", "s.py", "--ring", "--"), 0);
	assert_int_equal(operand, 4);
	assert_false(dashes);
	assert_string_equal(words[operand], "s.py");
	assert_string_equal(words[operand + 1], "--ring");
	assert_false(config_flag(c, &setting_ring));
	config_free(c);

	assert_int_equal(LOAD(&c, SETTING_FOR_RUN, &err, "--", "--ring"), 0);
	assert_true(dashes);
	assert_string_equal(words[operand], "--ring");
	config_free(c);

	assert_int_equal(LOAD(&c, SETTING_FOR_RUN, &err, "--ring"), 0);
	assert_int_equal(operand, 4); /* argc: there is none */
	config_free(c);
}

static void options_of_analyze_may_follow_operands(void **state)
{
	struct config *c;
	struct err err;

	(void)state;
	assert_int_equal(LOAD(&c, SETTING_FOR_ANALYZE, &err, "a", "--report", "r.md", "-",
			      "--quiet", "--", "--b"),
			 0);
	assert_true(dashes);
	assert_string_equal(words[operand], "a");
	assert_string_equal(words[operand + 1], "-");
	assert_string_equal(words[operand + 2], "--b");
	assert_string_equal(config_list(c, &setting_report, 0), "r.md");
	assert_true(config_flag(c, &setting_quiet));
	config_free(c);
}

static void mistakes_on_the_command_line_are_named(void **state)
{
	static const struct {
		char *argv[4];
		const char *text;
	} cases[] = {
		{ { "run", "--repotr", "x" },
		  "unknown option '--repotr'; did you mean '--report'?" },
		{ { "run", "--zzzzzzzzz" }, "unknown option '--zzzzzzzzz'" },
		{ { "run", "--max_overhead=5" },
		  "unknown option '--max_overhead'; did you mean '--max-overhead'?" },
		{ { "run", "--report" }, "--report needs a value: --report FILE" },
		{ { "run", "--report", "--quiet", "s.py" },
		  "--report needs a value: --report FILE" },
		{ { "run", "--cpu" }, "--cpu needs a value: --cpu auto|trace|sample|off" },
		{ { "run", "--cpu=" }, "--cpu: expected auto|trace|sample|off, not ''" },
		{ { "run", "--cpu", "auto|trace" },
		  "--cpu: expected auto|trace|sample|off, not 'auto|trace'" },
		{ { "run", "--quiet=1" }, "--quiet takes no value" },
		{ { "run", "--no-trace=1" }, "--no-trace takes no value" },
		{ { "run", "--report=" }, "--report: the value is empty" },
		{ { "run", "--trace-size-mb", "0" },
		  "--trace-size-mb: expected an integer from 1 to 65536, not '0'" },
		{ { "run", "--trace-size-mb", "65537" },
		  "--trace-size-mb: expected an integer from 1 to 65536, not '65537'" },
		{ { "run", "--trace-size-mb", "1.5" },
		  "--trace-size-mb: expected an integer from 1 to 65536, not '1.5'" },
		{ { "run", "--trace-size-mb", "0x10" },
		  "--trace-size-mb: expected an integer from 1 to 65536, not '0x10'" },
		{ { "run", "--max-overhead", "nan" },
		  "--max-overhead: expected a number from 0.1 to 100, not 'nan'" },
		{ { "run", "--max-overhead", "5 " },
		  "--max-overhead: expected a number from 0.1 to 100, not '5 '" },
		{ { "run", "--delay", "-1" },
		  "--delay: expected a number from 0 to 31536000, not '-1'" },
		{ { "run", "--fail-on", "x" },
		  "option '--fail-on' does not belong to this command" },
		{ { "run", "--none-such", "x" }, "unknown option '--none-such'" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *c = NULL;
		struct err err;

		assert_int_equal(load(&c, SETTING_FOR_RUN, &err, (char **)cases[i].argv), -1);
		assert_string_equal(err.text, cases[i].text);
	}
}

static int parse(struct config **c, const char *text, size_t len, struct err *err)
{
	*c = calloc(1, sizeof(**c));
	assert_non_null(*c);
	return config_file_parse(*c, SOURCE_NAMED_FILE, "f", text, len, err);
}

static void mistakes_in_a_file_name_line_and_key(void **state)
{
	static const struct {
		const char *file;
		const char *text;
	} cases[] = {
		{ "ring: true\nrnig: true\n", "f:2: unknown key 'rnig'; did you mean 'ring'?" },
		{ "max-overhead: 5\n",
		  "f:1: unknown key 'max-overhead'; did you mean 'max_overhead'?" },
		{ "config: x\n", "f:1: unknown key 'config'" },
		{ "ring: true\n\nring: false\n", "f:3: ring: duplicate key, first on line 1" },
		{ "ring: maybe\n", "f:1: ring: expected true or false, not 'maybe'" },
		{ "ring: [true]\n", "f:1: ring: expected one value, not a list" },
		{ "ring:\n  a: b\n", "f:2: ring: expected a value, not a mapping" },
		{ "report: [a.md, [b.md]]\n", "f:1: report: expected a list of plain values" },
		{ "report:\n  - a.md\n  - x: y\n", "f:3: report: expected a list of plain values" },
		{ "report:\n  - a.md\n  -\n", "f:3: report: the value is missing" },
		{ "report: [\"\"]\n", "f:1: report: the value is empty" },
		{ "cpu:\n", "f:1: cpu: the value is missing" },
		{ "python: ~\n", "f:1: python: the value is missing" },
		{ "python: yes\n", "f:1: python: expected text, not true or false (quote a name)" },
		{ "trace: false\n",
		  "f:1: trace: expected a path or off, not true or false (quote a name)" },
		{ "max_memory: 12Q\n",
		  "f:1: max_memory: expected a size from 1M on, such as 512M or 4G, not '12Q'" },
		{ "max_memory: 1000K\n",
		  "f:1: max_memory: expected a size from 1M on, such as 512M or 4G, not '1000K'" },
		{ "max_memory: 1.5G\n",
		  "f:1: max_memory: expected a size from 1M on, such as 512M or 4G, not '1.5G'" },
		{ "sample_hz: 1e3\n",
		  "f:1: sample_hz: expected an integer from 1 to 10000, not '1e3'" },
		{ "ring: true\n\tgpu: true\n",
		  "f:2: ring: tabs cannot indent in YAML; use spaces" },
		{ "ring: \"true\n\n", "f:3: ring: not valid YAML: found unexpected end of stream, "
				      "while scanning a quoted scalar that began on line 1" },
		{ "ring: true: false\n", "f:1: not valid YAML: mapping values are not allowed "
					 "in this context" },
		{ "ring: &r true\ngpu: *r\n", "f:2: gpu: aliases are not supported" },
		{ "ring: !!str true\n", "f:1: ring: tags are not supported" },
		{ "python: \"a\\0b\"\n", "f:1: python: a NUL character in the value" },
		{ "? [a]\n: b\n", "f:1: expected the name of a setting" },
		{ "just text\n", "f:1: expected lines of the form 'key: value'" },
		{ "--- ''\n", "f:1: expected lines of the form 'key: value'" },
		{ "!x\n", "f:1: expected lines of the form 'key: value'" },
		{ "- ring\n", "f:1: expected lines of the form 'key: value'" },
		{ "ring: true\n---\ngpu: true\n", "f:2: a second document" },
		{ "gpu: true\nring: \xc3(\n", "f:2: not UTF-8 text: invalid trailing UTF-8 octet" },
		{ "gpu: true\nring: \x01\n",
		  "f:2: not UTF-8 text: control characters are not allowed" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct config *c;
		struct err err;

		assert_int_equal(parse(&c, cases[i].file, strlen(cases[i].file), &err), -1);
		assert_string_equal(err.text, cases[i].text);
		config_free(c);
	}
}

static void files_that_say_nothing_are_fine(void **state)
{
	static const char *const texts[] = { "",      "\n",   "# only this\n",
					     "---\n", "{}\n", "\xef\xbb\xbfring: true\n" };

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct config *c;
		struct err err;

		assert_int_equal(parse(&c, texts[i], strlen(texts[i]), &err), 0);
		config_free(c);
	}
}

static void a_file_may_give_lists_in_every_form(void **state)
{
	static const char *const texts[] = { "report: [a.md, \"b c\"]",
					     "report: \n- a.md\n- b c\n" };
	struct config *c;
	struct err err;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		assert_int_equal(parse(&c, texts[i], strlen(texts[i]), &err), 0);
		assert_int_equal(config_list_count(c, &setting_report), 2);
		assert_string_equal(config_list(c, &setting_report, 1), "b c");
		config_free(c);
	}
	assert_int_equal(parse(&c, "report: a.md", 12, &err), 0);
	assert_int_equal(config_list_count(c, &setting_report), 1);
	config_free(c);
	/* an empty list is no report at all, not the default */
	assert_int_equal(parse(&c, "report: []", 10, &err), 0);
	assert_int_equal(config_list_count(c, &setting_report), 0);
	assert_string_equal(config_origin(c, &setting_report), "f:1");
	config_free(c);
}

/* `choices` is text in the table of settings: nothing may stand there that does not exist. */
static void every_export_format_has_an_exporter(void **state)
{
	char formats[64], *name, *rest;

	(void)state;
	snprintf(formats, sizeof(formats), "%s", setting_to.choices);
	for (name = strtok_r(formats, "|", &rest); name; name = strtok_r(NULL, "|", &rest))
		assert_non_null(exporter_find(name));
}

static void help_is_seen_where_it_is_an_option(void **state)
{
	char *plain[] = { "run", "--quiet", "--help", NULL };
	char *script[] = { "run", "s.py", "--help", NULL };
	char *value[] = { "run", "--report", "-h", "s.py", NULL };
	char *behind[] = { "analyze", "t.isc", "-h", NULL };

	(void)state;
	assert_true(options_want_help(SETTING_FOR_RUN, 3, plain));
	assert_false(options_want_help(SETTING_FOR_RUN, 3, script));
	assert_false(options_want_help(SETTING_FOR_RUN, 4, value));
	assert_true(options_want_help(SETTING_FOR_ANALYZE, 3, behind));
	assert_string_equal(behind[1], "t.isc"); /* not reordered by looking */
}

static void suggestions_are_near_or_none(void **state)
{
	static const struct {
		const char *typed, *best;
	} cases[] = {
		{ "anlayze", "analyze" },
		{ "ANALYZE", "analyze" },
		{ "exprt", "export" },
		{ "xyzzy", NULL },
		{ "", NULL },
		{ "rnu", "run" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct suggest near;

		suggest_init(&near, cases[i].typed);
		suggest_push(&near, NULL);
		suggest_push(&near, "export");
		suggest_push(&near, "analyze");
		suggest_push(&near, "run");
		if (cases[i].best)
			assert_string_equal(near.best, cases[i].best);
		else
			assert_null(near.best);
	}
}

static void texts_survive_a_round_trip_through_yaml(void **state)
{
	static const char *const texts[] = {
		"plain/path-1.md",
		"-",
		"off",
		"~",
		"1.5",
		"a: b",
		"a #b",
		"tab\there",
		"new\nline",
		"quote\"back\\slash",
		"na\xc3\xafve",
		"\xe2\x80\xa8",
		"\xef\xbb\xbf",
		"\xf0\x9f\x98\x80",
		"\xef\xbf\xbe",
		"\x7f",
		"\xc2\x85",
		" lead",
		"[x]",
		"&a",
		"2001-01-01",
		"=",
		"null",
		"\xf4\x8f\xbf\xbf",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct config *c;
		struct buf out;
		struct err err;

		buf_init(&out);
		buf_add_str(&out, "python: ");
		yaml_add_text(&out, texts[i]);
		assert_int_equal(parse(&c, out.data, out.len, &err), 0);
		assert_string_equal(config_text(c, &setting_python), texts[i]);
		config_free(c);
		buf_release(&out);
	}
}

static void bytes_that_are_no_text_still_give_valid_yaml(void **state)
{
	static const char *const texts[] = {
		"\xff", "a\xc3", "\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80", "\x80"
	};

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct config *c;
		struct buf out;
		struct err err;

		buf_init(&out);
		buf_add_str(&out, "python: ");
		yaml_add_text(&out, texts[i]);
		assert_int_equal(parse(&c, out.data, out.len, &err), 0);
		config_free(c);
		buf_release(&out);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, clear_environment)
	const struct CMUnitTest tests[] = {
		TEST(every_default_passes_its_own_check),
		TEST(the_table_has_no_name_twice),
		TEST(stronger_sources_win),
		TEST(an_overridden_mistake_is_still_one),
		TEST(lists_append_within_a_source_and_replace_weaker_ones),
		TEST(off_flags_switch_off_each_type),
		TEST(options_of_run_end_at_the_first_operand),
		TEST(options_of_analyze_may_follow_operands),
		TEST(mistakes_on_the_command_line_are_named),
		TEST(mistakes_in_a_file_name_line_and_key),
		TEST(files_that_say_nothing_are_fine),
		TEST(a_file_may_give_lists_in_every_form),
		TEST(every_export_format_has_an_exporter),
		TEST(help_is_seen_where_it_is_an_option),
		TEST(suggestions_are_near_or_none),
		TEST(texts_survive_a_round_trip_through_yaml),
		TEST(bytes_that_are_no_text_still_give_valid_yaml),
	};

	return cmocka_run_group_tests(tests, NULL, clear_environment);
}
