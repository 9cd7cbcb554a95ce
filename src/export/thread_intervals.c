#include "export/thread_intervals.h"

#include <stdlib.h>

/* The newest interval of a thread. */
struct newest {
	bool any;
	struct thread_interval interval;
	int64_t start_error_ns, end_error_ns;
};

struct intervals {
	struct newest *newest; /* by position of the thread */
	void (*visit)(void *ctx, const struct thread_interval *i);
	void *ctx;
};

const char *thread_state_name(enum sample_state state)
{
	static const char *const names[SAMPLE_STATES] = {
		[SAMPLE_UNKNOWN] = "unknown",   [SAMPLE_RUNNING] = "running",
		[SAMPLE_GIL_WAIT] = "gil_wait", [SAMPLE_LOCK_WAIT] = "lock_wait",
		[SAMPLE_IO_WAIT] = "io_wait",   [SAMPLE_OFF_CPU] = "off_cpu",
		[SAMPLE_SLEEP] = "sleep",
	};

	return names[state < SAMPLE_STATES ? state : SAMPLE_UNKNOWN];
}

const char *sample_state_frame(unsigned state)
{
	static const char *const frames[SAMPLE_STATES] = {
		[SAMPLE_UNKNOWN] = "(unknown)",
		[SAMPLE_RUNNING] = "(runs)",
		[SAMPLE_GIL_WAIT] = "(waits for the GIL)",
		[SAMPLE_LOCK_WAIT] = "(waits for a lock)",
		[SAMPLE_IO_WAIT] = "(waits for I/O)",
		[SAMPLE_OFF_CPU] = "(waits)",
		[SAMPLE_SLEEP] = "(sleeps)",
	};

	return frames[state < SAMPLE_STATES ? state : SAMPLE_UNKNOWN];
}

static void finish_interval(const struct intervals *all, struct newest *n)
{
	n->interval.error_ns =
		n->start_error_ns > n->end_error_ns ? n->start_error_ns : n->end_error_ns;
	all->visit(all->ctx, &n->interval);
	n->any = false;
}

/* At most half the distance of two samples; what lies beyond a run's own ends may be unknown. */
static int64_t error_ns(const struct sample *s, int64_t reach_ns)
{
	int64_t usual_ns = s->count > 1 ? (s->last_ns - s->first_ns) / (s->count - 1) / 2 : 0;

	return reach_ns > usual_ns ? reach_ns : usual_ns;
}

static void take(void *ctx, const struct timed_sample *t)
{
	const struct intervals *all = ctx;
	struct newest *n = &all->newest[t->thread];
	struct thread_interval *i = &n->interval;
	enum sample_state state = sample_state(t->sample);

	if (state >= SAMPLE_STATES)
		state = SAMPLE_UNKNOWN; /* of a later version */
	if (n->any && (i->state != state || i->lock != t->sample->lock || i->end_ns != t->start_ns))
		finish_interval(all, n);
	if (!n->any) {
		*n = (struct newest){
			.any = true,
			.interval = {
				.thread = t->thread,
				.state = state,
				.lock = t->sample->lock,
				.start_ns = t->start_ns,
			},
			.start_error_ns = error_ns(t->sample, t->sample->first_ns - t->start_ns),
		};
	}
	i->end_ns = t->end_ns;
	n->end_error_ns = error_ns(t->sample, t->end_ns - t->sample->last_ns);
}

int thread_intervals_walk(const struct trace *t,
			  void (*visit)(void *ctx, const struct thread_interval *i), void *ctx,
			  struct err *err)
{
	size_t threads = trace_thread_count(t);
	struct intervals all = { calloc(threads + 1, sizeof(*all.newest)), visit, ctx };
	const struct sample_visitor visitor = { .ctx = &all, .sample = take };
	struct sample_walk walk;
	int rc;

	if (!all.newest)
		return err_set(err, "out of memory");
	rc = sample_walk(&walk, t, &visitor, err);
	for (size_t i = 0; i < threads && !rc; i++)
		if (all.newest[i].any)
			finish_interval(&all, &all.newest[i]);
	free(all.newest);
	return rc;
}
