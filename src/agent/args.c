#include "agent/args.h"

#include <string.h>

#include "agent/text.h"
#include "base/varint.h"
#include "format/record.h"

#define KEY_MAX_BYTES 128u
#define VALUE_MAX_BYTES 1024u
/* type, key with its length, value with its length; a cut mark must still fit behind it */
#define ENTRY_MAX_BYTES (1u + VARINT_MAX + KEY_MAX_BYTES + VARINT_MAX + VALUE_MAX_BYTES)
#define CUT_BYTES 2u

static size_t put_text(uint8_t *to, const struct text *t)
{
	size_t n = varint_put(to, t->bytes);

	memcpy(to + n, t->data, t->bytes);
	return n + t->bytes;
}

static size_t put_int(uint8_t *to, enum arg_type *type, PyObject *value)
{
	int overflow = 0;
	long long n = py.Long_AsOverflow(value, &overflow);
	double real;

	if (!overflow) {
		*type = ARG_INT;
		return varint_put(to, zigzag(n));
	}
	*type = ARG_FLOAT; /* beyond 64 bits */
	real = py.Long_AsDouble(value);
	memcpy(to, &real, sizeof(real));
	return sizeof(real);
}

/* "Tensor" of <class 'torch.Tensor'>. */
static size_t put_type_name(uint8_t *to, PyObject *value)
{
	PyObject *name = py.GetAttr(value->type, "__name__");
	struct text t = text_of(name, KEY_MAX_BYTES);
	size_t n = put_text(to, &t);

	text_release(&t);
	py_drop(name);
	return n;
}

/* numpy's integers are as harmless as Python's, and common as batch sizes. */
static bool is_numpy_scalar(PyObject *value)
{
	PyObject *module = py.GetAttr(value->type, "__module__");
	struct text t = text_of(module, KEY_MAX_BYTES);
	bool yes = t.bytes == 5 && !memcmp(t.data, "numpy", 5);

	text_release(&t);
	py_drop(module);
	return yes;
}

static size_t put_value(uint8_t *to, enum arg_type *type, PyObject *value)
{
	if (value == py.None || value == py.True || value == py.False) {
		*type = value == py.None ? ARG_NONE : value == py.True ? ARG_TRUE : ARG_FALSE;
		return 0;
	}
	if (py_is(value, py.LongType))
		return put_int(to, type, value);
	if (py_is(value, py.FloatType)) {
		double real = py.Float_As(value);

		*type = ARG_FLOAT;
		memcpy(to, &real, sizeof(real));
		return sizeof(real);
	}
	if (py_is(value, py.UnicodeType)) {
		struct text t = text_of(value, VALUE_MAX_BYTES);
		size_t n = put_text(to, &t);

		*type = ARG_STRING;
		text_release(&t);
		return n;
	}
	if (is_numpy_scalar(value)) {
		PyObject *index = py.Number_Index(value);

		if (index) {
			size_t n = put_int(to, type, index);

			py_drop(index);
			return n;
		}
		py.Err_Clear();
	}
	*type = ARG_OBJECT;
	return put_type_name(to, value);
}

void args_encode(struct args *out, PyObject *names, PyObject *const *values)
{
	ssize_t count = py.Tuple_Size(names);

	out->bytes = 0;
	for (ssize_t i = 0; i < count; i++) {
		uint8_t entry[ENTRY_MAX_BYTES];
		struct text key = text_of(py.Tuple_GetItem(names, i), KEY_MAX_BYTES);
		enum arg_type type = ARG_NONE;
		size_t n = 1;

		n += put_text(entry + n, &key);
		n += put_value(entry + n, &type, values[i]);
		entry[0] = (uint8_t)type;
		text_release(&key);
		if (n + CUT_BYTES > ARGS_MAX_BYTES - out->bytes) {
			out->data[out->bytes++] = ARG_CUT;
			out->data[out->bytes++] = 0;
			break;
		}
		memcpy(out->data + out->bytes, entry, n);
		out->bytes += (uint32_t)n;
	}
	py.Err_Clear();
}
