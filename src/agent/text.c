#include "agent/text.h"

struct text text_of(PyObject *string, uint32_t limit)
{
	struct text t = { "?", 1, NULL };
	ssize_t n = 0;
	const char *data;

	if (!string || !py_is(string, py.UnicodeType)) {
		py.Err_Clear();
		return t;
	}
	data = py.Unicode_AsUTF8(string, &n);
	if (!data) {
		char *escaped = NULL;

		py.Err_Clear();
		t.owner = py.Unicode_Encode(string, "utf-8", "backslashreplace");
		if (!t.owner || py.Bytes_As(t.owner, &escaped, &n)) {
			py.Err_Clear();
			text_release(&t);
			return t;
		}
		data = escaped;
	}
	if ((size_t)n > limit) {
		n = limit;
		while (n > 0 && ((uint8_t)data[n] & 0xc0) == 0x80)
			n--;
	}
	t.data = data;
	t.bytes = (uint32_t)n;
	return t;
}

void text_release(struct text *t)
{
	if (t->owner)
		py_drop(t->owner);
	t->owner = NULL;
	t->data = "?";
	t->bytes = 1;
}
