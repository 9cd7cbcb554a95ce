/* Loading libcupti; see cupti.h. */
#include "agent/gpu/cupti.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/cupti_names.h"

#define CUDA_12 12000

struct cupti cupti;

/*
 * A framework brings the libcupti that it was built for.  A second copy would
 * be a second subscriber, so one that is loaded already always goes first.
 */
static void *open_library(void)
{
	const char *asked = getenv(CUPTI_ENV);
	void *library = NULL;

	if (asked && *asked)
		return dlopen(asked, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; !library && i < CUPTI_NAMES; i++)
		library = dlopen(cupti_names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	for (size_t i = 0; !library && i < CUPTI_NAMES; i++)
		library = dlopen(cupti_names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

static const char *missing_symbol(void *library)
{
#define LOAD(name, symbol, args)                        \
	*(void **)&cupti.name = dlsym(library, symbol); \
	if (!cupti.name)                                \
		return symbol;
	CUPTI_FUNCTIONS(LOAD)
#undef LOAD
	return NULL;
}

/* 13000 for CUDA 13.0; 0: it does not say. */
static int driver_version(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	int (*get)(int *version) = NULL, version = 0;

	if (driver)
		*(void **)&get = dlsym(driver, "cuDriverGetVersion");
	if (!get || get(&version))
		version = 0;
	if (driver)
		dlclose(driver);
	return version;
}

int cupti_load(char *text, size_t bytes)
{
	void *library = open_library();
	const char *missing;
	int result, driver;

	if (!library) {
		snprintf(text, bytes,
			 "libcupti was not found: install the CUPTI of your CUDA version (it comes "
			 "with "
			 "PyTorch's wheels and the CUDA toolkit), or name it in " CUPTI_ENV);
		return -1;
	}
	*(void **)&cupti.GetStreamId = dlsym(library, "cuptiGetStreamIdEx");
	*(void **)&cupti.GetGraphNodeId = dlsym(library, "cuptiGetGraphNodeId");
	missing = missing_symbol(library);
	if (missing) {
		snprintf(text, bytes, "libcupti is too old (no %s): 11.8 or newer is needed",
			 missing);
		return -1;
	}
	result = cupti.GetVersion(&cupti.version);
	if (result) {
		snprintf(text, bytes,
			 "libcupti reports no version (%d): install the CUPTI of your CUDA "
			 "version, or set its path in INFERSCOPE_CUPTI",
			 result);
		return -1;
	}
	if (cupti.version < CUPTI_VERSION_MIN) {
		snprintf(text, bytes, "libcupti is too old (version %u): 11.8 or newer is needed",
			 cupti.version);
		return -1;
	}
	/*
	 * Seen on an H200 under a CUDA 13 driver: with any launch of the driver API enabled CUPTI
	 * 11.8 gives all calls the same number and crashes in PyTorch's; without, all is well.
	 */
	driver = driver_version();
	cupti.has_driver_calls = cupti.version > CUPTI_VERSION_MIN || (driver && driver < CUDA_12);
	return 0;
}
