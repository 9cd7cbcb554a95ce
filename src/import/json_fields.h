/*
 * Members of a trace event, whatever their type turns out to be: numbers are taken from strings as
 * well, and what should be neither is skipped.  -1: the scanner failed.
 */
#ifndef IMPORT_JSON_FIELDS_H
#define IMPORT_JSON_FIELDS_H

#include "import/build/build.h"
#include "import/json_scan.h"

int json_no_memory(struct json_scan *s); /* fails; -1 */

/* 1: a string or a number; 0: another value, which is consumed. */
int json_take_plain(struct json_scan *s, struct json_value *v);

/* 1: an object, inside of which the scanner is now; 0: another value, which is consumed. */
int json_take_object(struct json_scan *s);
int json_take_array(struct json_scan *s); /* likewise */

/* The name of a string or number; 0: no memory. */
uint32_t json_name(struct build *b, const struct json_value *v);
int json_take_name(struct build *b, struct json_scan *s,
		   uint32_t *name); /* unchanged: it is none */

/* *given becomes true where it is a positive number, or 0; may be NULL. */
int json_take_number(struct json_scan *s, uint64_t *number, bool *given);
int json_take_shape(struct json_scan *s, uint64_t *shape); /* [x, y, z], also as a string */

/* Microseconds as nanoseconds, as json_decimal() with a scale of 3. */
bool json_micros(const struct json_value *v, int64_t *ns);
double json_real(const struct json_value *v); /* of what is no time */

#endif
