#include "capture/system/system_reader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "base/array.h"
#include "capture/system/process_tree.h"
#include "capture/system/system_files.h"
#include "format/stamp.h"

#define WINDOW_NS 500000000
#define SHARE_OF_CORE 0.004  /* promised is a hundredth */
#define CROWDED_SHARE 0.0015 /* the workload loses twice that: being switched away from, too */
#define MADE_UP_SHARE 0.008  /* of all time so far: what came once is made up for */
#define SLOWDOWN_MAX 100.0   /* a reading of stat each second */
#define WORTH_TELLING 3

/*
 * While something is made up for.  Readings then take a few hundredths of a percent: longer periods
 * would save next to nothing of what is owed, and show less.
 */
#define PAYING_SLOWDOWN 5.0

/* On the safe side until a first window is over: as if it took all that it may elsewhere. */
void system_pace_begin(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, bool crowded)
{
	memset(p, 0, sizeof(*p));
	p->slowdown = crowded ? SHARE_OF_CORE / CROWDED_SHARE : 1;
	p->began_ns = p->window_ns = now_ns;
	p->cpu_began_ns = p->window_cpu_ns = cpu_ns;
}

static double in_force(const struct system_pace *p)
{
	return p->paying && p->slowdown < PAYING_SLOWDOWN ? PAYING_SLOWDOWN : p->slowdown;
}

/* At once where it takes too much; half the way where it may take more. */
void system_pace_adjust(struct system_pace *p, double share, bool crowded)
{
	double right = in_force(p) * share / (crowded ? CROWDED_SHARE : SHARE_OF_CORE);

	p->slowdown = right < p->slowdown ? (p->slowdown + right) / 2 : right;
	if (p->slowdown < 1)
		p->slowdown = 1;
	if (p->slowdown > SLOWDOWN_MAX)
		p->slowdown = SLOWDOWN_MAX;
	if (p->slowdown > WORTH_TELLING)
		p->held_back = true;
}

/* Also by what came once alone: the rest is held to its share anyhow. */
static bool owes(const struct system_pace *p, int64_t now_ns, int64_t cpu_ns)
{
	double passed_ns = (double)(now_ns - p->began_ns);

	return (double)(cpu_ns - p->cpu_began_ns) > MADE_UP_SHARE * passed_ns &&
	       (double)p->once_ns > (MADE_UP_SHARE - SHARE_OF_CORE) * passed_ns;
}

double system_pace_slowdown(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, bool crowded)
{
	if (now_ns - p->window_ns >= WINDOW_NS) {
		system_pace_adjust(
			p, (double)(cpu_ns - p->window_cpu_ns) / (double)(now_ns - p->window_ns),
			crowded);
		p->paying = owes(p, now_ns, cpu_ns);
		p->window_ns = now_ns;
		p->window_cpu_ns = cpu_ns;
	}
	return in_force(p);
}

void system_pace_once(struct system_pace *p, int64_t now_ns, int64_t cpu_ns, int64_t once_ns)
{
	p->once_ns += once_ns;
	p->window_ns = now_ns;
	p->window_cpu_ns = cpu_ns;
	p->paying = owes(p, now_ns, cpu_ns);
	p->held_back |= p->paying;
}

void system_pace_end(struct system_pace *p, int64_t now_ns, int64_t cpu_ns)
{
	p->active_ns = now_ns - p->began_ns;
	p->cpu_ns = cpu_ns - p->cpu_began_ns;
}

#define LAST_POINTS 16u /* that the totals of a process are */

/* A request of the main thread to the other one. */
struct order {
	enum {
		ADD,
		REMOVE,
		FOLLOW, /* the workload */
		ENDED,  /* a process that may be one without an agent */
	} what;
	uint32_t process;
	pid_t pid;
	struct series_point last[LAST_POINTS]; /* of one that has ended */
	size_t last_count;
};

struct system_reader {
	const char *root;
	int64_t origin_ns;

	pthread_mutex_t lock; /* for these: */
	pthread_cond_t wake;
	struct order *orders;
	size_t order_count, order_cap;
	struct system_points ready;
	struct system_founds found;
	bool stop, gpu;

	pthread_t thread;
	bool started, stopped; /* the main thread's */
	_Atomic bool crowded;  /* the main thread reports it */

	struct system_files files; /* the other thread's, from here on */
	struct process_tree tree;
	struct system_points out;
	struct system_pace pace;
};

int system_reader_new(struct system_reader **out, const char *root, int64_t origin_ns,
		      struct err *err)
{
	struct system_reader *w = calloc(1, sizeof(*w));
	pthread_condattr_t clock;

	if (!w)
		return err_set(err, "out of memory");
	w->root = root;
	w->origin_ns = origin_ns;
	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &clock);
	pthread_condattr_destroy(&clock);
	system_files_init(&w->files, root, origin_ns);
	*out = w;
	return 0;
}

void system_reader_free(struct system_reader *w)
{
	if (!w)
		return;
	system_reader_stop(w);
	system_files_release(&w->files);
	system_points_release(&w->ready);
	system_founds_release(&w->found);
	process_tree_release(&w->tree);
	system_points_release(&w->out);
	free(w->orders);
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* --- the thread --- */

static void carry_out(struct system_reader *w, struct order *o)
{
	/* What has ended does not change; we may have read it since. */
	for (size_t i = 0; i < o->last_count; i++)
		o->last[i].time_ns = (int64_t)stamp_monotonic() - w->origin_ns;
	switch (o->what) {
	case ADD:
		process_tree_joined(&w->tree, &w->files, o->pid);
		system_files_add(&w->files, o->process, o->pid);
		break;
	case REMOVE:
		system_files_remove(&w->files, o->process);
		for (size_t i = 0; i < o->last_count; i++)
			system_points_put(&w->out, &o->last[i]);
		break;
	case FOLLOW:
		w->tree.workload = o->pid;
		break;
	case ENDED:
		process_tree_ended(&w->tree, &w->files, o->pid, o->last, o->last_count, &w->out);
		break;
	}
}

/* With the lock, or after the thread.  Processes first: their points refer to them. */
static void publish(struct system_reader *w)
{
	struct system_founds *reported = &w->tree.reported;

	for (size_t i = 0; i < reported->count; i++) {
		if (!system_founds_put(&w->found, &reported->items[i]))
			return; /* there is no memory; the next time */
	}
	reported->count = 0;
	process_tree_release_points(&w->tree, &w->out, &w->ready);
}

static int64_t now(void)
{
	return (int64_t)stamp_monotonic();
}

static int64_t cpu_now(void)
{
	return (int64_t)stamp_thread_cpu();
}

/* Once: to load the library and to ask it for the first time takes some ten milliseconds. */
static void begin_gpu(struct system_reader *w)
{
	int64_t before_ns = cpu_now(), after_ns;

	if (w->files.nvml.tried)
		return;
	system_files_use_gpu(&w->files, &w->out);
	after_ns = cpu_now();
	system_pace_once(&w->pace, now(), after_ns, after_ns - before_ns);
}

/* Both ways; then waits until something is due, or there is an order.  False: it is over. */
static bool exchange(struct system_reader *w, int64_t due_ns)
{
	const struct timespec until = { due_ns / 1000000000, due_ns % 1000000000 };
	struct order *orders;
	bool stop, gpu;
	size_t count;

	pthread_mutex_lock(&w->lock);
	publish(w);
	while (!w->stop && !w->order_count &&
	       pthread_cond_timedwait(&w->wake, &w->lock, &until) != ETIMEDOUT)
		;
	orders = w->orders;
	count = w->order_count;
	w->orders = NULL;
	w->order_count = w->order_cap = 0;
	stop = w->stop;
	gpu = w->gpu;
	pthread_mutex_unlock(&w->lock);
	for (size_t i = 0; i < count; i++)
		carry_out(w, &orders[i]);
	free(orders);
	if (gpu)
		begin_gpu(w);
	return !stop;
}

static bool is_crowded(const struct system_reader *w)
{
	return atomic_load_explicit(&w->crowded, memory_order_relaxed);
}

static void *run(void *context)
{
	struct system_reader *w = context;
	int64_t due_ns = now();

	prctl(PR_SET_NAME, "system");
	system_pace_begin(&w->pace, now(), cpu_now(), is_crowded(w));
	system_files_open(&w->files);
	while (exchange(w, due_ns)) {
		double slowdown = system_pace_slowdown(&w->pace, now(), cpu_now(), is_crowded(w));
		int64_t tree_due_ns = process_tree_poll(&w->tree, &w->files, slowdown, &w->out);

		due_ns = system_files_poll(&w->files, slowdown, &w->out);
		if (tree_due_ns < due_ns)
			due_ns = tree_due_ns;
	}
	system_files_read_all(&w->files, &w->out);
	process_tree_finish(&w->tree, &w->files, &w->out);
	system_pace_end(&w->pace, now(), cpu_now());
	return NULL;
}

/* --- the main thread's side --- */

/* Signals are for the thread that waits for them. */
void system_reader_start(struct system_reader *w)
{
	sigset_t all, before;

	if (w->started || w->stopped)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	/* Where there can be no thread nothing is read, and the report has no such figures. */
	w->started = pthread_create(&w->thread, NULL, run, w) == 0;
	w->stopped = !w->started;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void give_order(struct system_reader *w, const struct order *o)
{
	struct order *grown;

	pthread_mutex_lock(&w->lock);
	grown = array_grow(w->orders, &w->order_cap, w->order_count + 1, sizeof(*grown));
	if (grown) {
		w->orders = grown;
		grown[w->order_count++] = *o;
		pthread_cond_signal(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
}

void system_reader_add(struct system_reader *w, uint32_t process, pid_t pid)
{
	const struct order o = { .what = ADD, .process = process, .pid = pid };

	give_order(w, &o);
}

static void read_last(struct system_reader *w, struct order o)
{
	struct system_points last = { 0 };
	struct reading l = { &last, (int64_t)stamp_monotonic() - w->origin_ns, o.process, 0 };

	system_files_read_last(w->root, o.pid, &l);
	for (; o.last_count < last.count && o.last_count < LAST_POINTS; o.last_count++)
		o.last[o.last_count] = last.items[o.last_count];
	system_points_release(&last);
	give_order(w, &o);
}

void system_reader_remove(struct system_reader *w, uint32_t process, pid_t pid)
{
	read_last(w, (struct order){ .what = REMOVE, .process = process, .pid = pid });
}

void system_reader_follow(struct system_reader *w, pid_t workload)
{
	const struct order o = { .what = FOLLOW, .pid = workload };

	give_order(w, &o);
}

void system_reader_ended(struct system_reader *w, pid_t pid)
{
	read_last(w, (struct order){ .what = ENDED, .pid = pid });
}

void system_reader_crowded(struct system_reader *w, bool crowded)
{
	atomic_store_explicit(&w->crowded, crowded, memory_order_relaxed);
}

void system_reader_use_gpu(struct system_reader *w)
{
	pthread_mutex_lock(&w->lock);
	w->gpu = true;
	pthread_mutex_unlock(&w->lock);
}

void system_reader_take(struct system_reader *w, struct system_points *out,
			struct system_founds *found)
{
	struct system_points ready;
	struct system_founds reported;

	out->count = found->count = 0;
	pthread_mutex_lock(&w->lock);
	ready = w->ready;
	w->ready = *out;
	reported = w->found;
	w->found = *found;
	pthread_mutex_unlock(&w->lock);
	*out = ready;
	*found = reported;
}

void system_reader_stop(struct system_reader *w)
{
	if (w->stopped || !w->started)
		return;
	w->stopped = true;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	publish(w);
}

struct system_reader_totals system_reader_totals(const struct system_reader *w)
{
	return (struct system_reader_totals){
		.active_ns = w->pace.active_ns,
		.cpu_ns = w->pace.cpu_ns,
		.gpu_start_ns = w->pace.once_ns,
		.held_back = w->pace.held_back,
		.slowdown = w->pace.slowdown,
		.dropped = w->ready.dropped + w->out.dropped,
		.unwatched = w->files.unwatched + w->tree.beyond,
	};
}

const char *system_reader_missing(const struct system_reader *w, size_t i)
{
	return i < w->files.missing_count ? w->files.missing[i].text : NULL;
}
