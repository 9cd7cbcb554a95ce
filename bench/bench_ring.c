/* links: is_capture is_agent_core */
/*
 * What an event costs the workload: writing to the ring, with and without the
 * time stamp, undisturbed and while a recorder drains.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/core/session.h"
#include "capture/session/recording.h"

#define EVENTS 20000000u
#define ROUNDS 7

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof(*values), compare);
	return values[ROUNDS / 2];
}

static double ns_for_each(uint64_t begin)
{
	return (double)(stamp_monotonic() - begin) / EVENTS;
}

static double time_stamps(uint32_t clock)
{
	uint64_t begin = stamp_monotonic();
	volatile uint64_t sink = 0;

	for (uint32_t i = 0; i < EVENTS; i++)
		sink = stamp_now(clock);
	(void)sink;
	return ns_for_each(begin);
}

/* As a hook does it: is a recording on, which ring is mine, write. */
static double time_events(void)
{
	uint64_t begin = stamp_monotonic();

	for (uint32_t i = 0; i < EVENTS; i++) {
		struct ring *r = session_ring();

		if (r)
			ring_push(r, RECORD_CALL, i);
	}
	return ns_for_each(begin);
}

static _Atomic int draining;

static void *drain(void *recording)
{
	while (atomic_load(&draining)) {
		recording_cycle(recording);
		usleep(DRAIN_WAIT_MS * 1000);
	}
	return NULL;
}

int main(void)
{
	struct recording_options options = { .buffer_bytes = 100u << 20 };
	double stamps[ROUNDS], alone[ROUNDS], drained[ROUNDS];
	struct recording *r;
	pthread_t drainer;
	struct err err;
	int fd = memfd_create("trace", MFD_CLOEXEC);

	if (recording_new(&r, fd, &options, &err) || session_join(recording_where(r), 0)) {
		fprintf(stderr, "bench_ring: %s\n", err.text);
		return 1;
	}
	time_events(); /* the pages are there from now on */
	for (int i = 0; i < ROUNDS; i++) {
		stamps[i] = time_stamps(session_on()->header->clock);
		alone[i] = time_events();
	}
	atomic_store(&draining, 1);
	pthread_create(&drainer, NULL, drain, r);
	for (int i = 0; i < ROUNDS; i++)
		drained[i] = time_events();
	atomic_store(&draining, 0);
	pthread_join(drainer, NULL);
	printf("ring.stamp %.1f ns\n", median(stamps));
	printf("ring.write %.1f ns\n", median(alone));
	printf("ring.write-without-stamp %.1f ns <= 15\n", median(alone) - median(stamps));
	printf("ring.write-while-drained %.1f ns\n", median(drained));
	printf("ring.bytes %zu bytes/event <= 24\n", sizeof(struct record));
	session_leave();
	recording_end(r, 0);
	recording_free(r);
	return 0;
}
