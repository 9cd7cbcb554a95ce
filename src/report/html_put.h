/* Text inside HTML and inside its attributes, both alike. */
#ifndef REPORT_HTML_PUT_H
#define REPORT_HTML_PUT_H

#include "base/buf.h"
#include "report/plain_text.h"

static inline void html_bytes(struct buf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		switch (s[i]) {
		case '&':
			buf_add_str(out, "&amp;");
			break;
		case '<':
			buf_add_str(out, "&lt;");
			break;
		case '>':
			buf_add_str(out, "&gt;");
			break;
		case '"':
			buf_add_str(out, "&quot;");
			break;
		case '\'':
			buf_add_str(out, "&#39;");
			break;
		default:
			buf_add_byte(out, (uint8_t)s[i]);
		}
	}
}

/* The user's: without control characters as well. */
static inline void html_text(struct buf *out, const char *s)
{
	struct buf clean;

	buf_init(&clean);
	text_add_clean(&clean, s);
	html_bytes(out, clean.data, clean.len);
	out->failed |= clean.failed;
	buf_release(&clean);
}

#endif
