#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/classes/code_kind.h"
#include "rules/finding_builder.h"

/* What libraries call their number of threads; named where the library was seen at work. */
static const struct {
	const char *library; /* a part of its path, or a framework's name */
	const char *setting;
} settings[] = {
	{ "xgboost", "nthread of XGBoost" },
	{ "lightgbm", "num_threads of LightGBM" },
	{ "onnxruntime", "SessionOptions.intra_op_num_threads of ONNX Runtime" },
	{ "openblas", "OPENBLAS_NUM_THREADS" },
	{ "libmkl", "MKL_NUM_THREADS" },
	{ "torch", "OMP_NUM_THREADS or torch.set_num_threads()" },
	{ "libgomp", "OMP_NUM_THREADS" },
	{ "libiomp5", "OMP_NUM_THREADS" },
	{ "sklearn", "n_jobs and OMP_NUM_THREADS of scikit-learn" },
	{ "tensorflow", "tf.config.threading.set_intra_op_parallelism_threads()" },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool is_used(const struct finding_builder *d, const char *library)
{
	const struct analysis_native *n = &d->a->native;

	for (size_t i = 0; i < n->library_count; i++)
		if (n->libraries[i].library && strstr(n->libraries[i].library, library))
			return true;
	for (size_t i = 0; i < n->count; i++)
		if (n->rows[i].library && strstr(n->rows[i].library, library))
			return true;
	for (size_t i = 0; i < d->a->run.framework_count; i++)
		if (!strcmp(d->a->run.frameworks[i].name, library))
			return true;
	return false;
}

static const char *setting_of(const struct finding_builder *d)
{
	for (size_t i = 0; i < COUNT(settings); i++)
		if (is_used(d, settings[i].library))
			return settings[i].setting;
	return "max_workers, or the number of processes";
}

/* The share of native samples in which threads wait for each other by spinning. */
static double spinning(const struct finding_builder *d)
{
	const struct analysis_native *n = &d->a->native;
	uint64_t spins = 0;

	for (size_t i = 0; i < n->count; i++)
		if (native_kind(n->rows[i].symbol, n->rows[i].library) == NATIVE_THREADS)
			spins += n->rows[i].samples;
	return n->samples ? (double)spins / (double)n->samples : 0;
}

static size_t processes_with_steps(const struct finding_builder *d)
{
	size_t n = 0;

	for (size_t i = 0; i < d->a->step_count; i++) {
		bool known = false;

		for (size_t k = 0; k < i; k++)
			known |= d->a->steps[k].pid == d->a->steps[i].pid;
		n += !known;
	}
	return n;
}

/* Most of what is computed, by at least so many samples. */
#define SPINS_MOST 0.5
#define FEW_SAMPLES 20

/*
 * The work of a call is so small that its threads wait for each other for most of the time, by
 * spinning.  Other programs that take a thread's CPU make that longer: never certain.
 */
static bool evaluate_spinning(struct finding_builder *d)
{
	const struct analysis_native *n = &d->a->native;
	const struct time_cause *c = finding_cause(d, TIME_CPU_COMPUTE);
	uint64_t spins = 0, all = 0;
	const char *name;
	double share, ms;

	for (size_t i = 0; i < n->count; i++) {
		all += n->rows[i].in_steps;
		if (native_kind(n->rows[i].symbol, n->rows[i].library) == NATIVE_THREADS)
			spins += n->rows[i].in_steps;
	}
	share = all ? (double)spins / (double)all : 0;
	ms = share * finding_part(d, TIME_CPU_COMPUTE);
	if (!c || d->use->gpu || all < FEW_SAMPLES || share <= SPINS_MOST)
		return false;
	d->finding.title = "Threads wait for each other longer than they compute";
	d->doubtful = true;
	finding_where(d, &c->where);
	name = finding_place_name(d, &c->where);
	finding_evidence(d, FROM_NATIVE, finding_strength(share, 0.25),
			 "%" PRIu64 " of %" PRIu64
			 " native samples in the steps are in a threading "
			 "runtime, whose threads wait for each other by spinning: about %s %s (%s)",
			 spins, all, finding_ms(d, ms), finding_of_step(d), finding_percent(d, ms));
	finding_evidence(d, FROM_TIMES, 0,
			 "other programs that take CPUs from its threads make such waits longer");
	finding_claim(d, TIME_CPU_COMPUTE, ms);
	finding_saving(d, ms / 3, ms);
	finding_suggest(d,
			"Use one thread for the small calls of %s: set %s to 1, or pass more rows "
			"in each call",
			name, setting_of(d));
	finding_suggest(
		d,
		"Let waiting threads sleep instead of spinning (OMP_WAIT_POLICY=PASSIVE), if "
		"%s needs several threads elsewhere",
		name);
	finding_suggest(d,
			"Give each call more work before it is split over threads: combine several "
			"inputs of %s into one batch",
			name);
	return true;
}

static bool evaluate(struct finding_builder *d)
{
	const struct time_cause *c = finding_cause(d, TIME_CPU_WAIT);
	double ms = finding_part(d, TIME_CPU_WAIT), spins = spinning(d);
	size_t processes = processes_with_steps(d);
	const char *name, *setting = setting_of(d);

	if (!c || finding_share(d, ms) <= 0.10)
		return evaluate_spinning(d);
	finding_where(d, &c->where);
	name = finding_place_name(d, &c->where);
	finding_evidence(d, FROM_TIMES, finding_strength(finding_share(d, ms), 0.10),
			 "%s is ready to run but has no CPU for %s %s (%s), mostly in %s",
			 finding_thread(d), finding_ms(d, ms), finding_of_step(d),
			 finding_percent(d, ms), name);
	finding_evidence(d, FROM_KERNEL_TIMES,
			 finding_strength(d->m->runnable_threads / d->m->cpus - 1, 0.5),
			 "%.1f of the program's own threads run or are ready to run at a time, on "
			 "average, for %.3g CPU%s",
			 d->m->runnable_threads, d->m->cpus, notes_plural((uint64_t)d->m->cpus));
	if (spins > 0.05)
		finding_evidence(
			d, FROM_NATIVE, finding_strength(spins, 0.20),
			"%.0f %% of the Linux kernel's CPU time samples are in a threading "
			"runtime, whose threads wait for each other by spinning",
			100 * spins);
	finding_claim(d, TIME_CPU_WAIT, ms);
	finding_saving(d, ms, ms);
	finding_suggest(d,
			"Lower the number of threads: set %s so that processes x threads is at "
			"most the %.3g CPUs%s",
			setting, d->m->cpus,
			processes > 1 ? "; with several processes start with 1 in each" : "");
	finding_suggest(
		d,
		"Run fewer processes or worker threads beside %s: beyond the number of CPUs "
		"each one only waits longer",
		name);
	finding_suggest(d,
			"Give the program more CPUs, or pin its processes to CPUs of their own "
			"(taskset, cpuset), if %s must run this often at the same time",
			name);
	return true;
}

/* The class is there only where the program's own threads are more than the CPUs (crowd.h). */
const struct rule rule_cpu_oversubscribed = {
	.id = "cpu-oversubscribed",
	.title = "More threads are ready to run than there are CPUs",
	.condition = "(cpu_wait_time + cpu_compute_time) / total_time > 0.10",
	.evaluate = evaluate,
};
