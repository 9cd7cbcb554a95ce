/* links: is_report */
/* Choosing a format, writing files, and the words that all reports share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/plain_text.h"
#include "report/report.h"
#include "remove_tree.h"
#include "story.h"

static char directory[32];

static const char *in_directory(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static int enter(void **state)
{
	(void)state;
	strcpy(directory, "/tmp/report-XXXXXX");
	return mkdtemp(directory) ? 0 : -1;
}

static int leave(void **state)
{
	(void)state;
	return remove_tree(directory);
}

static void the_name_decides_the_format(void **state)
{
	struct err err;

	(void)state;
	assert_ptr_equal(report_backend_for("a.md", &err), &report_markdown);
	assert_ptr_equal(report_backend_for("dir/A.JSON", &err), &report_json);
	assert_ptr_equal(report_backend_for("-", &err), &report_markdown);
	assert_ptr_equal(report_backend_for("/dev/null", &err), &report_markdown);
	assert_ptr_equal(report_backend_for("a.html", &err), &report_html);
	assert_null(report_backend_for("a.txt", &err));
	assert_string_equal(
		err.text,
		"cannot write 'a.txt': the name of a report must end in .md, .html or .json");
	assert_null(report_backend_for(".md", &err));
	assert_null(report_backend_for("", &err));
}

static void places_that_cannot_be_written_are_found_early(void **state)
{
	struct err err;
	const char *path;

	(void)state;
	assert_int_equal(report_check_writable("-", &err), 0);
	assert_int_equal(report_check_writable("/dev/null", &err), 0);
	assert_int_equal(report_check_writable(in_directory("new.md"), &err), 0);
	assert_int_equal(access(in_directory("new.md"), F_OK), -1);
	assert_int_equal(report_check_writable(in_directory("none/new.md"), &err), -1);
	assert_non_null(strstr(err.text, "none/new.md': No such file or directory"));
	path = in_directory("dir.md");
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(report_check_writable(path, &err), -1);
	assert_non_null(strstr(err.text, "dir.md': it is a directory"));
	path = in_directory("file");
	close(open(path, O_CREAT | O_WRONLY, 0666));
	assert_int_equal(report_check_writable(in_directory("file/new.md"), &err), -1);
	assert_non_null(strstr(err.text, "Not a directory"));
	assert_int_equal(report_check_writable("/proc/new.md", &err), -1);
	assert_int_equal(report_check_writable("", &err), -1);
}

static void analyse(struct trace **t, struct analysis **a)
{
	struct err err;
	char path[64];

	snprintf(path, sizeof(path), "%s/trace-XXXXXX", directory);
	story_write(path, "process 1 1 app.py 0 9000\nthread 1 1 1 - 0 9000 0\n"
			  "1: +f@10 +g@20 -g@30 -f@100\nend 9000 0\n");
	assert_int_equal(trace_open(t, path, &err), 0);
	assert_int_equal(analysis_new(a, *t, &err), 0);
	unlink(path);
}

static void a_report_replaces_the_old_one_whole(void **state)
{
	struct analysis *a;
	struct trace *t;
	struct stat st;
	struct err err;
	char first[64] = "", other[64];
	int fd;

	(void)state;
	analyse(&t, &a);
	fd = open(in_directory("old.md"), O_CREAT | O_RDWR, 0640);
	assert_int_equal(write(fd, "old", 3), 3);
	snprintf(other, sizeof(other), "%s/other.md", directory);
	assert_int_equal(link(in_directory("old.md"), other), 0);
	assert_int_equal(report_write(a, in_directory("old.md"), DETAIL_NORMAL, &err), 0);
	/* The old file is untouched for whoever still reads it. */
	assert_int_equal(pread(fd, first, 3, 0), 3);
	assert_string_equal(first, "old");
	close(fd);
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_size, 3); /* the other name of the old file keeps it */
	assert_int_equal(stat(in_directory("old.md"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	fd = open(in_directory("old.md"), O_RDONLY);
	assert_int_equal(read(fd, first, 19), 19);
	assert_string_equal(first, "# InferScope Report");
	close(fd);
	analysis_free(a);
	trace_close(t);
}

static void a_report_that_cannot_be_written_leaves_nothing(void **state)
{
	struct analysis *a;
	struct trace *t;
	struct err err;

	(void)state;
	analyse(&t, &a);
	assert_int_equal(report_write(a, "/dev/full", DETAIL_NORMAL, &err), -1);
	assert_string_equal(err.text, "cannot write '/dev/full': No space left on device");
	assert_int_equal(report_write(a, in_directory("none/a.json"), DETAIL_NORMAL, &err), -1);
	assert_int_equal(report_write(a, in_directory("a.pdf"), DETAIL_NORMAL, &err), -1);
	assert_int_equal(access(in_directory("a.pdf"), F_OK), -1);
	analysis_free(a);
	trace_close(t);
}

static void detail_limits_the_rows(void **state)
{
	(void)state;
	assert_int_equal(report_detail_of("short"), DETAIL_SHORT);
	assert_int_equal(report_detail_of("normal"), DETAIL_NORMAL);
	assert_int_equal(report_detail_of("full"), DETAIL_FULL);
	assert_int_equal(report_rows(DETAIL_SHORT, 100, 5, 30), 5);
	assert_int_equal(report_rows(DETAIL_NORMAL, 100, 5, 30), 30);
	assert_int_equal(report_rows(DETAIL_FULL, 100, 5, 30), 100);
	assert_int_equal(report_rows(DETAIL_SHORT, 3, 5, 30), 3);
}

static void colour_and_width_are_the_terminal_s_own(void **state)
{
	struct terminal_style style = { .columns = 0 };
	struct analysis *a;
	struct trace *t;
	char *text;
	size_t n;

	(void)state;
	analyse(&t, &a);
	for (size_t columns = 0; columns <= 200; columns += 40) {
		FILE *f = open_memstream(&text, &n);
		size_t limit = columns < 60 ? columns ? 60 : 80 : columns < 120 ? columns : 120;

		style.columns = columns;
		style.colour = columns == 200;
		assert_int_equal(report_terminal(a, f, &style), 0);
		fclose(f);
		assert_int_equal(strchr(text, '\033') != NULL, style.colour);
		for (char *save, *line = strtok_r(text, "\n", &save); line && !style.colour;
		     line = strtok_r(NULL, "\n", &save))
			assert_true(text_width(line) <= limit);
		free(text);
	}
	analysis_free(a);
	trace_close(t);
}

static void figures_have_three_digits(void **state)
{
	char f[TEXT_FIGURE];

	(void)state;
	assert_string_equal(text_duration(f, 0), "0 ns");
	assert_string_equal(text_duration(f, NAN), "?");
	assert_string_equal(text_duration(f, INFINITY), "?");
	assert_string_equal(text_duration(f, 999), "999 ns");
	assert_string_equal(text_duration(f, 1000), "1.00 \xc2\xb5s");
	assert_string_equal(text_duration(f, 9996), "10.0 \xc2\xb5s");
	assert_string_equal(text_duration(f, 999499), "999 \xc2\xb5s");
	assert_string_equal(text_duration(f, 999600), "1.00 ms");
	assert_string_equal(text_duration(f, 12345678), "12.3 ms");
	assert_string_equal(text_duration(f, 1.5e9), "1.50 s");
	assert_string_equal(text_duration(f, 125.4e9), "2m05s");
	assert_string_equal(text_duration(f, 11227e9), "3h07m");
	assert_string_equal(text_count(f, 9999), "9999");
	assert_string_equal(text_count(f, 10000), "10.0 k");
	assert_string_equal(text_count(f, 50123456), "50.1 M");
	assert_string_equal(text_count(f, UINT64_MAX), "18446744074 G");
	assert_string_equal(text_share(f, 1, 3), "33.3 %");
	assert_string_equal(text_share(f, 1, 0), "0.0 %");
}

static void expect_short(const char *file, const char *root, const char *text)
{
	struct buf b;

	buf_init(&b);
	text_add_short_path(&b, file, root);
	assert_string_equal(buf_string(&b), text);
	buf_release(&b);
}

static void paths_are_shortened_to_what_tells_them_apart(void **state)
{
	(void)state;
	expect_short("/w/app/a.py", "/w", "app/a.py");
	expect_short("/w/app/a.py", "/w/", "app/a.py");
	expect_short("/work/a.py", "/w", "/work/a.py");
	expect_short("/w/a.py", NULL, "/w/a.py");
	expect_short("/w/a.py", "/", "/w/a.py");
	expect_short("/w/.venv/lib/python3.12/site-packages/torch/nn.py", "/w", "torch/nn.py");
	expect_short("/usr/lib/python3/dist-packages/numpy/a.py", "/w", "numpy/a.py");
	expect_short("/usr/lib/python3.12/json/decoder.py", "/w", "python3.12/json/decoder.py");
	expect_short("<frozen importlib._bootstrap>", "/w", "<frozen importlib._bootstrap>");
}

static void expect_text(struct buf *b, const char *text)
{
	assert_string_equal(buf_string(b), text);
	buf_clear(b);
}

static void the_user_s_strings_are_cut_and_cleaned(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	text_add_clipped(&b, "abcdef", 6);
	expect_text(&b, "abcdef");
	text_add_clipped(&b, "abcdef", 4);
	expect_text(&b, "abc\xe2\x80\xa6");
	text_add_clipped_tail(&b, "abcdef", 4);
	expect_text(&b, "\xe2\x80\xa6"
			"def");
	text_add_clipped(&b, "abcdef", 0);
	expect_text(&b, "");
	text_add_clipped(&b, "\xc3\xa4\xc3\xb6\xc3\xbc", 2);
	expect_text(&b, "\xc3\xa4\xe2\x80\xa6");
	text_add_clean(&b, "a\033[2J\nb\x7f\xc2\x9b\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa6");
	expect_text(&b, "a?[2J?b????\xe2\x80\xa6");
	text_add_argument(&b, "plain-1.py");
	expect_text(&b, "plain-1.py");
	text_add_argument(&b, "");
	expect_text(&b, "''");
	text_add_argument(&b, "it's $x");
	expect_text(&b, "'it'\\''s $x'");
	buf_release(&b);
}

static void long_texts_are_broken_between_words(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	text_add_wrapped(&b, "one two", 7, 2, 2);
	expect_text(&b, "one two");
	text_add_wrapped(&b, "one two  three", 7, 2, 3);
	expect_text(&b, "one two\n  three");
	text_add_wrapped(&b, "one two three four", 9, 2, 2);
	expect_text(&b, "one two\n  three\xe2\x80\xa6");
	text_add_wrapped(&b, "9433 faults are 23.4 ms", 19, 2, 1);
	expect_text(&b, "9433 faults are\xe2\x80\xa6"); /* not 23 */
	text_add_wrapped(&b, "52.4 % a_name_that_is_much_longer", 30, 2, 1);
	expect_text(&b, "52.4 % a_name_that_is_much_lo\xe2\x80\xa6");
	text_add_wrapped(&b, "a step takes 23.4 ms, or 5 %", 18, 1, 2);
	expect_text(&b, "a step takes\n 23.4 ms, or 5 %"); /* figures stay with their units */
	text_add_wrapped(&b, "it is 6 \xc2\xb5s longer", 8, 1, 3);
	expect_text(&b, "it is\n 6 \xc2\xb5s\n longer");
	text_add_wrapped(&b, "abcdefgh ij", 4, 1, 3);
	expect_text(&b, "abcd\n efgh\n ij");
	text_add_wrapped(&b, "a\nb \xc3\xa4\xc3\xb6\xc3\xbc", 4, 0, 2);
	expect_text(&b, "a?b\n\xc3\xa4\xc3\xb6\xc3\xbc");
	assert_int_equal(text_wrapped_lines("", 7), 1);
	assert_int_equal(text_wrapped_lines("one two", 7), 1);
	assert_int_equal(text_wrapped_lines("one two  three", 7), 2);
	assert_int_equal(text_wrapped_lines("abcdefgh ij", 4), 3);
	buf_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_decides_the_format),
		cmocka_unit_test(places_that_cannot_be_written_are_found_early),
		cmocka_unit_test(a_report_replaces_the_old_one_whole),
		cmocka_unit_test(a_report_that_cannot_be_written_leaves_nothing),
		cmocka_unit_test(detail_limits_the_rows),
		cmocka_unit_test(colour_and_width_are_the_terminal_s_own),
		cmocka_unit_test(figures_have_three_digits),
		cmocka_unit_test(paths_are_shortened_to_what_tells_them_apart),
		cmocka_unit_test(the_user_s_strings_are_cut_and_cleaned),
		cmocka_unit_test(long_texts_are_broken_between_words),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
