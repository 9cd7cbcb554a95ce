/*
 * A CUPTI that only calls back, for bench_launch.py: what a launch costs beside what
 * CUPTI itself takes.
 *
 * Between two launches of a model a framework runs through megabytes of code and
 * data, so what a callback touches has left the nearest caches.  launches() does the
 * same to them and takes the time of the four callbacks alone (runtime and driver, enter
 * and exit).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "../tests/doubles/callback_data.h"

#define EXPORT __attribute__((visibility("default")))
#define OK 0
#define DRIVER 1
#define RUNTIME 2
#define RUNTIME_LAUNCH 211 /* cudaLaunchKernel_v7000 */
#define DRIVER_LAUNCH 307  /* cuLaunchKernel */

EXPORT int cuptiGetVersion(uint32_t *version);
EXPORT int cuptiGetResultString(int result, const char **text);
EXPORT int cuptiSubscribe(void **subscriber, callback function, void *user);
EXPORT int cuptiUnsubscribe(void *subscriber);
EXPORT int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t id);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivityDisable(int kind);
EXPORT int cuptiActivityRegisterCallbacks(void *request, void *complete);
EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void));
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n);
EXPORT int cuptiActivityFlushAll(uint32_t flag);
EXPORT int launches_init(uint32_t data_bytes, uint32_t code_bytes);
EXPORT uint64_t launch_ns(void);

static callback subscriber;
static volatile uint8_t *data, *code;
static uint32_t data_size, code_size, correlation;

int cuptiGetVersion(uint32_t *version)
{
	*version = 130001;
	return OK;
}

int cuptiGetResultString(int result, const char **text)
{
	(void)result;
	*text = "";
	return OK;
}

int cuptiSubscribe(void **out, callback function, void *user)
{
	(void)user;
	subscriber = function;
	*out = &subscriber;
	return OK;
}

int cuptiUnsubscribe(void *unused)
{
	(void)unused;
	subscriber = NULL;
	return OK;
}

int cuptiEnableCallback(uint32_t on, void *unused, int domain, uint32_t id)
{
	(void)on, (void)unused, (void)domain, (void)id;
	return OK;
}

int cuptiActivityEnable(int kind)
{
	(void)kind;
	return OK;
}

int cuptiActivityDisable(int kind)
{
	(void)kind;
	return OK;
}

int cuptiActivityRegisterCallbacks(void *request, void *complete)
{
	(void)request, (void)complete;
	return OK;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void))
{
	(void)now;
	return OK;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	(void)buffer, (void)valid, (void)record;
	return 12; /* no more */
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
	(void)context, (void)stream;
	*n = 0;
	return OK;
}

int cuptiActivityFlushAll(uint32_t flag)
{
	(void)flag;
	return OK;
}

/* A function in every line of the cache: it returns at once. */
static void put_return(uint8_t *at)
{
#if defined(__x86_64__)
	*at = 0xc3;
#else
	memcpy(at, "\xc0\x03\x5f\xd6", 4); /* arm64 */
#endif
}

int launches_init(uint32_t data_bytes, uint32_t code_bytes)
{
	uint8_t *c =
		mmap(NULL, code_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (c == MAP_FAILED)
		return -1;
	for (uint32_t i = 0; i < code_bytes; i += 64)
		put_return(c + i);
	if (mprotect(c, code_bytes, PROT_READ | PROT_EXEC))
		return -1;
	code = c;
	data = calloc(1, data_bytes);
	data_size = data_bytes;
	code_size = code_bytes;
	return data ? 0 : -1;
}

/* Runs through the first of `data` and `code`. */
static void forget(uint32_t data_bytes, uint32_t code_bytes)
{
	for (uint32_t i = 0; i < data_bytes; i += 64)
		data[i]++;
	for (uint32_t i = 0; i < code_bytes; i += 64) {
		void (*function)(void);
		volatile uint8_t *at = code + i;

		memcpy(&function, &at, sizeof(function));
		function();
	}
}

static void call(int domain, uint32_t id, uint32_t site)
{
	struct callback_data d = { .callbackSite = site, .correlationId = correlation };

	subscriber(NULL, domain, id, &d);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * One launch; ns that its callbacks took.  Without a subscriber: what measuring
 * itself takes.  The driver at its work has the nearest caches to itself, too.
 */
uint64_t launch_ns(void)
{
	uint64_t start, taken;

	forget(data_size, code_size);
	correlation++;
	start = now_ns();
	if (subscriber) {
		call(RUNTIME, RUNTIME_LAUNCH, 0);
		call(DRIVER, DRIVER_LAUNCH, 0);
	}
	taken = now_ns() - start;
	forget(data_size / 32, code_size / 32);
	start = now_ns();
	if (subscriber) {
		call(DRIVER, DRIVER_LAUNCH, 1);
		call(RUNTIME, RUNTIME_LAUNCH, 1);
	}
	return taken + now_ns() - start;
}
