#include "report/markdown.h"

#include <inttypes.h>
#include <string.h>

#include "report/plain_text.h"

void markdown_code(struct buf *out, const char *text, bool in_cell)
{
	size_t longest = 0, run = 0;
	struct buf clean;
	const char *s;

	buf_init(&clean);
	text_add_clean(&clean, text);
	s = buf_string(&clean);
	for (const char *p = s; *p; p++) {
		run = *p == '`' ? run + 1 : 0;
		if (run > longest)
			longest = run;
	}
	/* A fence longer than any run inside; the blanks beside it are not shown. */
	for (size_t i = 0; i <= longest; i++)
		buf_add_byte(out, '`');
	if (longest || !*s || *s == ' ')
		buf_add_byte(out, ' ');
	for (; *s; s++) {
		if (in_cell && *s == '|')
			buf_add_byte(out, '\\');
		buf_add_byte(out, (uint8_t)*s);
	}
	if (longest || clean.len == 0 || clean.data[clean.len - 1] == ' ')
		buf_add_byte(out, ' ');
	for (size_t i = 0; i <= longest; i++)
		buf_add_byte(out, '`');
	out->failed |= clean.failed;
	buf_release(&clean);
}

void markdown_cell(struct buf *out, const char *text)
{
	markdown_code(out, text, true);
}

void markdown_escaped(struct buf *out, const char *text)
{
	struct buf clean;

	buf_init(&clean);
	text_add_clean(&clean, text);
	for (const char *p = buf_string(&clean); *p; p++) {
		if (strchr("\\`*_{}[]<>#|~!&", *p))
			buf_add_byte(out, '\\');
		buf_add_byte(out, (uint8_t)*p);
	}
	out->failed |= clean.failed;
	buf_release(&clean);
}

void markdown_place(struct buf *out, const char *file, uint32_t line, const char *cwd)
{
	struct buf place;

	if (!*file)
		return;
	buf_init(&place);
	buf_printf(&place, "%s:%" PRIu32, text_short_path(file, cwd), line);
	markdown_cell(out, buf_string(&place));
	out->failed |= place.failed;
	buf_release(&place);
}

void markdown_more(struct buf *out, size_t shown, size_t all)
{
	if (shown < all)
		buf_printf(out, "\n%zu more with `--detail full`.\n", all - shown);
}
