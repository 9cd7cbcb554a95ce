/*
 * What threads did, by samples: looks in a row that found a thread doing the same
 * are one interval.  When it began and ended is known to within `error_us`: half of
 * the time between the last look that found something else and the first.
 */
#include <stdlib.h>

#include "export/export_json.h"
#include "timeline/sample_walk.h"

static const char *const state_names[SAMPLE_STATES] = {
	[SAMPLE_UNKNOWN] = "unknown",   [SAMPLE_RUNNING] = "running",
	[SAMPLE_GIL_WAIT] = "gil_wait", [SAMPLE_LOCK_WAIT] = "lock_wait",
	[SAMPLE_IO_WAIT] = "io_wait",   [SAMPLE_OFF_CPU] = "off_cpu",
	[SAMPLE_SLEEP] = "sleep",
};

/* The newest interval of a thread. */
struct interval {
	bool any;
	enum sample_state state;
	uint64_t lock;
	int64_t start_ns, end_ns;
	int64_t start_error_ns, end_error_ns;
};

struct states {
	struct exported *exported;
	struct interval *newest; /* by position of the thread */
};

static void write_interval(struct exported *x, size_t thread, const struct interval *i)
{
	struct json *j = &x->json;

	export_event_begin(x, "thread_state", state_names[i->state]);
	key_us(j, "start_us", i->start_ns);
	key_us(j, "end_us", i->end_ns);
	key_us(j, "error_us",
	       i->start_error_ns > i->end_error_ns ? i->start_error_ns : i->end_error_ns);
	export_event_thread(x, thread);
	if (i->lock)
		key_uint(j, "lock", i->lock);
	export_event_end(x);
}

/* At most half the distance of two looks; what lies beyond a run's own ends may be unknown. */
static int64_t error_ns(const struct sample *s, int64_t reach_ns)
{
	int64_t usual_ns = s->count > 1 ? (s->last_ns - s->first_ns) / (s->count - 1) / 2 : 0;

	return reach_ns > usual_ns ? reach_ns : usual_ns;
}

static void take_sample(void *ctx, const struct timed_sample *t)
{
	struct states *s = ctx;
	struct interval *i = &s->newest[t->thread];
	enum sample_state state = sample_state(t->sample);

	if (state >= SAMPLE_STATES)
		state = SAMPLE_UNKNOWN; /* of a later version */
	if (i->any &&
	    (i->state != state || i->lock != t->sample->lock || i->end_ns != t->start_ns)) {
		write_interval(s->exported, t->thread, i);
		i->any = false;
	}
	if (!i->any)
		*i = (struct interval){
			.any = true,
			.state = state,
			.lock = t->sample->lock,
			.start_ns = t->start_ns,
			.start_error_ns = error_ns(t->sample, t->sample->first_ns - t->start_ns),
		};
	i->end_ns = t->end_ns;
	i->end_error_ns = error_ns(t->sample, t->end_ns - t->sample->last_ns);
}

/* Exact, in the order in which the kernel told. */
static void take_native(void *ctx, const struct native_sample_at *n)
{
	struct exported *x = ((struct states *)ctx)->exported;

	if (!(n->flags & SAMPLE_AWAY) || n->thread >= trace_thread_count(x->trace))
		return;
	export_event_begin(x, "off_cpu",
			   (n->flags & SAMPLE_STATE) == SAMPLE_RUNNING ? "preempted" : "waiting");
	key_us(&x->json, "start_us", n->time_ns);
	key_us(&x->json, "end_us", n->end_ns);
	export_event_thread(x, n->thread);
	export_event_end(x);
}

int export_json_states(struct exported *x, struct err *err)
{
	size_t threads = trace_thread_count(x->trace);
	struct states s = { x, calloc(threads + 1, sizeof(*s.newest)) };
	const struct sample_visitor visitor = { &s, take_sample, take_native, NULL };
	struct sample_walk walk;
	int rc = -1;

	if (!s.newest) {
		err_set(err, "out of memory");
		goto out;
	}
	if (sample_walk(&walk, x->trace, &visitor, err))
		goto out;
	for (size_t i = 0; i < threads; i++) {
		if (s.newest[i].any)
			write_interval(x, i, &s.newest[i]);
	}
	rc = 0;
out:
	free(s.newest);
	return rc;
}
