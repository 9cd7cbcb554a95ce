/*
 * What may be wrong with the memory, and what it is about: a row for each concern.  Limits are
 * shares of the time or of the memory, the same for all programs.
 */
#include <math.h>

#include "analyze/memory/memory_collect.h"

#define LOST_TIME 0.01 /* of all time: as much as this collector may cost itself */
#define STEP_TIME 0.05 /* of a step: what is worth a check */
#define SOME_TIME 0.10 /* of all time, of what slows down and does not stop */
#define SCARCE 0.05    /* of what there is */
#define A_LOT 0.10     /* likewise */
#define REMOTE 0.20    /* of the pages */
#define FRAGMENTS 0.20 /* of what PyTorch has reserved */

#define FINE SIZE_MAX /* else what it is about: a position, 0 where there is only one thing */

typedef bool (*step_test)(const struct analysis_step *s);

/* The most important step of which it is true. */
static size_t any_step(const struct analysis *a, step_test test)
{
	for (size_t i = 0; i < a->step_count; i++) {
		if (test(&a->steps[i]))
			return i;
	}
	return FINE;
}

static size_t oom_kills(const struct analysis *a)
{
	const struct memory_total *t = &a->memory.machine.oom_kills;

	return t->known && t->sum > 0 ? 0 : FINE;
}

static size_t pressure(const struct analysis *a)
{
	const struct memory_pressure *p = &a->memory.machine.memory;

	return p->known && (p->full_share >= LOST_TIME || p->some_share >= SOME_TIME) ? 0 : FINE;
}

static size_t near_limit(const struct analysis *a)
{
	const struct memory_machine *m = &a->memory.machine;

	if (m->limit == MEMORY_LIMIT_UNKNOWN || m->limit_bytes <= 0)
		return FINE;
	return (double)m->least_left_bytes < SCARCE * (double)m->limit_bytes ? 0 : FINE;
}

/* What was there before was not pushed out by this run. */
static size_t swapped(const struct analysis *a)
{
	for (size_t i = 0; i < a->memory.process_count; i++) {
		const struct memory_process *p = &a->memory.processes[i];

		if (p->swap.known && p->rss.known && p->swap.peak > p->swap.first &&
		    (double)p->swap.peak >= SCARCE * (double)p->rss_peak_bytes)
			return i;
	}
	return FINE;
}

static bool step_leaks(const struct analysis_step *s)
{
	return s->memory.rss.kind == TREND_GROWS;
}

static size_t leak(const struct analysis *a)
{
	return any_step(a, step_leaks);
}

static size_t gpu_full(const struct analysis *a)
{
	for (size_t i = 0; i < a->memory.gpu_count; i++) {
		const struct memory_gpu *g = &a->memory.gpus[i];

		if (g->used.known && g->total.known && g->total.last > 0 &&
		    (double)g->peak_bytes > (1 - SCARCE) * (double)g->total.last)
			return i;
	}
	return FINE;
}

/* The first process whose PyTorch has, on any device, what is asked for. */
static size_t any_torch(const struct analysis *a,
			bool (*test)(const struct analysis *a, const struct memory_torch *t))
{
	for (size_t i = 0; i < a->memory.process_count; i++) {
		const struct memory_process *p = &a->memory.processes[i];

		for (size_t k = 0; k < p->torch_count; k++) {
			if (test(a, &p->torch[k]))
				return i;
		}
	}
	return FINE;
}

static bool has_ooms(const struct analysis *a, const struct memory_torch *t)
{
	(void)a;
	return t->ooms > 0;
}

static size_t torch_ooms(const struct analysis *a)
{
	return any_torch(a, has_ooms);
}

static bool has_retries(const struct analysis *a, const struct memory_torch *t)
{
	(void)a;
	return t->retries > 0;
}

static size_t torch_retries(const struct analysis *a)
{
	return any_torch(a, has_retries);
}

/*
 * Of a cache that matters: who has a device to itself does not miss a few pieces.  Which of several
 * devices is PyTorch's first one NVML does not say: the largest counts.
 */
static bool is_fragmented(const struct analysis *a, const struct memory_torch *t)
{
	int64_t most = 0;

	for (size_t i = 0; i < a->memory.gpu_count; i++) {
		const struct memory_level *total = &a->memory.gpus[i].total;

		if (total->known && total->last > most)
			most = total->last;
	}
	return most && t->reserved.mean >= A_LOT * (double)most &&
	       memory_torch_split_share(t) >= FRAGMENTS;
}

static size_t torch_fragments(const struct analysis *a)
{
	return any_torch(a, is_fragmented);
}

static bool step_major(const struct analysis_step *s)
{
	const struct memory_per_step *f = &s->memory.major_faults;

	return f->known && s->mean_ns > 0 &&
	       f->mean * MEMORY_MAJOR_FAULT_NS >= STEP_TIME * s->mean_ns;
}

static size_t major_faults(const struct analysis *a)
{
	return any_step(a, step_major);
}

/* Time in the kernel that is no more than so many faults take is theirs; of huge pages up to that.
 */
double memory_minor_faults_ns(const struct memory_step_figures *m)
{
	double faults_ns = m->minor_faults.mean * MEMORY_MINOR_FAULT_NS;
	double kernel_ns = m->kernel_us.known ? 1000 * m->kernel_us.mean : 0;

	if (!m->minor_faults.known)
		return 0;
	if (m->huge_pages && kernel_ns > faults_ns)
		return fmin(kernel_ns, m->minor_faults.mean * MEMORY_HUGE_FAULT_NS);
	return kernel_ns > faults_ns && kernel_ns <= m->minor_faults.mean * MEMORY_SLOW_FAULT_NS
		       ? kernel_ns
		       : faults_ns;
}

/* By what is likely, and by what is certain at least something. */
static bool step_minor(const struct analysis_step *s)
{
	const struct memory_per_step *f = &s->memory.minor_faults;
	double each_ns = s->memory.huge_pages ? MEMORY_HUGE_FAULT_NS : MEMORY_MINOR_FAULT_NS;

	return f->known && s->mean_ns > 0 && f->least * each_ns >= LOST_TIME * s->mean_ns &&
	       memory_minor_faults_ns(&s->memory) >= STEP_TIME * s->mean_ns;
}

static size_t minor_faults(const struct analysis *a)
{
	return any_step(a, step_minor);
}

static bool step_churns(const struct analysis_step *s)
{
	const struct memory_step_figures *m = &s->memory;
	double ns = 0;

	if (!m->cuda.known || !m->cuda_steps)
		return false;
	for (size_t i = 0; i < CUDA_MEMORY_CALLS; i++)
		ns += (double)m->cuda.calls[i].ns / (double)m->cuda_steps;
	return s->source != STEP_WHOLE_RUN && ns >= STEP_TIME * s->mean_ns && ns > 0;
}

static size_t cuda_churn(const struct analysis *a)
{
	return any_step(a, step_churns);
}

static size_t cpu_throttled(const struct analysis *a)
{
	const struct memory_total *t = &a->memory.machine.throttled_us;

	if (!t->known || t->span_ns <= 0)
		return FINE;
	return (double)t->sum * 1e3 >= STEP_TIME * (double)t->span_ns ? 0 : FINE;
}

static size_t gpu_throttled(const struct analysis *a)
{
	for (size_t i = 0; i < a->memory.gpu_count; i++) {
		const struct memory_gpu *g = &a->memory.gpus[i];

		if (g->throttles_known && g->throttled_share >= SOME_TIME)
			return i;
	}
	return FINE;
}

static size_t numa_remote(const struct analysis *a)
{
	for (size_t i = 0; i < a->memory.process_count; i++) {
		const struct memory_process *p = &a->memory.processes[i];

		if (p->remote_known && p->remote_share >= REMOTE)
			return i;
	}
	return FINE;
}

static const struct {
	const char *name;
	size_t (*test)(const struct analysis *a); /* FINE, or what it is about */
} concerns[MEMORY_CONCERNS] = {
	[MEMORY_OOM_KILLS] = { "oom-kills", oom_kills },
	[MEMORY_PRESSURE] = { "pressure", pressure },
	[MEMORY_NEAR_LIMIT] = { "near-limit", near_limit },
	[MEMORY_SWAPPED] = { "swapped", swapped },
	[MEMORY_LEAK] = { "leak", leak },
	[MEMORY_TORCH_OOMS] = { "torch-ooms", torch_ooms },
	[MEMORY_TORCH_RETRIES] = { "torch-retries", torch_retries },
	[MEMORY_GPU_FULL] = { "gpu-full", gpu_full },
	[MEMORY_TORCH_FRAGMENTS] = { "torch-fragments", torch_fragments },
	[MEMORY_MAJOR_FAULTS] = { "major-faults", major_faults },
	[MEMORY_MINOR_FAULTS] = { "minor-faults", minor_faults },
	[MEMORY_CUDA_CHURN] = { "cuda-churn", cuda_churn },
	[MEMORY_NUMA_REMOTE] = { "numa-remote", numa_remote },
	[MEMORY_CPU_THROTTLED] = { "cpu-throttled", cpu_throttled },
	[MEMORY_GPU_THROTTLED] = { "gpu-throttled", gpu_throttled },
};

const char *memory_concern_name(enum memory_concern concern)
{
	return concerns[concern].name;
}

void memory_warnings_find(struct analysis *a)
{
	struct analysis_memory *m = &a->memory;

	for (unsigned i = 0; i < MEMORY_CONCERNS; i++) {
		size_t about = concerns[i].test(a);

		if (about != FINE)
			m->warnings[m->warning_count++] =
				(struct memory_warning){ (enum memory_concern)i, about };
	}
}
