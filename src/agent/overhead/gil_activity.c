#include "agent/overhead/profile_throttle.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "agent/python/frames.h"
#include "agent/python/pyapi.h"
#include "format/py_layout.h"
#include "format/stamp.h"

#define RAN_NS 1000 /* CPU time of a thread while it is examined: it runs */
#define SERIES 6    /* reads its instruction pointer, as fast as the kernel copies: 0.3 us each */
#define SAME 3      /* so many in a row find the same one: it is C code that runs */

/* Each is found by the one before; the last is no address. */
enum link { FRAME_OF_THREAD, FRAME_OF_CFRAME, INSTRUCTION, LINKS };

/* Where the thread is that has the GIL. */
struct place {
	clockid_t clock;     /* its CPU time, */
	int64_t ran_ns;      /* before it was examined */
	uintptr_t at[LINKS]; /* 0: there is no such link */
	uint64_t word[LINKS];
};

/* What the kernel is to copy, a word or half of one each. */
struct batch {
	unsigned long n;
	size_t bytes;
	struct iovec to[SERIES + 2 * LINKS], from[SERIES + 2 * LINKS];
};

struct gil_activity gil_activity;

static const struct py_layout *layout; /* NULL: unknown */
static uintptr_t gil;

void gil_activity_init(void)
{
	const struct py_layout *l = py_layout_find(py.version);
	const char *at = l && l->gil_is_global && py.Runtime ? py.Runtime + l->gil : NULL;
	const char *holder = NULL;

	if (at)
		memcpy(&holder, at + PY_GIL_HOLDER, sizeof(holder));
	if (!holder || holder != py.ThreadState_Get() || !frames_known())
		l = NULL;
	gil = (uintptr_t)at;
	layout = l;
	gil_activity.switches = l ? (const void *)(at + PY_GIL_SWITCHES) : NULL;
	atomic_store_explicit(&gil_activity.in_c, GIL_ACTIVITY_NOT_IN_C, memory_order_relaxed);
}

/* An address of 0 is omitted. */
static void batch_add(struct batch *b, uint64_t *to, uintptr_t from, size_t bytes)
{
	if (!from)
		return;
	*to = 0;
	b->to[b->n] = (struct iovec){ to, bytes };
	b->from[b->n] = (struct iovec){ (void *)from, bytes }; // NOLINT(performance-no-int-to-ptr)
	b->bytes += bytes;
	b->n++;
}

/* 0, or the reason why not. */
static int batch_read(const struct batch *b)
{
	ssize_t got = process_vm_readv(getpid(), b->to, b->n, b->from, b->n, 0);

	if (got < 0)
		return errno;
	return (size_t)got == b->bytes ? 0 : EFAULT;
}

/* An instruction that is an index is an int. */
static size_t link_bytes(enum link i)
{
	return i == INSTRUCTION && !layout->bytecode ? sizeof(int) : sizeof(uint64_t);
}

static int read_word(uint64_t *to, uintptr_t at, size_t bytes)
{
	struct batch b = { 0 };

	batch_add(&b, to, at, bytes);
	return batch_read(&b);
}

/* As the kernel numbers them: the CPU time of one thread. */
static clockid_t clock_of(pid_t tid)
{
	return (clockid_t)(~(unsigned)tid << 3 | 6u);
}

/* 0, or the reason why not. */
static int find_place(struct place *p)
{
	const uint8_t offsets[LINKS] = { layout->frame, layout->cframe_frame, layout->instruction };
	uint64_t base = 0, tid = 0;
	int error = read_word(&base, gil + PY_GIL_HOLDER, sizeof(base));

	memset(p, 0, sizeof(*p));
	/* Before 3.11 only the thread itself knows its number: the main one is the likely one. */
	if (!error && layout->native)
		error = read_word(&tid, base + layout->native, sizeof(tid));
	p->clock = clock_of(tid ? (pid_t)tid : getpid());
	p->ran_ns = (int64_t)stamp_of(p->clock);
	for (enum link i = 0; !error && i < LINKS; i++) {
		if (i == FRAME_OF_CFRAME && !layout->has_cframe)
			continue;
		if (!base) /* a thread without frames */
			break;
		p->at[i] = base + offsets[i];
		error = read_word(&p->word[i], p->at[i], link_bytes(i));
		base = p->word[i];
	}
	return error;
}

static bool has_run_since(const struct place *p)
{
	return (int64_t)stamp_of(p->clock) - p->ran_ns >= RAN_NS;
}

static bool same_frame(const struct place *p, const uint64_t word[LINKS])
{
	return !memcmp(word, p->word, INSTRUCTION * sizeof(word[0]));
}

/*
 * The share of samples in quick succession in which Python code was running.  0, or why it is
 * unknown.
 */
static int sample_thread(const struct place *p, double *share)
{
	uint64_t before[LINKS] = { 0 }, after[LINKS] = { 0 }, series[SERIES] = { 0 };
	unsigned starts = SERIES - SAME + 1, stays = 0;
	struct batch b = { 0 };
	int error;

	for (enum link i = 0; i < INSTRUCTION; i++)
		batch_add(&b, &before[i], p->at[i], link_bytes(i));
	for (unsigned i = 0; i < SERIES; i++)
		batch_add(&b, &series[i], p->at[INSTRUCTION], link_bytes(INSTRUCTION));
	for (enum link i = 0; i < INSTRUCTION; i++)
		batch_add(&b, &after[i], p->at[i], link_bytes(i));
	error = batch_read(&b);
	if (error)
		return error;
	if (!same_frame(p, before))
		return EAGAIN;
	for (unsigned i = 0; i < starts; i++) {
		unsigned n = 1;

		while (n < SAME && series[i + n] == series[i])
			n++;
		stays += n == SAME;
	}
	/* A frame that calls another stays where it is. */
	*share = same_frame(p, after) ? 1 - (double)stays / starts : 1;
	return 0;
}

static void sleep_ns(long ns)
{
	struct timespec pause = { 0, ns };

	/* Each time: of a forked child it is another thread. */
	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	nanosleep(&pause, NULL);
}

/* Lets the thread run for a moment: is it in C code that takes longer than that? */
static int sleep_and_sample(const struct place *p, long ns, double *share)
{
	uint64_t word[LINKS] = { 0 };
	struct batch b = { 0 };
	int error;

	sleep_ns(ns);
	for (enum link i = 0; i < LINKS; i++)
		batch_add(&b, &word[i], p->at[i], link_bytes(i));
	error = batch_read(&b);
	*share = memcmp(word, p->word, sizeof(word)) != 0;
	return error;
}

/* The GIL is free, or its holder is in a C function by its latest event. */
static bool in_c_code(void)
{
	const char *locked = (const char *)gil_activity.switches - PY_GIL_SWITCHES + PY_GIL_LOCKED;
	uint64_t in_c = atomic_load_explicit(&gil_activity.in_c, memory_order_relaxed);

	return in_c == *(const volatile unsigned long *)gil_activity.switches ||
	       !atomic_load_explicit((const _Atomic int *)locked, memory_order_relaxed);
}

/* All threads have one CPU between them: none of them runs while we do. */
static bool alone(void)
{
	cpu_set_t cpus;

	return !sched_getaffinity(0, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) == 1;
}

enum gil_activity_state gil_activity_sample(double *share)
{
	static const long pauses_ns[] = { 5000, 20000, 100000 };
	size_t tries = sizeof(pauses_ns) / sizeof(pauses_ns[0]);
	int error = 0;

	for (size_t i = 0; layout && i < tries; i++) {
		struct place p;

		*share = 0;
		if (in_c_code())
			return GIL_ACTIVITY_KNOWN;
		error = find_place(&p);
		if (!error && !alone())
			error = sample_thread(&p, share);
		if (!error && (*share > 0 || has_run_since(&p)))
			return GIL_ACTIVITY_KNOWN;
		if (!error) /* it does not run: we have its CPU, or others have */
			error = sleep_and_sample(&p, pauses_ns[i], share);
		if (!error && has_run_since(&p))
			return GIL_ACTIVITY_KNOWN;
		if (error && error != EAGAIN && error != EFAULT)
			return GIL_ACTIVITY_UNKNOWN;
	}
	/* A thread that moved in every sample is running. */
	*share = 1;
	return !layout ? GIL_ACTIVITY_UNKNOWN : error ? GIL_ACTIVITY_KNOWN : GIL_ACTIVITY_UNDECIDED;
}
