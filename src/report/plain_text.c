#include "report/plain_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/figure_text.h"
#include "base/utf8.h"

#define ELLIPSIS "\xe2\x80\xa6"
#define WORD_MOST 20u /* columns; longer strings are names, of which a part is still useful */

/* The text behind the last occurrence of a directory in a path, or NULL. */
static const char *behind(const char *path, const char *directory)
{
	const char *found = NULL;

	for (const char *p = path; (p = strstr(p, directory)); p++)
		found = p + strlen(directory);
	return found;
}

/* The part that identifies the file for a reader; points into file. */
static const char *short_path(const char *file, const char *root)
{
	static const char *const installed[] = { "/site-packages/", "/dist-packages/" };
	size_t n = root ? strlen(root) : 0;

	/* First: a virtual environment often lies in that folder. */
	for (size_t i = 0; i < sizeof(installed) / sizeof(*installed); i++) {
		const char *rest = behind(file, installed[i]);

		if (rest && *rest)
			return rest;
	}
	if (behind(file, "/lib/python"))
		return behind(file, "/lib/python") - strlen("python");
	if (n && root[n - 1] == '/')
		n--;
	if (n && !strncmp(file, root, n) && file[n] == '/' && file[n + 1])
		return file + n + 1;
	return file;
}

void text_add_short_path(struct buf *out, const char *file, const char *root)
{
	struct buf plain;

	buf_init(&plain);
	plain_path_add(&plain, file);
	buf_add_str(out, short_path(buf_string(&plain), root));
	out->failed |= plain.failed;
	buf_release(&plain);
}

void text_add_place(struct buf *out, const char *file, uint32_t line, const char *root)
{
	text_add_short_path(out, file, root);
	buf_printf(out, ":%" PRIu32, line);
}

const char *text_file_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/* The bytes of the character at s, and whether a terminal may see it. */
static size_t next_char(const char *s, int *harmless)
{
	size_t len = utf8_sequence(s, strnlen(s, 4));

	*harmless = len && !utf8_is_control(utf8_decode(s, len));
	return len ? len : 1;
}

size_t text_width(const char *s)
{
	size_t width = 0;
	int harmless;

	for (; *s; s += next_char(s, &harmless))
		width++;
	return width;
}

static void add_chars(struct buf *out, const char *s, size_t chars)
{
	while (*s && chars--) {
		int harmless;
		size_t n = next_char(s, &harmless);

		if (harmless)
			buf_add(out, s, n);
		else
			buf_add_byte(out, '?');
		s += n;
	}
}

void text_add_clean(struct buf *out, const char *s)
{
	add_chars(out, s, SIZE_MAX);
}

void text_add_clipped(struct buf *out, const char *s, size_t columns)
{
	if (text_width(s) <= columns) {
		text_add_clean(out, s);
	} else if (columns) {
		add_chars(out, s, columns - 1);
		buf_add_str(out, ELLIPSIS);
	}
}

void text_add_clipped_tail(struct buf *out, const char *s, size_t columns)
{
	size_t width = text_width(s);
	int harmless;

	if (width <= columns) {
		text_add_clean(out, s);
	} else if (columns) {
		for (; width > columns - 1; width--)
			s += next_char(s, &harmless);
		buf_add_str(out, ELLIPSIS);
		text_add_clean(out, s);
	}
}

void text_add_padding(struct buf *out, size_t columns)
{
	while (columns--)
		buf_add_byte(out, ' ');
}

/* Is the blank there inside of a figure, "23.4 ms"?  Units are shorter than most words. */
static bool in_figure(const char *text, const char *blank)
{
	const char *unit = blank + 1;

	if (blank == text || blank[-1] < '0' || blank[-1] > '9')
		return false;
	return strcspn(unit, " ,;:.)") <= 2 || !strncmp(unit, "\xc2\xb5s", 3); /* µs */
}

/* Characters of the first line: up to the last blank that lets it fit, else as many as do. */
static size_t first_line(const char *s, size_t columns)
{
	const char *text = s;
	size_t at = 0, best = 0;
	int harmless;

	for (; *s && at <= columns; s += next_char(s, &harmless), at++)
		if (*s == ' ' && !in_figure(text, s))
			best = at;
	return best ? best : columns;
}

/* What is left of a text behind so many characters, and the blanks there. */
static const char *behind_line(const char *s, size_t chars)
{
	int harmless;

	while (chars--)
		s += next_char(s, &harmless);
	return s + strspn(s, " ");
}

size_t text_wrapped_lines(const char *s, size_t columns)
{
	size_t lines = 1;

	for (; text_width(s) > columns; lines++)
		s = behind_line(s, first_line(s, columns));
	return lines;
}

/* A number that is cut is another number: the last word goes as a whole, but for names. */
static void add_cut(struct buf *out, const char *s, size_t columns)
{
	size_t n = columns ? first_line(s, columns - 1) : 0;

	if (text_width(s) <= columns || n + WORD_MOST < columns) {
		text_add_clipped(out, s, columns);
		return;
	}
	add_chars(out, s, n);
	buf_add_str(out, ELLIPSIS);
}

void text_add_wrapped(struct buf *out, const char *s, size_t columns, size_t indent, size_t lines)
{
	for (; lines > 1 && text_width(s) > columns; lines--) {
		size_t n = first_line(s, columns);

		add_chars(out, s, n);
		buf_add_byte(out, '\n');
		text_add_padding(out, indent);
		s = behind_line(s, n);
	}
	add_cut(out, s, columns);
}

void text_add_argument(struct buf *out, const char *arg)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "@%_-+=:,./";

	if (*arg && strspn(arg, plain) == strlen(arg)) {
		buf_add_str(out, arg);
		return;
	}
	buf_add_byte(out, '\'');
	for (; *arg; arg++) {
		if (*arg == '\'')
			buf_add_str(out, "'\\''");
		else
			buf_add_byte(out, (uint8_t)*arg);
	}
	buf_add_byte(out, '\'');
}

void text_add_command(struct buf *out, const char *command, const char *root)
{
	struct buf word;
	bool first = true;

	buf_init(&word);
	for (size_t n; *command; command += n, first = false) {
		const char *name;

		n = strcspn(command, " ");
		buf_clear(&word);
		buf_add(&word, command, n);
		name = text_file_name(buf_string(&word));
		if (first && *name)
			buf_add_str(out, name);
		else if (*buf_string(&word) == '/')
			text_add_short_path(out, buf_string(&word), root);
		else
			buf_add(out, word.data, word.len); /* as it was typed */
		for (; command[n] == ' '; n++)
			buf_add_byte(out, ' ');
	}
	out->failed |= word.failed;
	buf_release(&word);
}
