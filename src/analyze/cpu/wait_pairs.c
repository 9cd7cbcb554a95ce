#include "analyze/cpu/thread_states.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"

void wait_pairs_init(struct wait_pairs *p)
{
	memset(p, 0, sizeof(*p));
	pair_map_init(&p->at);
}

void wait_pairs_release(struct wait_pairs *p)
{
	free(p->items);
	pair_map_release(&p->at);
	memset(p, 0, sizeof(*p));
}

int wait_pairs_add(struct wait_pairs *p, uint32_t waiter, uint32_t holder,
		   enum wait_evidence evidence, int64_t ns)
{
	uint64_t key = (uint64_t)evidence << 32 | holder;
	struct wait_pair *grown;
	size_t at;

	if (!holder)
		key = evidence = WAIT_HOLDER_UNKNOWN;
	at = pair_map_find(&p->at, waiter, key);
	if (at == PAIR_NONE) {
		at = p->count;
		grown = array_grow(p->items, &p->cap, at + 1, sizeof(*grown));
		if (!grown)
			return -1;
		p->items = grown;
		if (pair_map_put(&p->at, waiter, key, at))
			return -1;
		grown[p->count++] = (struct wait_pair){ waiter, holder, evidence, 0 };
	}
	p->items[at].ns = stats_add(p->items[at].ns, ns);
	return 0;
}

static struct place place_of(const struct trace *t, uint32_t code)
{
	const struct trace_code *c = trace_code(t, code);

	return c ? (struct place){ c->name, c->file, c->line } : (struct place){ NULL, NULL, 0 };
}

static int compare_or_empty(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int compare_places(const struct place *a, const struct place *b)
{
	int order = compare_or_empty(a->name, b->name);

	if (!order)
		order = compare_or_empty(a->file, b->file);
	return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

static int by_places(const void *a, const void *b)
{
	const struct analysis_wait *x = a, *y = b;
	int order = compare_places(&x->waiter, &y->waiter);

	if (!order)
		order = compare_places(&x->holder, &y->holder);
	return order ? order : (int)y->evidence - (int)x->evidence;
}

static int longest_first(const void *a, const void *b)
{
	const struct analysis_wait *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return by_places(a, b);
}

int wait_pairs_finish(const struct wait_pairs *p, const struct trace *t, struct analysis_waits *out)
{
	size_t n = 0;

	out->items = calloc(p->count + 1, sizeof(*out->items));
	if (!out->items)
		return -1;
	for (size_t i = 0; i < p->count; i++) {
		const struct wait_pair *pair = &p->items[i];

		out->total_ns = stats_add(out->total_ns, pair->ns);
		out->items[i] = (struct analysis_wait){ place_of(t, pair->waiter),
							place_of(t, pair->holder), pair->evidence,
							pair->ns };
	}
	qsort(out->items, p->count, sizeof(*out->items), by_places);
	for (size_t i = 0; i < p->count; i++) {
		if (n && !by_places(&out->items[n - 1], &out->items[i]))
			out->items[n - 1].ns = stats_add(out->items[n - 1].ns, out->items[i].ns);
		else
			out->items[n++] = out->items[i];
	}
	out->count = n;
	qsort(out->items, n, sizeof(*out->items), longest_first);
	return 0;
}
