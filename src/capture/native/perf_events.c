#include "capture/native/perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/stamp.h"

/*
 * A power of two.  Enough for the records of 100 ms, and small enough that some
 * 25 threads fit into what an unprivileged user may lock (perf_event_mlock_kb).
 */
#define DATA_PAGES 4u

#define COST_HZ 20000u    /* how often we interrupt ourselves */
#define COST_TURNS 200000 /* of a loop: a few of these periods */
#define COST_ROUNDS 5
#define COST_MOST_NS 100000000u /* per sample; what is above was something else */

#define MINOR_PERIOD 64u /* of so many minor faults one is noted; of major ones each */

#define RECORD_MAX 256u /* longer ones are not of a kind that was asked for */

/* What we asked for, in the kernel's order. */
struct sample_record {
	struct perf_event_header header;
	uint64_t id; /* which of the events */
	uint64_t address;
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct switch_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t time_ns;
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static int event_open(pid_t tid, uint64_t what, uint64_t period, bool turns)
{
	struct perf_event_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = what;
	attr.sample_period = period;
	attr.sample_type =
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr.exclude_kernel = 1; /* permitted to more users; what a system call does is its own */
	attr.exclude_hv = 1;
	attr.context_switch = turns;
	attr.sample_id_all = 1;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int perf_events_open(struct perf_events *p, pid_t tid, uint32_t hz, bool turns)
{
	int why;

	memset(p, 0, sizeof(*p));
	p->minor_faults = p->major_faults = -1;
	p->fd = event_open(tid, PERF_COUNT_SW_TASK_CLOCK, 1000000000u / hz, turns);
	if (p->fd < 0)
		return -1;
	p->memory = mmap(NULL, (1 + DATA_PAGES) * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED,
			 p->fd, 0);
	if (p->memory != MAP_FAILED)
		return 0;
	why = errno;
	p->memory = NULL;
	perf_events_close(p);
	errno = why;
	return -1;
}

/* -1: none. */
static int fault_event(const struct perf_events *p, pid_t tid, uint64_t what, uint64_t period,
		       uint64_t *id)
{
	int fd = event_open(tid, what, period, false);

	if (fd >= 0 &&
	    (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, p->fd) || ioctl(fd, PERF_EVENT_IOC_ID, id))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

int perf_events_open_faults(struct perf_events *p, pid_t tid)
{
	p->minor_faults =
		fault_event(p, tid, PERF_COUNT_SW_PAGE_FAULTS_MIN, MINOR_PERIOD, &p->minor_id);
	p->major_faults = fault_event(p, tid, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1, &p->major_id);
	return p->minor_faults < 0 || p->major_faults < 0 ? -1 : 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void perf_events_close_faults(struct perf_events *p)
{
	close_one(&p->minor_faults);
	close_one(&p->major_faults);
}

void perf_events_close(struct perf_events *p)
{
	if (p->memory)
		munmap(p->memory, (1 + DATA_PAGES) * page_bytes());
	p->memory = NULL;
	perf_events_close_faults(p);
	close_one(&p->fd);
}

uint64_t perf_events_ran_ns(const struct perf_events *p)
{
	uint64_t ns; /* what the clock has counted */

	return p->fd >= 0 && read(p->fd, &ns, sizeof(ns)) == sizeof(ns) ? ns : 0;
}

/* Out of the ring, where a record may be in two pieces. */
static void copy_out(const struct perf_events *p, uint64_t at, void *to, size_t bytes)
{
	const char *data = (const char *)p->memory + page_bytes();
	size_t size = DATA_PAGES * page_bytes();
	size_t from = (size_t)at & (size - 1);
	size_t first = bytes < size - from ? bytes : size - from;

	memcpy(to, data + from, first);
	memcpy((char *)to + first, data, bytes - first);
}

static void hand_over_sample(const struct perf_events *p, const struct sample_record *s,
			     const struct perf_visitor *v)
{
	/* Of events that are closed by now, too: no number is used twice, and none is 0. */
	bool minor = s->id == p->minor_id, major = s->id == p->major_id;

	if (!minor && !major)
		v->sample(v->ctx, (int64_t)s->time_ns, s->address);
	else if (v->fault)
		v->fault(v->ctx, (int64_t)s->time_ns, s->address, major ? 1 : MINOR_PERIOD, major);
}

static void hand_over(struct perf_events *p, const void *record, const struct perf_visitor *v)
{
	const struct perf_event_header *h = record;
	const struct sample_record *sample = record;
	const struct switch_record *turn = record;
	const struct lost_record *lost = record;

	switch (h->type) {
	case PERF_RECORD_SAMPLE:
		hand_over_sample(p, sample, v);
		break;
	case PERF_RECORD_SWITCH:
		v->turn(v->ctx, (int64_t)turn->time_ns, !(h->misc & PERF_RECORD_MISC_SWITCH_OUT),
			h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
		break;
	case PERF_RECORD_LOST:
		p->lost += lost->lost;
		break;
	default:
		break;
	}
}

void perf_events_read(struct perf_events *p, const struct perf_visitor *visitor)
{
	struct perf_event_mmap_page *page = p->memory;
	_Atomic uint64_t *head = (_Atomic uint64_t *)(void *)&page->data_head;
	_Atomic uint64_t *tail = (_Atomic uint64_t *)(void *)&page->data_tail;
	uint64_t at, end;

	if (!page)
		return;
	/* Acquire: pairs with the kernel's store, after the records. */
	end = atomic_load_explicit(head, memory_order_acquire);
	at = atomic_load_explicit(tail, memory_order_relaxed);
	while (end - at >= sizeof(struct perf_event_header)) {
		union {
			struct perf_event_header header;
			char bytes[RECORD_MAX];
		} record;

		memset(&record, 0, sizeof(record));
		copy_out(p, at, &record.header, sizeof(record.header));
		if (record.header.size < sizeof(record.header) || record.header.size > end - at)
			break;
		if (record.header.size <= RECORD_MAX)
			copy_out(p, at, &record, record.header.size);
		hand_over(p, &record, visitor);
		at += record.header.size;
	}
	/* Release: pairs with the kernel's load; we are done with the records. */
	atomic_store_explicit(tail, end, memory_order_release);
}

/* What a certain piece of work takes of this thread's time. */
static __attribute__((noinline)) int64_t work_ns(void)
{
	int64_t start_ns = (int64_t)stamp_thread_cpu();

	for (volatile int i = 0; i < COST_TURNS; i++)
		;
	return (int64_t)stamp_thread_cpu() - start_ns;
}

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void count_sample(void *ctx, int64_t monotonic_ns, uint64_t address)
{
	(void)monotonic_ns;
	(void)address;
	++*(int64_t *)ctx;
}

/* None are asked for. */
static void ignore_turn(void *ctx, int64_t monotonic_ns, bool on, bool preempted)
{
	(void)ctx;
	(void)monotonic_ns;
	(void)on;
	(void)preempted;
}

uint32_t perf_events_cost_ns(void)
{
	int64_t costs[COST_ROUNDS], samples;
	const struct perf_visitor counter = { &samples, count_sample, ignore_turn, NULL };
	int n = 0;

	work_ns(); /* a first time for code and caches */
	for (int i = 0; i < COST_ROUNDS; i++) {
		int64_t plain_ns = work_ns(), sampled_ns;
		struct perf_events p;

		if (perf_events_open(&p, 0, COST_HZ, false))
			return 0;
		sampled_ns = work_ns();
		samples = 0;
		perf_events_read(&p, &counter);
		perf_events_close(&p);
		if (samples)
			costs[n++] = (sampled_ns - plain_ns) / samples;
	}
	if (!n)
		return 0;
	qsort(costs, (size_t)n, sizeof(costs[0]), by_size);
	return costs[n / 2] > 0 && costs[n / 2] < COST_MOST_NS ? (uint32_t)costs[n / 2] : 0;
}
