#include "analyze/memory_levels.h"

struct memory_level memory_level(const struct series_table *st, uint32_t process, uint32_t kind,
				 uint32_t instance)
{
	const struct series *s = series_find(st, process, kind, instance);
	struct memory_level l = { .known = s != NULL };
	double length_ns;

	if (!s)
		return l;
	l.first = l.least = l.peak = s->values[0].value;
	l.last = s->values[s->count - 1].value;
	l.mean = (double)l.last;
	for (size_t i = 1; i < s->count; i++) {
		if (s->values[i].value < l.least)
			l.least = s->values[i].value;
		if (s->values[i].value > l.peak)
			l.peak = s->values[i].value;
	}
	length_ns = (double)(series_last_ns(s) - series_first_ns(s));
	if (s->count > 1)
		l.mean = 0;
	for (size_t i = 1; i < s->count; i++)
		l.mean += (double)s->values[i - 1].value *
			  ((double)(s->values[i].time_ns - s->values[i - 1].time_ns) / length_ns);
	return l;
}

struct memory_total memory_total(const struct series_table *st, uint32_t process, uint32_t kind,
				 uint32_t instance)
{
	const struct series *s = series_find(st, process, kind, instance);

	if (!s)
		return (struct memory_total){ 0 };
	/* Totals never fall and are never negative (series_table.h). */
	return (struct memory_total){
		.known = true,
		.sum = s->values[s->count - 1].value - s->values[0].value,
		.span_ns = series_last_ns(s) - series_first_ns(s),
	};
}

double memory_bits_share(const struct series *s, uint64_t bits)
{
	double in_ns = 0;

	if (s->count == 1)
		return ((uint64_t)s->values[0].value & bits) != 0;
	for (size_t i = 1; i < s->count; i++) {
		if ((uint64_t)s->values[i - 1].value & bits)
			in_ns += (double)(s->values[i].time_ns - s->values[i - 1].time_ns);
	}
	return in_ns / (double)(series_last_ns(s) - series_first_ns(s));
}
