/*
 * The page: one file without external references.  Its text is the Markdown report's (html_put.h),
 * plots are added after the headings, style and script are inline.
 *
 * If a name ever slips through the escaping, the content security policy still applies: no script
 * runs except the one whose hash it names, and nothing is fetched or sent.
 */
#include "report/html/html_put.h"
#include "report/report.h"
#include "report/viewdata/view_page.h"
#include "report_js_hash.h"

/* cmake/Asset.cmake makes them of report.css, report.js and viewer/. */
static const uint8_t style[] = {
#include "report_css.inc"
};
static const uint8_t script[] = {
#include "report_js.inc"
};

#define SCRIPT_HASH "sha256-" SCRIPT_SHA256

static void add_title(struct buf *out, const struct analysis *a)
{
	const struct analysis_run *run = &a->run;

	buf_add_str(out, "InferScope");
	for (size_t i = 0; i < run->command_count && i < 4; i++) {
		buf_add_str(out, i ? " " : ": ");
		html_text(out, text_file_name(run->command[i]));
	}
}

static void add_head(struct buf *out, const struct html_page *page)
{
	buf_add_str(out,
		    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'; script-src '" SCRIPT_HASH
		    "'; base-uri 'none'; form-action 'none'\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n"
		    "<meta name=\"generator\" content=\"InferScope " INFERSCOPE_VERSION "\">\n"
		    "<title>");
	buf_add(out, page->title.data, page->title.len);
	buf_add_str(out, "</title>\n<style>\n");
	buf_add(out, style, sizeof(style));
	buf_add(out, page->style.data, page->style.len);
	buf_add_str(out, "</style>\n</head>\n");
}

void html_page_init(struct html_page *page)
{
	buf_init(&page->title);
	buf_init(&page->style);
	buf_init(&page->markdown);
	page->timeline = NULL;
}

void html_page_finish(struct buf *out, struct html_page *page, const struct html_hooks *hooks)
{
	const struct buf *text = &page->markdown;

	add_head(out, page);
	buf_add_str(out, "<body>\n");
	html_contents(out, text->data, text->len);
	buf_add_str(out, "<main>\n");
	html_body(out, text->data, text->len, hooks);
	buf_add_str(out, "</main>\n");
	if (page->timeline)
		view_page_add(out, page->timeline);
	buf_add_str(out, "<script>");
	buf_add(out, script, sizeof(script));
	buf_add_str(out, "</script>\n</body>\n</html>\n");
	out->failed |= page->title.failed || page->style.failed || text->failed;
	buf_release(&page->title);
	buf_release(&page->style);
	buf_release(&page->markdown);
}

static void render(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	struct html_plots plots = { .analysis = a };
	const struct html_hooks hooks = { html_plots_add, &plots };
	struct html_page page;

	html_page_init(&page);
	page.timeline = a;
	add_title(&page.title, a);
	html_plots_key(&page.style, a, detail);
	report_markdown.render(&page.markdown, a, detail);
	html_page_finish(out, &page, &hooks);
}

const struct report_backend report_html = {
	.name = "HTML",
	.extension = ".html",
	.render = render,
};
