/*
 * Keeps what every event or CUDA call reads or runs close together in memory.
 *
 * Between two launches of a model its framework runs through megabytes of code and data, which
 * displace ours from the nearest caches: the cost of a callback is the number of cache lines and
 * pages that it touches (bench_launch.py).
 */
#ifndef AGENT_CORE_HOT_H
#define AGENT_CORE_HOT_H

/* A variable that is read often and written rarely. */
#define HOT_DATA __attribute__((section("inferscope_hot")))

/* Functions that run at every call, and rarely used parts of them. */
#define HOT __attribute__((hot))
#define COLD __attribute__((cold, noinline))

#endif
