/*
 * How NVTX finds us: NVTX_INJECTION64_PATH names this library, and each copy of NVTX
 * in the program calls InitializeInjectionNvtx2() at its first use, in the thread that
 * makes the call.  Other threads of the program wait for it; with the headers of CUDA 11.8,
 * whose compare-and-swap has its arguments the wrong way round, all threads that arrive before the
 * first is done call it too.
 */
#include <pthread.h>
#include <stdlib.h>

#include "agent/core/delayed_start.h"
#include "agent/core/session.h"
#include "agent/nvtx/nvtx.h"
#include "agent/python/native_attach.h"

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(nvtx_tables tables);

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Our functions into the places that the copy of NVTX shows us, as far as it knows them. */
static void attach(const struct nvtx_callbacks *callbacks, enum nvtx_module module,
		   const nvtx_function *functions, unsigned count)
{
	nvtx_function **places = NULL;
	unsigned there = 0;

	if (!callbacks->module((int)module, &places, &there) || !places)
		return;
	for (unsigned i = 1; i < count && i < there; i++) {
		if (places[i] && functions[i])
			*places[i] = functions[i];
	}
}

static void begin(void)
{
	if (!session_on())
		native_attach();
}

static void join_or_wait(void)
{
	if (!session_on() && !delayed_start_wait(DELAYED_START_NVTX, getenv(SHM_ENV), begin))
		begin();
}

/* Threads that arrive during this wait: otherwise they would not be recorded until it is done. */
static void set_up_once(void)
{
	pthread_atfork(NULL, NULL, nvtx_ranges_forked);
	join_or_wait();
}

/*
 * 1: we are the tool; 0: it is a kind of NVTX that we do not know.  Also while nothing
 * is recorded: a recording may begin later (--delay, inferscope.start()).
 */
int InitializeInjectionNvtx2(nvtx_tables tables)
{
	const struct nvtx_callbacks *callbacks = tables ? tables(NVTX_TABLE_CALLBACKS) : NULL;
	const struct nvtx_version *version = tables ? tables(NVTX_TABLE_VERSION) : NULL;

	if (!callbacks || callbacks->bytes < sizeof(*callbacks) || !callbacks->module)
		return 0;
	pthread_once(&once, set_up_once);
	join_or_wait();
	if (version && version->bytes >= sizeof(*version) && version->tool_is_for)
		version->tool_is_for(NVTX_VERSION_OURS);
	attach(callbacks, NVTX_MODULE_CORE, nvtx_core, sizeof(nvtx_core) / sizeof(*nvtx_core));
	attach(callbacks, NVTX_MODULE_CORE2, nvtx_core2, sizeof(nvtx_core2) / sizeof(*nvtx_core2));
	return 1;
}
