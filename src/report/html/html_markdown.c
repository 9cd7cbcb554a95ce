/* Line by line; what is open is closed by a blank line, a heading or the end. */
#include "report/html/html_put.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

#define LISTS_MAX 3u
#define COLUMNS_MAX 32u
#define CONTENTS_MAX 24u
#define ID_MAX 60u
#define ELLIPSIS "\xe2\x80\xa6"

struct text {
	const char *s, *end;
};

struct setter {
	struct buf *out;
	bool in_header, in_section, in_paragraph, in_table;
	size_t lists; /* open, each with an open item */
	size_t rows;  /* of the table, its head not counted */
	bool right[COLUMNS_MAX];
};

static bool starts(struct text t, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(t.end - t.s) >= n && !memcmp(t.s, with, n);
}

static bool take(struct text *t, const char *what)
{
	if (!starts(*t, what))
		return false;
	t->s += strlen(what);
	return true;
}

/* The next line without its end; false: there is none. */
static bool next_line(struct text *rest, struct text *line)
{
	const char *end;

	if (rest->s == rest->end)
		return false;
	end = memchr(rest->s, '\n', (size_t)(rest->end - rest->s));
	*line = (struct text){ rest->s, end ? end : rest->end };
	rest->s = end ? end + 1 : rest->end;
	return true;
}

static size_t backticks(struct text t)
{
	size_t n = 0;

	while (t.s + n < t.end && t.s[n] == '`')
		n++;
	return n;
}

/* What lies between a fence and the next one of the same length; false: there is none. */
static bool code_span(struct text t, size_t fence, struct text *code, const char **behind)
{
	struct text rest = { t.s + fence, t.end };
	bool blank = true;

	for (size_t run; rest.s < rest.end; rest.s += run ? run : 1) {
		run = backticks(rest);
		if (run != fence)
			continue;
		*code = (struct text){ t.s + fence, rest.s };
		*behind = rest.s + run;
		for (const char *p = code->s; p < code->end; p++)
			blank &= *p == ' ';
		if (!blank && code->s[0] == ' ' && code->end[-1] == ' ') {
			code->s++;
			code->end--;
		}
		return true;
	}
	return false;
}

static void put_code(struct buf *out, struct text code, bool in_cell)
{
	const char *limit = code.end;

	if ((size_t)(code.end - code.s) > HTML_CODE_MAX) {
		limit = code.s + HTML_CODE_MAX;
		while (limit > code.s && ((uint8_t)*limit & 0xc0) == 0x80)
			limit--;
	}
	buf_add_str(out, "<code>");
	while (code.s < limit) {
		if (in_cell && starts(code, "\\|"))
			code.s++;
		html_bytes(out, code.s, 1);
		/* Paths, qualified names and arguments may be broken there. */
		if (strchr("/,.", *code.s) && code.s + 1 < limit)
			buf_add_str(out, "<wbr>");
		code.s++;
	}
	buf_add_str(out, limit < code.end ? ELLIPSIS "</code>" : "</code>");
}

/* Only into the page; false: it is something else. */
static bool put_link(struct buf *out, struct text *t)
{
	struct text rest = *t, name;

	if (!take(&rest, "["))
		return false;
	name = rest;
	while (rest.s < rest.end && (isalnum((uint8_t)*rest.s) || *rest.s == ' '))
		rest.s++;
	name.end = rest.s;
	if (!take(&rest, "](#"))
		return false;
	buf_add_str(out, "<a href=\"#");
	while (rest.s < rest.end && (isalnum((uint8_t)*rest.s) || *rest.s == '-'))
		buf_add_byte(out, (uint8_t)*rest.s++);
	buf_add_str(out, "\">");
	html_bytes(out, name.s, (size_t)(name.end - name.s));
	buf_add_str(out, "</a>");
	take(&rest, ")");
	*t = rest;
	return true;
}

static void put_inline(struct buf *out, struct text t, bool in_cell)
{
	bool bold = false;

	while (t.s < t.end) {
		struct text code;
		const char *behind;
		size_t fence = backticks(t);

		if (fence && code_span(t, fence, &code, &behind)) {
			put_code(out, code, in_cell);
			t.s = behind;
		} else if (fence) {
			html_bytes(out, t.s, fence);
			t.s += fence;
		} else if (take(&t, "**")) {
			buf_add_str(out, bold ? "</strong>" : "<strong>");
			bold = !bold;
		} else if (take(&t, "&emsp;")) {
			buf_add_str(out, "&emsp;");
		} else if (!put_link(out, &t)) {
			if (*t.s == '\\' && t.s + 1 < t.end && ispunct((uint8_t)t.s[1]))
				t.s++;
			html_bytes(out, t.s++, 1);
		}
	}
	if (bold)
		buf_add_str(out, "</strong>");
}

/* As its place in the page: what is not a letter or a digit becomes a dash. */
static void put_id(struct buf *out, struct text t)
{
	size_t n = 0;
	bool dash = false;

	for (; t.s < t.end && n < ID_MAX; t.s++) {
		if (!isalnum((uint8_t)*t.s)) {
			dash = n > 0;
			continue;
		}
		if (dash)
			buf_add_byte(out, '-');
		dash = false;
		buf_add_byte(out, (uint8_t)tolower((uint8_t)*t.s));
		n++;
	}
}

static void close_lists(struct setter *s, size_t down_to)
{
	for (; s->lists > down_to; s->lists--)
		buf_add_str(s->out, "</li></ul>\n");
}

static void close_table(struct setter *s)
{
	if (!s->in_table)
		return;
	buf_add_str(s->out, "</tbody></table></div>\n");
	if (s->rows > HTML_ROWS_MAX)
		buf_printf(s->out,
			   "<p class=\"more\">%zu more in the Markdown and JSON reports.</p>\n",
			   s->rows - HTML_ROWS_MAX);
	s->in_table = false;
}

static void close_blocks(struct setter *s)
{
	if (s->in_paragraph)
		buf_add_str(s->out, "</p>\n");
	s->in_paragraph = false;
	close_lists(s, 0);
	close_table(s);
}

static void close_chapter(struct setter *s)
{
	close_blocks(s);
	if (s->in_header)
		buf_add_str(s->out, "</header>\n");
	if (s->in_section)
		buf_add_str(s->out, "</section>\n");
	s->in_header = s->in_section = false;
}

static void put_heading(struct setter *s, const char *tag, struct text t)
{
	close_blocks(s);
	buf_printf(s->out, "<%s>", tag);
	put_inline(s->out, t, false);
	buf_printf(s->out, "</%s>\n", tag);
}

static void put_chapter(struct setter *s, struct text t, const struct html_hooks *hooks)
{
	close_blocks(s);
	if (s->in_header)
		hooks->chapter(s->out, "", 0, hooks->context);
	close_chapter(s);
	buf_add_str(s->out, "<section id=\"");
	put_id(s->out, t);
	buf_add_str(s->out, "\">\n");
	s->in_section = true;
	put_heading(s, "h2", t);
	hooks->chapter(s->out, t.s, (size_t)(t.end - t.s), hooks->context);
}

/* An item `depth` lists deep; one deeper than the last lies in that one. */
static void put_item(struct setter *s, size_t depth, struct text t)
{
	if (depth > s->lists + 1)
		depth = s->lists + 1;
	if (!s->lists)
		close_blocks(s);
	close_lists(s, depth);
	if (depth > s->lists)
		buf_add_str(s->out, "<ul>\n");
	else
		buf_add_str(s->out, "</li>\n");
	s->lists = depth;
	buf_add_str(s->out, "<li>");
	put_inline(s->out, t, false);
}

/* The next cell of a row without the blanks around it; false: there is none. */
static bool next_cell(struct text *row, struct text *cell)
{
	if (!take(row, "|") || row->s == row->end)
		return false;
	while (row->s < row->end && *row->s == ' ')
		row->s++;
	cell->s = row->s;
	while (row->s < row->end && *row->s != '|')
		row->s += *row->s == '\\' && row->s + 1 < row->end ? 2 : 1;
	cell->end = row->s;
	while (cell->end > cell->s && cell->end[-1] == ' ')
		cell->end--;
	return true;
}

static void put_cells(struct setter *s, struct text row, const char *tag, const char *attribute)
{
	struct text cell;

	buf_add_str(s->out, "<tr>");
	for (size_t i = 0; i < COLUMNS_MAX && next_cell(&row, &cell); i++) {
		buf_printf(s->out, "<%s%s%s>", tag, attribute, s->right[i] ? " class=\"n\"" : "");
		put_inline(s->out, cell, true);
		buf_printf(s->out, "</%s>", tag);
	}
	buf_add_str(s->out, "</tr>\n");
}

/* The second row sets the alignment of columns. */
static void put_table(struct setter *s, struct text head, struct text *rest)
{
	struct text columns = { 0 }, cell;

	close_blocks(s);
	next_line(rest, &columns);
	for (size_t i = 0; i < COLUMNS_MAX; i++)
		s->right[i] =
			next_cell(&columns, &cell) && cell.end > cell.s && cell.end[-1] == ':';
	buf_add_str(s->out, "<div class=\"wide\" tabindex=\"0\"><table><thead>");
	put_cells(s, head, "th", " scope=\"col\"");
	buf_add_str(s->out, "</thead><tbody>\n");
	s->in_table = true;
	s->rows = 0;
}

static void put_text(struct setter *s, struct text t)
{
	if (s->in_paragraph || s->lists) {
		buf_add_byte(s->out, '\n');
	} else {
		close_blocks(s);
		buf_add_str(s->out, "<p>");
		s->in_paragraph = true;
	}
	put_inline(s->out, t, false);
}

static void put_line(struct setter *s, struct text t, struct text *rest,
		     const struct html_hooks *hooks)
{
	struct text item = t;
	size_t depth = 1;

	while (depth < LISTS_MAX && take(&item, "  "))
		depth++;
	if (t.s == t.end)
		close_blocks(s);
	else if (take(&t, "# "))
		put_heading(s, "h1", t);
	else if (take(&t, "## "))
		put_chapter(s, t, hooks);
	else if (take(&t, "### "))
		put_heading(s, "h3", t);
	else if (take(&item, "- "))
		put_item(s, depth, item);
	else if (starts(t, "|") && !s->in_table)
		put_table(s, t, rest);
	else if (!starts(t, "|"))
		put_text(s, t);
	else if (s->rows++ < HTML_ROWS_MAX)
		put_cells(s, t, "td", "");
}

void html_contents(struct buf *out, const char *markdown, size_t n)
{
	struct text rest = { markdown, markdown + n }, line;
	size_t chapters = 0;

	buf_add_str(out, "<nav aria-label=\"Chapters\">\n");
	while (chapters < CONTENTS_MAX && next_line(&rest, &line)) {
		if (!take(&line, "## "))
			continue;
		buf_add_str(out, "<a href=\"#");
		put_id(out, line);
		buf_add_str(out, "\">");
		put_inline(out, line, false);
		buf_add_str(out, "</a>\n");
		chapters++;
	}
	buf_add_str(out, "</nav>\n");
}

void html_body(struct buf *out, const char *markdown, size_t n, const struct html_hooks *hooks)
{
	struct text rest = { markdown, markdown + n }, line;
	struct setter s = { .out = out, .in_header = true };

	buf_add_str(out, "<header>\n");
	while (next_line(&rest, &line))
		put_line(&s, line, &rest, hooks);
	close_chapter(&s);
}
