/* Members of objects in report.json, in the units of its schema. */
#ifndef REPORT_JSON_JSON_PUT_H
#define REPORT_JSON_JSON_PUT_H

#include "base/json.h"
#include "report/report.h"

#define REPORT_SCHEMA 1
#define JSON_ROWS 1000 /* of lists whose length the user's program decides */

/* How many rows of a list: all with --detail full, else at most `limit`. */
static inline size_t json_rows(enum report_detail detail, size_t n, size_t limit)
{
	return detail == DETAIL_FULL || n < limit ? n : limit;
}

static inline void put_string(struct json *j, const char *key, const char *value)
{
	json_key(j, key);
	json_string(j, value);
}

static inline void put_uint(struct json *j, const char *key, uint64_t value)
{
	json_key(j, key);
	json_uint(j, value);
}

static inline void put_bool(struct json *j, const char *key, bool value)
{
	json_key(j, key);
	json_bool(j, value);
}

static inline void put_null(struct json *j, const char *key)
{
	json_key(j, key);
	json_null(j);
}

static inline void put_double(struct json *j, const char *key, double value)
{
	json_key(j, key);
	json_double(j, value);
}

static inline void put_fixed(struct json *j, const char *key, double value, unsigned decimals)
{
	json_key(j, key);
	json_fixed(j, value, decimals);
}

static inline void put_ms(struct json *j, const char *key, int64_t ns)
{
	json_key(j, key);
	json_scaled(j, ns, 6);
}

/* null where it is not known. */
static inline void put_known_ms(struct json *j, const char *key, bool known, int64_t ns)
{
	if (known)
		put_ms(j, key, ns);
	else
		put_null(j, key);
}

static inline void put_us(struct json *j, const char *key, int64_t ns)
{
	json_key(j, key);
	json_scaled(j, ns, 3);
}

static inline void put_share(struct json *j, const char *key, double part, double whole)
{
	put_fixed(j, key, whole > 0 ? part / whole : 0, 6);
}

static inline void begin_object(struct json *j, const char *key)
{
	json_key(j, key);
	json_object_begin(j);
}

static inline void begin_array(struct json *j, const char *key)
{
	json_key(j, key);
	json_array_begin(j);
}

static inline void put_empty_array(struct json *j, const char *key)
{
	begin_array(j, key);
	json_array_end(j);
}

#endif
