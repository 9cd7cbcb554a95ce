/*
 * The CPU times of threads, as the kernel counts them.  See drain.h.
 *
 * An agent says what its thread had used when its entry began and when it
 * ended.  A thread that is killed says nothing any more, and only the kernel
 * knows how long it waited for a CPU: so it is asked while the thread lives.
 */
#include "capture/drain/drain_state.h"

/* A question takes about 5 us: a thousandth of a core at most, however many threads there are. */
#define ASK_AFTER_NS 10000000
#define ASK_EACH_NS 5000000

#define WINDOW_NS 50000000 /* of running: enough to measure how scarce CPUs are */
#define CONTENTION_MAX 10000u

static void read_times(uint32_t pid, struct trace_thread *entry, struct thread_times *first,
		       struct thread_times *last)
{
	struct thread_times now;

	if (!thread_times_read(&now, "", (pid_t)pid, (pid_t)entry->tid))
		return;
	if (!entry->timed)
		*first = now;
	entry->timed = true;
	*last = now;
}

/* Threads known from samples only, with entries of their own.  Returns how many were read. */
static int64_t update_sampled(struct drain *d, bool due)
{
	int64_t asked = 0;

	for (size_t i = 0; i < d->sampled_count; i++) {
		struct sampled_thread *s = &d->sampled[i];
		const struct trace_process *p = drain_process_of(d, s->entry.process);

		if (!s->ours || !p || (s->entry.timed && !due))
			continue;
		read_times(p->pid, &s->entry, &s->first, &s->last);
		asked++;
	}
	return asked;
}

static void update_times(struct drain *d, struct drain_thread *t, int64_t now_ns)
{
	struct drain_process *p = &d->processes[t->slot];
	struct thread_times before = t->last;
	bool again = t->entry.timed;
	uint64_t ran_ns, queued_ns;

	read_times(p->entry.pid, &t->entry, &t->first, &t->last);
	if (!again)
		return;
	ran_ns = t->last.on_cpu_ns - before.on_cpu_ns;
	queued_ns = t->last.queued_ns - before.queued_ns;
	p->ran_ns += ran_ns;
	p->queued_ns += queued_ns;
	drain_costs_waited(d, p, now_ns - d->times_asked_ns, ran_ns, queued_ns);
}

/* What the agents' account needs; of contention the latest counts most. */
static void publish_to_agents(struct drain *d)
{
	for (uint32_t i = 0; i < d->process_limit; i++) {
		struct shm_process *shared = &d->owner->processes[i];
		struct drain_process *p = &d->processes[i];
		uint64_t percent;

		if (!p->known)
			continue;
		atomic_store_explicit(&shared->outside_ns, p->outside_ns, memory_order_relaxed);
		if (p->ran_ns < WINDOW_NS)
			continue;
		percent = 100 + 100 * p->queued_ns / p->ran_ns;
		atomic_store_explicit(&shared->contention_percent,
				      percent < CONTENTION_MAX ? (uint32_t)percent : CONTENTION_MAX,
				      memory_order_relaxed);
		p->ran_ns /= 2;
		p->queued_ns /= 2;
	}
}

void drain_times_update(struct drain *d)
{
	int64_t now_ns = ticks_now_ns(d->ticks);
	bool due = now_ns >= d->times_due_ns;
	int64_t asked = update_sampled(d, due);

	for (uint32_t i = 0; i < d->thread_limit; i++) {
		struct drain_thread *t = &d->threads[i];

		if (!t->known || t->ended || (t->entry.timed && !due))
			continue;
		update_times(d, t, now_ns);
		asked++;
	}
	if (!due)
		return;
	drain_costs_cycle(d, now_ns);
	publish_to_agents(d);
	d->times_asked_ns = now_ns;
	d->times_due_ns = now_ns + ASK_AFTER_NS + asked * ASK_EACH_NS;
}

void drain_process_ends(struct drain *d, uint32_t pid)
{
	drain_series_ended(d, pid);
	for (uint32_t i = 0; i < d->process_limit; i++) {
		if (d->processes[i].known && d->processes[i].entry.pid == pid)
			drain_series_end(d, i);
	}
	for (uint32_t i = 0; i < d->thread_limit; i++) {
		struct drain_thread *t = &d->threads[i];

		if (t->known && d->processes[t->slot].entry.pid == pid)
			update_times(d, t, ticks_now_ns(d->ticks));
	}
	for (size_t i = 0; i < d->sampled_count; i++) {
		struct sampled_thread *s = &d->sampled[i];
		const struct trace_process *p = drain_process_of(d, s->entry.process);

		if (s->ours && p && p->pid == pid)
			read_times(pid, &s->entry, &s->first, &s->last);
	}
}

void drain_times_finish_sampled(struct sampled_thread *s)
{
	s->entry.on_cpu_ns = (int64_t)(s->last.on_cpu_ns - s->first.on_cpu_ns);
	s->entry.queued_ns = (int64_t)(s->last.queued_ns - s->first.queued_ns);
}

void drain_times_finish(struct drain *d, uint32_t slot)
{
	struct drain_thread *t = &d->threads[slot];
	uint64_t decision_count =
		atomic_load_explicit(&d->owner->threads[slot].cpu_end_ns, memory_order_relaxed);
	uint64_t used_ns = decision_count ? decision_count : t->last.on_cpu_ns;
	int64_t lived_ns = ticks_now_ns(d->ticks) - t->entry.start_ns;

	/* One that ended before the kernel could be asked was too short to wait for long. */
	t->entry.timed |= decision_count != 0;
	if (!t->entry.timed)
		return;
	t->entry.queued_ns = (int64_t)(t->last.queued_ns - t->first.queued_ns);
	/* The shared memory may say anything; the kernel's figures are up to 10 ms old. */
	if (used_ns < t->cpu_begin_ns)
		used_ns = t->cpu_begin_ns;
	t->entry.on_cpu_ns = (int64_t)(used_ns - t->cpu_begin_ns);
	if (t->entry.on_cpu_ns < 0 || t->entry.on_cpu_ns > lived_ns)
		t->entry.timed = false;
}
