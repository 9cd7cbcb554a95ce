#include "rules/findings/host_code.h"

#include <string.h>

static bool is_of_numpy(const char *file)
{
	return file && (strstr(file, "/numpy/") || strstr(file, "/numpy.libs/"));
}

/* Native code that was called from this function: is it numpy's for the most part? */
static bool native_is_numpy(const struct draft *d, const struct analysis_place *p)
{
	const struct analysis_native *n = &d->a->native;
	uint64_t all = 0, numpy = 0;

	for (size_t i = 0; i < n->count; i++) {
		const struct analysis_native_row *r = &n->rows[i];

		if (!r->python.name || !p->name || strcmp(r->python.name, p->name) != 0 ||
		    !p->file || !r->python.file || strcmp(r->python.file, p->file) != 0)
			continue;
		all += r->samples;
		if (is_of_numpy(r->library))
			numpy += r->samples;
	}
	return numpy * 2 > all;
}

bool host_is_numpy(const struct draft *d, const struct time_cause *c)
{
	return is_of_numpy(c->inner.file) || native_is_numpy(d, &c->where);
}

static const struct time_cause *first(const struct draft *d, bool numpy)
{
	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (c->what == TIME_CPU_PREPROCESSING && c->where.name &&
		    host_is_numpy(d, c) == numpy)
			return c;
	}
	return NULL;
}

double host_numpy_ms(const struct draft *d)
{
	double ms = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (c->what == TIME_CPU_PREPROCESSING && host_is_numpy(d, c))
			ms += draft_cause_ms(d, c);
	}
	return ms;
}

const struct time_cause *host_numpy_cause(const struct draft *d)
{
	return first(d, true);
}

const struct time_cause *host_other_cause(const struct draft *d)
{
	return first(d, false);
}
