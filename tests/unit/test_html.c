/* links: is_report */
/* The page from Markdown, and what is drawn: every text stays a text, every point is in a curve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/figures/curve.h"
#include "report/html/html_put.h"
#include "report/json/report_json_sections.h"
#include "report/markdown/markdown.h"
#include "report/report.h"

static void note_chapter(struct buf *out, const char *heading, size_t n, void *context)
{
	(void)context;
	buf_printf(out, "{%.*s}", (int)n, heading);
}

static const struct html_hooks hooks = { note_chapter, NULL };

static void expect(const char *markdown, const char *html)
{
	struct buf out, wanted;

	buf_init(&out);
	buf_init(&wanted);
	buf_printf(&wanted, "<header>\n%s", html);
	html_body(&out, markdown, strlen(markdown), &hooks);
	assert_string_equal(buf_string(&out), buf_string(&wanted));
	buf_release(&wanted);
	buf_release(&out);
}

static void blocks(void **state)
{
	(void)state;
	expect("", "</header>\n");
	expect("# One\n\nA\nB\n\nC", "<h1>One</h1>\n<p>A\nB</p>\n<p>C</p>\n</header>\n");
	expect("## Two\n\nA\n### Three\n", "{}</header>\n<section id=\"two\">\n<h2>Two</h2>\n{Two}"
					   "<p>A</p>\n<h3>Three</h3>\n</section>\n");
	expect("## A & `b`\n## C\n",
	       "{}</header>\n<section id=\"a-b\">\n<h2>A &amp; <code>b</code></h2>\n{A & `b`}"
	       "</section>\n<section id=\"c\">\n<h2>C</h2>\n{C}</section>\n");
}

static void lists(void **state)
{
	(void)state;
	expect("- a\n- b\n", "<ul>\n<li>a</li>\n<li>b</li></ul>\n</header>\n");
	expect("A\n- a\n  - b\n  - c\n- d\n\nE\n",
	       "<p>A</p>\n<ul>\n<li>a<ul>\n<li>b</li>\n<li>c</li></ul>\n</li>\n<li>d</li></ul>\n"
	       "<p>E</p>\n</header>\n");
	/* Deeper than there is something to lie in. */
	expect("    - a\n", "<ul>\n<li>a</li></ul>\n</header>\n");
}

static void tables(void **state)
{
	(void)state;
	expect("| a | b |\n|---|--:|\n| `x\\|y` | 1 |\n|  | 2 |\n",
	       "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th scope=\"col\">a</th>"
	       "<th scope=\"col\" class=\"n\">b</th></tr>\n</thead><tbody>\n"
	       "<tr><td><code>x|y</code></td><td class=\"n\">1</td></tr>\n"
	       "<tr><td></td><td class=\"n\">2</td></tr>\n</tbody></table></div>\n</header>\n");
	expect("| a |", "<div class=\"wide\" tabindex=\"0\"><table><thead><tr><th "
			"scope=\"col\">a</th></tr>\n"
			"</thead><tbody>\n</tbody></table></div>\n</header>\n");
}

static void texts(void **state)
{
	(void)state;
	expect("<b a=\"1\" c='2'> & &lt; &emsp;|", "<p>&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt; "
						   "&amp; &amp;lt; &emsp;|</p>\n</header>\n");
	expect("**bold** and \\*\\*not\\*\\* \\",
	       "<p><strong>bold</strong> and **not** \\</p>\n</header>\n");
	expect("**open", "<p><strong>open</strong></p>\n</header>\n");
	expect("`a` `` b`c `` ``` `` `open",
	       "<p><code>a</code> <code>b`c</code> ``` `` `open</p>\n</header>\n");
	expect("`/a.b,c<d`", "<p><code>/<wbr>a.<wbr>b,<wbr>c&lt;d</code></p>\n</header>\n");
	expect("[Trust](#trust) [x](http://y) [<](#a) [a](#\"b",
	       "<p><a href=\"#trust\">Trust</a> [x](http://y) [&lt;](#a) <a href=\"#\">a</a>&quot;b"
	       "</p>\n</header>\n");
}

static void the_contents_lead_to_the_chapters(void **state)
{
	static const char markdown[] = "# T\n## One `x`\n\n### no\n## Two\n";
	struct buf out;

	(void)state;
	buf_init(&out);
	html_contents(&out, markdown, strlen(markdown));
	assert_string_equal(buf_string(&out), "<nav aria-label=\"Chapters\">\n"
					      "<a href=\"#one-x\">One <code>x</code></a>\n"
					      "<a href=\"#two\">Two</a>\n</nav>\n");
	buf_release(&out);
}

static void a_page_is_cut_and_says_so(void **state)
{
	struct buf markdown, out;

	(void)state;
	buf_init(&markdown);
	buf_init(&out);
	buf_add_str(&markdown, "| a |\n|---|\n");
	for (size_t i = 0; i < HTML_ROWS_MAX + 7; i++)
		buf_add_str(&markdown, "| x |\n");
	buf_add_str(&markdown, "\n`");
	for (size_t i = 0; i < HTML_CODE_MAX; i++)
		buf_add_str(&markdown, "\xc3\xbc");
	buf_add_byte(&markdown, '`');
	html_body(&out, buf_string(&markdown), markdown.len, &hooks);
	assert_non_null(strstr(buf_string(&out), "<p class=\"more\">7 more in the Markdown"));
	assert_non_null(strstr(buf_string(&out), "\xc3\xbc\xe2\x80\xa6</code>"));
	assert_true(out.len < 2 * HTML_CODE_MAX + 30 * HTML_ROWS_MAX);
	buf_release(&out);
	buf_release(&markdown);
}

static bool starts_with(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

/* The text of the cell at p: elements left out, entities read.  Returns where it ends. */
static const char *read_cell(struct buf *text, const char *p)
{
	static const char *const entities[][2] = {
		{ "&amp;", "&" },   { "&lt;", "<" },  { "&gt;", ">" },
		{ "&quot;", "\"" }, { "&#39;", "'" },
	};

	while (!starts_with(p, "</td>")) {
		size_t i = 0;

		while (i < 5 && !starts_with(p, entities[i][0]))
			i++;
		if (i < 5) {
			buf_add_str(text, entities[i][1]);
			p += strlen(entities[i][0]);
		} else if (*p == '<') {
			p = strchr(p, '>') + 1;
		} else {
			buf_add_byte(text, (uint8_t)*p++);
		}
	}
	return p;
}

/* What Markdown is given comes out as the text that it was. */
static void what_markdown_escapes_is_shown_as_it_was(void **state)
{
	static const char *const names[] = {
		"a|b",       "a\\|b", "`",   "``a`", "a\\",    "<script>",
		"&amp; \"'", "*x*",   "- a", "1. a", "  a b ", "[a](#b)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct buf row, page, text;
		const char *cell;

		buf_init(&row);
		buf_init(&page);
		buf_init(&text);
		buf_add_str(&row, "| a | b |\n|---|---|\n| ");
		markdown_cell(&row, names[i]);
		buf_add_str(&row, " | end |\n");
		html_body(&page, buf_string(&row), row.len, &hooks);
		cell = strstr(buf_string(&page), "<td>");
		assert_non_null(cell);
		cell = read_cell(&text, cell + strlen("<td>"));
		assert_string_equal(buf_string(&text), names[i]);
		assert_true(starts_with(cell, "</td><td>end</td></tr>"));
		buf_release(&text);
		buf_release(&page);
		buf_release(&row);
	}
}

static void a_curve_keeps_its_spikes(void **state)
{
	static struct curve c;
	double most = 0, least = 1e9;

	(void)state;
	curve_init(&c, 1000, 1001000);
	curve_add(&c, 999, 5); /* before it begins */
	for (int64_t i = 0; i <= 1000000; i++)
		curve_add(&c, 1000 + i, i == 123456 ? 900 : i == 654321 ? 1 : 10);
	curve_add(&c, 1001001, 5);
	assert_int_equal(c.count, CURVE_BINS);
	for (size_t i = 0; i < c.count; i++) {
		most = c.bins[i].high > most ? c.bins[i].high : most;
		least = c.bins[i].low < least ? c.bins[i].low : least;
		assert_true(!i || c.bins[i].time_ns > c.bins[i - 1].time_ns);
	}
	assert_true(most == 900 && least == 1);
	/* Without a length there is nothing to divide. */
	curve_init(&c, 7, 7);
	curve_add(&c, 7, 1);
	assert_int_equal(c.count, 0);
}

static void a_histogram_counts_everything_once(void **state)
{
	int64_t values[1000];
	struct histogram h;
	uint64_t all = 0;

	(void)state;
	for (size_t i = 0; i < 1000; i++)
		values[i] = i < 995 ? 1000 + (int64_t)i : 1000000 + (int64_t)i;
	histogram_fill(&h, values, 1000);
	assert_int_equal(h.from_ns, 1000);
	assert_int_equal(h.parts, HISTOGRAM_BINS);
	assert_int_equal(h.beyond, 10); /* behind the 99th percentile */
	for (size_t i = 0; i < h.parts; i++)
		all += h.counts[i];
	assert_int_equal(all + h.beyond, 1000);
	histogram_fill(&h, values, 1);
	assert_int_equal(h.parts, 1);
	assert_int_equal(h.counts[0], 1);
	histogram_fill(&h, values, 0);
	assert_int_equal(h.parts, 0);
}

static const char *plain_figure(char out[TEXT_FIGURE], double y)
{
	return text_count(out, (uint64_t)y);
}

/* Times and values as large as a trace can have them: every figure stays a number. */
static void extremes_are_drawn_as_numbers(void **state)
{
	static struct curve c;
	const int64_t far = INT64_C(1) << 61;
	const struct svg_axes axes = { .label = "x", .figure = plain_figure };
	struct buf out;

	(void)state;
	buf_init(&out);
	curve_init(&c, far, far + 1);
	curve_add(&c, far, 1);
	curve_add(&c, far + 1, 9e18);
	svg_curve(&out, &axes, &c);
	assert_non_null(strstr(buf_string(&out), "<path"));
	curve_init(&c, 0, far);
	curve_add(&c, 0, 1e-9);
	svg_curve(&out, &axes, &c);
	assert_null(strstr(buf_string(&out), "nan"));
	assert_null(strstr(buf_string(&out), "inf"));
	buf_clear(&out);
	curve_init(&c, 0, 10);
	curve_add(&c, 5, 0); /* no height */
	svg_curve(&out, &axes, &c);
	assert_int_equal(out.len, 0);
	buf_release(&out);
}

#define MANY_FUNCTIONS 10000
#define MANY_LAYERS 5000

/* Everything that has rows has thousands. */
static void fill(struct analysis *a, char (*names)[64], struct analysis_function *functions,
		 struct analysis_layer *layers)
{
	for (size_t i = 0; i < MANY_FUNCTIONS; i++) {
		snprintf(names[i], sizeof(names[i]),
			 "package.module.Class.method_of_usual_length_%zu", i);
		functions[i] = (struct analysis_function){
			.name = names[i],
			.file = "/srv/app/package/subpackage/module.py",
			.line = (uint32_t)i,
			.calls = 1,
			.self_ns = 1000,
			.total_ns = 1000,
		};
	}
	for (size_t i = 0; i < MANY_LAYERS; i++)
		layers[i] = (struct analysis_layer){
			.name = names[i],
			.class_name = names[i], /* else they would be taken together */
			.root = names[0],
			.parent = i ? 0 : LAYER_NONE,
			.depth = i > 0,
			.sum = { .calls = 1, .cpu_ns = 1000, .gpu_ns = 1000, .self_gpu_ns = 1000 },
		};
	a->functions = functions;
	a->function_count = a->working_count = MANY_FUNCTIONS;
	a->layers.items = layers;
	a->layers.count = MANY_LAYERS;
}

static void a_large_analysis_makes_a_small_page(void **state)
{
	static char names[MANY_FUNCTIONS][64];
	static struct analysis_function functions[MANY_FUNCTIONS];
	static struct analysis_layer layers[MANY_LAYERS];
	static struct analysis_step step = { .name = "whole run", .source = STEP_WHOLE_RUN };
	static struct analysis a = { .steps = &step, .step_count = 1 };
	struct buf out;

	(void)state;
	a.verdict.bound = "unknown";
	a.verdict.because = "";
	fill(&a, names, functions, layers);
	buf_init(&out);
	report_html.render(&out, &a, DETAIL_NORMAL);
	assert_non_null(strstr(buf_string(&out), "9970 more with"));
	assert_true(out.len < 200000);
	buf_clear(&out);
	report_html.render(&out, &a, DETAIL_FULL);
	assert_non_null(strstr(buf_string(&out), "9500 more in the Markdown and JSON reports"));
	assert_true(out.len < 2000000);
	buf_clear(&out);
	report_json.render(&out, &a, DETAIL_FULL);
	assert_non_null(strstr(buf_string(&out), names[MANY_FUNCTIONS - 1]));
	buf_clear(&out);
	report_json.render(&out, &a, DETAIL_SHORT);
	assert_in_range(out.len, 1, JSON_SHORT_BYTES);
	buf_release(&out);
}

/* As long as they come, of the widest characters, and as many as there are: it is cut to fit. */
static void a_short_report_fits_whatever_it_is_about(void **state)
{
	static struct analysis_function functions[50];
	static struct analysis_finding findings[30];
	static struct analysis_step steps[20];
	static struct analysis a = {
		.functions = functions,
		.function_count = 50,
		.working_count = 50,
		.steps = steps,
		.step_count = 20,
		.findings = { .count = 30, .items = findings, .sure_count = 30 },
	};
	const char *texts[9];
	static char name[4 * 4096 + 1];
	struct buf out;

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(name); i++)
		name[i] = "\xf0\x9f\x90\x8d"[i % 4];
	for (size_t i = 0; i < 9; i++)
		texts[i] = name;
	for (size_t i = 0; i < 50; i++)
		functions[i] = (struct analysis_function){ .name = name,
							   .file = name,
							   .calls = UINT64_MAX };
	for (size_t i = 0; i < 20; i++)
		steps[i] =
			(struct analysis_step){ .name = name, .mean_ns = 9e18, .count = SIZE_MAX };
	for (size_t i = 0; i < 30; i++)
		findings[i] = (struct analysis_finding){
			.id = name,
			.title = name,
			.step = name,
			.where = { .name = name, .file = name },
			.evidence = texts,
			.evidence_count = 9,
			.suggestions = texts,
			.suggestion_count = 9,
		};
	a.verdict.bound = "unknown";
	a.verdict.because = a.run.python = name;
	buf_init(&out);
	report_json.render(&out, &a, DETAIL_SHORT);
	assert_in_range(out.len, 1, JSON_SHORT_BYTES);
	assert_non_null(strstr(buf_string(&out), "\"finding_count\":30"));
	buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks),
		cmocka_unit_test(lists),
		cmocka_unit_test(tables),
		cmocka_unit_test(texts),
		cmocka_unit_test(the_contents_lead_to_the_chapters),
		cmocka_unit_test(a_page_is_cut_and_says_so),
		cmocka_unit_test(what_markdown_escapes_is_shown_as_it_was),
		cmocka_unit_test(a_curve_keeps_its_spikes),
		cmocka_unit_test(a_histogram_counts_everything_once),
		cmocka_unit_test(extremes_are_drawn_as_numbers),
		cmocka_unit_test(a_large_analysis_makes_a_small_page),
		cmocka_unit_test(a_short_report_fits_whatever_it_is_about),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
