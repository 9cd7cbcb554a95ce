#include "agent/watch.h"

#include <string.h>

#include "agent/adapter.h"
#include "agent/budget.h"

static const struct adapter *const adapters[] = { &adapter_torch, &adapter_torch_profiler };

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

static bool is_function(const struct adapter_function *f, const struct text *name,
			const struct text *file)
{
	return ends_with(file, f->file) && name->bytes == strlen(f->name) &&
	       ends_with(name, f->name);
}

/* They are numbered in the order of the tables, from 1 on. */
uint8_t watch_of(const struct text *name, const struct text *file)
{
	uint8_t number = 1;

	for (size_t i = 0; i < ADAPTERS; i++) {
		for (size_t k = 0; k < adapters[i]->count; k++, number++) {
			if (is_function(&adapters[i]->functions[k], name, file))
				return number;
		}
	}
	return 0;
}

static const struct adapter_function *function_of(uint8_t watch)
{
	size_t at = watch - 1u, i = 0;

	while (i < ADAPTERS && at >= adapters[i]->count)
		at -= adapters[i++]->count;
	return i < ADAPTERS ? &adapters[i]->functions[at] : NULL;
}

bool watch_rests(uint8_t watch)
{
	const struct adapter_function *f = function_of(watch);

	return f && f->rests && *f->rests;
}

static void tell(struct ring *r, uint8_t watch, uint8_t kind)
{
	const struct adapter_function *f = function_of(watch);

	if (!f)
		return;
	if (kind == RECORD_CALL && f->begins)
		f->begins(r);
	if ((kind == RECORD_RETURN || kind == RECORD_UNWIND) && f->ends)
		f->ends(r);
}

static double mean_ns[2]; /* by whether a record was left */

uint32_t watch_cost_ns(bool recorded)
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
void watch_event(struct ring *r, uint8_t watch, uint8_t kind)
{
	static uint32_t events;
	uint64_t start_ns, ns, produced = r->produced;

	if (++events % TIMED_EACH) {
		tell(r, watch, kind);
		return;
	}
	start_ns = stamp_monotonic();
	tell(r, watch, kind);
	ns = stamp_monotonic() - start_ns;
	if (ns > MOST_NS)
		ns = MOST_NS;
	learn(r->produced != produced, ns);
	budget_spend_ns(ns * TIMED_EACH);
}
