#include "capture/sampler/remote.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "format/stamp.h"

#define PATIENCE_NS 20000000 /* for an answer; other processes wait that long */
#define MEASURE_NS 200000000 /* how often its cost is measured */
#define SLOWEST_NS 100000000
#define LENT_MASK 0xffffffu

static void wake(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void request(struct window *w)
{
	if (++w->asked == SHM_WINDOW_OVER)
		w->asked = 1;
	/* Pairs with the acquire in wait_for_question(): the question is complete. */
	atomic_store_explicit(&w->shared->asked, w->asked, memory_order_release);
	wake(&w->shared->asked);
}

void windows_init(struct windows *all, struct shm_window *shared)
{
	memset(all, 0, sizeof(*all));
	for (uint32_t i = 0; i < SHM_MAX_WINDOWS; i++)
		all->items[i].shared = &shared[i];
}

struct window *window_open(struct windows *all, struct shm_process *process, pid_t pid,
			   double share)
{
	uint32_t i = 0;
	struct window *w;

	while (i < SHM_MAX_WINDOWS && all->items[i].lent)
		i++;
	if (i == SHM_MAX_WINDOWS)
		return NULL;
	w = &all->items[i];
	*w = (struct window){
		.shared = w->shared,
		.lent = true,
		.share = share,
		.period_ns = 1000000000 / WINDOW_HZ,
		.random = stamp_monotonic() | 1,
	};
	w->shared->pid = (uint32_t)pid;
	w->shared->count = 0;
	atomic_store_explicit(&w->shared->answered, 0, memory_order_relaxed);
	request(w);
	/* Pairs with the acquire in wait_for_window(): it may be used. */
	atomic_store_explicit(&process->window, 1 + i + SHM_MAX_WINDOWS * (all->lent++ & LENT_MASK),
			      memory_order_release);
	wake(&process->window);
	return w;
}

void windows_notify(struct windows *all, struct shm_header *header)
{
	uint32_t expected = all->asking ? SHM_ASKING : SHM_ON;
	bool unopened = false;

	for (size_t i = 0; i < SHM_MAX_WINDOWS; i++)
		unopened |= all->items[i].lent && !all->items[i].opened;
	/* Anything else says that nothing is recorded: that stands. */
	if (unopened != all->asking &&
	    atomic_compare_exchange_strong(&header->active, &expected,
					   unopened ? SHM_ASKING : SHM_ON))
		all->asking = unopened;
}

void window_close(struct window *w)
{
	w->lent = false;
	atomic_store_explicit(&w->shared->asked, SHM_WINDOW_OVER, memory_order_relaxed);
	wake(&w->shared->asked);
}

bool window_is_idle(struct window *w)
{
	/* Pairs with the release in answer(): what was asked for is there. */
	bool idle = atomic_load_explicit(&w->shared->answered, memory_order_acquire) == w->asked;

	w->opened |= idle;
	return idle;
}

static uint64_t next_random(struct window *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

/* So slow that it costs what it may.  What the agent says of itself may be anything. */
static void adjust(struct window *w, int64_t now_ns)
{
	double wall = (double)(now_ns - w->measured_ns);
	double share = (double)(w->cpu_ns - w->measured_cpu_ns) / wall;
	double period = (double)w->period_ns * share / w->share;

	if (period < 1000000000.0 / WINDOW_HZ)
		period = 1000000000.0 / WINDOW_HZ;
	if (period > SLOWEST_NS)
		period = SLOWEST_NS;
	w->period_ns = (int64_t)period;
}

bool window_due(struct window *w, int64_t now_ns)
{
	int64_t jitter_ns;

	if (now_ns < w->due_ns)
		return false;
	if (now_ns - w->measured_ns >= MEASURE_NS) {
		if (w->measured_ns)
			adjust(w, now_ns);
		w->measured_ns = now_ns;
		w->measured_cpu_ns = w->cpu_ns;
	}
	/* A quarter of the period either way, so as not to keep step with the program. */
	jitter_ns = (int64_t)(next_random(w) % (uint64_t)(w->period_ns / 2 + 1)) - w->period_ns / 4;
	w->next_ns += w->period_ns;
	if (w->next_ns < now_ns) /* what was missed is not made up for */
		w->next_ns = now_ns + w->period_ns / 2;
	w->due_ns = w->next_ns + jitter_ns;
	return true;
}

/* -1: there was none in time. */
static int wait_for_answer(struct window *w)
{
	int64_t end_ns = (int64_t)stamp_monotonic() + PATIENCE_NS;

	while (!window_is_idle(w)) {
		uint32_t seen = atomic_load_explicit(&w->shared->answered, memory_order_relaxed);
		int64_t left_ns = end_ns - (int64_t)stamp_monotonic();
		struct timespec left = { 0, left_ns };

		if (left_ns <= 0)
			return -1;
		if (seen != w->asked)
			syscall(SYS_futex, &w->shared->answered, FUTEX_WAIT, seen, &left, NULL, 0);
	}
	return 0;
}

/* How many of them are one question. */
static unsigned how_many(const struct iovec *from, unsigned count)
{
	size_t bytes = 0;
	unsigned n = 0;

	while (n < count && n < SHM_WINDOW_PIECES && from[n].iov_len <= SHM_WINDOW_BYTES - bytes)
		bytes += from[n++].iov_len;
	return n;
}

static int question(struct window *w, const struct iovec *to, const struct iovec *from,
		    unsigned count)
{
	struct shm_window *shared = w->shared;
	int64_t asked_ns = (int64_t)stamp_monotonic(), now_ns;
	size_t at = 0;

	for (unsigned i = 0; i < count; i++)
		shared->pieces[i] =
			(struct shm_piece){ (uintptr_t)from[i].iov_base, from[i].iov_len };
	shared->count = count;
	request(w);
	if (wait_for_answer(w)) {
		errno = ETIMEDOUT;
		return -1;
	}
	now_ns = (int64_t)stamp_monotonic();
	w->cpu_ns = shared->cpu_ns;
	w->read_ns = (int64_t)shared->read_ns;
	if (w->read_ns < asked_ns || w->read_ns > now_ns)
		w->read_ns = now_ns;
	errno = shared->error;
	if (errno)
		return -1;
	for (unsigned i = 0; i < count; i++) {
		memcpy(to[i].iov_base, shared->data + at, to[i].iov_len);
		at += to[i].iov_len;
	}
	return 0;
}

int window_read(struct window *w, const struct iovec *to, const struct iovec *from, unsigned count)
{
	unsigned n;

	if (!window_is_idle(w)) {
		errno = ETIMEDOUT;
		return -1;
	}
	for (; count; count -= n, to += n, from += n) {
		n = how_many(from, count);
		if (!n) {
			errno = EFAULT; /* larger than anything that we read */
			return -1;
		}
		if (question(w, to, from, n))
			return -1;
	}
	return 0;
}
