#include "agent/thread_names.h"

#include "agent/pyapi.h"
#include "agent/session.h"
#include "agent/text.h"

#include <stdio.h>

static PyObject *lookup_thread(void)
{
	PyObject *threading = py_module("threading");
	PyObject *active = threading ? py.GetAttr(threading, "_active") : NULL;
	PyObject *ident = py.Long_FromUnsigned(py.ThreadIdent());
	PyObject *thread = active && ident ? py.Dict_Get(active, ident) : NULL;

	if (thread)
		py.IncRef(thread);
	py_drop(active);
	py_drop(ident);
	return thread;
}

void thread_name_look(struct ring *r)
{
	PyObject *type, *value, *traceback, *thread, *name = NULL;

	r->name_at = r->name_at < UINT64_MAX / 8 ? r->name_at * 8 : UINT64_MAX;
	py.Err_Fetch(&type, &value, &traceback);
	thread = lookup_thread();
	if (thread)
		name = py.GetAttr(thread, "_name");
	if (name) {
		struct text t = text_of(name, 63);
		char text[64];

		snprintf(text, sizeof(text), "%.*s", (int)t.bytes, t.data);
		session_name_thread(r, text);
		text_release(&t);
		r->name_at = UINT64_MAX;
	}
	py_drop(name);
	py_drop(thread);
	py.Err_Clear();
	py.Err_Restore(type, value, traceback);
}
