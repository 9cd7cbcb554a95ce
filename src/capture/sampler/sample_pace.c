#include "capture/sampler/sampler_parts.h"

#include <sched.h>
#include <string.h>
#include <time.h>

#include "format/stamp.h"

#define WINDOW_NS 100000000
#define IDLE_NS 10000000     /* how soon a first process is noticed */
#define SLOWEST_NS 100000000 /* ten samples a second are always taken */
#define SHARE_OF_CORE 0.08   /* promised is a tenth */
#define LEAST_OF_CORE 0.005  /* even if others than the sampler cost more than is allowed */
#define SHARE_OF_BUDGET 0.3  /* that all costs from outside may have; the rest is for calls */
#define SHARE_OF_ONLY 0.25   /* likewise, on the only CPU, */
#define LEAST_OF_ONLY 0.003
#define ONLY_CPU_TIMES 20 /* as slow as asked, at first, on the only CPU: about what comes out */

static void window_begin(struct sample_pace *p, int64_t now_ns)
{
	p->window_ns = now_ns;
	p->window_cpu_ns = (int64_t)stamp_thread_cpu();
}

void sample_pace_init(struct sample_pace *p, uint32_t hz, uint32_t budget_ppm)
{
	double budget = budget_ppm == SHM_NO_BUDGET ? 1 : (double)budget_ppm / 1e6;
	cpu_set_t cpus;

	memset(p, 0, sizeof(*p));
	p->may_cost = budget * SHARE_OF_BUDGET;
	p->asked_ns = p->period_ns = 1000000000 / (int64_t)(hz ? hz : 1);
	/* Until the cost is known: slowly where it cannot be free. */
	p->least_of_core = LEAST_OF_CORE;
	if (!sched_getaffinity(0, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) == 1) {
		p->period_ns = p->lost_ns = p->asked_ns * ONLY_CPU_TIMES;
		p->may_cost = budget * SHARE_OF_ONLY;
		p->least_of_core = LEAST_OF_ONLY;
	}
	p->random = stamp_monotonic() | 1;
}

static uint64_t next_random(struct sample_pace *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return p->random;
}

/* At once where it is too fast; half the way where it may be faster. */
static double towards(double period, double share, double target)
{
	double right = period * share / target;

	return right < period ? (period + right) / 2 : right;
}

static void set_period(struct sample_pace *p, double period)
{
	if (period > (double)SLOWEST_NS)
		period = (double)SLOWEST_NS;
	p->period_ns = period > (double)p->asked_ns ? (int64_t)period : p->asked_ns;
	if (p->period_ns > p->asked_ns + p->asked_ns / 10)
		p->held_back = true;
}

void sample_pace_adjust(struct sample_pace *p, double cpu_share, uint64_t outside_share)
{
	double before = (double)p->period_ns;
	double period = towards(before, cpu_share, SHARE_OF_CORE);
	double slowest = before * cpu_share / p->least_of_core;

	/* The share is updated less often than this runs; until then it stays as it was. */
	if (outside_share != p->outside_share) {
		p->lost_ns = (int64_t)towards(before, (double)(uint32_t)outside_share / 1e6,
					      p->may_cost);
		p->outside_share = outside_share;
	}
	if (period < (double)p->lost_ns)
		period = (double)p->lost_ns < slowest ? (double)p->lost_ns : slowest;
	set_period(p, period);
}

/* A window is over. */
static void measure_cost(struct sample_pace *p, int64_t now_ns, uint64_t outside_share)
{
	int64_t own_ns = (int64_t)stamp_thread_cpu() - p->window_cpu_ns;

	p->cpu_ns += own_ns;
	sample_pace_adjust(p, (double)own_ns / (double)(now_ns - p->window_ns), outside_share);
}

static void sleep_until(int64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	/* Signals are blocked here, and one early sample does no harm. */
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

void sample_pace_wait(struct sample_pace *p, bool active, uint64_t outside_share)
{
	int64_t now_ns = (int64_t)stamp_monotonic(), jitter_ns;

	if (!active) {
		p->next_ns = 0;
		sleep_until(now_ns + IDLE_NS);
		return;
	}
	if (!p->next_ns) {
		p->next_ns = p->began_ns = now_ns;
		window_begin(p, now_ns);
	}
	if (now_ns - p->window_ns >= WINDOW_NS) {
		measure_cost(p, now_ns, outside_share);
		window_begin(p, now_ns);
	}
	p->rounds++;
	p->active_ns += now_ns - p->began_ns;
	p->began_ns = now_ns;
	p->next_ns += p->period_ns;
	if (p->next_ns < now_ns) /* rounds that were missed are not made up for */
		p->next_ns = now_ns + p->period_ns / 2;
	/* A quarter of the period at most, either way. */
	jitter_ns = (int64_t)(next_random(p) % (uint64_t)(p->period_ns / 2 + 1)) - p->period_ns / 4;
	sleep_until(p->next_ns + jitter_ns);
}
