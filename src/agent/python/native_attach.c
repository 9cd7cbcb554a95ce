#include "agent/python/native_attach.h"

#include <stdlib.h>

#include "agent/core/session.h"
#include "agent/python/pyapi.h"

int native_attach(void)
{
	uint32_t python = pyapi_version_here();
	struct shm_process *self;

	if (session_join(getenv(SHM_ENV), python ? python | 0xf0 : 0))
		return -1;
	self = python ? session_process() : NULL;
	if (self)
		atomic_store_explicit(&self->refusal, SHM_REFUSED_LEFT_OUT, memory_order_relaxed);
	return 0;
}
