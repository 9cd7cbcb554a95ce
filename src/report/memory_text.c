#include "report/memory_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define TOLD_APART 0.02 /* bounds closer than that to the mean are not shown */

const char *memory_text_bytes(char out[TEXT_FIGURE], double bytes)
{
	char figure[TEXT_FIGURE];
	double size = fmin(round(fabs(bytes)), 9e18);

	/* Nothing is less than nothing by rounding. */
	snprintf(out, TEXT_FIGURE, "%s%.30s", bytes < 0 && size > 0 ? "-" : "",
		 text_bytes(figure, (uint64_t)size));
	return out;
}

const char *memory_text_count(char out[TEXT_FIGURE], double n)
{
	if (n >= 99.95)
		return text_count(out, (uint64_t)fmin(round(n), 9e18));
	snprintf(out, TEXT_FIGURE, "%.3g", n);
	return out;
}

const char *memory_text_times(char out[TEXT_FIGURE], int64_t n)
{
	if (n == 1)
		return "once";
	snprintf(out, TEXT_FIGURE, "%" PRId64 " times", n);
	return out;
}

/* An interval that the figures do not show is none. */
static void add_interval(struct buf *out, double low, double high)
{
	char f[2][TEXT_FIGURE];

	if (strcmp(memory_text_bytes(f[0], low), memory_text_bytes(f[1], high)) != 0)
		buf_printf(out, " (%s to %s)", f[0], f[1]);
}

void memory_text_trend(struct buf *out, const struct trend *t)
{
	static const char *const words[] = {
		[TREND_UNKNOWN] = "unknown",
		[TREND_STEADY] = "steady",
		[TREND_SETTLED] = "steady after growth",
		[TREND_SLOWS] = "grows more slowly, finally by",
		[TREND_GROWS] = "grows by",
		[TREND_SHRINKS] = "shrinks by",
	};
	bool moves = t->kind == TREND_SLOWS || t->kind == TREND_GROWS || t->kind == TREND_SHRINKS;
	bool down = t->kind == TREND_SHRINKS;
	char f[TEXT_FIGURE];

	buf_add_str(out, words[t->kind]);
	if (!moves)
		return;
	buf_printf(out, " %s", memory_text_bytes(f, fabs(t->late.slope)));
	add_interval(out, down ? -t->late.high : t->late.low, down ? -t->late.low : t->late.high);
}

void memory_text_per_step(struct buf *out, const struct memory_per_step *p,
			  const char *(*text)(char[TEXT_FIGURE], double))
{
	double apart = TOLD_APART * p->mean;
	char f[3][TEXT_FIGURE];

	if (!p->known)
		return;
	buf_add_str(out, text(f[0], p->mean));
	if (p->most - p->mean > apart || p->mean - p->least > apart)
		buf_printf(out, " (%s to %s)", text(f[1], p->least), text(f[2], p->most));
}

static void add_subject(struct buf *out, const struct analysis_step *s)
{
	if (s->source == STEP_WHOLE_RUN)
		buf_add_str(out, "the run");
	else
		buf_printf(out, "each %s", s->name);
}

static const char *owner(bool container)
{
	return container ? "container" : "machine";
}

static void write_oom_kills(struct buf *out, const struct analysis *a, size_t about)
{
	const struct memory_machine *m = &a->memory.machine;
	char f[TEXT_FIGURE];

	(void)about;
	buf_printf(out,
		   "the kernel killed %" PRId64 " process%s of the container because memory ran "
		   "out",
		   m->oom_kills.sum, m->oom_kills.sum == 1 ? "" : "es");
	if (m->container_max.known)
		buf_printf(out, ": its limit is %s",
			   memory_text_bytes(f, (double)m->container_max.least));
}

static void write_pressure(struct buf *out, const struct analysis *a, size_t about)
{
	const struct memory_pressure *p = &a->memory.machine.memory;

	(void)about;
	buf_printf(out,
		   "memory was short: some tasks of the %s waited for it %.1f %% of the time, all "
		   "tasks %.1f %%",
		   owner(p->of_container), 100 * p->some_share, 100 * p->full_share);
}

static void write_near_limit(struct buf *out, const struct analysis *a, size_t about)
{
	const struct memory_machine *m = &a->memory.machine;
	char f[2][TEXT_FIGURE];

	(void)about;
	buf_printf(out,
		   "memory was nearly exhausted: of the %s of the %s, only %s were left at "
		   "the lowest point",
		   memory_text_bytes(f[0], (double)m->limit_bytes),
		   owner(m->limit == MEMORY_LIMIT_CONTAINER),
		   memory_text_bytes(f[1], (double)m->least_left_bytes));
}

static void write_swapped(struct buf *out, const struct analysis *a, size_t about)
{
	const struct memory_process *p = &a->memory.processes[about];
	char f[TEXT_FIGURE];

	buf_printf(out, "up to %s of process %" PRIu32 " was swapped out to disk",
		   memory_text_bytes(f, (double)p->swap.peak), p->pid);
}

static void write_leak(struct buf *out, const struct analysis *a, size_t about)
{
	const struct analysis_step *s = &a->steps[about];
	const struct memory_machine *m = &a->memory.machine;
	const struct trend_line *line = &s->memory.rss.late;
	char f[TEXT_FIGURE];

	add_subject(out, s);
	buf_printf(out, " leaves %s behind in memory", memory_text_bytes(f, line->slope));
	add_interval(out, line->low, line->high);
	buf_add_str(out, ", until the end");
	if (m->limit == MEMORY_LIMIT_UNKNOWN)
		return;
	/* How long it lasts is known as well as the pace is: within a factor of two, or not. */
	buf_printf(out, "; the remaining memory of the %s is ",
		   owner(m->limit == MEMORY_LIMIT_CONTAINER));
	if (line->low >= line->slope / 2)
		buf_printf(out, "exhausted after about %s more of them",
			   memory_text_count(f, (double)m->least_left_bytes / line->slope));
	else
		buf_printf(out, "sufficient for at least about %s more of them",
			   memory_text_count(f, (double)m->least_left_bytes / line->high));
}

/* The device on which it is worst. */
static const struct memory_torch *torch_of(const struct analysis *a, size_t about,
					   double (*measure)(const struct memory_torch *))
{
	const struct memory_process *p = &a->memory.processes[about];
	const struct memory_torch *worst = p->torch;

	for (size_t i = 1; i < p->torch_count; i++) {
		if (measure(&p->torch[i]) > measure(worst))
			worst = &p->torch[i];
	}
	return worst;
}

static double ooms_of(const struct memory_torch *t)
{
	return (double)t->ooms;
}

static double retries_of(const struct memory_torch *t)
{
	return (double)t->retries;
}

static void write_torch_ooms(struct buf *out, const struct analysis *a, size_t about)
{
	const struct memory_torch *t = torch_of(a, about, ooms_of);
	char f[3][TEXT_FIGURE];

	buf_printf(out,
		   "PyTorch ran out of memory on device %" PRIu32 " %s: it had reserved at most "
		   "%s",
		   t->device, memory_text_times(f[0], t->ooms),
		   memory_text_bytes(f[1], (double)t->reserved_peak_bytes));
	/* Much less than there is: others have it, or there is a limit. */
	if (a->memory.gpu_count == 1 && a->memory.gpus[0].total.known)
		buf_printf(out, " of the available %s",
			   memory_text_bytes(f[0], (double)a->memory.gpus[0].total.last));
	buf_printf(out, ", %s of it for tensors",
		   memory_text_bytes(f[2], (double)t->allocated_peak_bytes));
}

static void write_torch_retries(struct buf *out, const struct analysis *a, size_t about)
{
	const struct memory_torch *t = torch_of(a, about, retries_of);
	char f[TEXT_FIGURE];

	buf_printf(out,
		   "the memory of device %" PRIu32 " was exhausted: %s PyTorch waited for the "
		   "device, released its cache and retried",
		   t->device, memory_text_times(f, t->retries));
}

static void write_torch_fragments(struct buf *out, const struct analysis *a, size_t about)
{
	const struct memory_torch *t = torch_of(a, about, memory_torch_split_share);
	char f[2][TEXT_FIGURE];

	buf_printf(out,
		   "of the %s that PyTorch has reserved on device %" PRIu32 ", %s are fragments "
		   "between tensors (fragmentation)",
		   memory_text_bytes(f[0], t->reserved.mean), t->device,
		   memory_text_bytes(f[1], t->split.mean));
}

static void write_gpu_full(struct buf *out, const struct analysis *a, size_t about)
{
	const struct memory_gpu *g = &a->memory.gpus[about];
	char f[2][TEXT_FIGURE];

	buf_printf(out, "the memory of GPU %" PRIu32 " was nearly full: %s of %s", g->device,
		   memory_text_bytes(f[0], (double)g->peak_bytes),
		   memory_text_bytes(f[1], (double)g->total.last));
}

static void write_major_faults(struct buf *out, const struct analysis *a, size_t about)
{
	const struct analysis_step *s = &a->steps[about];
	char f[TEXT_FIGURE];

	add_subject(out, s);
	buf_printf(out, " waits for pages from disk: %s major page faults",
		   memory_text_count(f, s->memory.major_faults.mean));
}

static void write_minor_faults(struct buf *out, const struct analysis *a, size_t about)
{
	const struct analysis_step *s = &a->steps[about];
	double n = s->memory.minor_faults.mean;
	char f[3][TEXT_FIGURE];

	add_subject(out, s);
	buf_printf(out,
		   " gets new memory from the kernel: %s page faults, which take about %s of CPU "
		   "time in its %s",
		   memory_text_count(f[0], n),
		   text_duration(f[1], memory_minor_faults_ns(&s->memory)),
		   text_duration(f[2], s->mean_ns));
}

static void write_cuda_churn(struct buf *out, const struct analysis *a, size_t about)
{
	const struct analysis_step *s = &a->steps[about];
	const struct memory_step_figures *m = &s->memory;
	double n = 0, ns = 0;
	char f[3][TEXT_FIGURE];

	for (size_t i = 0; i < CUDA_MEMORY_CALLS; i++) {
		n += (double)m->cuda.calls[i].count / (double)m->cuda_steps;
		ns += (double)m->cuda.calls[i].ns / (double)m->cuda_steps;
	}
	add_subject(out, s);
	buf_printf(out, " allocates CUDA memory: %s calls that allocate or free take %s of its %s",
		   memory_text_count(f[0], n), text_duration(f[1], ns),
		   text_duration(f[2], s->mean_ns));
}

static void write_cpu_throttled(struct buf *out, const struct analysis *a, size_t about)
{
	const struct memory_machine *m = &a->memory.machine;
	char f[TEXT_FIGURE];

	(void)about;
	buf_add_str(out, "the container's limit");
	if (m->cpu_limit.known)
		buf_printf(out, " of %.3g CPUs", (double)m->cpu_limit.least / 1000);
	buf_printf(out, " throttled its threads for %s in total",
		   text_duration(f, (double)m->throttled_us.sum * 1e3));
}

static void write_gpu_throttled(struct buf *out, const struct analysis *a, size_t about)
{
	const struct memory_gpu *g = &a->memory.gpus[about];
	const struct memory_throttle *most = &g->throttles[0];

	for (size_t i = 1; i < MEMORY_THROTTLES; i++) {
		if (g->throttles[i].share > most->share)
			most = &g->throttles[i];
	}
	buf_printf(out, "GPU %" PRIu32 " was throttled %.0f %% of the time, mostly by its %s",
		   g->device, 100 * g->throttled_share, most->name);
}

static void write_numa_remote(struct buf *out, const struct analysis *a, size_t about)
{
	const struct memory_process *p = &a->memory.processes[about];

	buf_printf(out,
		   "%.0f %% of the memory of process %" PRIu32 " is on nodes where none of its "
		   "threads ran",
		   100 * p->remote_share, p->pid);
}

static void (*const says[MEMORY_CONCERNS])(struct buf *, const struct analysis *, size_t) = {
	[MEMORY_OOM_KILLS] = write_oom_kills,
	[MEMORY_PRESSURE] = write_pressure,
	[MEMORY_NEAR_LIMIT] = write_near_limit,
	[MEMORY_SWAPPED] = write_swapped,
	[MEMORY_LEAK] = write_leak,
	[MEMORY_TORCH_OOMS] = write_torch_ooms,
	[MEMORY_TORCH_RETRIES] = write_torch_retries,
	[MEMORY_GPU_FULL] = write_gpu_full,
	[MEMORY_TORCH_FRAGMENTS] = write_torch_fragments,
	[MEMORY_MAJOR_FAULTS] = write_major_faults,
	[MEMORY_MINOR_FAULTS] = write_minor_faults,
	[MEMORY_CUDA_CHURN] = write_cuda_churn,
	[MEMORY_CPU_THROTTLED] = write_cpu_throttled,
	[MEMORY_GPU_THROTTLED] = write_gpu_throttled,
	[MEMORY_NUMA_REMOTE] = write_numa_remote,
};

void memory_text_warning(struct buf *out, const struct analysis *a, const struct memory_warning *w)
{
	says[w->what](out, a, w->about);
}

/* The device that has the smallest part left; NULL: nothing is known of any. */
static const struct memory_gpu *fullest_gpu(const struct analysis_memory *m)
{
	const struct memory_gpu *fullest = NULL;

	for (size_t i = 0; i < m->gpu_count; i++) {
		const struct memory_gpu *g = &m->gpus[i];

		if (!g->used.known || !g->total.known || g->total.last <= 0)
			continue;
		if (!fullest || (double)g->peak_bytes * (double)fullest->total.last >
					(double)fullest->peak_bytes * (double)g->total.last)
			fullest = g;
	}
	return fullest;
}

/* Of what there is: what was left at the worst, of the machine and of its GPUs. */
static void write_left(struct buf *out, const struct analysis_memory *all)
{
	const struct memory_machine *m = &all->machine;
	const struct memory_gpu *g = fullest_gpu(all);
	bool limited = m->limit != MEMORY_LIMIT_UNKNOWN && m->limit_bytes > 0;
	char f[2][TEXT_FIGURE];

	if (!limited && !g)
		return;
	buf_add_str(out, ": at the lowest point,");
	if (limited)
		buf_printf(out, " %s of the %s of the %s were left",
			   memory_text_bytes(f[0], (double)m->least_left_bytes),
			   memory_text_bytes(f[1], (double)m->limit_bytes),
			   owner(m->limit == MEMORY_LIMIT_CONTAINER));
	if (limited && g)
		buf_add_str(out, ", and");
	if (g)
		buf_printf(out, " %s of the %s of GPU %" PRIu32 "%s",
			   memory_text_bytes(f[0], (double)(g->total.last > g->peak_bytes
								    ? g->total.last - g->peak_bytes
								    : 0)),
			   memory_text_bytes(f[1], (double)g->total.last), g->device,
			   limited ? "" : " were left");
}

void memory_text_meaning(struct buf *out, const struct analysis *a)
{

	if (a->memory.warning_count && memory_concern_is_memory(a->memory.warnings[0].what)) {
		memory_text_warning(out, a, &a->memory.warnings[0]);
	} else if (!a->memory.recorded) {
		buf_add_str(out, "memory was not recorded");
	} else {
		buf_add_str(out, "no sign of a memory limit");
		write_left(out, &a->memory);
	}
}
