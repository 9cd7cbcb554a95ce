#include "agent/names.h"

#include "agent/session.h"
#include "agent/text.h"

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
