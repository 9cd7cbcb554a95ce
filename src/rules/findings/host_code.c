#include "rules/findings/host_code.h"

#include <string.h>

#include "analyze/classes/code_kind.h"
#include "analyze/figures/stats.h"
#include "timeline/code_owner.h"
#include "timeline/functions.h"

/* Less of a step is no model's work. */
#define MODELS_LEAST 0.05

/* Of that many samples in the interpreter one at least is where it executes code. */
#define EVALUATES 5

/* Of fewer nothing is concluded: chance, and looks that came late, decide about them. */
#define FEW_SAMPLES 20

static bool is_of_numpy(const char *file)
{
	return file && strstr(file, "/numpy/");
}

/* Python code is executed there, or it cannot be told what is. */
static bool runs_python(const char *symbol)
{
	static const char evaluates[] = "_PyEval";

	return !symbol || !*symbol || !strncmp(symbol, evaluates, sizeof(evaluates) - 1);
}

static void add_row(struct native_sums *n, const struct analysis_native_row *r)
{
	enum native_kind kind = native_kind(r->symbol, r->library);

	n->samples[kind] += r->in_steps;
	if (kind == NATIVE_PYTHON && runs_python(r->symbol))
		n->evaluates += r->in_steps;
	if (kind != NATIVE_ANYBODYS)
		n->known += r->in_steps;
}

void native_sums_add(struct native_sums *n, const struct finding_builder *d, const struct place *p)
{
	const struct analysis_native *native = &d->a->native;

	for (size_t i = 0; i < native->count; i++)
		if (native->rows[i].in_steps && place_same_function(&native->rows[i].python, p))
			add_row(n, &native->rows[i]);
}

void native_sums_add_frameworks(struct native_sums *n, const struct finding_builder *d)
{
	const struct analysis_native *native = &d->a->native;

	for (size_t i = 0; i < native->count; i++) {
		const struct place *p = &native->rows[i].python;
		enum code_kind kind = p->name && p->file ? code_kind(p->name, p->file) : CODE_USER;

		if (native->rows[i].in_steps && (kind == CODE_FRAMEWORK || kind == CODE_MODULE))
			add_row(n, &native->rows[i]);
	}
}

static struct native_sums native_of(const struct finding_builder *d, const struct place *p)
{
	struct native_sums n = { 0 };

	native_sums_add(&n, d, p);
	return n;
}

static bool is_most(const struct native_sums *n, uint64_t samples)
{
	return 2 * samples > n->known;
}

uint64_t native_interpreted(const struct native_sums *n)
{
	return EVALUATES * n->evaluates >= n->samples[NATIVE_PYTHON] ? n->samples[NATIVE_PYTHON]
								     : 0;
}

bool native_is_enough(const struct native_sums *n)
{
	return n->known >= FEW_SAMPLES;
}

/* A third of the time on a line is enough: what it runs for is the same call. */
static bool waits(const struct finding_builder *d, const struct time_cause *c, enum time_class wait)
{
	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *w = &d->parts->causes[i];

		if (w->what == wait && place_same_function(&w->where, &c->where) &&
		    w->where.line == c->where.line && 2 * w->ns > c->ns)
			return true;
	}
	return false;
}

/*
 * Calls say that a function ran for so long, samples what it did then.  Where they are rarer than
 * its calls, some have no sample: no line is known of those, and most of them waited as the others.
 */
static bool waits_unseen(const struct finding_builder *d, const struct time_cause *c)
{
	int64_t ns = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *w = &d->parts->causes[i];

		if (w->what == TIME_LOCK_WAIT && place_same_function(&w->where, &c->where) &&
		    (w->where.line == c->where.line || !finding_line_known(d, &c->where)))
			ns = stats_add(ns, w->ns);
	}
	return ns > c->ns;
}

static bool is_users(const struct place *p)
{
	return p->name && p->file && user_frame(p->name, p->file);
}

/*
 * What a server does around its handlers is no preparation of data, and its user cannot change it;
 * nor is the moment before a thread falls asleep, and after.
 */
static bool is_around(const struct finding_builder *d, const struct time_cause *c)
{
	const struct place *p = c->inner.name ? &c->inner : &c->where;

	if (p->name && p->file && function_waits(p->name, p->file))
		return true;
	return d->step->source == STEP_REQUEST && !is_users(&c->where) && d->has_user_code;
}

/*
 * Operators that the user's code calls by themselves have no function of the framework's.
 * Without a GPU they are what the program is there for; with one they prepare for it.
 */
static enum host_kind kind_of(const struct finding_builder *d, const struct time_cause *c)
{
	struct native_sums n;

	if (waits(d, c, TIME_IO_WAIT))
		return HOST_IO;
	if (waits(d, c, TIME_SYNC_WAIT))
		return HOST_SYNC;
	if (waits_unseen(d, c))
		return HOST_LOCK;
	if (is_around(d, c))
		return HOST_AROUND;
	n = native_of(d, &c->where);
	if (c->inner.name && !place_same_function(&c->inner, &c->where))
		native_sums_add(&n, d, &c->inner);
	if (is_of_numpy(c->inner.file) || is_most(&n, n.samples[NATIVE_ARRAYS]))
		return HOST_NUMPY;
	return !d->use->gpu && is_most(&n, n.samples[NATIVE_KERNEL] + n.samples[NATIVE_DISPATCH] +
						   n.samples[NATIVE_THREADS])
		       ? HOST_COMPUTE
		       : HOST_CODE;
}

/*
 * What the user's code does inside of a model is the framework's by its place.  Where the
 * interpreter is at work, or numpy, instead of operators, it is the host's like any other.
 */
bool host_is_inside(const struct finding_builder *d, const struct time_cause *c)
{
	const struct place *p = c->inner.name ? &c->inner : &c->where;
	enum code_kind kind;
	struct native_sums n;

	if ((c->what != TIME_CPU_COMPUTE && c->what != TIME_FRAMEWORK) || !c->where.name ||
	    !c->where.file || !p->file || !user_code(c->where.file))
		return false;
	kind = code_kind(p->name, p->file);
	if (kind != CODE_USER && kind != CODE_STANDARD)
		return false;
	n = native_of(d, p);
	return native_is_enough(&n) &&
	       (is_most(&n, n.samples[NATIVE_PYTHON]) || is_most(&n, n.samples[NATIVE_ARRAYS]));
}

double waiting_lines_ms(const struct finding_builder *d, enum time_class what, enum time_class wait)
{
	double ms = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++)
		if (d->parts->causes[i].what == what && waits(d, &d->parts->causes[i], wait))
			ms += finding_cause_ms(d, &d->parts->causes[i]);
	return ms;
}

static bool is_host(const struct finding_builder *d, const struct time_cause *c)
{
	return c->what == TIME_CPU_PREPROCESSING || host_is_inside(d, c);
}

bool host_is_model(const struct finding_builder *d, const struct time_cause *c)
{
	if (d->use->gpu || !c->where.name)
		return false;
	return c->what == TIME_CPU_COMPUTE
		       ? !host_is_inside(d, c)
		       : c->what == TIME_CPU_PREPROCESSING && kind_of(d, c) == HOST_COMPUTE;
}

#define ONE_LINE 0.9

bool host_may_unmap(const struct finding_builder *d, const struct time_cause *c)
{
	const struct time_cause *faults = finding_cause(d, TIME_PAGE_FAULTS);
	struct native_sums n;
	int64_t ns = 0;

	if (!faults || !(d->m->page_faults_time > 0.05 * d->m->total_time) || c->inner.name ||
	    c->what != TIME_CPU_PREPROCESSING || !c->where.name || !c->where.file ||
	    !faults->where.file || strcmp(c->where.file, faults->where.file) != 0 ||
	    place_same_function(&c->where, &faults->where))
		return false;
	for (size_t i = 0; i < d->parts->cause_count; i++)
		if (d->parts->causes[i].what == c->what &&
		    place_same_function(&d->parts->causes[i].where, &c->where))
			ns = stats_add(ns, d->parts->causes[i].ns);
	n = native_of(d, &c->where);
	return (double)c->ns > ONE_LINE * (double)ns && !is_most(&n, n.samples[NATIVE_PYTHON]);
}

double host_ms(const struct finding_builder *d, enum host_kind kind)
{
	double ms = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (is_host(d, c) && kind_of(d, c) == kind)
			ms += finding_cause_ms(d, c);
	}
	return ms;
}

double host_faults_ms(const struct finding_builder *d, enum host_kind kind)
{
	double ms = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (c->what == TIME_PAGE_FAULTS && kind_of(d, c) == kind)
			ms += finding_cause_ms(d, c);
	}
	return ms;
}

void host_claim(struct finding_builder *d, enum host_kind kind)
{
	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (is_host(d, c) && kind_of(d, c) == kind)
			finding_claim(d, c->what, finding_cause_ms(d, c));
	}
}

static int64_t function_ns(const struct finding_builder *d, const struct place *p,
			   enum host_kind kind)
{
	int64_t ns = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (place_same_function(&c->where, p) && is_host(d, c) && kind_of(d, c) == kind)
			ns += c->ns;
	}
	return ns;
}

double host_function_ms(const struct finding_builder *d, enum host_kind kind,
			const struct place *function)
{
	double ms = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (place_same_function(&c->where, function) &&
		    (is_host(d, c) || (kind == HOST_NUMPY && c->what == TIME_PAGE_FAULTS)) &&
		    kind_of(d, c) == kind)
			ms += finding_cause_ms(d, c);
	}
	return ms;
}

const struct time_cause *host_top(const struct finding_builder *d, enum host_kind kind)
{
	const struct time_cause *best = NULL;
	int64_t best_ns = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];
		int64_t ns;

		if (!c->where.name || !is_host(d, c) || kind_of(d, c) != kind)
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

void host_doubt_purpose(struct finding_builder *d)
{
	double ms = finding_part(d, TIME_CPU_COMPUTE) + finding_part(d, TIME_FRAMEWORK) +
		    host_ms(d, HOST_COMPUTE);

	if (d->use->gpu || finding_share(d, ms) > MODELS_LEAST)
		return;
	d->doubtful = true;
	finding_evidence(d, FROM_TIMES, 0,
			 "no model was seen at work there: this may be the program's "
			 "very purpose, not preparation");
}
