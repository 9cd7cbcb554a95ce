#include "cli/yaml_write.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

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

static size_t length_from(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead < 0xc0 || lead >= 0xf8)
		return 0;
	return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* Decodes one character; returns its length, 0 where the bytes are not UTF-8. */
static size_t decode(const unsigned char *p, unsigned *code)
{
	static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t len = length_from(*p);

	*code = len > 1 ? *p & (0xffu >> (len + 1)) : *p;
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		*code = *code << 6 | (p[i] & 0x3fu);
	}
	if (!len || *code < least[len] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000))
		return 0;
	return len;
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
	const unsigned char *p = (const unsigned char *)text;

	if (is_plain(text)) {
		buf_add_str(out, text);
		return;
	}
	buf_add_byte(out, '"');
	while (*p) {
		unsigned code;
		size_t len = decode(p, &code);

		if (!len)
			code = *p;
		if (len && is_printable(code)) {
			if (code == '"' || code == '\\')
				buf_add_byte(out, '\\');
			buf_add(out, p, len);
		} else if (code > 0xffff) {
			buf_printf(out, "\\U%08X", code);
		} else if (code > 0xff) {
			buf_printf(out, "\\u%04X", code);
		} else {
			buf_printf(out, "\\x%02X", code);
		}
		p += len ? len : 1;
	}
	buf_add_byte(out, '"');
}
