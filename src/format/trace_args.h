/*
 * The metadata of scopes and marks, one key and value after the other
 * (enum arg_type in format/record.h).
 */
#ifndef FORMAT_TRACE_ARGS_H
#define FORMAT_TRACE_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/record.h"

struct trace_args {
	const uint8_t *at, *end;
};

struct trace_arg {
	enum arg_type type;
	const char *key; /* borrowed; any bytes, not terminated */
	size_t key_bytes;
	int64_t integer;  /* ARG_INT */
	double real;      /* ARG_FLOAT */
	const char *text; /* ARG_STRING, ARG_OBJECT; like key */
	size_t text_bytes;
};

void trace_args_init(struct trace_args *a, const uint8_t *args, size_t bytes);

/* False at the end, which is also where bytes begin that make no sense. */
bool trace_args_next(struct trace_args *a, struct trace_arg *out);

#endif
