#include "agent/hooks/hooks.h"

#include "agent/core/session.h"
#include "agent/overhead/profile_throttle.h"
#include "agent/python/pyapi.h"
#include "agent/python/text.h"
#include "agent/torch/torch_memory.h"
#include "base/varint.h"

static PyObject *callback; /* in gc.callbacks while recording */

static uint64_t number_in(PyObject *info, const char *key)
{
	PyObject *value = py.Dict_GetString(info, key);
	long n = value ? py.Long_As(value) : 0;

	py.Err_Clear();
	return n > 0 ? (uint64_t)n : 0;
}

/* callback(phase, info), phase being "start" or "stop" */
static PyObject *on_gc(PyObject *self, PyObject *const *args, ssize_t n)
{
	struct ring *r = n == 2 ? session_ring() : NULL;

	(void)self;
	if (r) {
		uint32_t generation = (uint32_t)number_in(args[1], "generation");
		struct text phase = text_of(args[0], 8);

		if (phase.bytes > 2 && phase.data[2] == 'a') { /* st-a-rt */
			profile_throttle_record_cut(r);
			ring_push(r, RECORD_GC_BEGIN, generation);
		} else {
			uint8_t payload[VARINT_MAX];
			size_t bytes = varint_put(payload, number_in(args[1], "collected"));

			ring_push_payload(r, RECORD_GC_END, generation, payload, (uint32_t)bytes);
			torch_memory_poll(r); /* programs without modules also call this */
		}
		text_release(&phase);
	}
	return py_new_ref(py.None);
}

static struct py_method method = { "inferscope_gc", (py_function)(void (*)(void))on_gc, PY_FAST,
				   NULL };

/* gc.callbacks.METHOD(callback) */
static void change_callbacks(const char *method_name)
{
	PyObject *gc = py.Import("gc");
	PyObject *list = gc ? py.GetAttr(gc, "callbacks") : NULL;
	PyObject *change = list ? py.GetAttr(list, method_name) : NULL;
	PyObject *result = change ? py.CallWith(change, callback, NULL) : NULL;

	py_drop(gc);
	py_drop(list);
	py_drop(change);
	py_drop(result);
	py.Err_Clear();
}

void gc_pauses_start(void)
{
	if (!callback)
		callback = py.CFunction(&method, NULL, NULL);
	if (callback)
		change_callbacks("append");
	py.Err_Clear();
}

void gc_pauses_stop(void)
{
	if (callback)
		change_callbacks("remove");
}
