/*
 * NVTX as a program has it, for machines without NVIDIA's: the same functions in a shared
 * library, and a loader that finds the tool in NVTX_INJECTION64_PATH at the first call.
 *
 * FAKE_NVTX_KNOWS limits the number of functions that a table shows, as in older
 * versions; FAKE_NVTX_ODD makes the meeting go wrong in one of several ways.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/nvtx/nvtx_abi.h"

#define EXPORT __attribute__((visibility("default")))

/* module, place, type, name, what it is without a tool, parameters, arguments */
#define FUNCTIONS(X)                                                                              \
	X(CORE, CORE_MARK_EX, void, nvtxMarkEx, , (const void *a), (a))                           \
	X(CORE, CORE_MARK_A, void, nvtxMarkA, , (const char *a), (a))                             \
	X(CORE, CORE_MARK_W, void, nvtxMarkW, , (const wchar_t *a), (a))                          \
	X(CORE, CORE_START_EX, uint64_t, nvtxRangeStartEx, 0, (const void *a), (a))               \
	X(CORE, CORE_START_A, uint64_t, nvtxRangeStartA, 0, (const char *a), (a))                 \
	X(CORE, CORE_START_W, uint64_t, nvtxRangeStartW, 0, (const wchar_t *a), (a))              \
	X(CORE, CORE_END, void, nvtxRangeEnd, , (uint64_t a), (a))                                \
	X(CORE, CORE_PUSH_EX, int, nvtxRangePushEx, NVTX_NOT_TRACKED, (const void *a), (a))       \
	X(CORE, CORE_PUSH_A, int, nvtxRangePushA, NVTX_NOT_TRACKED, (const char *a), (a))         \
	X(CORE, CORE_PUSH_W, int, nvtxRangePushW, NVTX_NOT_TRACKED, (const wchar_t *a), (a))      \
	X(CORE, CORE_POP, int, nvtxRangePop, NVTX_NOT_TRACKED, (void), ())                        \
	X(CORE, CORE_NAME_CATEGORY_A, void, nvtxNameCategoryA, , (uint32_t a, const char *b),     \
	  (a, b))                                                                                 \
	X(CORE, CORE_NAME_CATEGORY_W, void, nvtxNameCategoryW, , (uint32_t a, const wchar_t *b),  \
	  (a, b))                                                                                 \
	X(CORE, CORE_NAME_THREAD_A, void, nvtxNameOsThreadA, , (uint32_t a, const char *b),       \
	  (a, b))                                                                                 \
	X(CORE, CORE_NAME_THREAD_W, void, nvtxNameOsThreadW, , (uint32_t a, const wchar_t *b),    \
	  (a, b))                                                                                 \
	X(CORE2, CORE2_MARK_EX, void, nvtxDomainMarkEx, , (void *a, const void *b), (a, b))       \
	X(CORE2, CORE2_START_EX, uint64_t, nvtxDomainRangeStartEx, 0, (void *a, const void *b),   \
	  (a, b))                                                                                 \
	X(CORE2, CORE2_END, void, nvtxDomainRangeEnd, , (void *a, uint64_t b), (a, b))            \
	X(CORE2, CORE2_PUSH_EX, int, nvtxDomainRangePushEx, NVTX_NOT_TRACKED,                     \
	  (void *a, const void *b), (a, b))                                                       \
	X(CORE2, CORE2_POP, int, nvtxDomainRangePop, NVTX_NOT_TRACKED, (void *a), (a))            \
	X(CORE2, CORE2_RESOURCE_CREATE, void *, nvtxDomainResourceCreate, NULL,                   \
	  (void *a, void *b), (a, b))                                                             \
	X(CORE2, CORE2_RESOURCE_DESTROY, void, nvtxDomainResourceDestroy, , (void *a), (a))       \
	X(CORE2, CORE2_NAME_CATEGORY_A, void, nvtxDomainNameCategoryA, ,                          \
	  (void *a, uint32_t b, const char *c), (a, b, c))                                        \
	X(CORE2, CORE2_NAME_CATEGORY_W, void, nvtxDomainNameCategoryW, ,                          \
	  (void *a, uint32_t b, const wchar_t *c), (a, b, c))                                     \
	X(CORE2, CORE2_REGISTER_STRING_A, void *, nvtxDomainRegisterStringA, NULL,                \
	  (void *a, const char *b), (a, b))                                                       \
	X(CORE2, CORE2_REGISTER_STRING_W, void *, nvtxDomainRegisterStringW, NULL,                \
	  (void *a, const wchar_t *b), (a, b))                                                    \
	X(CORE2, CORE2_DOMAIN_CREATE_A, void *, nvtxDomainCreateA, NULL, (const char *a), (a))    \
	X(CORE2, CORE2_DOMAIN_CREATE_W, void *, nvtxDomainCreateW, NULL, (const wchar_t *a), (a)) \
	X(CORE2, CORE2_DOMAIN_DESTROY, void, nvtxDomainDestroy, , (void *a), (a))                 \
	X(CORE2, CORE2_INITIALIZE, void, nvtxInitialize, , (const void *a), (a))

static nvtx_function core[NVTX_CORE_NAME_THREAD_W + 1];
static nvtx_function core2[NVTX_CORE2_INITIALIZE + 1];
static nvtx_function *core_places[sizeof(core) / sizeof(*core)];
static nvtx_function *core2_places[sizeof(core2) / sizeof(*core2)];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool is_odd(const char *how)
{
	const char *odd = getenv("FAKE_NVTX_ODD");

	return odd && !strcmp(odd, how);
}

static unsigned known(size_t count)
{
	const char *limit = getenv("FAKE_NVTX_KNOWS");

	return limit ? (unsigned)strtoul(limit, NULL, 10) : (unsigned)count;
}

static int module(int number, nvtx_function ***places, unsigned *count)
{
	if (is_odd("no modules"))
		return 0;
	*places = number == NVTX_MODULE_CORE    ? core_places
		  : number == NVTX_MODULE_CORE2 ? core2_places
						: NULL;
	*count = known(number == NVTX_MODULE_CORE ? sizeof(core) / sizeof(*core)
						  : sizeof(core2) / sizeof(*core2));
	return *places != NULL;
}

static void tool_is_for(uint32_t version)
{
	(void)version;
}

static const void *tables(uint32_t table)
{
	static const struct nvtx_callbacks callbacks = { sizeof(callbacks), module };
	static const struct nvtx_callbacks cut_short = { sizeof(size_t), NULL };
	static const struct nvtx_version version = { sizeof(version), 3, 0, tool_is_for };

	if (is_odd("no tables"))
		return NULL;
	if (table == NVTX_TABLE_CALLBACKS)
		return is_odd("a short table") ? &cut_short : &callbacks;
	return table == NVTX_TABLE_VERSION && !is_odd("no version") ? &version : NULL;
}

static void find_tool(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
	int (*initialize)(nvtx_tables) = NULL;

	for (size_t i = 0; i < sizeof(core) / sizeof(*core); i++)
		core_places[i] = &core[i];
	for (size_t i = 0; i < sizeof(core2) / sizeof(*core2); i++)
		core2_places[i] = &core2[i];
	if (is_odd("a hole"))
		core_places[NVTX_CORE_PUSH_A] = NULL;
	if (library)
		*(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
	if (!initialize || !initialize(tables)) {
		memset(core, 0, sizeof(core));
		memset(core2, 0, sizeof(core2));
		if (library)
			dlclose(library);
	}
}

/* As the headers of CUDA 11.8 do it: whoever comes before somebody is done. */
static void find_tool_all_at_once(void)
{
	static _Atomic bool found;

	if (!atomic_load(&found)) {
		find_tool();
		atomic_store(&found, true);
	}
}

static nvtx_function find(int number, int place)
{
	if (is_odd("all at once"))
		find_tool_all_at_once();
	else
		pthread_once(&once, find_tool);
	return number == NVTX_MODULE_CORE ? core[place] : core2[place];
}

#define DEFINE(number, place, type, name, otherwise, parameters, arguments)    \
	EXPORT type name parameters;                                           \
	type name parameters                                                   \
	{                                                                      \
		nvtx_function tool = find(NVTX_MODULE_##number, NVTX_##place); \
                                                                               \
		if (!tool)                                                     \
			return otherwise;                                      \
		return ((type(*) parameters)tool)arguments;                    \
	}
FUNCTIONS(DEFINE)
