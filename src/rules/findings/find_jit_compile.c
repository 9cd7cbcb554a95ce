#include <string.h>

#include "rules/finding_builder.h"

/* Why PyTorch compiled again, of the function that took most of the time. */
static void explain_reason(struct finding_builder *d)
{
	const struct analysis_torch *t = &d->a->torch;
	size_t i = 0;

	while (i < t->compiled_count && !t->compiled[i].reason_count)
		i++;
	if (i == t->compiled_count)
		return;
	finding_evidence(d, FROM_SCOPES, 0, "%s was recompiled because: %s%s",
			 t->compiled[i].function, t->compiled[i].reasons[0].text,
			 t->compiled[i].reason_count > 1 ? ", and for other reasons" : "");
}

static void suggest_for_torch(struct finding_builder *d, const char *name)
{
	finding_suggest(d,
			"Compile for changing shapes: torch.compile(dynamic=True), or mark what "
			"changes in %s with torch._dynamo.mark_dynamic()",
			name);
}

static void suggest_for_jax(struct finding_builder *d, const char *name)
{
	finding_suggest(
		d,
		"Call one function made by jax.jit() from %s, with the same shapes, types "
		"and static arguments: each new combination is compiled, and so is each new "
		"function object",
		name);
}

static void suggest_for_tensorflow(struct finding_builder *d, const char *name)
{
	finding_suggest(d,
			"Create the tf.function once, outside %s, with an input_signature whose "
			"changing dimensions are None, and pass tensors, not Python numbers",
			name);
}

static const struct {
	const char *file; /* a part of the compiler's path; the last fits all */
	void (*suggest)(struct finding_builder *d, const char *name);
	const char *log; /* how the framework tells why */
} compilers[] = {
	{ "/jax", suggest_for_jax, "jax.config.update(\"jax_explain_cache_misses\", True)" },
	{ "/tensorflow/", suggest_for_tensorflow, "experimental_get_tracing_count()" },
	{ "", suggest_for_torch, "TORCH_LOGS=recompiles" },
};

static size_t compiler_of(const struct time_cause *c)
{
	size_t i = 0;

	while (!strstr(c && c->inner.file ? c->inner.file : "", compilers[i].file))
		i++;
	return i;
}

/* In so many of the steps: it is no accident of a few first calls. */
#define STEPS_LEAST 0.5

static bool compiles_again_and_again(const struct finding_builder *d)
{
	const struct step_samples *s = &d->parts->samples;
	size_t compiling = 0;

	for (size_t i = 0; i < s->count; i++)
		compiling += s->items[i].ns[TIME_COMPILE] > 0;
	return s->count && (double)compiling >= STEPS_LEAST * (double)s->count;
}

/* Files whose functions compile a kernel with NVRTC where they have not seen its source before. */
static const char *const compile_or_launch[] = { "/torch/cuda/jiterator.py",
						 "/cupy/_core/raw.pyx" };

/*
 * What such a function compiles is then loaded as a module.  Where modules are loaded again and
 * again, the framework's code in it, called from the same line, is the compiler.
 */
static double compilers_ms(const struct finding_builder *d, const struct time_cause *loads)
{
	bool compiles = false;
	double ms = 0;

	for (size_t i = 0; i < sizeof(compile_or_launch) / sizeof(*compile_or_launch); i++)
		compiles |= loads->inner.file && strstr(loads->inner.file, compile_or_launch[i]);
	if (!compiles)
		return 0;

	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];

		if (c->what == TIME_FRAMEWORK && c->where.line == loads->where.line &&
		    place_same_function(&c->where, &loads->where) &&
		    place_same_function(&c->inner, &loads->inner))
			ms += finding_cause_ms(d, c);
	}
	return ms;
}

/* Warm-up is left out of the figures: what compiles here compiles again and again. */
static bool evaluate(struct finding_builder *d)
{
	const struct time_cause *c = finding_cause(d, TIME_COMPILE);
	double ms = finding_part(d, TIME_COMPILE), n = (double)d->use->steps;
	double modules = n > 0 ? (double)d->use->calls[CUDA_CALL_MODULE_LOAD].count / n : 0;
	const char *name = finding_place_name(d, c ? &c->where : NULL);
	bool reported = d->a->torch.compiled_count > 0;
	double compiler_ms =
		c && modules > 0 && compiles_again_and_again(d) ? compilers_ms(d, c) : 0;

	ms += compiler_ms;
	if (finding_share(d, ms) <= 0.05)
		return false;
	finding_where(d, c ? &c->where : NULL);
	/* Before 3.12 PyTorch is not asked when it compiles: by samples alone it is never sure. */
	finding_evidence(d, d->step->model_parts && !reported ? FROM_TIMES : FROM_SCOPES,
			 finding_strength(finding_share(d, ms), 0.05),
			 "compilation takes %s %s (%s)%s, from %s", finding_ms(d, ms),
			 finding_of_step(d), finding_percent(d, ms),
			 d->step->model_parts ? "" : " after warm-up", name);
	explain_reason(d);
	if (modules > 0)
		finding_evidence(d, FROM_CUDA_CALLS, finding_strength(modules, 0.2),
				 "%s modules per step are loaded onto the GPU",
				 finding_number(d, modules));
	finding_evidence_idle(d);
	finding_evidence_samples(d, c && c->inner.name ? &c->inner : NULL);
	if (d->m->slow_excess_time > 0)
		finding_evidence(d, FROM_TIMES,
				 finding_strength(finding_share(d, d->m->slow_excess_time), 0.5),
				 "slow steps take %s longer than typical ones",
				 finding_ms(d, d->m->slow_excess_time));
	finding_claim(d, TIME_COMPILE, ms - compiler_ms);
	finding_claim(d, TIME_FRAMEWORK, compiler_ms);
	finding_saving(d, ms, ms);
	compilers[compiler_of(c)].suggest(d, name);
	finding_suggest(d,
			"Pad the inputs of %s to a few sizes and run each of them once before "
			"serving",
			name);
	finding_suggest(d, "Find the cause of recompilation with %s; %s %s could be saved",
			compilers[compiler_of(c)].log, finding_ms(d, ms), finding_a_step(d));
	return true;
}

const struct rule rule_jit_compile = {
	.id = "jit-compile",
	.title = "Code is compiled while requests are served",
	.condition = "compile_time > 0 AND (compile_time + framework_time) / total_time > 0.05",
	.evaluate = evaluate,
};
