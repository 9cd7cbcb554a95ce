/*
 * What leave_probe.py does with CUPTI: a library for ctypes.  Functions return CUPTI's results.
 * As CUDA_INJECTION64_PATH it is CUPTI alone, to compare with (overhead.py), as PROBE_MODE says:
 * stay (activities, thrown away), leave (after some hundred launches), or nothing.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/cupti.h"
#include "format/stamp.h"

#define EXPORT __attribute__((visibility("default")))
#define BUFFER_BYTES ((size_t)512 << 10)
#define LEAVE_AFTER 1000

EXPORT int InitializeInjection(void);
EXPORT int probe_open(const char *path);
EXPORT int probe_subscribe(void);
EXPORT int probe_unsubscribe(void);
EXPORT int probe_hear(int runtime, int driver);
EXPORT int probe_record(int on);
EXPORT int probe_flush(void);
EXPORT int probe_finalize(void);
EXPORT void probe_ask(void);
EXPORT int probe_answer(void);
EXPORT long probe_buffers(void);

#define NO_ANSWER (-1)

static int (*finalize)(void);
static cupti_subscriber subscriber;
static _Atomic bool asked;
static _Atomic int answer = NO_ANSWER;
static _Atomic long buffers, calls;

static const int kinds[] = { CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_COPY, CUPTI_KIND_MEMSET };
static const struct {
	int domain;
	uint32_t id;
} launches[] = {
	{ CUPTI_DOMAIN_RUNTIME, 211 }, /* cudaLaunchKernel */
	{ CUPTI_DOMAIN_RUNTIME, 430 }, /* cudaLaunchKernelExC */
	{ CUPTI_DOMAIN_DRIVER, 307 },  /* cuLaunchKernel */
	{ CUPTI_DOMAIN_DRIVER, 652 },  /* cuLaunchKernelEx */
};

struct cupti cupti;

int probe_open(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	if (!library)
		return -1;
#define LOAD(name, symbol, args) *(void **)&cupti.name = dlsym(library, symbol);
	CUPTI_FUNCTIONS(LOAD)
#undef LOAD
	*(void **)&finalize = dlsym(library, "cuptiFinalize");
	return 0;
}

static void on_call(void *user, int domain, uint32_t id, const void *argument)
{
	const struct cupti_callback_data *data = argument;

	(void)user;
	(void)domain;
	(void)id;
	atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
	if (data->site == CUPTI_EXIT && atomic_load(&asked) && atomic_exchange(&asked, false)) {
		int result = finalize();

		subscriber = NULL;
		atomic_store(&answer, result);
	}
}

static void on_request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*buffer = malloc(BUFFER_BYTES);
	*bytes = BUFFER_BYTES;
	*max_records = 0;
	atomic_fetch_add(&buffers, 1);
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	struct cupti_activity *a = NULL;

	(void)context;
	(void)stream;
	(void)bytes;
	while (valid && !cupti.GetNextRecord(buffer, valid, &a))
		;
	free(buffer);
	atomic_fetch_sub(&buffers, 1);
}

static uint64_t timestamp(void)
{
	return stamp_monotonic();
}

int probe_subscribe(void)
{
	return subscriber ? CUPTI_OK : cupti.Subscribe(&subscriber, on_call, NULL);
}

int probe_unsubscribe(void)
{
	int result = subscriber ? cupti.Unsubscribe(subscriber) : CUPTI_OK;

	subscriber = NULL;
	return result;
}

int probe_hear(int runtime, int driver)
{
	int result = CUPTI_OK;

	for (size_t i = 0; !result && i < sizeof(launches) / sizeof(*launches); i++)
		result = cupti.EnableCallback(
			(uint32_t)(launches[i].domain == CUPTI_DOMAIN_RUNTIME ? runtime : driver),
			subscriber, launches[i].domain, launches[i].id);
	return result;
}

int probe_record(int on)
{
	int result = on ? cupti.RegisterTimestamp(timestamp) : CUPTI_OK;

	if (on && !result)
		result = cupti.RegisterCallbacks(on_request, on_complete);
	for (size_t i = 0; !result && i < sizeof(kinds) / sizeof(*kinds); i++)
		result = on ? cupti.ActivityEnable(kinds[i]) : cupti.ActivityDisable(kinds[i]);
	return result;
}

int probe_flush(void)
{
	return cupti.FlushAll(CUPTI_FLUSH_FORCED);
}

int probe_finalize(void)
{
	subscriber = NULL;
	return finalize();
}

void probe_ask(void)
{
	atomic_store(&answer, NO_ANSWER);
	atomic_store(&asked, true);
}

/* NO_ANSWER: no call has ended since. */
int probe_answer(void)
{
	return atomic_load(&answer);
}

long probe_buffers(void)
{
	return atomic_load(&buffers);
}

static void *leave_soon(void *unused)
{
	const struct timespec pause = { 0, 10000000 };

	while (atomic_load(&calls) < LEAVE_AFTER)
		nanosleep(&pause, NULL);
	probe_record(0);
	nanosleep(&pause, NULL);
	probe_flush();
	probe_ask();
	return unused;
}

int InitializeInjection(void)
{
	const char *path = getenv("PROBE_CUPTI"), *mode = getenv("PROBE_MODE");
	pthread_t thread;

	if (!path || !mode || !strcmp(mode, "nothing") || probe_open(path))
		return 1;
	if (strcmp(mode, "leave"))
		return !probe_record(1);
	return !probe_subscribe() && !probe_hear(0, 1) && !probe_record(1) &&
	       !pthread_create(&thread, NULL, leave_soon, NULL);
}
