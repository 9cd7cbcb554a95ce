/*
 * CUPTI alone, as CUDA_INJECTION64_PATH: it records what the agent asks for and throws it away.
 * What a program loses with it no tool that uses CUPTI can avoid (overhead.py, services.py).
 *
 * CUPTI_ALONE_LIBRARY   the libcupti to load
 * CUPTI_ALONE_MODE      activities, calls (those and empty callbacks at launches, copies and
 *                       waits), graphs (activities, CUDA graphs as a whole), or nothing
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/cupti.h"
#include "format/stamp.h"

#define BUFFER_BYTES ((size_t)512 << 10)

__attribute__((visibility("default"))) int InitializeInjection(void);

static const int kinds[] = { CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_COPY, CUPTI_KIND_MEMSET };
static const struct {
	int domain;
	uint32_t id;
} calls[] = {
	{ CUPTI_DOMAIN_DRIVER, 307 },  /* cuLaunchKernel */
	{ CUPTI_DOMAIN_DRIVER, 652 },  /* cuLaunchKernelEx */
	{ CUPTI_DOMAIN_RUNTIME, 41 },  /* cudaMemcpyAsync */
	{ CUPTI_DOMAIN_RUNTIME, 131 }, /* cudaStreamSynchronize */
};

struct cupti cupti;

static void on_call(void *user, int domain, uint32_t id, const void *argument)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)argument;
}

static void on_request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	*buffer = malloc(BUFFER_BYTES);
	*bytes = *buffer ? BUFFER_BYTES : 0;
	*max_records = 0;
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
}

static uint64_t timestamp(void)
{
	return stamp_monotonic();
}

static int open_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);

	if (!library)
		return -1;
#define LOAD(name, symbol, args) *(void **)&cupti.name = dlsym(library, symbol);
	CUPTI_FUNCTIONS(LOAD)
#undef LOAD
	return 0;
}

static int record(bool whole_graphs)
{
	int result = cupti.RegisterTimestamp(timestamp);

	if (!result)
		result = cupti.RegisterCallbacks(on_request, on_complete);
	for (size_t i = 0; !result && i < sizeof(kinds) / sizeof(*kinds); i++)
		result = cupti.ActivityEnable(kinds[i]);
	return !result && whole_graphs ? cupti.ActivityEnable(CUPTI_KIND_GRAPH) : result;
}

static int subscribe(void)
{
	cupti_subscriber subscriber;
	int result = cupti.Subscribe(&subscriber, on_call, NULL);

	for (size_t i = 0; !result && i < sizeof(calls) / sizeof(*calls); i++)
		result = cupti.EnableCallback(1, subscriber, calls[i].domain, calls[i].id);
	return result;
}

int InitializeInjection(void)
{
	const char *path = getenv("CUPTI_ALONE_LIBRARY"), *mode = getenv("CUPTI_ALONE_MODE");

	if (!path || !mode || !strcmp(mode, "nothing"))
		return 1;
	if (open_library(path) || (!strcmp(mode, "calls") && subscribe()) ||
	    record(!strcmp(mode, "graphs")))
		abort(); /* a benchmark that measures nothing must not look like one that does */
	return 1;
}
