#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "rules/draft.h"
#include "rules/findings/operator_cost.h"

/* Does the program say that it needs no gradients?  Then it has followed that advice. */
static bool infers(const struct draft *d)
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
static bool compiles(const struct draft *d)
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
	       draft_share(d, draft_part(d, TIME_COMPILE)) > 0.05;
}

/*
 * Without a GPU a framework's code is no part of its own: it is the operators', and the kernel's
 * samples tell what of them is work.
 */
static bool look_at_operators(struct draft *d)
{
	struct operator_cost o;
	const char *name;
	uint64_t way;

	operator_cost_find(&o, d);
	if (!o.top || draft_share(d, o.dispatch_ms) <= 0.10 || compiles(d))
		return false;
	draft_where(d, &o.top->where);
	name = draft_name(d, &o.top->where);
	way = o.native.samples[NATIVE_DISPATCH] + o.native.samples[NATIVE_PYTHON];
	draft_evidence(d, FROM_TIMES, draft_strength(draft_share(d, o.dispatch_ms), 0.10),
		       "operators that are called in %s take %s %s (%s), and about %s of that is "
		       "the way to their kernels, not the kernels",
		       name, draft_ms(d, o.ms), draft_of_step(d), draft_percent(d, o.ms),
		       draft_ms(d, o.dispatch_ms));
	draft_evidence(d, FROM_NATIVE, draft_strength((double)way, (double)(o.native.known - way)),
		       "%" PRIu64 " of %" PRIu64 " samples of native code there are in the "
		       "interpreter (%" PRIu64 ") or in what chooses and prepares an operator "
		       "(%" PRIu64 ")",
		       way, o.native.known, o.native.samples[NATIVE_PYTHON],
		       o.native.samples[NATIVE_DISPATCH]);
	draft_claim(d, TIME_CPU_COMPUTE, o.dispatch_ms * o.compute_ms / o.ms);
	draft_claim(d, TIME_CPU_PREPROCESSING, o.dispatch_ms * (1 - o.compute_ms / o.ms));
	/* One kernel for all of them is shorter than those of each, as well. */
	draft_saving(d, o.dispatch_ms, o.dispatch_ms / 2, o.ms);
	draft_suggest(d,
		      "Let the operators of %s work on everything at once, one call instead of one "
		      "for each element: each call takes the host microseconds, whatever its size",
		      name);
	draft_suggest(d,
		      "Compile what %s calls (torch.compile): small operators become one loop of "
		      "native code",
		      name);
	draft_suggest(d,
		      infers(d) ? "Do arithmetic with single numbers in %s in Python, not with "
				  "tensors of one element"
				: "Call it under torch.inference_mode(), and do arithmetic with "
				  "single numbers in %s in Python, not with tensors",
		      name);
	return true;
}

/* The framework's code, without what the user's own does inside of models. */
static const struct time_cause *frameworks_cause(const struct draft *d, double *inside_ms)
{
	const struct time_cause *first = NULL;

	*inside_ms = 0;
	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (c->what != TIME_FRAMEWORK || !c->where.name)
			continue;
		if (host_is_inside(d, c))
			*inside_ms += draft_cause_ms(d, c);
		else if (!first)
			first = c;
	}
	return first;
}

/*
 * What is between launches that follow each other quickly is launch-bound's, and what stands on
 * lines that wait for the GPU sync-per-step's.
 */
static bool look(struct draft *d)
{
	double inside_ms;
	const struct time_cause *c = frameworks_cause(d, &inside_ms);
	double ms = draft_part(d, TIME_FRAMEWORK) - inside_ms - fmax(d->m->launch_gap_time, 0) -
		    waiting_lines_ms(d, TIME_FRAMEWORK, TIME_SYNC_WAIT);
	const char *name, *inner;

	if (!d->use->gpu)
		return look_at_operators(d);
	if (!c || draft_share(d, ms) <= 0.10)
		return false;
	draft_where(d, &c->where);
	name = draft_name(d, &c->where);
	inner = time_cause_is_mostly_inner(c) ? c->inner.name : NULL;
	draft_evidence(d, FROM_TIMES, draft_strength(draft_share(d, ms), 0.10),
		       "the framework's own code takes %s of a step (%s) outside of launches, most "
		       "of it below %s%s%s",
		       draft_ms(d, ms), draft_percent(d, ms), name, inner ? ", in " : "",
		       inner ? inner : "");
	draft_evidence_idle(d);
	draft_evidence_samples(d, c->inner.name ? &c->inner : &c->where);
	draft_claim(d, TIME_FRAMEWORK, ms);
	draft_saving(d, ms / 2, ms / 4, ms);
	if (infers(d))
		draft_suggest(d,
			      "Call the model in %s without hooks and without wrappers of its own "
			      "(it runs under torch.inference_mode() already)",
			      name);
	else
		draft_suggest(d,
			      "Call the model in %s under torch.inference_mode() and without hooks",
			      name);
	draft_suggest(d,
		      "Compile what %s calls (torch.compile), which does without the framework's "
		      "Python code",
		      name);
	draft_suggest(d,
		      "Call the model itself instead of its convenience layer where %s spends "
		      "%s a step%s%s",
		      name, draft_ms(d, ms), inner ? " in " : "", inner ? inner : "");
	return true;
}

const struct rule rule_framework_overhead = {
	.id = "framework-overhead",
	.title = "The framework's own code keeps the GPU waiting",
	.title_without_gpu = "Operators take longer to be called than to compute",
	.condition =
		"(framework_time + cpu_compute_time + cpu_preprocessing_time) / total_time > 0.10",
	.look = look,
};
