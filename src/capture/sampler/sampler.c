/*
 * The sampling thread.  It alone touches `targets` and all they hold; what the
 * main thread wants (processes to add and remove) and what it gets (samples and
 * definitions) change hands under `lock`, which is never held while the workload
 * is read.
 */
#include "capture/sampler/sampler.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "capture/sampler/py_codes.h"
#include "capture/sampler/py_stacks.h"
#include "capture/sampler/remote.h"
#include "capture/sampler/sampler_parts.h"
#include "capture/sampler/thread_state.h"
#include "format/stamp.h"

#define LATE_NS 1000000     /* a sample that takes longer cannot be given a time */
#define TRIES 3             /* of reading a stack that is invalid */
#define SETTLE_ROUNDS 20u   /* a process that cannot be read is tried again after as many */
#define GIVE_UP_ROUNDS 100u /* likewise one that could not be many times: after this many */
#define INSIDE_PART 5u      /* 1/INSIDE_PART of the budget is for sampling from inside */
#define SILENT_NS 200000000 /* no answer for so long: there will be none */

/* A thread that is being sampled. */
struct watched {
	uint64_t state, ident;
	bool seen; /* in this round */
	struct thread_state_reader watch;
	struct wait_place waits;
	struct sample_run samples;
};

struct target {
	uint32_t process;
	int pidfd;
	struct shm_process *entry;
	int64_t since_ns; /* when it was handed to us, or to its agent */
	bool refused;     /* by the kernel */
	uint64_t rounds;  /* as it is read now */
	int64_t first_ns, last_ns;
	unsigned failures; /* in a row */
	unsigned rest;     /* rounds to let pass */
	struct py_process python;
	struct address_range gil;
	struct py_codes codes;
	size_t watched_count, watched_cap;
	struct watched *watched;
};

struct order { /* of the main thread */
	bool add;
	uint32_t process;
	pid_t pid;
	const struct py_layout *layout;
	struct shm_python where;
	struct shm_process *entry;
};

struct sampler {
	struct shm_header *header;
	uint32_t budget_ppm;
	int64_t origin_ns;
	struct sample_pace pace;
	struct py_reader *reader;
	struct py_stack stack;
	struct stack_ids stacks;
	size_t target_count, target_cap;
	struct thread_state_readeres watches; /* of all targets */
	struct windows windows;
	struct target *targets;
	struct sampler_totals totals;
	struct sampler_taken out; /* of this round */

	pthread_t thread;
	bool started, stopped;
	pthread_mutex_t lock;
	bool stop;
	size_t order_count, order_cap;
	struct order *orders;
	struct sampler_taken ready; /* for the main thread */
};

int sampler_new(struct sampler **out, uint32_t hz, uint32_t budget_ppm, struct shm_header *header,
		struct shm_window *windows, int64_t origin_ns, struct err *err)
{
	struct sampler *s = calloc(1, sizeof(*s));

	if (!s || !(s->reader = py_reader_new())) {
		free(s);
		return err_set(err, "out of memory");
	}
	s->header = header;
	s->budget_ppm = budget_ppm;
	s->origin_ns = origin_ns;
	windows_init(&s->windows, windows);
	sample_pace_init(&s->pace, hz, budget_ppm);
	pthread_mutex_init(&s->lock, NULL);
	*out = s;
	return 0;
}

static void target_release(struct target *t)
{
	if (t->pidfd >= 0)
		close(t->pidfd);
	py_process_release(&t->python);
	py_codes_release(&t->codes);
	free(t->watched);
}

void sampler_free(struct sampler *s)
{
	if (!s)
		return;
	sampler_stop(s);
	for (size_t i = 0; i < s->target_count; i++)
		target_release(&s->targets[i]);
	free(s->targets);
	free(s->orders);
	sampler_taken_release(&s->out);
	sampler_taken_release(&s->ready);
	stack_ids_release(&s->stacks);
	py_reader_free(s->reader);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

/* --- what is seen --- */

static uint32_t next_id(void *context)
{
	struct sampler *s = context;
	uint32_t id = 0;

	while (!id) /* it may wrap around */
		id = atomic_fetch_add_explicit(&s->header->next_id, 1, memory_order_relaxed);
	return id;
}

static void define(void *context, uint8_t kind, uint32_t id, const void *payload, size_t bytes)
{
	struct sampler *s = context;
	const struct sampler_def d = { .id = id, .bytes = (uint16_t)bytes, .kind = kind };

	buf_add(&s->out.defs, &d, sizeof(d));
	buf_add(&s->out.defs, payload, bytes);
}

static void add_sample(struct sampler *s, struct watched *w, uint32_t stack, uint32_t flags,
		       uint64_t lock, int64_t now_ns, size_t lines)
{
	const struct sample sample = {
		.stack = stack, .flags = flags, .lock = lock, .first_ns = now_ns, .last_ns = now_ns
	};

	sample_run_add(&w->samples, &s->out, &sample, lines, &s->totals.dropped);
}

/*
 * Reads a stack; *id is 0 where there is none.  An agent that reads it says when that was.
 * -1: what was read cannot be one, for it has a frame that runs no function.
 */
static int read_stack(struct sampler *s, struct target *t, struct py_thread *thread,
		      int64_t *seen_ns, uint32_t *id)
{
	const struct window *w = t->python.memory.window;
	const struct py_definitions d = { s, next_id, define };
	uint32_t ids[PY_STACK_FRAMES];
	struct py_stack *stack = &s->stack;
	size_t from;

	*id = 0;
	if (py_stack_read(s->reader, &t->python, thread, stack))
		return -1;
	if (w)
		*seen_ns = w->read_ns - s->origin_ns;
	if (!stack->count)
		return 0;
	if (py_codes_find(&t->codes, &t->python, stack, ids, *seen_ns, &d))
		return -1;
	/* An uncertain one that is none was never there. */
	from = stack->unstable && !ids[0] ? 1 : 0;
	for (size_t i = from; i < stack->count; i++) {
		if (!ids[i])
			return -1;
	}
	*id = stack_ids_find(&s->stacks, t->python.layout, stack->frames + from, ids + from,
			     stack->count - from, &d);
	return 0;
}

/* Or it is read from outside and need not answer. */
static bool answers(const struct target *t)
{
	return !t->python.memory.window || window_is_idle(t->python.memory.window);
}

static void sample_thread(struct sampler *s, struct target *t, struct py_thread *thread,
			  struct watched *w)
{
	uint32_t stack, flags = thread->has_gil ? SAMPLE_HAS_GIL : 0;
	struct thread_state doing = thread_state_reader_state(&w->watch, t->gil);
	int64_t now_ns = (int64_t)stamp_monotonic() - s->origin_ns;
	int tries = 0, rc;
	struct py_frame top = { 0 };
	uint64_t place =
		doing.state > SAMPLE_RUNNING ? py_thread_place(&t->python, thread, &top) : 0;
	size_t lines = 0;

	s->totals.samples++;
	s->totals.hidden += w->watch.refused;
	if (wait_place_same(&w->waits, place, &w->samples.run, doing.state, doing.lock)) {
		add_sample(s, w, w->samples.run.stack, w->samples.run.flags, doing.lock, now_ns, 0);
		return;
	}
	do {
		rc = read_stack(s, t, thread, &now_ns, &stack);
		lines += s->stack.lines;
	} while (rc && ++tries < TRIES);
	/* We were kept from running: this was now, or then, or in between. */
	if (!answers(t) || (!t->python.memory.window &&
			    (int64_t)stamp_monotonic() - s->origin_ns - now_ns > LATE_NS))
		return;
	if (rc) {
		s->totals.failed++;
		flags |= SAMPLE_LEAF_UNSTABLE;
	} else {
		s->totals.unstable += s->stack.unstable;
		flags |= s->stack.unstable ? SAMPLE_LEAF_UNSTABLE : 0;
		flags |= s->stack.cut ? SAMPLE_CUT : 0;
	}
	/* A thread that has run no Python so far is no Python thread: C code's, or our own. */
	if (!stack && !w->samples.reported && !w->samples.run.count)
		return;
	flags |= doing.state | (doing.lock ? SAMPLE_WAITS_FOR_LOCK : 0);
	add_sample(s, w, stack, flags, doing.lock, now_ns, lines);
	if (!rc)
		wait_place_set(&w->waits, place, &top, &s->stack);
}

/* Mostly in the same place as last time. */
static struct watched *thread_find(struct sampler *s, struct target *t,
				   const struct py_thread *thread, size_t hint)
{
	struct watched *grown;

	for (size_t n = 0; n < t->watched_count; n++) {
		struct watched *w = &t->watched[(hint + n) % t->watched_count];

		if (w->state == thread->state && w->ident == thread->ident &&
		    w->samples.tid == thread->tid)
			return w;
	}
	grown = array_grow(t->watched, &t->watched_cap, t->watched_count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	t->watched = grown;
	grown[t->watched_count] =
		(struct watched){ .state = thread->state,
				  .ident = thread->ident,
				  .samples = { .process = t->process, .tid = thread->tid } };
	thread_state_reader_open(&grown[t->watched_count].watch, &s->watches, "",
				 t->python.memory.pid, (pid_t)thread->tid);
	return &grown[t->watched_count++];
}

static void thread_gone(struct sampler *s, struct watched *w, int64_t now_ns)
{
	thread_state_reader_close(&w->watch, &s->watches);
	sample_run_end(&w->samples, &s->out, now_ns, &s->totals.dropped);
}

static void retire_unseen(struct sampler *s, struct target *t, int64_t now_ns)
{
	size_t n = 0;

	for (size_t i = 0; i < t->watched_count; i++) {
		struct watched *w = &t->watched[i];

		if (!w->seen)
			thread_gone(s, w, now_ns);
		else
			t->watched[n++] = *w;
	}
	t->watched_count = n;
}

static bool has_ended(const struct target *t)
{
	struct pollfd ended = { t->pidfd, POLLIN, 0 };

	return t->pidfd >= 0 && poll(&ended, 1, 0) != 0;
}

/* How it was read until now. */
static void account(struct sampler *s, struct target *t)
{
	struct sampler_reach *r = t->refused ? &s->totals.inside : &s->totals.outside;
	int64_t now_ns = (int64_t)stamp_monotonic();
	int64_t silent_ns = (t->rounds ? t->first_ns : now_ns) - t->since_ns;

	if (t->rounds) {
		r->processes++;
		r->rounds += t->rounds;
		r->ns += t->last_ns - t->first_ns;
		if (t->refused && silent_ns > s->totals.silent_ns)
			s->totals.silent_ns = silent_ns;
	} else if (t->refused && silent_ns > SILENT_NS) {
		s->totals.unread++;
	}
	t->rounds = 0;
	t->since_ns = now_ns;
}

/* The kernel lets us read it no more, or never did: its agent is asked from now on. */
static void refused(struct sampler *s, struct target *t, int error)
{
	uint32_t ppm = s->budget_ppm;
	double share = ppm == SHM_NO_BUDGET ? 1 : ppm / 1e6 / INSIDE_PART;

	s->totals.refusal = error;
	if (!t->refused)
		account(s, t);
	t->refused = true;
	t->python.memory.window = window_open(&s->windows, t->entry, t->python.memory.pid, share);
}

/* A process that is starting, ending or turning into another program comes back, or never. */
static void failed(struct sampler *s, struct target *t)
{
	int error = errno;

	if (!answers(t))
		return; /* in time, that is: it may be stopped */
	if (permission_is_refused(error) && !t->python.memory.window)
		refused(s, t, error);
	t->rest = ++t->failures < GIVE_UP_ROUNDS ? 0 : SETTLE_ROUNDS;
}

static bool is_due(struct target *t)
{
	struct window *w = t->python.memory.window;

	return !w || (window_is_idle(w) && window_due(w, (int64_t)stamp_monotonic()));
}

static void visit(struct sampler *s, struct target *t)
{
	if (t->rest) {
		t->rest--;
		return;
	}
	/* Its number may be another process's by now. */
	if (has_ended(t) || !is_due(t))
		return;
	if (py_threads_read(s->reader, &t->python)) {
		failed(s, t);
		return;
	}
	if (!answers(t))
		return; /* these are not all threads */
	t->failures = 0;
	t->last_ns = (int64_t)stamp_monotonic();
	if (!t->rounds++)
		t->first_ns = t->last_ns;
	for (size_t i = 0; i < t->watched_count; i++)
		t->watched[i].seen = false;
	for (size_t i = 0; i < t->python.thread_count; i++) {
		struct py_thread *thread = &t->python.threads[i];
		struct watched *w = thread->tid ? thread_find(s, t, thread, i) : NULL;

		if (!w)
			continue;
		w->seen = true;
		sample_thread(s, t, thread, w);
	}
	retire_unseen(s, t, (int64_t)stamp_monotonic() - s->origin_ns);
}

/* --- the thread --- */

static void target_add(struct sampler *s, const struct order *o)
{
	int pidfd = (int)syscall(SYS_pidfd_open, o->pid, 0);
	bool gone = pidfd < 0 && errno == ESRCH; /* and its number may be another process's soon */
	struct target *grown =
		gone ? NULL
		     : array_grow(s->targets, &s->target_cap, s->target_count + 1, sizeof(*grown));
	struct target *t;

	if (!grown) {
		if (pidfd >= 0)
			close(pidfd);
		return;
	}
	s->targets = grown;
	t = &grown[s->target_count++];
	memset(t, 0, sizeof(*t));
	t->process = o->process;
	t->since_ns = (int64_t)stamp_monotonic();
	t->pidfd = pidfd;
	t->python.memory.pid = o->pid;
	t->python.layout = o->layout;
	t->python.where = o->where;
	t->entry = o->entry;
	t->gil = (struct address_range){ o->where.gil, o->where.gil + PY_GIL_BYTES };
	py_codes_init(&t->codes);
}

static void target_remove(struct sampler *s, uint32_t process, int64_t now_ns)
{
	for (size_t i = 0; i < s->target_count; i++) {
		struct target *t = &s->targets[i];

		if (t->process != process)
			continue;
		for (size_t w = 0; w < t->watched_count; w++)
			thread_gone(s, &t->watched[w], now_ns);
		account(s, t);
		if (t->python.memory.window)
			window_close(t->python.memory.window);
		target_release(t);
		if (i < --s->target_count)
			*t = s->targets[s->target_count];
		return;
	}
}

/* Both ways; whatever is large changes hands by its pointer. */
static bool exchange(struct sampler *s)
{
	int64_t now_ns = (int64_t)stamp_monotonic() - s->origin_ns;
	struct order *orders;
	size_t count;
	bool stop;

	pthread_mutex_lock(&s->lock);
	orders = s->orders;
	count = s->order_count;
	s->orders = NULL;
	s->order_count = s->order_cap = 0;
	stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < count; i++) {
		if (orders[i].add)
			target_add(s, &orders[i]);
		else
			target_remove(s, orders[i].process, now_ns);
	}
	free(orders);
	return !stop;
}

static void publish(struct sampler *s)
{
	if (!s->out.sample_count && !s->out.defs.len)
		return;
	pthread_mutex_lock(&s->lock);
	sampler_taken_append(&s->ready, &s->out, &s->totals.dropped);
	pthread_mutex_unlock(&s->lock);
}

static void *run(void *context)
{
	struct sampler *s = context;

	prctl(PR_SET_NAME, "sampler");
	prctl(PR_SET_TIMERSLACK, 1000ul);
	while (exchange(s)) {
		for (size_t i = 0; i < s->target_count; i++)
			visit(s, &s->targets[i]);
		publish(s);
		windows_notify(&s->windows, s->header);
		sample_pace_wait(
			&s->pace, s->target_count > 0,
			atomic_load_explicit(&s->header->outside_share, memory_order_relaxed));
	}
	while (s->target_count)
		target_remove(s, s->targets[0].process, (int64_t)stamp_monotonic() - s->origin_ns);
	publish(s);
	return NULL;
}

/* --- the main thread's side --- */

/* Signals are for the thread that waits for them. */
static int start(struct sampler *s)
{
	sigset_t all, before;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	rc = pthread_create(&s->thread, NULL, run, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	s->started = rc == 0;
	return rc ? -1 : 0;
}

static void give_order(struct sampler *s, const struct order *o)
{
	struct order *grown;

	pthread_mutex_lock(&s->lock);
	grown = array_grow(s->orders, &s->order_cap, s->order_count + 1, sizeof(*grown));
	if (grown) {
		s->orders = grown;
		grown[s->order_count++] = *o;
	}
	pthread_mutex_unlock(&s->lock);
}

int sampler_add(struct sampler *s, uint32_t process, pid_t pid, uint32_t python_version,
		const struct shm_python *where, struct shm_process *entry)
{
	struct order o = { true, process, pid, NULL, *where, entry };

	o.layout = py_layout_find(python_version);
	if (!o.layout || !o.layout->threads || where->readable != SHM_PYTHON_READABLE)
		return -1;
	give_order(s, &o);
	/* Not before there is something to sample, and so after the workload was forked. */
	return s->started ? 0 : start(s);
}

void sampler_remove(struct sampler *s, uint32_t process)
{
	const struct order o = { .process = process };

	give_order(s, &o);
}

void sampler_take(struct sampler *s, struct sampler_taken *out)
{
	struct sampler_taken ready;

	buf_clear(&out->defs);
	out->sample_count = 0;
	pthread_mutex_lock(&s->lock);
	ready = s->ready;
	s->ready = *out;
	pthread_mutex_unlock(&s->lock);
	*out = ready;
}

void sampler_stop(struct sampler *s)
{
	if (s->stopped || !s->started)
		return;
	s->stopped = true;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
}

struct sampler_totals sampler_totals(const struct sampler *s)
{
	struct sampler_totals t = s->totals;

	t.rounds = s->pace.rounds;
	t.active_ns = s->pace.active_ns;
	t.cpu_ns = s->pace.cpu_ns;
	t.held_back = s->pace.held_back;
	return t;
}
