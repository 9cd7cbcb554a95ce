#include "report/screen.h"

#include "report/plain_text.h"

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
