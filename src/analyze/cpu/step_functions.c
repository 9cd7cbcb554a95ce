#include "analyze/cpu/step_functions.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/classes/code_kind.h"
#include "analyze/cpu/sample_totals.h"
#include "analyze/figures/stats.h"

static int most_self_first(const void *a, const void *b)
{
	const struct step_function *x = a, *y = b;
	int order;

	if (x->self_ns != y->self_ns)
		return x->self_ns > y->self_ns ? -1 : 1;
	if (x->total_ns != y->total_ns)
		return x->total_ns > y->total_ns ? -1 : 1;
	order = strcmp(x->name, y->name);
	if (!order)
		order = strcmp(x->file, y->file);
	return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

static int64_t importing_ns(const struct sample_totals *c, const struct timeline *tl)
{
	int64_t ns = 0;

	for (size_t i = 0; i < c->function_cap && i < timeline_function_count(tl); i++) {
		const struct place *f;

		if (!c->functions[i].total_ns)
			continue;
		f = timeline_function(tl, (uint32_t)i);
		if (code_kind(f->name, f->file) == CODE_IMPORTS)
			ns = stats_add(ns, c->functions[i].total_ns);
	}
	return ns;
}

static int list(struct step_functions *out, const struct sample_totals *c,
		const struct timeline *tl)
{
	size_t all = timeline_function_count(tl);

	out->items = calloc(all + 1, sizeof(*out->items));
	if (!out->items)
		return -1;
	for (size_t i = 0; i < c->function_cap && i < all; i++) {
		const struct sample_sums *t = &c->functions[i];
		const struct place *f;

		if (!t->self_ns)
			continue;
		f = timeline_function(tl, (uint32_t)i);
		if (function_waits(f->name, f->file) || sample_sums_wait(t, f->name, f->file))
			continue;
		out->items[out->count++] = (struct step_function){
			.name = f->name,
			.file = f->file,
			.line = f->line,
			.samples = t->self_samples,
			.self_ns = t->self_ns,
			.total_ns = t->total_ns,
			.error_ns = stats_add(sample_error_ns(c, t->self_samples), t->doubtful_ns),
		};
		out->self_ns = stats_add(out->self_ns, t->self_ns);
	}
	qsort(out->items, out->count, sizeof(*out->items), most_self_first);
	return 0;
}

int step_functions_collect(struct step_functions *out, const struct analysis *a,
			   const struct trace *t, struct timeline *tl,
			   const struct sample_totals *whole, struct err *err)
{
	const struct analysis_step *first = &a->steps[0];
	const struct sample_interval interval = { first->begin_ns, first->until_ns };
	struct sample_totals c = { 0 };
	int rc = -1;

	if (!whole->samples || first->until_ns <= first->begin_ns ||
	    (first->source == STEP_WHOLE_RUN && !first->begin_ns))
		return 0;
	if (sample_totals_take(&c, t, tl, &interval, NULL, 0, err))
		goto out;
	out->from_ns = first->begin_ns;
	out->until_ns = first->until_ns;
	out->samples = c.samples;
	out->importing_ns = importing_ns(whole, tl) - importing_ns(&c, tl);
	rc = list(out, &c, tl);
	out->known = !rc && out->count;
out:
	sample_totals_release(&c);
	return rc;
}

void step_functions_release(struct step_functions *f)
{
	free(f->items);
	memset(f, 0, sizeof(*f));
}
