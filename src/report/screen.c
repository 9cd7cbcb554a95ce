#include "report/screen.h"

#include "report/plain_text.h"

#define NAME_LEAST 4u /* columns of a function, or as many as it has */

void screen_colour(struct screen *s, const char *code)
{
	if (s->colour)
		buf_printf(&s->out, "\033[%sm", code);
}

void screen_plain(struct screen *s)
{
	screen_colour(s, "0");
}

void screen_right(struct screen *s, const char *text, size_t columns)
{
	size_t width = text_width(text);

	text_add_padding(&s->out, width < columns ? columns - width : 0);
	buf_add_str(&s->out, text);
}

void screen_left(struct screen *s, const char *text, size_t columns)
{
	size_t width = text_width(text);

	text_add_clipped(&s->out, text, columns);
	text_add_padding(&s->out, width < columns ? columns - width : 0);
}

void screen_label(struct screen *s, const char *name)
{
	screen_colour(s, DIM);
	buf_printf(&s->out, "  %-8s", name);
	screen_plain(s);
}

void screen_place(struct buf *text, const struct analysis_place *p, const char *root,
		  size_t columns)
{
	size_t name = text_width(p->name), least = name < NAME_LEAST ? name : NAME_LEAST, taken = 0;
	struct buf line;

	buf_init(&line);
	if (p->file && *p->file) {
		text_add_place(&line, p->file, p->line, root);
		taken = text_width(buf_string(&line)) + 1;
	}
	if (taken + least > columns)
		taken = columns > least ? columns - least : 0;
	text_add_clipped(text, p->name, columns - taken);
	if (taken) {
		buf_add_byte(text, ' ');
		text_add_clipped_tail(text, buf_string(&line), taken - 1);
	}
	text->failed |= line.failed;
	buf_release(&line);
}

void screen_say(struct screen *s, const char *label, const char *text, size_t lines,
		const char *colour)
{
	screen_label(s, label);
	if (colour)
		screen_colour(s, colour);
	text_add_wrapped(&s->out, text, s->width - LABEL, LABEL, lines);
	if (colour)
		screen_plain(s);
	buf_add_byte(&s->out, '\n');
}
