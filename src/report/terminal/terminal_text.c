#include "report/terminal/terminal_text.h"

#include "report/plain_text.h"

#define WIDTH_DEFAULT 80
#define WIDTH_MIN 60
#define WIDTH_MAX 120
#define NAME_LEAST 4u /* columns of a function, or as many as it has */

size_t terminal_width(size_t columns)
{
	if (!columns)
		return WIDTH_DEFAULT;
	return columns < WIDTH_MIN ? WIDTH_MIN : columns > WIDTH_MAX ? WIDTH_MAX : columns;
}

void terminal_colour(struct terminal *s, const char *code)
{
	if (s->colour)
		buf_printf(&s->out, "\033[%sm", code);
}

void terminal_plain(struct terminal *s)
{
	terminal_colour(s, "0");
}

void terminal_right(struct terminal *s, const char *text, size_t columns)
{
	size_t width = text_width(text);

	text_add_padding(&s->out, width < columns ? columns - width : 0);
	buf_add_str(&s->out, text);
}

void terminal_left(struct terminal *s, const char *text, size_t columns)
{
	size_t width = text_width(text);

	text_add_clipped(&s->out, text, columns);
	text_add_padding(&s->out, width < columns ? columns - width : 0);
}

void terminal_label(struct terminal *s, const char *name)
{
	terminal_colour(s, DIM);
	buf_printf(&s->out, "  %-8s", name);
	terminal_plain(s);
}

void terminal_place(struct buf *text, const struct place *p, const char *root, size_t columns)
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

void terminal_wrapped(struct terminal *s, const char *label, const char *text, size_t lines,
		      const char *colour)
{
	terminal_label(s, label);
	if (colour)
		terminal_colour(s, colour);
	text_add_wrapped(&s->out, text, s->width - LABEL, LABEL, lines);
	if (colour)
		terminal_plain(s);
	buf_add_byte(&s->out, '\n');
}
