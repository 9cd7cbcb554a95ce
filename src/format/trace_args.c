#include "format/trace_args.h"

#include <string.h>

#include "base/varint.h"
#include "format/trace_layout.h"

void trace_args_init(struct trace_args *a, const uint8_t *args, size_t bytes)
{
	a->at = args;
	a->end = args ? args + bytes : args;
}

static bool take_text(struct trace_args *a, const char **text, size_t *bytes)
{
	uint64_t n;
	const uint8_t *from = varint_get(a->at, a->end, &n);

	if (!from || n > (uint64_t)(a->end - from))
		return false;
	*text = (const char *)from;
	*bytes = (size_t)n;
	a->at = from + n;
	return true;
}

static bool take_integer(struct trace_args *a, int64_t *value)
{
	uint64_t coded;
	const uint8_t *behind = varint_get(a->at, a->end, &coded);

	if (!behind)
		return false;
	*value = unzigzag(coded);
	a->at = behind;
	return true;
}

static bool take_real(struct trace_args *a, double *value)
{
	uint64_t bits;

	if (a->end - a->at < 8)
		return false;
	bits = get_le(a->at, 8);
	memcpy(value, &bits, sizeof(bits));
	a->at += 8;
	return true;
}

static bool take_value(struct trace_args *a, struct trace_arg *out)
{
	switch (out->type) {
	case ARG_NONE:
	case ARG_FALSE:
	case ARG_TRUE:
	case ARG_CUT:
		return true;
	case ARG_INT:
		return take_integer(a, &out->integer);
	case ARG_FLOAT:
		return take_real(a, &out->real);
	case ARG_STRING:
	case ARG_OBJECT:
		return take_text(a, &out->text, &out->text_bytes);
	}
	return false;
}

bool trace_args_next(struct trace_args *a, struct trace_arg *out)
{
	memset(out, 0, sizeof(*out));
	if (a->at == a->end)
		return false;
	out->type = *a->at++;
	if (take_text(a, &out->key, &out->key_bytes) && take_value(a, out))
		return true;
	a->at = a->end;
	return false;
}
