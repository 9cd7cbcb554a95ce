#include "report/markdown/markdown.h"

#include <string.h>

#include "report/plain_text.h"

#define PROCESS_COLUMNS 60u /* arguments go on for ever; JSON has them all */

static size_t longest_run(const char *s, char of)
{
	size_t longest = 0, run = 0;

	for (; *s; s++) {
		run = *s == of ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	return longest;
}

static void add_times(struct buf *out, size_t n, char c)
{
	while (n--)
		buf_add_byte(out, (uint8_t)c);
}

/* Text without control characters, in a code span. */
static void add_span(struct buf *out, const char *s, size_t n, bool in_cell)
{
	size_t longest = longest_run(s, '`');
	/* A blank on either side is not shown, if there is one on both. */
	bool padded = longest || !n || *s == ' ' || s[n - 1] == ' ';

	add_times(out, longest + 1, '`'); /* longer than any run inside */
	add_times(out, padded, ' ');
	for (; *s; s++) {
		if (in_cell && *s == '|')
			buf_add_byte(out, '\\');
		buf_add_byte(out, (uint8_t)*s);
	}
	add_times(out, padded, ' ');
	add_times(out, longest + 1, '`');
}

void markdown_code(struct buf *out, const char *text, bool in_cell)
{
	struct buf clean;

	buf_init(&clean);
	text_add_clean(&clean, text);
	/* Readers differ about the bar of a code span that has a backslash before it. */
	if (in_cell && strstr(buf_string(&clean), "\\|"))
		markdown_escaped(out, buf_string(&clean));
	else
		add_span(out, buf_string(&clean), clean.len, in_cell);
	out->failed |= clean.failed;
	buf_release(&clean);
}

void markdown_cell(struct buf *out, const char *text)
{
	markdown_code(out, text, true);
}

/* The character that makes a line an item of a list, or a rule; NULL: it is neither. */
static const char *list_mark(const char *s)
{
	const char *mark = s + strspn(s, "0123456789");

	if (!*mark || !strchr(mark > s ? ".)" : "-+", *mark))
		return NULL;
	return !mark[1] || strchr(" -", mark[1]) ? mark : NULL;
}

void markdown_escaped(struct buf *out, const char *text)
{
	struct buf clean;
	const char *s, *mark;

	buf_init(&clean);
	text_add_clean(&clean, text);
	s = buf_string(&clean);
	s += strspn(s, " "); /* four of them would make it code */
	mark = list_mark(s);
	for (; *s; s++) {
		if (s == mark || strchr("\\`*_{}[]<>#|~!&", *s))
			buf_add_byte(out, '\\');
		buf_add_byte(out, (uint8_t)*s);
	}
	out->failed |= clean.failed;
	buf_release(&clean);
}

void markdown_place(struct buf *out, const char *file, uint32_t line, const char *root)
{
	struct buf place;

	if (!*file)
		return;
	buf_init(&place);
	text_add_place(&place, file, line, root);
	markdown_cell(out, buf_string(&place));
	out->failed |= place.failed;
	buf_release(&place);
}

void markdown_process(struct buf *out, const char *command, const char *root, bool in_cell)
{
	struct buf text, clipped;

	buf_init(&text);
	buf_init(&clipped);
	text_add_command(&text, command, root);
	text_add_clipped(&clipped, buf_string(&text), PROCESS_COLUMNS);
	markdown_code(out, buf_string(&clipped), in_cell);
	out->failed |= text.failed || clipped.failed;
	buf_release(&text);
	buf_release(&clipped);
}

void markdown_more(struct buf *out, size_t shown, size_t all)
{
	if (shown < all)
		buf_printf(out, "\n%zu more with `--detail full`.\n", all - shown);
}
