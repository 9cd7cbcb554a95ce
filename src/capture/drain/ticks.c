#include "capture/drain/ticks.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "capture/system/cgroup_path.h"
#include "format/shm.h"
#include "format/stamp.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#if defined(__x86_64__)
/*
 * A counter may be constant and still not the same on all CPUs: the kernel compares them, and no
 * longer offers one that it found wanting.  Where it does not say, it is trusted.
 */
static bool kernel_trusts_counter(const char *root)
{
	char text[256];

	return !small_file_read(text, sizeof(text), root,
				"/sys/devices/system/clocksource/clocksource0",
				"available_clocksource") ||
	       strstr(text, "tsc");
}
#endif

uint32_t ticks_choose_clock(const char *root)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	/* "Invariant TSC": constant rate, running in all sleep states. */
	if (__get_cpuid(0x80000007u, &a, &b, &c, &d) && (d & (1u << 8)) &&
	    kernel_trusts_counter(root))
		return SHM_CLOCK_COUNTER;
	return SHM_CLOCK_MONOTONIC;
#elif defined(__aarch64__)
	(void)root;
	return SHM_CLOCK_COUNTER; /* the generic timer is constant by definition */
#else
	(void)root;
	return SHM_CLOCK_MONOTONIC;
#endif
}

/* Both clocks at one moment: of a few tries the one least disturbed. */
static struct ticks_point take_point(const struct ticks *t)
{
	struct ticks_point best = { 0, 0 };
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = stamp_now(t->clock);
		uint64_t ns = stamp_monotonic();
		uint64_t width = stamp_now(t->clock) - before;

		if (width < narrowest) {
			narrowest = width;
			best.ticks = before + width / 2;
			best.ns = (int64_t)ns - t->origin_ns;
		}
	}
	return best;
}

/* Keeps every second point of the older half. */
static void thin_out(struct ticks *t)
{
	size_t half = t->count / 2, kept = 0;

	for (size_t i = 0; i < t->count; i++) {
		if (i >= half || i % 2 == 0)
			t->points[kept++] = t->points[i];
	}
	t->count = kept;
}

void ticks_sync(struct ticks *t)
{
	struct ticks_point p = take_point(t);

	if (t->count &&
	    (p.ticks <= t->points[t->count - 1].ticks || p.ns <= t->points[t->count - 1].ns))
		return;
	if (t->count == TICKS_POINTS_MAX)
		thin_out(t);
	t->points[t->count++] = p;
	t->from = t->to = 0; /* the last interval may have been open-ended */
}

void ticks_init(struct ticks *t, uint32_t clock, int64_t origin_ns)
{
	struct timespec pause = { 0, 1000000 };

	memset(t, 0, sizeof(*t));
	t->clock = clock;
	t->origin_ns = origin_ns;
	ticks_sync(t);
	do {
		nanosleep(&pause, NULL);
		ticks_sync(t);
	} while (t->count < 2);
}

int64_t ticks_now_ns(const struct ticks *t)
{
	return (int64_t)stamp_monotonic() - t->origin_ns;
}

void ticks_seek(struct ticks *t, uint64_t stamp)
{
	size_t low = 0, high = t->count - 1; /* points[low] .. points[high] enclose the stamp */
	const struct ticks_point *a, *b;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (t->points[middle].ticks <= stamp)
			low = middle;
		else
			high = middle;
	}
	a = &t->points[low];
	b = &t->points[high];
	if (stamp < a->ticks || stamp >= b->ticks) {
		/* Before the first or past the last point: not a stamp of this recording. */
		t->from = stamp < a->ticks ? 0 : b->ticks;
		t->to = stamp < a->ticks ? a->ticks : UINT64_MAX;
		t->from_ns = stamp < a->ticks ? a->ns : b->ns;
		t->ns_per_tick = 0;
		return;
	}
	t->from = a->ticks;
	t->to = b->ticks;
	t->from_ns = a->ns;
	t->ns_per_tick = (double)(b->ns - a->ns) / (double)(b->ticks - a->ticks);
}
