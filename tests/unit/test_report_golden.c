/* links: is_report is_rules */
/*
 * Golden traces: each tests/golden/NAME.story, written as a trace and analysed,
 * gives exactly the files beside it.  INFERSCOPE_UPDATE_GOLDEN=1 rewrites them;
 * the difference is then reviewed like code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/report.h"
#include "rules/judge.h"
#include "story.h"

struct golden {
	char trace_path[32];
	struct trace *trace;
	struct analysis *analysis;
	const char *name;
};

static void golden_path(char out[4096], const char *name, const char *extension)
{
	const char *here = __FILE__;

	snprintf(out, 4096, "%.*s/../golden/%s%s", (int)(strrchr(here, '/') - here), here, name,
		 extension);
}

/* NULL where there is no such file; the caller's to free. */
static char *read_text(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t n = 0;

	if (!f)
		return NULL;
	if (getdelim(&text, &n, 0, f) < 0) {
		free(text);
		text = strdup("");
	}
	fclose(f);
	return text;
}

static void open_golden(struct golden *g, const char *name)
{
	char path[4096], *story;
	struct err err;

	golden_path(path, name, ".story");
	story = read_text(path);
	assert_non_null(story);
	strcpy(g->trace_path, "/tmp/golden-XXXXXX");
	g->name = name;
	story_write(g->trace_path, story);
	free(story);
	assert_int_equal(trace_open(&g->trace, g->trace_path, &err), 0);
	assert_int_equal(analysis_new(&g->analysis, g->trace, &err), 0);
	assert_int_equal(judge(g->analysis, NULL, &err), 0);
}

static void close_golden(struct golden *g)
{
	analysis_free(g->analysis);
	trace_close(g->trace);
	unlink(g->trace_path);
}

/* The version of the program is the one thing that may change without a review. */
static void hide_version(struct buf *out, const char *text)
{
	const char *version = "\"version\": \"" INFERSCOPE_VERSION "\"";
	const char *at = strstr(text, version);

	if (!at) {
		buf_add_str(out, text);
		return;
	}
	buf_add(out, text, (size_t)(at - text));
	buf_add_str(out, "\"version\": \"VERSION\"");
	buf_add_str(out, at + strlen(version));
}

static void compare(const struct golden *g, const char *extension, const char *text)
{
	char path[4096], *expected;
	struct buf got;

	buf_init(&got);
	hide_version(&got, text);
	golden_path(path, g->name, extension);
	if (getenv("INFERSCOPE_UPDATE_GOLDEN")) {
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fputs(buf_string(&got), f);
		assert_int_equal(fclose(f), 0);
	}
	expected = read_text(path);
	if (!expected)
		fail_msg("%s is missing; INFERSCOPE_UPDATE_GOLDEN=1 writes it", path);
	assert_string_equal(buf_string(&got), expected);
	free(expected);
	buf_release(&got);
}

static void compare_rendered(const struct golden *g, const struct report_backend *backend)
{
	struct buf out;

	buf_init(&out);
	backend->render(&out, g->analysis, DETAIL_NORMAL);
	compare(g, backend->extension, buf_string(&out));
	buf_release(&out);
}

/* What is the page's own: its style and script are not of the trace. */
static void compare_page(const struct golden *g)
{
	const char *begin, *end;
	struct buf out, body;

	buf_init(&out);
	buf_init(&body);
	report_html.render(&out, g->analysis, DETAIL_NORMAL);
	begin = strstr(buf_string(&out), "<body>");
	end = begin ? strstr(begin, "<script>") : NULL;
	assert_non_null(end);
	buf_add(&body, begin, (size_t)(end - begin));
	buf_add_byte(&body, '\n');
	compare(g, report_html.extension, buf_string(&body));
	buf_release(&body);
	buf_release(&out);
}

static void compare_summary(const struct golden *g)
{
	static const char *const written[] = { "inferscope-report.md", "out.json" };
	const struct terminal_style style = {
		.columns = 90,
		.detail = DETAIL_NORMAL,
		.written = written,
		.written_count = 2,
		.trace = "inferscope-trace.isc",
	};
	char *text = NULL;
	size_t n = 0, lines = 0;
	FILE *f = open_memstream(&text, &n);

	assert_int_equal(report_terminal(g->analysis, f, &style), 0);
	fclose(f);
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	assert_true(lines <= 38);
	compare(g, ".txt", text);
	free(text);
}

static void reports_are_as_agreed(void **state)
{
	struct golden g;

	open_golden(&g, *state);
	compare_rendered(&g, &report_markdown);
	compare_rendered(&g, &report_json);
	compare_summary(&g);
	close_golden(&g);
}

/* A page is the Markdown report and plots: a few are enough. */
static void the_page_is_as_agreed(void **state)
{
	struct golden g;

	open_golden(&g, *state);
	compare_page(&g);
	close_golden(&g);
}

#define GOLDEN(story)                                                \
	{                                                            \
		.name = (story), .test_func = reports_are_as_agreed, \
		.initial_state = (void *)(uintptr_t)(story)          \
	}

#define GOLDEN_PAGE(story)                                                   \
	{                                                                    \
		.name = (story ".html"), .test_func = the_page_is_as_agreed, \
		.initial_state = (void *)(uintptr_t)(story)                  \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GOLDEN("plain_script"),
		GOLDEN("paused"),
		GOLDEN("waiting"),
		GOLDEN("contention"),
		GOLDEN("asyncio_server"),
		GOLDEN("warm_up"),
		GOLDEN("gpu_service"),
		GOLDEN("losses"),
		GOLDEN("hostile_names"),
		GOLDEN("many_rows"),
		GOLDEN("native_server"),
		GOLDEN("throttled"),
		GOLDEN("decoder"),
		GOLDEN("nvtx"),
		GOLDEN("cpu_layers"),
		GOLDEN("served"),
		GOLDEN("unmarked"),
		GOLDEN("memory"),
		GOLDEN_PAGE("hostile_names"),
		GOLDEN_PAGE("memory"),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
