/*
 * The series of a trace (format/series.h).
 *
 * Read once; memory is 16 bytes for each point.  Values are never negative.  A running total that
 * falls has restarted: it continues from its previous value, so that differences are always what
 * was added.
 */
#ifndef ANALYZE_FIGURES_SERIES_TABLE_H
#define ANALYZE_FIGURES_SERIES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/trace.h"

struct series_value {
	int64_t time_ns, value;
};

struct series {
	uint32_t process; /* id; 0: the machine */
	uint32_t kind;    /* enum series_kind */
	uint32_t instance;
	bool total;                  /* else a level */
	int64_t base;                /* private: of a total, what was before it began anew */
	size_t count, cap;           /* at least 1 point */
	struct series_value *values; /* in order of time; no two of a time */
};

struct series_table {
	struct series *items; /* by process, kind, instance */
	size_t count, cap;
	uint64_t unreadable; /* blocks */
	struct err damage;   /* the first one's; "": none */
};

/* -1: out of memory; release it nevertheless. */
int series_table_read(struct series_table *st, const struct trace *t, struct err *err);
void series_table_release(struct series_table *st);

/* NULL: there is none. */
const struct series *series_find(const struct series_table *st, uint32_t process, uint32_t kind,
				 uint32_t instance);

/* The first of a process and kind, and how many follow each other: one for each instance. */
const struct series *series_instances(const struct series_table *st, uint32_t process,
				      uint32_t kind, size_t *count);

int64_t series_first_ns(const struct series *s);
int64_t series_last_ns(const struct series *s);

/*
 * The last value of a level (before the first reading the first one); a total on the straight line
 * between two points.  A process that ends gives its memory back: on a line that would begin
 * before its end.
 */
double series_at(const struct series *s, int64_t time_ns);

/* The minimum of a level between two times. */
double series_least(const struct series *s, int64_t start_ns, int64_t end_ns);

/*
 * How often it was read between two times.  Where a value stays no points are written:
 * there it is as often as where it does not.
 */
size_t series_readings(const struct series *s, int64_t start_ns, int64_t end_ns);

/* An interval. */
struct series_span {
	int64_t start_ns, end_ns;
};

/*
 * What a total grew by in intervals, which are in order and do not touch.  Between two
 * points it is unknown when it grew: `sum` is as if it had done so evenly, `least` and `most`
 * are what it can have been, but for slivers of time in which barely anything can have happened.
 */
struct series_rise {
	double sum, least, most;
};

void series_rise(const struct series *s, const struct series_span *spans, size_t n,
		 struct series_rise *out);

#endif
