#include "analyze/idle_blame.h"

struct time_cause idle_time_cause(const struct idle_cause *c)
{
	return (struct time_cause){
		.what = c->what,
		.where = c->where,
		.inner = c->inner,
		.waited_for = c->waited_for,
		.ns = c->ns,
		.inner_ns = c->inner_ns,
	};
}

const char *idle_cause_name(const struct idle_cause *c)
{
	return c->latency ? "launch_latency" : time_class_name(c->what);
}
