#include "capture/system_pace.h"

#include <string.h>

#include "format/stamp.h"

#define WINDOW_NS 500000000
#define SHARE_OF_CORE 0.004  /* promised is a hundredth */
#define CROWDED_SHARE 0.0015 /* the workload loses twice that: being switched away from, too */
#define STRETCH_MAX 100.0    /* a look at stat each second */
#define WORTH_TELLING 3

/* On the safe side until a first window is over: as if it took all that it may elsewhere. */
void system_pace_begin(struct system_pace *p, bool crowded)
{
	memset(p, 0, sizeof(*p));
	p->stretch = crowded ? SHARE_OF_CORE / CROWDED_SHARE : 1;
	p->began_ns = p->window_ns = (int64_t)stamp_monotonic();
	p->cpu_began_ns = p->window_cpu_ns = (int64_t)stamp_thread_cpu();
}

/* At once where it takes too much; half the way where it may take more. */
void system_pace_adjust(struct system_pace *p, double share, bool crowded)
{
	double right = p->stretch * share / (crowded ? CROWDED_SHARE : SHARE_OF_CORE);

	p->stretch = right < p->stretch ? (p->stretch + right) / 2 : right;
	if (p->stretch < 1)
		p->stretch = 1;
	if (p->stretch > STRETCH_MAX)
		p->stretch = STRETCH_MAX;
	if (p->stretch > WORTH_TELLING)
		p->held_back = true;
}

double system_pace_stretch(struct system_pace *p, int64_t now_ns, bool crowded)
{
	if (now_ns - p->window_ns >= WINDOW_NS) {
		int64_t cpu_ns = (int64_t)stamp_thread_cpu();

		system_pace_adjust(
			p, (double)(cpu_ns - p->window_cpu_ns) / (double)(now_ns - p->window_ns),
			crowded);
		p->window_ns = now_ns;
		p->window_cpu_ns = cpu_ns;
	}
	return p->stretch;
}

void system_pace_end(struct system_pace *p, int64_t now_ns)
{
	p->active_ns = now_ns - p->began_ns;
	p->cpu_ns = (int64_t)stamp_thread_cpu() - p->cpu_began_ns;
}
