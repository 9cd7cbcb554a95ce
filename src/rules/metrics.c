#include "rules/metrics.h"

#include <math.h>
#include <string.h>

#define METRIC_ROW(name, unit, meaning) { #name, unit, meaning },
const struct metric metrics_table[METRIC_COUNT] = { METRICS(METRIC_ROW) };
#undef METRIC_ROW

double metric_value(const struct metrics *m, size_t i)
{
	double value;

	memcpy(&value, (const char *)m + i * sizeof(value), sizeof(value));
	return value;
}

void metrics_unknown(struct metrics *m)
{
	const double unknown = NAN;

	for (size_t i = 0; i < METRIC_COUNT; i++)
		memcpy((char *)m + i * sizeof(unknown), &unknown, sizeof(unknown));
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

/* Nanoseconds of all steps as milliseconds of one. */
static double per_step_ms(double ns, size_t steps)
{
	return share(ns / 1e6, (double)steps);
}

static void measure_parts(struct metrics *m, const struct step_breakdown *b)
{
	double *const fields[TIME_CLASSES] = {
		[TIME_GPU_COMPUTE] = &m->gpu_compute_time,
		[TIME_H2D] = &m->h2d_time,
		[TIME_D2H] = &m->d2h_time,
		[TIME_SYNC_WAIT] = &m->sync_wait_time,
		[TIME_CPU_PREPROCESSING] = &m->cpu_preprocessing_time,
		[TIME_CPU_COMPUTE] = &m->cpu_compute_time,
		[TIME_FRAMEWORK] = &m->framework_time,
		[TIME_LAUNCH] = &m->launch_time,
		[TIME_ALLOCATION] = &m->allocation_time,
		[TIME_GC] = &m->gc_time,
		[TIME_CPU_WAIT] = &m->cpu_wait_time,
		[TIME_GIL_WAIT] = &m->gil_wait_time,
		[TIME_LOCK_WAIT] = &m->lock_wait_time,
		[TIME_IO_WAIT] = &m->io_wait_time,
		[TIME_SLEEP] = &m->sleep_time,
		[TIME_PAGE_FAULTS] = &m->page_faults_time,
		[TIME_COMPILE] = &m->compile_time,
		[TIME_MODEL_LOAD] = &m->model_load_time,
		[TIME_IDLE] = &m->idle_time,
		[TIME_UNATTRIBUTED] = &m->unattributed_time,
	};

	if (!b->steps)
		return;
	m->steps = (double)b->steps;
	m->total_time = per_step_ms((double)b->total_ns, b->steps);
	for (size_t i = 0; i < TIME_CLASSES; i++)
		if (fields[i])
			*fields[i] = per_step_ms((double)b->parts[i].ns, b->steps);
	if (b->slow.steps)
		m->slow_excess_time = (b->slow.mean_ns - b->slow.typical_mean_ns) / 1e6;
}

/* By the loop that has fewest of them, and more than one round of its own. */
static double steps_per_outer(const struct analysis *a)
{
	const struct analysis_step *s = &a->steps[0];
	double least = 0;

	for (size_t i = 1; i < a->step_count; i++) {
		const struct analysis_step *o = &a->steps[i];
		double ratio = (double)s->count / (double)o->count;

		if (o->has_steps && o->pid == s->pid && o->count > 1 && ratio > 1 &&
		    (least == 0 || ratio < least))
			least = ratio;
	}
	return least > 0 ? least : 1;
}

static void measure_steps(struct metrics *m, const struct analysis *a)
{
	const struct analysis_step *s = &a->steps[0];

	m->steps = (double)(s->count - s->warmup);
	m->total_time = s->mean_ns / 1e6;
	m->p50_time = (double)s->p50_ns / 1e6;
	m->p95_time = (double)s->p95_ns / 1e6;
	m->p99_time = (double)s->p99_ns / 1e6;
	m->longest_share = share((double)s->max_ns, s->mean_ns * m->steps);
	m->steps_per_outer = steps_per_outer(a);
	measure_parts(m, &s->breakdown);
}

static double sum_count(const struct step_gpu_usage *u, enum cuda_call first, enum cuda_call last)
{
	double count = 0;

	for (enum cuda_call c = first; c <= last; c++)
		count += (double)u->calls[c].count;
	return count;
}

static double sum_ns(const struct step_gpu_usage *u, enum cuda_call first, enum cuda_call last)
{
	double ns = 0;

	for (enum cuda_call c = first; c <= last; c++)
		ns += (double)u->calls[c].ns;
	return ns;
}

/* Bytes in a nanosecond are GB in a second. */
static double gb_per_s(const struct gpu_usage_sum *s)
{
	return share((double)s->bytes, (double)s->ns);
}

static void measure_copies(struct metrics *m, const struct step_gpu_usage *u)
{
	double n = (double)u->steps;

	m->copy_alone_time = per_step_ms((double)u->copy_alone_ns, u->steps);
	m->h2d_bytes_per_step = (double)u->h2d.all.bytes / n;
	m->d2h_bytes_per_step = (double)u->d2h.all.bytes / n;
	m->pageable_bytes_per_step =
		((double)u->h2d.pageable.bytes + (double)u->d2h.pageable.bytes) / n;
	m->h2d_copy_time = per_step_ms((double)u->h2d.all.ns, u->steps);
	m->d2h_copy_time = per_step_ms((double)u->d2h.all.ns, u->steps);
	m->h2d_pageable_time = per_step_ms((double)u->h2d.pageable.ns, u->steps);
	m->h2d_gb_per_s = gb_per_s(&u->h2d.large);
	m->d2h_gb_per_s = gb_per_s(&u->d2h.large);
}

/*
 * With waits a step takes the host's own time and the waits; without them the longer of the
 * host's and the device's.  One wait is needed: for the result of a step, or, of a loop
 * inside a step, for that of the whole loop.  It is the longest: what waits for little, as a copy
 * from pageable memory at the beginning does, holds up nobody.
 */
static double avoidable_ms(const struct metrics *m, const struct step_gpu_usage *u)
{
	/* A copying call waits for what was before it; the copy itself is no wait. */
	double copy_waits_ns = fmax(0, (double)u->d2h.call_ns - (double)u->d2h.all.ns);
	double waits_ms = per_step_ms((double)u->waits.ns + copy_waits_ns, u->steps);
	double idle_ms = m->idle_share * m->total_time - fmax(m->idle_time, 0);
	double needed = 1 / m->steps_per_outer, count = m->sync_count_per_step;

	if (count <= needed)
		return 0;
	return fmax(0, fmin(waits_ms, idle_ms)) *
	       (1 - wait_lengths_longest(&u->wait_lengths, needed * (double)u->steps));
}

static void measure_gpu(struct metrics *m, const struct step_gpu_usage *u)
{
	double n = (double)u->steps, covered_ns = (double)u->covered_ns;
	double kernels_ns = (double)u->kernels.ns;

	m->gpu_busy_share = share((double)u->busy_ns, covered_ns);
	m->idle_share = 1 - m->gpu_busy_share;
	m->gpu_busy_time = per_step_ms((double)u->busy_ns, u->steps);
	m->sync_gap_time = per_step_ms((double)u->after_wait.ns, u->steps);
	m->launch_gap_time = per_step_ms((double)u->short_late.ns, u->steps);
	m->late_gap_time = per_step_ms((double)u->long_late.ns, u->steps);
	m->latency_gap_time = per_step_ms((double)u->latency.ns, u->steps);
	m->launches_per_step = sum_count(u, CUDA_CALL_LAUNCH, CUDA_CALL_GRAPH_LAUNCH) / n;
	m->graph_launches_per_step = (double)u->calls[CUDA_CALL_GRAPH_LAUNCH].count / n;
	m->kernels_per_step = (double)u->kernels.count / n;
	m->kernel_mean_us = share(kernels_ns / 1e3, (double)u->kernels.count);
	if (u->multiprocessors)
		m->few_blocks_share = share((double)u->few_blocks.ns, kernels_ns);
	m->plain_matrix_share = share((double)u->matrix_plain_ns, kernels_ns);
	m->tensor_matrix_share = share((double)u->matrix_tensor_ns, kernels_ns);
	m->sync_count_per_step = (double)u->waits.count / n;
	m->sync_call_time = per_step_ms((double)u->waits.ns, u->steps);
	m->alloc_count_per_step = sum_count(u, CUDA_CALL_ALLOC, CUDA_CALL_HOST_FREE) / n;
	m->alloc_call_time = per_step_ms(sum_ns(u, CUDA_CALL_ALLOC, CUDA_CALL_HOST_FREE), u->steps);
	measure_copies(m, u);
	m->sync_avoidable_time = avoidable_ms(m, u);
}

static void measure_blame(struct metrics *m, const struct analysis *a)
{
	for (size_t i = 0; i < a->gpu.section_count; i++)
		if (a->gpu.sections[i].pid == a->steps[0].pid)
			m->gpu_no_load_share = share((double)a->gpu.sections[i].blame.no_load_ns,
						     (double)a->gpu.sections[i].idle_ns);
}

/* Only whole calls of models that lie inside steps would be exact; these are of the whole run. */
static void measure_models(struct metrics *m, const struct analysis *a)
{
	const struct analysis_step *s = &a->steps[0];
	double calls = 0;

	if (!a->layers.count || s->source == STEP_WHOLE_RUN)
		return;
	for (size_t i = 0; i < a->layers.count; i++)
		if (a->layers.items[i].parent == LAYER_NONE && a->layers.items[i].pid == s->pid)
			calls = fmax(calls, (double)a->layers.items[i].sum.calls);
	m->model_calls_per_step = share(calls, (double)s->count);
}

static void measure_threads(struct metrics *m, const struct analysis *a)
{
	double sampled_ns_before = 0, gil_ns = 0, lock_ns = 0, on_cpu_ns = 0, queued_ns = 0;
	bool timed = false;

	for (size_t i = 0; i < a->thread_count; i++) {
		const struct analysis_thread *t = &a->threads[i];

		if (t->states.known) {
			for (size_t k = 0; k < SAMPLE_STATES; k++)
				sampled_ns_before += (double)t->states.ns[k];
			gil_ns += (double)t->states.ns[SAMPLE_GIL_WAIT];
			lock_ns += (double)t->states.ns[SAMPLE_LOCK_WAIT];
		}
		if (t->timed) {
			timed = true;
			on_cpu_ns += (double)t->on_cpu_ns;
			queued_ns += (double)t->queued_ns;
		}
	}
	m->gil_wait_share = share(gil_ns, sampled_ns_before);
	m->lock_wait_share = share(lock_ns, sampled_ns_before);
	if (timed) {
		m->cpu_cores_used = share(on_cpu_ns, (double)a->run.wall_ns);
		m->queued_share = share(queued_ns, on_cpu_ns + queued_ns);
	}
}

static const struct memory_process *process_of(const struct analysis *a, uint32_t pid)
{
	for (size_t i = 0; i < a->memory.process_count; i++)
		if (a->memory.processes[i].recorded && a->memory.processes[i].pid == pid)
			return &a->memory.processes[i];
	return NULL;
}

static double mean_of(const struct memory_per_step *s)
{
	return s->known ? s->mean : NAN;
}

static void measure_torch(struct metrics *m, const struct memory_process *p)
{
	const struct memory_torch *most = NULL;

	for (size_t i = 0; i < p->torch_count; i++) {
		if (!most || p->torch[i].reserved_peak_bytes > most->reserved_peak_bytes)
			most = &p->torch[i];
	}
	if (!most)
		return;
	m->torch_reserved_bytes = (double)most->reserved_peak_bytes;
	m->torch_allocated_bytes = (double)most->allocated_peak_bytes;
	m->torch_split_share = memory_torch_split_share(most);
	m->torch_retries = (double)most->retries;
	m->torch_ooms = (double)most->ooms;
}

static void measure_memory(struct metrics *m, const struct analysis *a)
{
	const struct memory_step_figures *s = &a->steps[0].memory;
	const struct memory_machine *machine = &a->memory.machine;
	const struct memory_process *p = process_of(a, a->steps[0].pid);

	if (s->cores_known)
		m->step_cores_used = s->cores;
	if (s->steps) {
		m->minor_faults_per_step = mean_of(&s->minor_faults);
		m->major_faults_per_step = mean_of(&s->major_faults);
		m->io_bytes_per_step = mean_of(&s->read_bytes);
		m->rss_growth_per_step = s->rss_growth_bytes;
		if (s->minor_faults.known)
			m->fault_time = memory_minor_faults_ns(s) / 1e6;
		if (s->major_faults.known)
			m->fault_time = fmax(m->fault_time, 0) +
					s->major_faults.mean * MEMORY_MAJOR_FAULT_NS / 1e6;
	}
	if (p && p->rss.known)
		m->rss_peak_bytes =
			(double)(p->rss_peak_bytes > p->rss.peak ? p->rss_peak_bytes : p->rss.peak);
	if (p && p->swap.known)
		m->swap_bytes = (double)p->swap.peak;
	if (p)
		measure_torch(m, p);
	if (p && p->remote_known)
		m->numa_remote_share = p->remote_share;
	if (machine->memory.known)
		m->memory_stall_share = machine->memory.some_share;
}

static void measure_crowd(struct metrics *m, const struct analysis *a)
{
	if (a->crowd.cpus > 0)
		m->cpus = a->crowd.cpus;
	if (a->crowd.runnable > 0)
		m->runnable_threads = a->crowd.runnable;
}

/*
 * GB/s of a lane of each generation of PCIe, with its line code; what headers of packets
 * take is left to the bound of the rule that compares.
 */
static double lane_gb_per_s(int64_t generation)
{
	static const double speeds[] = { 0, 0.25, 0.5, 0.985, 1.969, 3.938, 7.563 };

	return generation > 0 && generation < (int64_t)(sizeof(speeds) / sizeof(*speeds))
		       ? speeds[generation]
		       : NAN;
}

/* The link at its best: an idle one is slowed down, and a look may have found it so. */
static void measure_devices(struct metrics *m, const struct analysis *a)
{
	const struct memory_gpu *g = a->memory.gpus;

	/* Which of several a process used is not known here. */
	if (a->memory.gpu_count != 1)
		return;
	if (g->used.known && g->total.known)
		m->gpu_memory_share = share((double)g->peak_bytes, (double)g->total.peak);
	if (g->pcie_generation.known && g->pcie_width.known)
		m->link_gb_per_s =
			lane_gb_per_s(g->pcie_generation.peak) * (double)g->pcie_width.peak;
}

static void measure_trust(struct metrics *m, const struct analysis *a)
{
	const struct analysis_trust *t = &a->trust;

	if (t->overhead_known)
		m->overhead_share = t->overhead_share;
	m->dropped_share = share((double)t->dropped, (double)t->dropped + (double)t->events);
	if (a->gpu.section_count && t->clock_error_ns >= 0)
		m->clock_error_us = (double)t->clock_error_ns / 1e3;
}

void metrics_measure(struct metrics *m, const struct analysis *a)
{
	metrics_unknown(m);
	m->wall_time = (double)a->run.wall_ns / 1e6;
	m->gc_share = share((double)a->gc.total_ns, (double)a->run.wall_ns);
	m->gc_longest = (double)a->gc.longest_ns / 1e6;
	measure_threads(m, a);
	measure_trust(m, a);
	if (!a->step_count)
		return;
	measure_steps(m, a);
	if (a->use.gpu && a->use.steps)
		measure_gpu(m, &a->use);
	measure_blame(m, a);
	measure_memory(m, a);
	measure_crowd(m, a);
	measure_devices(m, a);
	measure_models(m, a);
}
