#include "agent/watch.h"

#include <string.h>

#include "agent/adapter.h"
#include "agent/budget.h"

static const struct adapter *const adapters[] = { &adapter_torch, &adapter_torch_profiler };

#define TIMED_EACH 16u
#define MOST_NS 50000u /* what takes longer was interrupted, or comes once: naming a model */

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

static void tell(struct ring *r, uint8_t watch, uint8_t kind)
{
	size_t at = watch - 1u, i = 0;
	const struct adapter_function *f;

	while (i < ADAPTERS && at >= adapters[i]->count)
		at -= adapters[i++]->count;
	if (i == ADAPTERS)
		return;
	f = &adapters[i]->functions[at];
	if (kind == RECORD_CALL && f->begins)
		f->begins(r);
	if ((kind == RECORD_RETURN || kind == RECORD_UNWIND) && f->ends)
		f->ends(r);
}

/* What an adapter does is unlike recording an event: it is timed by itself, now and then. */
void watch_event(struct ring *r, uint8_t watch, uint8_t kind)
{
	static uint32_t events;
	uint64_t start_ns, ns;

	if (++events % TIMED_EACH) {
		tell(r, watch, kind);
		return;
	}
	start_ns = stamp_monotonic();
	tell(r, watch, kind);
	ns = stamp_monotonic() - start_ns;
	budget_spend_ns((ns < MOST_NS ? ns : MOST_NS) * TIMED_EACH);
}
