#include "agent/python/text.h"

#include "agent/core/session.h"

/* A program that makes up names ("request-123") must not make us grow: start over. */
#define NAMES_MAX 65536
#define NAME_MAX_BYTES 4096u

static PyObject *known;      /* dict: str -> int */
static uint32_t known_epoch; /* the recording that these ids belong to */

static uint32_t define(struct ring *r, PyObject *name)
{
	uint32_t id = session_next_id(r->session);
	struct text t = text_of(name, NAME_MAX_BYTES);
	bool defined = ring_define(r, DEF_STRING, id, t.data, t.bytes, NULL, 0);
	PyObject *number;

	text_release(&t);
	if (!defined)
		return 0;
	if (py.Dict_Size(known) >= NAMES_MAX)
		py.Dict_Clear(known);
	number = py.Long_FromUnsigned(id);
	if (number)
		py.Dict_Set(known, name, number);
	py_drop(number);
	py.Err_Clear();
	return id;
}

uint32_t names_id(struct ring *r, PyObject *name)
{
	PyObject *number;

	if (!known)
		known = py.Dict_New();
	if (!known) {
		py.Err_Clear();
		return 0;
	}
	if (known_epoch != session_epoch) {
		py.Dict_Clear(known);
		known_epoch = session_epoch;
	}
	number = py.Dict_Get(known, name);
	return number ? (uint32_t)py.Long_AsUnsigned(number) : define(r, name);
}

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
