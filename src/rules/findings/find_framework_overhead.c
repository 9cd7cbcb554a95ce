#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rules/finding_builder.h"
#include "rules/findings/host_code.h"

/* Does the program say that it needs no gradients?  Then it has followed that advice. */
static bool infers(const struct finding_builder *d)
{
	static const char file[] = "/torch/autograd/grad_mode.py", name[] = "inference_mode.";

	for (size_t i = 0; i < d->a->function_count; i++) {
		const struct analysis_function *f = &d->a->functions[i];
		size_t n = strlen(f->file);

		if (!strncmp(f->name, name, sizeof(name) - 1) && n >= sizeof(file) - 1 &&
		    !strcmp(f->file + n - (sizeof(file) - 1), file))
			return true;
	}
	return false;
}

/*
 * A compiled model has no operators that are called one by one; and while it is compiled, which
 * happens where it is called, native code and Python's are the compiler's.
 */
static bool compiles(const struct finding_builder *d)
{
	static const char compiler[] = "/torch/_dynamo/";
	const struct step_functions *in_steps = &d->a->in_steps;
	double ns = 0;

	for (size_t i = 0; i < in_steps->count; i++)
		if (strstr(in_steps->items[i].file, compiler))
			ns = fmax(ns, (double)in_steps->items[i].total_ns);
	for (size_t i = 0; !in_steps->known && i < d->a->function_count; i++)
		if (strstr(d->a->functions[i].file, compiler))
			ns = fmax(ns, (double)d->a->functions[i].total_ns);
	return ns > 0.05 * (double)d->parts->total_ns ||
	       finding_share(d, finding_part(d, TIME_COMPILE)) > 0.05;
}

/*
 * Without a GPU a framework's code is no part of its own: it is the operators', and the kernel's
 * samples tell what of them is work.
 */
static bool evaluate_operators(struct finding_builder *d)
{
	struct operator_cost o;
	const char *name;
	uint64_t way;

	operator_cost_find(&o, d);
	if (!o.top || finding_share(d, o.dispatch_ms) <= 0.10 || compiles(d))
		return false;
	finding_where(d, &o.top->where);
	name = finding_place_name(d, &o.top->where);
	way = o.native.samples[NATIVE_DISPATCH] + native_interpreted(&o.native);
	finding_evidence(d, FROM_TIMES, finding_strength(finding_share(d, o.dispatch_ms), 0.10),
			 "operators called in %s take %s %s (%s), and about %s of that is "
			 "dispatch, not kernel execution",
			 name, finding_ms(d, o.ms), finding_of_step(d), finding_percent(d, o.ms),
			 finding_ms(d, o.dispatch_ms));
	finding_evidence(d, FROM_NATIVE,
			 finding_strength((double)way, (double)(o.native.known - way)),
			 "%" PRIu64 " of %" PRIu64 " samples of native code there are in the "
			 "interpreter (%" PRIu64 ") or in operator dispatch (%" PRIu64 ")",
			 way, o.native.known, o.native.samples[NATIVE_PYTHON],
			 o.native.samples[NATIVE_DISPATCH]);
	finding_claim(d, TIME_CPU_COMPUTE, o.dispatch_ms * o.compute_ms / o.ms);
	finding_claim(d, TIME_CPU_PREPROCESSING, o.dispatch_ms * (1 - o.compute_ms / o.ms));
	/* One kernel for all of them is shorter than those of each, as well. */
	finding_saving(d, o.dispatch_ms, o.ms);
	finding_suggest(
		d,
		"Batch the operators of %s: one call on all elements instead of one call per "
		"element; each call costs the host microseconds, regardless of its size",
		name);
	finding_suggest(d,
			"Compile what %s calls (torch.compile): small operators are fused into one "
			"native loop",
			name);
	finding_suggest(d,
			infers(d) ? "Compute with single numbers in %s in plain Python, not with "
				    "one-element tensors"
				  : "Call it under torch.inference_mode(), and compute with single "
				    "numbers in %s in plain Python, not with tensors",
			name);
	return true;
}

/* The framework's code, without what the user's own does inside of models. */
static const struct time_cause *frameworks_cause(const struct finding_builder *d, double *inside_ms)
{
	const struct time_cause *first = NULL;

	*inside_ms = 0;
	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (c->what != TIME_FRAMEWORK || !c->where.name)
			continue;
		if (host_is_inside(d, c))
			*inside_ms += finding_cause_ms(d, c);
		else if (!first)
			first = c;
	}
	return first;
}

/*
 * What is between launches that follow each other quickly is launch-bound's, and what stands on
 * lines that wait for the GPU sync-per-step's.
 */
static bool evaluate(struct finding_builder *d)
{
	double inside_ms;
	const struct time_cause *c = frameworks_cause(d, &inside_ms);
	double ms = finding_part(d, TIME_FRAMEWORK) - inside_ms - fmax(d->m->launch_gap_time, 0) -
		    waiting_lines_ms(d, TIME_FRAMEWORK, TIME_SYNC_WAIT);
	const char *name, *inner;

	if (!d->use->gpu)
		return evaluate_operators(d);
	if (!c || finding_share(d, ms) <= 0.10)
		return false;
	finding_where(d, &c->where);
	name = finding_place_name(d, &c->where);
	inner = time_cause_is_mostly_inner(c) ? c->inner.name : NULL;
	finding_evidence(
		d, FROM_TIMES, finding_strength(finding_share(d, ms), 0.10),
		"the framework's own code takes %s per step (%s) outside launches, mostly below "
		"%s%s%s",
		finding_ms(d, ms), finding_percent(d, ms), name, inner ? ", in " : "",
		inner ? inner : "");
	finding_evidence_idle(d);
	finding_evidence_samples(d, c->inner.name ? &c->inner : &c->where);
	finding_claim(d, TIME_FRAMEWORK, ms);
	/* Some of it any program needs that launches kernels; nothing says how much. */
	finding_saving(d, 0, ms);
	if (infers(d))
		finding_suggest(
			d,
			"Call the model in %s without hooks or wrappers (it already runs under "
			"torch.inference_mode())",
			name);
	else
		finding_suggest(
			d, "Call the model in %s under torch.inference_mode() and without hooks",
			name);
	finding_suggest(d,
			"Compile what %s calls (torch.compile), which bypasses the framework's "
			"Python code",
			name);
	finding_suggest(d,
			"Call the model directly instead of its convenience layer where %s spends "
			"%s per step%s%s",
			name, finding_ms(d, ms), inner ? " in " : "", inner ? inner : "");
	return true;
}

const struct rule rule_framework_overhead = {
	.id = "framework-overhead",
	.title = "The framework's own code keeps the GPU waiting",
	.title_without_gpu = "Operator dispatch takes longer than the operators' kernels",
	.condition =
		"(framework_time + cpu_compute_time + cpu_preprocessing_time) / total_time > 0.10",
	.evaluate = evaluate,
};
