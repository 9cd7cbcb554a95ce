#include "agent/python/args.h"

#include <string.h>

#include "agent/python/text.h"
#include "base/varint.h"
#include "format/record.h"

#define KEY_MAX_BYTES 128u
#define VALUE_MAX_BYTES 1024u
/* type, key with its length, value with its length; a cut mark must still fit behind it */
#define ENTRY_MAX_BYTES (1u + VARINT_MAX + KEY_MAX_BYTES + VARINT_MAX + VALUE_MAX_BYTES)
#define CUT_BYTES 2u

static size_t put_value(uint8_t *to, enum arg_type *type, PyObject *value);

static size_t put_text(uint8_t *to, const struct text *t)
{
	size_t n = varint_put(to, t->bytes);

	memcpy(to + n, t->data, t->bytes);
	return n + t->bytes;
}

static size_t put_real(uint8_t *to, enum arg_type *type, double real)
{
	*type = ARG_FLOAT;
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

static size_t put_object(uint8_t *to, enum arg_type *type, PyObject *value)
{
	*type = ARG_OBJECT;
	return put_type_name(to, value);
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
	real = py.Long_AsDouble(value); /* beyond 64 bits */
	if (!py.Err_Occurred())
		return put_real(to, type, real);
	py.Err_Clear();
	return put_object(to, type, value); /* beyond a double too */
}

static bool attribute_starts(PyObject *object, const char *attribute, const char *with)
{
	PyObject *value = py.GetAttr(object, attribute);
	struct text t = text_of(value, KEY_MAX_BYTES);
	bool yes = t.bytes >= strlen(with) && !memcmp(t.data, with, strlen(with));

	text_release(&t);
	py_drop(value);
	return yes;
}

/*
 * NumPy's scalars are as harmless as Python's numbers, and common as batch sizes.  Its arrays are
 * not: reading one could mean copying it.
 */
static size_t put_numpy(uint8_t *to, enum arg_type *type, PyObject *value)
{
	PyObject *number = NULL;
	size_t n;

	if (attribute_starts(value->type, "__name__", "bool"))
		number = py.CallWith(py.BoolType, value, NULL);
	else if (attribute_starts(value->type, "__name__", "float"))
		number = py.CallWith(py.FloatType, value, NULL);
	else if (!attribute_starts(value->type, "__name__", "ndarray"))
		number = py.Number_Index(value);
	py.Err_Clear();
	if (!number)
		return put_object(to, type, value);
	n = put_value(to, type, number);
	py_drop(number);
	return n;
}

static size_t put_value(uint8_t *to, enum arg_type *type, PyObject *value)
{
	if (value == py.None || value == py.True || value == py.False) {
		*type = value == py.None ? ARG_NONE : value == py.True ? ARG_TRUE : ARG_FALSE;
		return 0;
	}
	if (py_is(value, py.LongType))
		return put_int(to, type, value);
	if (py_is(value, py.FloatType))
		return put_real(to, type, py.Float_As(value));
	if (py_is(value, py.UnicodeType)) {
		struct text t = text_of(value, VALUE_MAX_BYTES);
		size_t n = put_text(to, &t);

		*type = ARG_STRING;
		text_release(&t);
		return n;
	}
	if (attribute_starts(value->type, "__module__", "numpy"))
		return put_numpy(to, type, value);
	return put_object(to, type, value);
}

bool args_put(struct args *out, const struct text *key, PyObject *value)
{
	uint8_t entry[ENTRY_MAX_BYTES];
	enum arg_type type = ARG_NONE;
	size_t n = 1;

	n += put_text(entry + n, key);
	n += put_value(entry + n, &type, value);
	entry[0] = (uint8_t)type;
	if (n + CUT_BYTES > ARGS_MAX_BYTES - out->bytes) {
		out->data[out->bytes++] = ARG_CUT;
		out->data[out->bytes++] = 0;
		return false;
	}
	memcpy(out->data + out->bytes, entry, n);
	out->bytes += (uint32_t)n;
	return true;
}

void args_encode(struct args *out, PyObject *names, PyObject *const *values)
{
	ssize_t count = py.Tuple_Size(names);
	bool fits = true;

	out->bytes = 0;
	for (ssize_t i = 0; fits && i < count; i++) {
		struct text key = text_of(py.Tuple_GetItem(names, i), KEY_MAX_BYTES);

		fits = args_put(out, &key, values[i]);
		text_release(&key);
	}
	py.Err_Clear();
}
