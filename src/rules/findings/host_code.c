#include "rules/findings/host_code.h"

#include <math.h>
#include <string.h>

static bool is_of_numpy(const char *file)
{
	return file && (strstr(file, "/numpy/") || strstr(file, "/numpy.libs/"));
}

/*
 * Operators that the user's code calls by themselves have no function of the framework's.
 * Without a GPU they are what the program is there for; with one they prepare for it.
 */
static bool is_of_framework(const char *file)
{
	return file && (strstr(file, "/torch/lib/") || strstr(file, "/libtorch"));
}

/* It copies and clears for whoever calls it, and who that is cannot be seen. */
static bool is_of_all(const char *file)
{
	return file && (strstr(file, "/libc.so") || strstr(file, "/libm.so"));
}

/* Native code that was called from this function: is it theirs for the most part? */
static bool native_is(const struct draft *d, const struct analysis_place *p,
		      bool (*theirs)(const char *file))
{
	const struct analysis_native *n = &d->a->native;
	uint64_t all = 0, found = 0;

	for (size_t i = 0; i < n->count; i++) {
		if (!place_same_function(&n->rows[i].python, p) || is_of_all(n->rows[i].library))
			continue;
		all += n->rows[i].samples;
		if (theirs(n->rows[i].library))
			found += n->rows[i].samples;
	}
	return found * 2 > all;
}

/* A third of the time on a line is enough: what it runs for is the same call. */
static bool waits(const struct draft *d, const struct time_cause *c, enum time_class wait)
{
	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *w = &d->parts->causes[i];

		if (w->what == wait && place_same_function(&w->where, &c->where) &&
		    w->where.line == c->where.line && 2 * w->ns > c->ns)
			return true;
	}
	return false;
}

static enum host_kind kind_of(const struct draft *d, const struct time_cause *c)
{
	if (waits(d, c, TIME_IO_WAIT))
		return HOST_IO;
	if (waits(d, c, TIME_SYNC_WAIT))
		return HOST_SYNC;
	if (is_of_numpy(c->inner.file) || native_is(d, &c->where, is_of_numpy))
		return HOST_NUMPY;
	return !d->use->gpu && native_is(d, &c->where, is_of_framework) ? HOST_COMPUTE : HOST_CODE;
}

double waiting_lines_ms(const struct draft *d, enum time_class what, enum time_class wait)
{
	double ms = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++)
		if (d->parts->causes[i].what == what && waits(d, &d->parts->causes[i], wait))
			ms += draft_cause_ms(d, &d->parts->causes[i]);
	return ms;
}

static bool is_host(const struct time_cause *c)
{
	return c->what == TIME_CPU_PREPROCESSING && c->where.name;
}

static double kind_ms(const struct draft *d, enum time_class what, enum host_kind kind)
{
	double ms = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++)
		if (d->parts->causes[i].what == what && kind_of(d, &d->parts->causes[i]) == kind)
			ms += draft_cause_ms(d, &d->parts->causes[i]);
	return ms;
}

double host_ms(const struct draft *d, enum host_kind kind)
{
	return kind_ms(d, TIME_CPU_PREPROCESSING, kind);
}

double host_faults_ms(const struct draft *d, enum host_kind kind)
{
	return kind_ms(d, TIME_PAGE_FAULTS, kind);
}

static int64_t function_ns(const struct draft *d, const struct analysis_place *p,
			   enum host_kind kind)
{
	int64_t ns = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (is_host(c) && place_same_function(&c->where, p) && kind_of(d, c) == kind)
			ns += c->ns;
	}
	return ns;
}

const struct time_cause *host_top(const struct draft *d, enum host_kind kind)
{
	const struct time_cause *best = NULL;
	int64_t best_ns = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];
		int64_t ns;

		if (!is_host(c) || kind_of(d, c) != kind)
			continue;
		/* Causes come with most time first: of one function the heaviest line stays. */
		ns = function_ns(d, &c->where, kind);
		if (!best || ns > best_ns) {
			best = c;
			best_ns = ns;
		}
	}
	return best;
}
