/*
 * What NVTX's calls cost, for bench_nvtx.py.  Prints whether a tool listens, and ns for a pair
 * of push and pop by text, the same by a registered string in a domain, a pair of start
 * and end, and a mark.  Linked with the NVTX of tests/doubles.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "agent/nvtx/nvtx_abi.h"

#define CALLS 100000
#define ROUNDS 15

void nvtxMarkA(const char *text);
uint64_t nvtxRangeStartA(const char *text);
void nvtxRangeEnd(uint64_t range);
int nvtxRangePushA(const char *text);
int nvtxRangePop(void);
int nvtxDomainRangePushEx(nvtx_domain domain, const void *attributes);
int nvtxDomainRangePop(nvtx_domain domain);
nvtx_domain nvtxDomainCreateA(const char *name);
nvtx_string nvtxDomainRegisterStringA(nvtx_domain domain, const char *text);

static nvtx_domain domain;
static struct nvtx_attributes attributes;

static void pairs(void)
{
	for (int i = 0; i < CALLS; i++) {
		nvtxRangePushA("forward pass of the model");
		nvtxRangePop();
	}
}

static void registered_pairs(void)
{
	for (int i = 0; i < CALLS; i++) {
		nvtxDomainRangePushEx(domain, &attributes);
		nvtxDomainRangePop(domain);
	}
}

static void started(void)
{
	for (int i = 0; i < CALLS; i++)
		nvtxRangeEnd(nvtxRangeStartA("request"));
}

static void marks(void)
{
	for (int i = 0; i < CALLS; i++)
		nvtxMarkA("token");
}

/* The thread's own time: what others do on the machine does not count. */
static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* With rests in between, so that the recorder keeps up. */
static double median_ns(void (*loop)(void))
{
	const struct timespec rest = { 0, 20000000 };
	double times[ROUNDS];

	loop();
	for (int i = 0; i < ROUNDS; i++) {
		double begin;

		nanosleep(&rest, NULL);
		begin = now_ns();
		loop();
		times[i] = (now_ns() - begin) / CALLS;
	}
	qsort(times, ROUNDS, sizeof(times[0]), ascending);
	return times[ROUNDS / 2];
}

int main(void)
{
	int level = nvtxRangePushA("is a tool there?");

	nvtxRangePop();
	domain = nvtxDomainCreateA("library");
	attributes = (struct nvtx_attributes){
		.version = 3,
		.bytes = sizeof(attributes),
		.message_type = NVTX_MESSAGE_REGISTERED,
		.message.registered = nvtxDomainRegisterStringA(domain, "registered"),
	};
	printf("%d %.1f %.1f %.1f %.1f\n", level >= 0, median_ns(pairs),
	       median_ns(registered_pairs), median_ns(started), median_ns(marks));
	return 0;
}
