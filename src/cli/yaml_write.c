#include "cli/yaml_write.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

/* Plain scalars that YAML 1.1 readers take for a boolean or nothing. */
static bool is_reserved(const char *text)
{
	static const char *const words[] = {
		"true", "false", "yes", "no", "on", "off", "y", "n", "null",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(text, words[i]))
			return true;
	return false;
}

/* Letter, '_' or '/' first: no number, date or indicator begins so. */
static bool is_plain(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_/.+-";

	if (!isalpha((unsigned char)*text) && *text != '_' && *text != '/')
		return false;
	return !text[strspn(text, allowed)] && !is_reserved(text);
}

/* The character that a valid sequence of `len` bytes stands for. */
static unsigned decode(const char *s, size_t len)
{
	unsigned code = (unsigned char)*s;

	if (len > 1)
		code &= 0xffu >> (len + 1);
	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)s[i] & 0x3fu);
	return code;
}

/* What may stand in a YAML stream and is not taken for a line break or a byte order mark. */
static bool is_printable(unsigned code)
{
	if (code < 0xa0)
		return code >= ' ' && code < 0x7f;
	return code != 0x2028 && code != 0x2029 && code != 0xfeff && (code & 0xfffe) != 0xfffe;
}

void yaml_add_text(struct buf *out, const char *text)
{
	const char *end = text + strlen(text);

	if (is_plain(text)) {
		buf_add_str(out, text);
		return;
	}
	buf_add_byte(out, '"');
	while (text < end) {
		size_t len = utf8_sequence(text, (size_t)(end - text));
		unsigned code = decode(text, len);

		if (len && is_printable(code)) {
			if (code == '"' || code == '\\')
				buf_add_byte(out, '\\');
			buf_add(out, text, len);
		} else if (code > 0xffff) {
			buf_printf(out, "\\U%08X", code);
		} else if (code > 0xff) {
			buf_printf(out, "\\u%04X", code);
		} else { /* a control character, or a byte that is no text */
			buf_printf(out, "\\x%02X", code);
		}
		text += len ? len : 1;
	}
	buf_add_byte(out, '"');
}
