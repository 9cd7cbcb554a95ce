#include "capture/sample_pace.h"

#include <string.h>
#include <time.h>

#include "format/stamp.h"

#define WINDOW_NS 100000000
#define IDLE_NS 10000000        /* how soon a first process is noticed */
#define SLOWEST_NS 100000000    /* ten looks a second are always made */
#define SHARE_OF_FREE_CORE 0.08 /* promised is a tenth */
#define SHARE_OF_BUDGET 0.25    /* that the whole recorder may take from the workload */
#define DEFAULT_BUDGET 0.05     /* where there is none, samples are still held to be cheap */
#define LEAST_SHARE 0.003       /* if the rest of the recorder takes more than all of that */

static int64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void window_begin(struct sample_pace *p, int64_t now_ns)
{
	p->window_ns = now_ns;
	p->window_cpu_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
	p->window_all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void sample_pace_init(struct sample_pace *p, uint32_t hz, uint32_t budget_ppm)
{
	memset(p, 0, sizeof(*p));
	p->may_take = SHARE_OF_BUDGET *
		      (budget_ppm == SHM_NO_BUDGET ? DEFAULT_BUDGET : (double)budget_ppm / 1e6);
	p->asked_ns = p->period_ns = 1000000000 / (int64_t)(hz ? hz : 1);
	p->random = stamp_monotonic() | 1;
}

static uint64_t next_random(struct sample_pace *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return p->random;
}

/* Of a core, for the sampler alone: `others` is what the rest of the recorder has of it. */
static double allowed(const struct sample_pace *p, double others, double taken)
{
	double left = taken > 0 ? p->may_take / taken - others : SHARE_OF_FREE_CORE;

	if (left > SHARE_OF_FREE_CORE)
		return SHARE_OF_FREE_CORE;
	return left > LEAST_SHARE ? left : LEAST_SHARE;
}

/* So slow that it costs what is allowed, and never faster than asked. */
static void adjust(struct sample_pace *p, int64_t now_ns, double taken)
{
	double wall = (double)(now_ns - p->window_ns);
	int64_t own_ns = cpu_ns(CLOCK_THREAD_CPUTIME_ID) - p->window_cpu_ns;
	int64_t all_ns = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - p->window_all_ns;
	double share = (double)own_ns / wall;
	double target = allowed(p, (double)(all_ns - own_ns) / wall, taken);
	double period = (double)p->period_ns * share / target;

	p->cpu_ns += own_ns;
	/* At once where it is too fast; half the way where it may be faster. */
	if (period < (double)p->period_ns)
		period = ((double)p->period_ns + period) / 2;
	if (period > (double)SLOWEST_NS)
		period = (double)SLOWEST_NS;
	p->period_ns = period > (double)p->asked_ns ? (int64_t)period : p->asked_ns;
	if (p->period_ns > p->asked_ns + p->asked_ns / 10)
		p->held_back = true;
}

static void sleep_until(int64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };

	/* Signals are blocked here, and one look too early would do no harm. */
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

void sample_pace_wait(struct sample_pace *p, bool active, uint32_t taken_ppm)
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
		adjust(p, now_ns, (double)taken_ppm / 1e6);
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
