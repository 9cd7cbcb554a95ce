#include "analyze/cpu/function_totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "timeline/timeline.h"

void counters_init(struct counters *c, const struct trace *t)
{
	memset(c, 0, sizeof(*c));
	c->trace = t;
	pair_map_init(&c->index);
}

void counters_release(struct counters *c)
{
	free(c->items);
	pair_map_release(&c->index);
	memset(c, 0, sizeof(*c));
}

static struct counter_series *series_find(struct counters *c, uint32_t process, uint32_t name)
{
	size_t at = pair_map_find(&c->index, process, name);
	struct counter_series *s;
	const char *text;

	if (at != PAIR_NONE)
		return &c->items[at];
	s = array_grow(c->items, &c->cap, c->count + 1, sizeof(*s));
	if (!s)
		return NULL;
	c->items = s;
	if (pair_map_put(&c->index, process, name, c->count))
		return NULL;
	text = trace_string(c->trace, name);
	s = &c->items[c->count++];
	*s = (struct counter_series){
		.process = process,
		.name = name,
		.text = text ? text : "(unknown)",
		.min = INFINITY,
		.max = -INFINITY,
		.last_ns = INT64_MIN,
	};
	return s;
}

/* Threads come one after the other, so the last value is the one with the latest time. */
int counters_add(struct counters *c, const struct annotation *a)
{
	struct counter_series *s;

	if (!isfinite(a->value))
		return 0;
	s = series_find(c, trace_thread(c->trace, a->thread)->process, a->name);
	if (!s)
		return -1;
	s->count++;
	s->min = fmin(s->min, a->value);
	s->max = fmax(s->max, a->value);
	/* Divided before they are subtracted: the largest doubles do not overflow. */
	s->mean += a->value / (double)s->count - s->mean / (double)s->count;
	if (a->time_ns >= s->last_ns) {
		s->last_ns = a->time_ns;
		s->last = a->value;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	const struct counter_series *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	if (order)
		return order;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* A name may have been defined twice in a process: by Python and by native code. */
static void merge(struct counter_series *into, const struct counter_series *from)
{
	double share = (double)from->count / ((double)into->count + (double)from->count);

	into->mean = into->mean * (1 - share) + from->mean * share;
	into->count += from->count;
	into->min = fmin(into->min, from->min);
	into->max = fmax(into->max, from->max);
	if (from->last_ns >= into->last_ns) {
		into->last_ns = from->last_ns;
		into->last = from->last;
	}
}

static size_t merge_names(struct counter_series *items, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (n && items[n - 1].process == items[i].process &&
		    !strcmp(items[n - 1].text, items[i].text))
			merge(&items[n - 1], &items[i]);
		else
			items[n++] = items[i];
	}
	return n;
}

int counters_finish(struct counters *c, struct analysis *a)
{
	size_t n;

	if (!c->count)
		return 0;
	qsort(c->items, c->count, sizeof(*c->items), by_name);
	n = merge_names(c->items, c->count);
	a->counters = calloc(n, sizeof(*a->counters));
	if (!a->counters)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct counter_series *s = &c->items[i];
		size_t process = process_position(c->trace, s->process);

		a->counters[i] = (struct analysis_counter){
			.name = s->text,
			.pid = process < trace_process_count(c->trace)
				       ? trace_process(c->trace, process)->pid
				       : 0,
			.count = s->count,
			.min = s->min,
			.mean = s->mean,
			.max = s->max,
			.last = s->last,
		};
	}
	a->counter_count = n;
	return 0;
}
