#include "agent/python/watched_functions.h"

#include <string.h>

#include "agent/overhead/budget.h"
#include "agent/python/adapter.h"

static const struct adapter *const adapters[] = { &adapter_torch, &adapter_torch_profiler,
						  &adapter_requests };

#define TIMED_EACH 16u
#define MOST_NS 50000u /* what takes longer was interrupted, or comes once: naming a model */

/* Of the mean: how much the newest counts, and how far off it may be.  One that was interrupted, or
 * that names a model, says nothing about the next. */
#define MEAN_NEWEST 16
#define MEAN_TIMES 4
#define MEAN_FIRST_NS 250

#define ADAPTERS (sizeof(adapters) / sizeof(adapters[0]))

static bool ends_with(const struct text *t, const char *end)
{
	size_t n = strlen(end);

	return t->bytes >= n && !memcmp(t->data + t->bytes - n, end, n);
}

static bool is_named(const struct text *name, const struct text *file, const char *its_name,
		     const char *its_file)
{
	return ends_with(file, its_file) && name->bytes == strlen(its_name) &&
	       ends_with(name, its_name);
}

/* They are numbered in the order of the tables, from 1 on. */
uint8_t watched_function_find(const struct text *name, const struct text *file)
{
	uint8_t number = 1;

	for (size_t i = 0; i < ADAPTERS; i++) {
		for (size_t k = 0; k < adapters[i]->count; k++, number++) {
			const struct adapter_function *f = &adapters[i]->functions[k];

			if (is_named(name, file, f->name, f->file))
				return number;
		}
	}
	return 0;
}

static const struct adapter *adapter_of(uint8_t watch, size_t *at)
{
	size_t i = 0;

	*at = watch - 1u;
	while (i < ADAPTERS && *at >= adapters[i]->count)
		*at -= adapters[i++]->count;
	return i < ADAPTERS ? adapters[i] : NULL;
}

static const struct adapter_function *function_of(uint8_t watch)
{
	size_t at;
	const struct adapter *a = adapter_of(watch, &at);

	return a ? &a->functions[at] : NULL;
}

bool watched_function_passes(const struct text *name, const struct text *file)
{
	for (size_t i = 0; i < ADAPTERS; i++) {
		for (size_t k = 0; k < adapters[i]->passage_count; k++) {
			const struct adapter_passage *p = &adapters[i]->passages[k];

			if (is_named(name, file, p->name, p->file))
				return true;
		}
	}
	return false;
}

bool watched_function_calls_modules(uint8_t watch)
{
	const struct adapter_function *f = function_of(watch);

	return f && f->calls_modules;
}

bool watched_function_is_paused(uint8_t watch)
{
	const struct adapter_function *f = function_of(watch);

	return f && f->rests && *f->rests;
}

static void call_adapter(struct ring *r, uint8_t watch, uint8_t kind)
{
	size_t at;
	const struct adapter *a = adapter_of(watch, &at);
	const struct adapter_function *f = a ? &a->functions[at] : NULL;

	if (!f)
		return;
	if (a->event)
		a->event(r, f, kind);
	if (kind == RECORD_CALL && f->begins)
		f->begins(r);
	if ((kind == RECORD_RETURN || kind == RECORD_UNWIND) && f->ends)
		f->ends(r);
}

static double mean_ns[2]; /* by whether a record was left */

uint32_t watched_function_cost_ns(bool recorded)
{
	return (uint32_t)mean_ns[recorded];
}

static void learn(bool recorded, uint64_t ns)
{
	double *mean = &mean_ns[recorded];
	double most = MEAN_TIMES * (*mean > 0 ? *mean : MEAN_FIRST_NS);
	double seen = (double)ns < most ? (double)ns : most;

	*mean += (seen - *mean) / (*mean > 0 ? MEAN_NEWEST : 1);
}

/* What an adapter does is unlike recording an event: it is timed by itself, now and then. */
struct timing {
	uint64_t start_ns; /* 0: not this time */
	uint64_t produced;
};

static struct timing timing_begin(const struct ring *r)
{
	static uint32_t events;

	return (struct timing){ ++events % TIMED_EACH ? 0 : stamp_monotonic(), r->produced };
}

static void timing_end(const struct ring *r, struct timing t)
{
	uint64_t ns;

	if (!t.start_ns)
		return;
	ns = stamp_monotonic() - t.start_ns;
	if (ns > MOST_NS)
		ns = MOST_NS;
	learn(r->produced != t.produced, ns);
	budget_spend_ns(ns * TIMED_EACH);
}

void watched_function_event(struct ring *r, uint8_t watch, uint8_t kind)
{
	struct timing t = timing_begin(r);

	call_adapter(r, watch, kind);
	timing_end(r, t);
}

void watched_forward_event(struct ring *r, uint16_t forward, uint8_t kind)
{
	struct timing t = timing_begin(r);

	for (size_t i = 0; i < ADAPTERS; i++) {
		if (adapters[i]->forward)
			adapters[i]->forward(r, forward, kind);
	}
	timing_end(r, t);
}
