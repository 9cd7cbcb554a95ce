#include "format/trace_series.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/varint.h"
#include "format/trace_layout.h"

#define KIND_LIMIT 65536u

void series_queue_release(struct series_queue *q)
{
	free(q->items);
	free(q->runs);
	memset(q, 0, sizeof(*q));
}

static bool is_of(const struct series_run *r, const struct series_point *p)
{
	return r->last.process == p->process && r->last.kind == p->kind &&
	       r->last.instance == p->instance;
}

/* The place of the point's series; run_count: it is not there. */
static size_t find_run(const struct series_queue *q, const struct series_point *p)
{
	for (size_t i = 1; i <= q->run_count; i++) {
		size_t at = (q->latest + i) % q->run_count;

		if (is_of(&q->runs[at], p))
			return at;
	}
	return q->run_count;
}

static int keep(struct series_queue *q, size_t run)
{
	struct series_item *grown = array_grow(q->items, &q->cap, q->count + 1, sizeof(*grown));
	const struct series_point *p = &q->runs[run].last;

	if (!grown)
		return -1;
	q->items = grown;
	grown[q->count++] = (struct series_item){ run, p->time_ns, p->value };
	q->runs[run].kept = true;
	return 0;
}

int series_queue_push(struct series_queue *q, const struct series_point *p)
{
	size_t at = find_run(q, p);
	struct series_run *r;

	if (!q->run_count)
		q->first_ns = p->time_ns;
	if (at == q->run_count) {
		r = array_grow(q->runs, &q->run_cap, q->run_count + 1, sizeof(*r));
		if (!r)
			return -1;
		q->runs = r;
		q->run_count++;
	} else if (q->runs[at].last.value == p->value) {
		q->runs[at].last.time_ns = p->time_ns;
		q->runs[at].kept = false;
		q->latest = at;
		return 0;
	} else if (!q->runs[at].kept && keep(q, at)) {
		return -1;
	}
	q->runs[at] = (struct series_run){ .last = *p };
	q->latest = at;
	return keep(q, at);
}

size_t series_queue_points(const struct series_queue *q)
{
	return q->count + q->run_count;
}

/* Whole microseconds, rounded down, also below 0. */
static int64_t to_us(int64_t ns)
{
	return ns / 1000 - (ns % 1000 < 0);
}

static void encode_table(struct buf *out, const struct series_queue *q)
{
	for (size_t i = 0; i < q->run_count; i++) {
		const struct series_point *s = &q->runs[i].last;

		buf_add_varint(out, s->process);
		buf_add_varint(out, s->kind);
		buf_add_varint(out, s->instance);
	}
}

static void encode_times(struct buf *out, const struct series_queue *q)
{
	int64_t last_us = to_us(q->first_ns);

	for (size_t i = 0; i < q->count; i++) {
		int64_t us = to_us(q->items[i].time_ns);

		buf_add_varint(out, zigzag(us - last_us));
		last_us = us;
	}
}

static void encode_refs(struct buf *out, const struct series_queue *q)
{
	for (size_t i = 0; i < q->count; i++)
		buf_add_varint(out, q->items[i].run);
}

/* Each is given by its difference to the one before of its series; any two have one, modulo 2^64.
 */
static void encode_values(struct buf *out, struct series_queue *q)
{
	for (size_t i = 0; i < q->run_count; i++)
		q->runs[i].last.value = 0;
	for (size_t i = 0; i < q->count; i++) {
		int64_t *before = &q->runs[q->items[i].run].last.value;

		buf_add_varint(out,
			       zigzag((int64_t)((uint64_t)q->items[i].value - (uint64_t)*before)));
		*before = q->items[i].value;
	}
}

static void encode_column(struct buf *out, struct series_queue *q, enum series_column c)
{
	switch (c) {
	case SERIES_COLUMN_TABLE:
		encode_table(out, q);
		break;
	case SERIES_COLUMN_TIMES:
		encode_times(out, q);
		break;
	case SERIES_COLUMN_REFS:
		encode_refs(out, q);
		break;
	default:
		encode_values(out, q);
		break;
	}
}

uint32_t series_queue_encode(struct series_queue *q, struct buf *out)
{
	uint8_t prefix[SERIES_PREFIX_BYTES] = { 0 };
	uint32_t points;

	for (size_t i = 0; i < q->run_count; i++) {
		if (!q->runs[i].kept && keep(q, i))
			return 0;
	}
	buf_clear(out);
	put_le(prefix, (uint64_t)(to_us(q->first_ns) * 1000), 8);
	buf_add(out, prefix, sizeof(prefix));
	for (unsigned c = 0; c < SERIES_COLUMNS; c++) {
		size_t before = out->len;

		encode_column(out, q, (enum series_column)c);
		put_le(prefix + 8 + (size_t)4 * c, out->len - before, 4);
	}
	if (out->failed)
		return 0;
	memcpy(out->data, prefix, sizeof(prefix));
	points = (uint32_t)q->count;
	q->count = q->run_count = q->latest = 0;
	return points;
}

struct column {
	const uint8_t *p, *end;
};

/* False: the column ends here, or the value is `limit` or more. */
static bool take(struct column *c, uint64_t *value, uint64_t limit)
{
	c->p = varint_get(c->p, c->end, value);
	return c->p && *value < limit;
}

/* Returns how many series there are; 0: the table is invalid. */
static size_t decode_table(struct series_point *table, size_t room, struct column c)
{
	const uint64_t id_limit = (uint64_t)UINT32_MAX + 1;
	size_t n = 0;

	while (c.p < c.end) {
		uint64_t process, kind, instance;

		if (n == room || !take(&c, &process, id_limit) || !take(&c, &kind, KIND_LIMIT) ||
		    !take(&c, &instance, id_limit))
			return 0;
		table[n++] = (struct series_point){
			.process = (uint32_t)process,
			.kind = (uint32_t)kind,
			.instance = (uint32_t)instance,
		};
	}
	return n;
}

static bool time_is_sound(int64_t us)
{
	return us > -TRACE_TIME_LIMIT / 1000 && us < TRACE_TIME_LIMIT / 1000;
}

static int decode_points(struct series_point *out, size_t count, struct series_point *table,
			 size_t series, int64_t us, struct column columns[SERIES_COLUMNS])
{
	struct column *times = &columns[SERIES_COLUMN_TIMES];
	struct column *refs = &columns[SERIES_COLUMN_REFS];
	struct column *values = &columns[SERIES_COLUMN_VALUES];

	for (size_t i = 0; i < count; i++) {
		uint64_t delta_us, ref, delta = 0;

		if (!take(times, &delta_us, UINT64_MAX) || !take(refs, &ref, series))
			return -1;
		values->p = varint_get(values->p, values->end, &delta);
		if (!values->p || !time_is_sound(unzigzag(delta_us)) ||
		    !time_is_sound(us + unzigzag(delta_us)))
			return -1;
		us += unzigzag(delta_us);
		table[ref].time_ns = us * 1000;
		table[ref].value =
			(int64_t)((uint64_t)table[ref].value + (uint64_t)unzigzag(delta));
		out[i] = table[ref];
	}
	return times->p == times->end && refs->p == refs->end && values->p == values->end ? 0 : -1;
}

int series_decode(struct series_point *out, struct series_point *scratch, size_t count,
		  const uint8_t *payload, size_t bytes)
{
	struct column columns[SERIES_COLUMNS];
	const uint8_t *p = payload + SERIES_PREFIX_BYTES;
	size_t left = bytes - SERIES_PREFIX_BYTES;
	int64_t base_ns;
	size_t series;

	if (bytes < SERIES_PREFIX_BYTES)
		return -1;
	base_ns = (int64_t)get_le(payload, 8);
	for (unsigned c = 0; c < SERIES_COLUMNS; c++) {
		uint32_t column_bytes = (uint32_t)get_le(payload + 8 + (size_t)4 * c, 4);

		if (column_bytes > left)
			return -1;
		columns[c] = (struct column){ p, p + column_bytes };
		p += column_bytes;
		left -= column_bytes;
	}
	series = decode_table(scratch, count, columns[SERIES_COLUMN_TABLE]);
	if (left || !series || !time_is_sound(base_ns / 1000))
		return -1;
	return decode_points(out, count, scratch, series, to_us(base_ns), columns);
}
