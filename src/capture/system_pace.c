#include "capture/system_pace.h"

#include <string.h>

#define WINDOW_NS 500000000
#define SHARE_OF_CORE 0.004  /* promised is a hundredth */
#define CROWDED_SHARE 0.0015 /* the workload loses twice that: being switched away from, too */
#define MADE_UP_SHARE 0.008  /* of all time so far: what came once is made up for */
#define STRETCH_MAX 100.0    /* a look at stat each second */
#define WORTH_TELLING 3

/*
 * While something is made up for.  Looks then take a few hundredths of a percent: longer periods
 * would save next to nothing of what is owed, and show less.
 */
#define PAYING_STRETCH 5.0

/* On the safe side until a first window is over: as if it took all that it may elsewhere. */
void system_pace_begin(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, bool crowded)
{
	memset(p, 0, sizeof(*p));
	p->stretch = crowded ? SHARE_OF_CORE / CROWDED_SHARE : 1;
	p->began_ns = p->window_ns = now_ns;
	p->cpu_began_ns = p->window_cpu_ns = cpu_ns;
}

static double in_force(const struct system_pace *p)
{
	return p->paying && p->stretch < PAYING_STRETCH ? PAYING_STRETCH : p->stretch;
}

/* At once where it takes too much; half the way where it may take more. */
void system_pace_adjust(struct system_pace *p, double share, bool crowded)
{
	double right = in_force(p) * share / (crowded ? CROWDED_SHARE : SHARE_OF_CORE);

	p->stretch = right < p->stretch ? (p->stretch + right) / 2 : right;
	if (p->stretch < 1)
		p->stretch = 1;
	if (p->stretch > STRETCH_MAX)
		p->stretch = STRETCH_MAX;
	if (p->stretch > WORTH_TELLING)
		p->held_back = true;
}

/* Also by what came once alone: the rest is held to its share anyhow. */
static bool owes(const struct system_pace *p, int64_t now_ns, int64_t cpu_ns)
{
	double passed_ns = (double)(now_ns - p->began_ns);

	return (double)(cpu_ns - p->cpu_began_ns) > MADE_UP_SHARE * passed_ns &&
	       (double)p->once_ns > (MADE_UP_SHARE - SHARE_OF_CORE) * passed_ns;
}

double system_pace_stretch(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, bool crowded)
{
	if (now_ns - p->window_ns >= WINDOW_NS) {
		system_pace_adjust(
			p, (double)(cpu_ns - p->window_cpu_ns) / (double)(now_ns - p->window_ns),
			crowded);
		p->paying = owes(p, now_ns, cpu_ns);
		p->window_ns = now_ns;
		p->window_cpu_ns = cpu_ns;
	}
	return in_force(p);
}

void system_pace_once(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, int64_t once_ns)
{
	p->once_ns += once_ns;
	p->window_ns = now_ns;
	p->window_cpu_ns = cpu_ns;
	p->paying = owes(p, now_ns, cpu_ns);
	p->held_back |= p->paying;
}

void system_pace_end(struct system_pace *p, int64_t now_ns, int64_t cpu_ns)
{
	p->active_ns = now_ns - p->began_ns;
	p->cpu_ns = cpu_ns - p->cpu_began_ns;
}
