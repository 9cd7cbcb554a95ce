#include "rules/findings/host_code.h"

#include <string.h>

/* Functions of libraries in which a consumer waits for what somebody produces. */
static const struct {
	const char *file; /* how it ends */
	const char *name; /* NULL: any function */
} consumers[] = {
	{ "/queue.py", NULL },
	{ "/multiprocessing/queues.py", NULL },
	{ "/multiprocessing/connection.py", NULL },
	{ "/asyncio/queues.py", NULL },
	/* A step that begins with a sleep (batching_sleeps.h), by a look on its way there. */
	{ "/asyncio/tasks.py", "sleep" },
	{ "/asyncio/base_events.py", NULL },
	{ "/asyncio/events.py", NULL },
	{ "/torch/utils/data/dataloader.py", NULL },
	{ "/concurrent/futures/_base.py", NULL },
	{ "/threading.py", "Condition.wait" },
	{ "/threading.py", "Condition.wait_for" },
};

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

double loader_wait_ms(const struct finding_builder *d)
{
	return d->step->count ? (double)d->a->torch.waits.total_ns / 1e6 / (double)d->step->count
			      : 0;
}

/*
 * In a loader's wait the innermost function is the one that polls; where it is not known, the
 * loader's own account tells.
 */
static bool is_loader_wait(const struct finding_builder *d, const struct time_cause *c)
{
	if (c->what != TIME_IO_WAIT)
		return false;
	/* Of all such waits only a loader's is for somebody's work (sweep_decide.c). */
	if (c->waited_for.name)
		return true;
	if (!d->a->torch.waits.count)
		return false;
	return c->inner.file ? ends_with(c->inner.file, "/selectors.py")
			     : loader_wait_ms(d) > finding_cause_ms(d, c) / 2;
}

bool wait_is_for_input(const struct finding_builder *d, const struct time_cause *c)
{
	if (is_loader_wait(d, c))
		return true;
	for (size_t i = 0; c->inner.file && i < sizeof(consumers) / sizeof(*consumers); i++)
		if (ends_with(c->inner.file, consumers[i].file) &&
		    (!consumers[i].name ||
		     (c->inner.name && strstr(c->inner.name, consumers[i].name))))
			return true;
	return false;
}

double wait_ms(const struct finding_builder *d, enum time_class what, bool for_input)
{
	double ms = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++)
		if (d->parts->causes[i].what == what &&
		    wait_is_for_input(d, &d->parts->causes[i]) == for_input)
			ms += finding_cause_ms(d, &d->parts->causes[i]);
	return ms;
}

const struct time_cause *wait_cause(const struct finding_builder *d, enum time_class what,
				    bool for_input)
{
	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (c->what == what && c->where.name && wait_is_for_input(d, c) == for_input)
			return c;
	}
	return NULL;
}
