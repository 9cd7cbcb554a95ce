/*
 * A program whose CUDA is a recorded one: it loads what the driver would load
 * (CUDA_INJECTION64_PATH), then has the libcupti that this has loaded
 * (INFERSCOPE_CUPTI, tap_cupti.c) tell its tap.  Prints by how much it shifted
 * times, in ns.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tap_cupti.h"

static void *find(const char *variable, int flags, const char *symbol)
{
	const char *path = getenv(variable);
	void *library = path ? dlopen(path, RTLD_NOW | flags) : NULL;

	return library ? dlsym(library, symbol) : NULL;
}

int main(void)
{
	int (*replay)(int64_t *);
	int (*injection)(void);
	int64_t shift;

	*(void **)&injection = find("CUDA_INJECTION64_PATH", RTLD_LOCAL, "InitializeInjection");
	if (!injection || injection() != 1)
		return 1;
	*(void **)&replay = find("INFERSCOPE_CUPTI", RTLD_NOLOAD, "tap_replay");
	if (!replay || replay(&shift))
		return 2;
	printf("%" PRId64 "\n", shift);
	return 0;
}
