#include "agent/calls.h"

static const struct calls_hook *hook_for_this_python(void)
{
	return py.version >= 0x030c0000 ? &calls_monitoring : &calls_profile;
}

enum shm_refusal calls_start(void)
{
	return codes_init() ? SHM_REFUSED_API : hook_for_this_python()->start();
}

void calls_stop(void)
{
	hook_for_this_python()->stop();
}
