#include "analyze/cpu/thread_states.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"
#include "base/idmap.h"
#include "timeline/sample_walk.h"

/*
 * Samples are kept until there are so many, of all processes, and then seen together.
 * A wait that is cut in two by this has its holder found twice.
 */
#define SAMPLES_KEPT (1u << 18)

struct collector {
	struct analysis *analysis;
	const struct trace *trace;
	struct sample_window *windows; /* one for each process */
	size_t window_count, window_cap;
	struct idmap window_of; /* process id -> position */
	struct native_sample_at *natives;
	size_t native_count, native_cap;
	struct fault_at *faults;
	size_t fault_count, fault_cap;
	size_t kept;
	bool failed; /* no memory */
	struct wait_pairs gil, locks;
	struct native_code native;
	struct fault_lines fault_lines;
};

static void collector_init(struct collector *c, struct analysis *a, const struct trace *t)
{
	memset(c, 0, sizeof(*c));
	c->analysis = a;
	c->trace = t;
	idmap_init(&c->window_of);
	wait_pairs_init(&c->gil);
	wait_pairs_init(&c->locks);
	native_code_init(&c->native, a->steps[0].begin_ns, a->steps[0].until_ns);
	fault_lines_init(&c->fault_lines);
}

static void collector_release(struct collector *c)
{
	for (size_t i = 0; i < c->window_count; i++)
		sample_window_release(&c->windows[i]);
	free(c->windows);
	free(c->natives);
	free(c->faults);
	idmap_release(&c->window_of);
	wait_pairs_release(&c->gil);
	wait_pairs_release(&c->locks);
	native_code_release(&c->native);
	fault_lines_release(&c->fault_lines);
}

static struct sample_window *window_find(const struct collector *c, uint32_t process)
{
	uint32_t at = idmap_find(&c->window_of, process);

	return at == IDMAP_NONE ? NULL : &c->windows[at];
}

static struct sample_window *window_for(struct collector *c, uint32_t process)
{
	struct sample_window *w = window_find(c, process);

	if (w)
		return w;
	w = array_grow(c->windows, &c->window_cap, c->window_count + 1, sizeof(*w));
	if (!w)
		return NULL;
	c->windows = w;
	if (idmap_put(&c->window_of, process, (uint32_t)c->window_count))
		return NULL;
	w += c->window_count++;
	memset(w, 0, sizeof(*w));
	w->process = process;
	return w;
}

static int settle_windows(struct collector *c)
{
	for (size_t i = 0; i < c->window_count; i++) {
		struct sample_window *w = &c->windows[i];

		if (sample_window_sort(w) || gil_waits_collect(&c->gil, w, c->trace) ||
		    lock_waits_collect(&c->locks, w, c->trace))
			return -1;
	}
	for (size_t i = 0; i < c->native_count; i++) {
		const struct native_sample_at *n = &c->natives[i];

		if (native_code_add(&c->native, n, window_find(c, n->process), c->trace))
			return -1;
	}
	for (size_t i = 0; i < c->fault_count; i++) {
		const struct fault_at *f = &c->faults[i];

		if (fault_lines_add(&c->fault_lines, f, window_find(c, f->process)))
			return -1;
	}
	for (size_t i = 0; i < c->window_count; i++)
		sample_window_clear(&c->windows[i]);
	c->native_count = c->fault_count = c->kept = 0;
	return 0;
}

static void keep_another(struct collector *c)
{
	if (++c->kept > SAMPLES_KEPT && settle_windows(c))
		c->failed = true;
}

static void take_sample(void *ctx, const struct timed_sample *s)
{
	struct collector *c = ctx;
	struct analysis_states *states = &c->analysis->threads[s->thread].states;
	unsigned state = sample_state(s->sample);
	const struct window_sample l = {
		.thread = (uint32_t)s->thread,
		.stack = s->sample->stack,
		.flags = s->sample->flags,
		.lock = s->sample->lock,
		.start_ns = s->start_ns,
		.end_ns = s->end_ns,
	};
	struct sample_window *w;

	if (state >= SAMPLE_STATES)
		state = SAMPLE_UNKNOWN; /* of a later version */
	states->known = true;
	states->ns[state] = stats_add(states->ns[state], l.end_ns - l.start_ns);
	if (l.flags & SAMPLE_HAS_GIL)
		states->has_gil_ns = stats_add(states->has_gil_ns, l.end_ns - l.start_ns);
	if (l.end_ns <= l.start_ns) /* a single sample of a thread says nothing about time */
		return;
	keep_another(c);
	w = window_for(c, trace_thread(c->trace, s->thread)->process);
	if (!w || sample_window_add(w, &l))
		c->failed = true;
}

static void take_absence(struct analysis_thread *t, const struct native_sample_at *n)
{
	struct analysis_absences *a = &t->absences;
	int64_t ns = n->end_ns - n->time_ns;
	bool preempted = (n->flags & SAMPLE_STATE) == SAMPLE_RUNNING;
	int64_t *sum = preempted ? &a->preempted_ns : &a->waited_ns;

	a->count++;
	*sum = stats_add(*sum, ns);
	if (ns > a->longest_ns)
		a->longest_ns = ns;
}

static void take_native(void *ctx, const struct native_sample_at *n)
{
	struct collector *c = ctx;
	struct native_sample_at *grown;

	if (n->flags & SAMPLE_AWAY) {
		if (n->thread < c->analysis->thread_count)
			take_absence(&c->analysis->threads[n->thread], n);
		return;
	}
	keep_another(c);
	grown = array_grow(c->natives, &c->native_cap, c->native_count + 1, sizeof(*grown));
	if (!grown) {
		c->failed = true;
		return;
	}
	c->natives = grown;
	grown[c->native_count++] = *n;
}

static void take_fault(void *ctx, const struct fault_at *f)
{
	struct collector *c = ctx;
	struct fault_at *grown;

	keep_another(c);
	grown = array_grow(c->faults, &c->fault_cap, c->fault_count + 1, sizeof(*grown));
	if (!grown) {
		c->failed = true;
		return;
	}
	c->faults = grown;
	grown[c->fault_count++] = *f;
}

int thread_states_collect(struct analysis *a, const struct trace *t, struct err *err)
{
	struct sample_walk walk; /* what is damaged is counted by sample_totals.c */
	struct collector c;
	const struct sample_visitor visitor = { &c, take_sample, take_native, take_fault };
	int rc = -1;

	collector_init(&c, a, t);
	if (sample_walk(&walk, t, &visitor, err))
		goto out;
	err_set(err, "out of memory");
	if (c.failed || settle_windows(&c) || wait_pairs_finish(&c.gil, t, &a->gil) ||
	    wait_pairs_finish(&c.locks, t, &a->locks) ||
	    native_code_finish(&c.native, t, &a->native) || fault_lines_finish(&c.fault_lines, a))
		goto out;
	rc = 0;
out:
	collector_release(&c);
	return rc;
}
