/*
 * What the calls of include/inferscope.h cost, for bench_native_api.py.  Prints
 * whether a recording is on, and ns for a counter, a mark and a scope.
 */
#include <inferscope.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 2000000
#define ROUNDS 9

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The compiler may not merge the turns of a loop that seems to do nothing. */
#define TURN() __asm__ volatile("" ::: "memory")

static void counters(void)
{
	for (int i = 0; i < CALLS; i++) {
		TURN();
		inferscope_counter("queue", i);
	}
}

static void marks(void)
{
	for (int i = 0; i < CALLS; i++) {
		TURN();
		inferscope_mark("cache miss");
	}
}

static void scopes(void)
{
	for (int i = 0; i < CALLS; i++) {
		inferscope_scope s;

		TURN();
		s = inferscope_begin("decode");
		TURN();
		inferscope_end(s);
	}
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median_ns(void (*loop)(void))
{
	double times[ROUNDS];

	loop();
	for (int i = 0; i < ROUNDS; i++) {
		double begin = now_ns();

		loop();
		times[i] = (now_ns() - begin) / CALLS;
	}
	qsort(times, ROUNDS, sizeof(times[0]), ascending);
	return times[ROUNDS / 2];
}

int main(void)
{
	printf("%d %.2f %.2f %.2f\n", inferscope_is_recording(), median_ns(counters),
	       median_ns(marks), median_ns(scopes));
	return 0;
}
