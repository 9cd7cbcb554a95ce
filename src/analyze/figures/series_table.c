#include "analyze/figures/series_table.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"
#include "format/series.h"
#include "timeline/pair_map.h"

#define SLIVER 0.01 /* of the time between two readings: too short to hold all that was added */

static int compare(const struct series *s, uint32_t process, uint32_t kind, uint32_t instance)
{
	if (s->process != process)
		return s->process < process ? -1 : 1;
	if (s->kind != kind)
		return s->kind < kind ? -1 : 1;
	return s->instance < instance ? -1 : s->instance > instance;
}

static int by_key(const void *a, const void *b)
{
	const struct series *y = b;

	return compare(a, y->process, y->kind, y->instance);
}

static struct series *series_of(struct series_table *st, struct pair_map *at,
				const struct series_point *p, const struct series_quantity *q)
{
	uint64_t key = (uint64_t)p->process << 32 | p->instance;
	size_t i = pair_map_find(at, key, p->kind);
	struct series *grown;

	if (i != PAIR_NONE)
		return &st->items[i];
	grown = array_grow(st->items, &st->cap, st->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	st->items = grown;
	if (pair_map_put(at, key, p->kind, st->count))
		return NULL;
	st->items[st->count] = (struct series){
		.process = p->process,
		.kind = p->kind,
		.instance = p->instance,
		.total = q->nature == SERIES_TOTAL,
	};
	return &st->items[st->count++];
}

/* A point that comes too late for its time is omitted: a file may hold anything. */
static int add_point(struct series *s, const struct series_point *p)
{
	struct series_value *last = s->count ? &s->values[s->count - 1] : NULL, *grown;
	int64_t value = p->value < 0 ? 0 : p->value; /* there is nothing that can be */

	if (last && p->time_ns <= last->time_ns)
		return 0;
	if (s->total) {
		if (last && stats_add(s->base, value) < last->value)
			s->base = last->value;
		value = stats_add(s->base, value);
	}
	grown = array_grow(s->values, &s->cap, s->count + 1, sizeof(*grown));
	if (!grown)
		return -1;
	s->values = grown;
	grown[s->count++] = (struct series_value){ p->time_ns, value };
	return 0;
}

static int add_points(struct series_table *st, struct pair_map *at, const struct series_batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		const struct series_quantity *q = series_quantity(b->points[i].kind);
		struct series *s = q ? series_of(st, at, &b->points[i], q) : NULL;

		if (q && (!s || add_point(s, &b->points[i])))
			return -1;
	}
	return 0;
}

int series_table_read(struct series_table *st, const struct trace *t, struct err *err)
{
	struct series_batch b;
	struct pair_map at;
	int rc = 0;

	memset(st, 0, sizeof(*st));
	pair_map_init(&at);
	series_batch_init(&b);
	for (size_t i = 0; !rc && i < trace_series_batch_count(t); i++) {
		struct err why = { "" };

		if (!trace_series_batch_read(t, i, &b, &why))
			rc = add_points(st, &at, &b);
		else if (err_is_memory(&why))
			rc = -1;
		else if (!st->unreadable++)
			st->damage = why;
	}
	series_batch_release(&b);
	pair_map_release(&at);
	if (rc)
		return err_set(err, "out of memory");
	if (st->count)
		qsort(st->items, st->count, sizeof(*st->items), by_key);
	return 0;
}

void series_table_release(struct series_table *st)
{
	for (size_t i = 0; i < st->count; i++)
		free(st->items[i].values);
	free(st->items);
	memset(st, 0, sizeof(*st));
}

/* The first that is not before the key. */
static size_t position(const struct series_table *st, uint32_t process, uint32_t kind,
		       uint32_t instance)
{
	size_t at = 0;

	BISECT(at, st->count, compare(&st->items[at], process, kind, instance) < 0);
	return at;
}

const struct series *series_find(const struct series_table *st, uint32_t process, uint32_t kind,
				 uint32_t instance)
{
	size_t i = position(st, process, kind, instance);

	return i < st->count && !compare(&st->items[i], process, kind, instance) ? &st->items[i]
										 : NULL;
}

const struct series *series_instances(const struct series_table *st, uint32_t process,
				      uint32_t kind, size_t *count)
{
	size_t first = position(st, process, kind, 0), end = first;

	while (end < st->count && st->items[end].process == process && st->items[end].kind == kind)
		end++;
	*count = end - first;
	return *count ? &st->items[first] : NULL;
}

int64_t series_first_ns(const struct series *s)
{
	return s->values[0].time_ns;
}

int64_t series_last_ns(const struct series *s)
{
	return s->values[s->count - 1].time_ns;
}

/* The first point behind a moment; count: none. */
static size_t point_after(const struct series *s, int64_t time_ns)
{
	size_t at = 0;

	BISECT(at, s->count, s->values[at].time_ns <= time_ns);
	return at;
}

/* Times of a trace are less than 2^62: differences do not overflow. */
static double between(const struct series_value *a, const struct series_value *b, int64_t time_ns)
{
	double share = (double)(time_ns - a->time_ns) / (double)(b->time_ns - a->time_ns);

	return (double)a->value + share * ((double)b->value - (double)a->value);
}

double series_at(const struct series *s, int64_t time_ns)
{
	size_t next = point_after(s, time_ns);

	if (!next || next == s->count || !s->total)
		return (double)s->values[next ? next - 1 : 0].value;
	return between(&s->values[next - 1], &s->values[next], time_ns);
}

double series_least(const struct series *s, int64_t start_ns, int64_t end_ns)
{
	double least = series_at(s, start_ns);

	for (size_t i = point_after(s, start_ns); i < s->count && s->values[i].time_ns < end_ns;
	     i++) {
		if ((double)s->values[i].value < least)
			least = (double)s->values[i].value;
	}
	return least;
}

size_t series_readings(const struct series *s, int64_t start_ns, int64_t end_ns)
{
	size_t first = point_after(s, start_ns), changes = 0;
	int64_t changing_ns = 0, staying_ns = 0;

	for (size_t i = first ? first : 1; i < s->count && s->values[i - 1].time_ns < end_ns; i++) {
		int64_t from_ns = s->values[i - 1].time_ns, to_ns = s->values[i].time_ns;

		if (s->values[i].value == s->values[i - 1].value) {
			staying_ns += (to_ns < end_ns ? to_ns : end_ns) -
				      (from_ns > start_ns ? from_ns : start_ns);
		} else if (to_ns <= end_ns) {
			changing_ns += to_ns - from_ns;
			changes++;
		}
	}
	/* Of one that never changes the number does not matter: it has no trend. */
	if (!changes)
		return staying_ns ? SIZE_MAX / 2 : 0;
	return changes + (size_t)((double)staying_ns / ((double)changing_ns / (double)changes));
}

/* How much of [start_ns, end_ns] the intervals from *at on cover; *at moves to the last of them. */
static int64_t covered(const struct series_span *spans, size_t n, size_t *at, int64_t start_ns,
		       int64_t end_ns)
{
	int64_t sum_ns = 0;

	while (*at < n && spans[*at].end_ns <= start_ns)
		(*at)++;
	for (size_t i = *at; i < n && spans[i].start_ns < end_ns; i++) {
		int64_t from = spans[i].start_ns > start_ns ? spans[i].start_ns : start_ns;
		int64_t to = spans[i].end_ns < end_ns ? spans[i].end_ns : end_ns;

		sum_ns += to - from;
		*at = i;
	}
	return sum_ns;
}

void series_rise(const struct series *s, const struct series_span *spans, size_t n,
		 struct series_rise *out)
{
	size_t at = 0;

	*out = (struct series_rise){ 0 };
	for (size_t i = 1; i < s->count && at < n; i++) {
		const struct series_value *a = &s->values[i - 1], *b = &s->values[i];
		double rise = (double)b->value - (double)a->value;
		double share = (double)covered(spans, n, &at, a->time_ns, b->time_ns) /
			       (double)(b->time_ns - a->time_ns);

		out->sum += rise * share;
		out->least += share > 1 - SLIVER ? rise * share : 0;
		out->most += share < SLIVER ? rise * share : rise;
	}
}
