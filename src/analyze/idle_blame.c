#include "analyze/idle_blame.h"

const char *idle_cause_name(const struct idle_cause *c)
{
	return c->latency ? "launch_latency" : time_class_name(c->what);
}
