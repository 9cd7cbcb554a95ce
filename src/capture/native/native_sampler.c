#include "capture/native/native_sampler.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "capture/native/perf_events.h"
#include "capture/system/fd_budget.h"
#include "format/shm.h"
#include "format/stamp.h"

#define NATIVE_HZ 250u     /* of CPU time, where that costs no more than */
#define BUDGET_PARTS 16u   /* one part of so many of the overhead budget, */
#define MAY_COST_PPM 3125u /* or that much for threads that change often where there is none */
#define NATIVE_HZ_LEAST 20u
#define COLD_TIMES 4u      /* see native_interrupt_ns() */
#define ABSENCE_NS 1000000 /* shorter ones are not reported */
#define TURNS_MAX 400u     /* in a tenth of a second; the kernel takes 0.3 us for each */
#define THREADS_MAX 128u   /* each has a file and 20 kB of the kernel's locked memory */
#define TURN_PARTS 6u      /* of what an interrupt takes, losing or getting a CPU takes one more */
#define OPEN_NS 20000u     /* what it takes to open and close the events of a thread */
#define REST_MOST 31u      /* readings */
#define FAULTS_MAX 16u     /* threads whose page faults are reported: two more files each */
#define FAULTS_ONE_IN 8u   /* of so many readings: see perf_events_open_faults() */

struct native_thread {
	pid_t tid;
	bool there;           /* in the last reading of its process */
	bool turns;           /* its events report when the thread loses and gets a CPU */
	bool faults;          /* and where it has page faults, */
	bool counting;        /* just now */
	unsigned turn_count;  /* since the last reading */
	uint64_t reported_ns; /* of its CPU time: interrupts up to there were reported */
	int64_t lost_cpu_ns;  /* 0: it has one, or it is not known */
	bool preempted;
	struct perf_events events;
};

struct native_process {
	uint32_t id;
	pid_t pid;
	bool ended;
	int64_t read_ns;     /* CLOCK_MONOTONIC, the last time; 0: not yet */
	unsigned rest;       /* readings in which its threads are left alone */
	bool faults;         /* reported until the next reading */
	uint64_t faults_due; /* from that reading on they are reported again */
	struct native_maps maps;
	struct native_thread *threads;
	size_t count, cap;
};

struct native {
	struct native_places *places;
	struct native_process *processes;
	size_t count, cap;
	size_t thread_count;
	bool works; /* it was permitted at least once */
	uint32_t may_cost_ppm, hz;
	uint32_t interrupt_ns; /* at best */
	bool faults;
	size_t fault_count; /* threads */
	uint64_t readings;
	int refused;
	uint64_t lost;
};

static void choose_rate(struct native *n, uint32_t budget_ppm)
{
	bool bounded = budget_ppm != SHM_NO_BUDGET;
	uint32_t may_cost_ppm = bounded ? budget_ppm / BUDGET_PARTS : MAY_COST_PPM;

	n->may_cost_ppm = may_cost_ppm;
	n->interrupt_ns = perf_events_cost_ns();
	n->hz = NATIVE_HZ;
	if (bounded && (uint64_t)native_interrupt_ns(n) * NATIVE_HZ > may_cost_ppm * 1000ull)
		n->hz = may_cost_ppm * 1000u / native_interrupt_ns(n);
	if (n->hz < NATIVE_HZ_LEAST)
		n->hz = NATIVE_HZ_LEAST;
}

struct native *native_new(uint32_t budget_ppm, bool faults)
{
	struct native *n = calloc(1, sizeof(*n));

	if (n)
		n->places = native_places_new();
	if (n && !n->places) {
		free(n);
		n = NULL;
	}
	if (n) {
		choose_rate(n, budget_ppm);
		n->faults = faults;
	}
	return n;
}

static void thread_close(struct native *n, struct native_thread *t)
{
	n->lost += t->events.lost;
	n->fault_count -= t->faults;
	perf_events_close(&t->events);
	n->thread_count--;
}

static void process_close(struct native *n, struct native_process *p)
{
	for (size_t i = 0; i < p->count; i++)
		thread_close(n, &p->threads[i]);
	free(p->threads);
	native_maps_release(&p->maps);
}

void native_free(struct native *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		process_close(n, &n->processes[i]);
	free(n->processes);
	native_places_free(n->places);
	free(n);
}

static struct native_process *process_find(struct native *n, uint32_t id)
{
	for (size_t i = 0; i < n->count; i++) {
		if (n->processes[i].id == id)
			return &n->processes[i];
	}
	return NULL;
}

static struct native_process *process_add(struct native *n, uint32_t id, pid_t pid)
{
	struct native_process *grown =
		array_grow(n->processes, &n->cap, n->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	n->processes = grown;
	grown[n->count] = (struct native_process){ .id = id, .pid = pid };
	return &grown[n->count++];
}

/*
 * By the process: if the threads of a process paused separately, few readings would include all of
 * them.
 */
static void turn_faults(const struct native *n, struct native_process *p)
{
	p->faults = p->count && !p->faults && n->readings >= p->faults_due;
	if (p->faults)
		p->faults_due = n->readings + FAULTS_ONE_IN;
}

static void switch_faults(const struct native_process *p, struct native_thread *t)
{
	if (!t->faults || t->counting == p->faults)
		return;
	t->counting = !t->counting;
	if (t->counting)
		(void)perf_events_open_faults(&t->events, t->tid);
	else
		perf_events_close_faults(&t->events);
}

static void add_faults(struct native *n, const struct native_process *p, struct native_thread *t)
{
	if (!n->faults || t->faults || n->fault_count >= fd_budget(FAULTS_MAX))
		return;
	t->faults = true;
	t->counting = false;
	n->fault_count++;
	switch_faults(p, t);
}

static void thread_add(struct native *n, struct native_process *p, pid_t tid)
{
	struct native_thread t = { .tid = tid, .there = true, .turns = true };
	struct native_thread *grown;

	if (n->thread_count >= fd_budget(THREADS_MAX))
		return;
	grown = array_grow(p->threads, &p->cap, p->count + 1, sizeof(*grown));
	if (!grown)
		return;
	p->threads = grown;
	if (perf_events_open(&t.events, tid, n->hz, t.turns)) {
		/* A thread that is gone says nothing about the others. */
		if (!n->works && errno != ESRCH)
			n->refused = errno;
		return;
	}
	n->works = true;
	n->thread_count++;
	add_faults(n, p, &t);
	grown[p->count++] = t;
}

static struct native_thread *thread_find(struct native_process *p, pid_t tid)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->threads[i].tid == tid)
			return &p->threads[i];
	}
	return NULL;
}

void native_sampler_add(struct native *n, uint32_t process, pid_t pid)
{
	struct native_process *p = process_find(n, process);
	struct dirent *entry;
	char path[64];
	DIR *folder;

	if (n->refused || (!p && !(p = process_add(n, process, pid))))
		return;
	if (p->rest) {
		p->rest--;
		return;
	}
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	if (!folder)
		return;
	for (size_t i = 0; i < p->count; i++)
		p->threads[i].there = false;
	while ((entry = readdir(folder)) && !n->refused) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10); /* 0: "." and ".." */
		struct native_thread *t = tid ? thread_find(p, tid) : NULL;

		if (t)
			t->there = true;
		else if (tid)
			thread_add(n, p, tid);
	}
	closedir(folder);
}

void native_forget(struct native *n, uint32_t process)
{
	struct native_process *p = process_find(n, process);

	if (p)
		p->ended = true;
}

/* What one thread's reading needs. */
struct reading {
	struct native *native;
	struct native_process *process;
	struct native_thread *thread;
	int64_t now_ns;
	const struct native_reader *reader;
	const struct native_definitions *definitions;
	bool failed;
};

static void take_sample(void *ctx, int64_t monotonic_ns, uint64_t address)
{
	struct reading *r = ctx;
	struct native_sample s = {
		.process = r->process->id,
		.tid = r->thread->tid,
		.monotonic_ns = monotonic_ns,
		.place = native_places_find(r->native->places, &r->process->maps, r->process->pid,
					    address, r->now_ns, r->definitions),
	};

	if (!r->failed && r->reader->sample(r->reader->ctx, &s))
		r->failed = true;
}

static void take_fault(void *ctx, int64_t monotonic_ns, uint64_t address, uint32_t count,
		       bool major)
{
	struct reading *r = ctx;
	const struct native_fault f = {
		.at.process = r->process->id,
		.at.tid = r->thread->tid,
		.at.monotonic_ns = monotonic_ns,
		.at.place = native_places_find(r->native->places, &r->process->maps,
					       r->process->pid, address, r->now_ns, r->definitions),
		.count = count,
		.major = major,
	};

	if (!r->failed && r->reader->fault(r->reader->ctx, &f))
		r->failed = true;
}

static void take_turn(void *ctx, int64_t monotonic_ns, bool on, bool preempted)
{
	struct reading *r = ctx;
	struct native_thread *t = r->thread;
	const struct native_absence a = {
		.process = r->process->id,
		.tid = t->tid,
		.start_ns = t->lost_cpu_ns,
		.end_ns = monotonic_ns,
		.preempted = t->preempted,
	};

	t->turn_count++;
	t->preempted = preempted;
	t->lost_cpu_ns = on ? 0 : monotonic_ns;
	if (on && a.start_ns && a.end_ns - a.start_ns >= ABSENCE_NS && !r->failed &&
	    r->reader->absence(r->reader->ctx, &a))
		r->failed = true;
}

/* False: the thread is gone. */
static bool stop_turns(struct native *n, const struct native_process *p, struct native_thread *t)
{
	perf_events_close(&t->events); /* what was lost were such records */
	n->fault_count -= t->faults;
	t->turns = t->faults = false;
	t->lost_cpu_ns = 0;
	t->reported_ns = 0;
	if (perf_events_open(&t->events, t->tid, n->hz, false))
		return false;
	add_faults(n, p, t);
	return true;
}

/* Since the last reading.  One that finds the kernel at work takes as long and leaves no sample. */
static uint64_t interrupts_of(const struct native *n, struct native_thread *t)
{
	uint64_t period_ns = 1000000000u / n->hz, ran_ns = perf_events_ran_ns(&t->events);
	uint64_t count = ran_ns > t->reported_ns ? (ran_ns - t->reported_ns) / period_ns : 0;

	t->reported_ns += count * period_ns;
	return count;
}

/*
 * The clock of a thread's CPU time stops and starts with the thread: that is a timer to be set each
 * time.  A process whose threads change often is watched a part of the time, all of them together,
 * so that each has its share of the samples.
 */
static void pause_if_costly(struct native *n, struct native_process *p, uint64_t turns,
			    int64_t passed_ns)
{
	double cost_ns = (double)turns * native_turn_ns(n);
	double may_cost_ns = (double)passed_ns * n->may_cost_ppm / 1e6;
	double readings;

	if (cost_ns <= may_cost_ns || may_cost_ns <= 0)
		return;
	/* Of so many readings one: this, then one at which they are opened again. */
	readings = (cost_ns + (double)(p->count * OPEN_NS)) / may_cost_ns;
	p->rest = readings < 2 ? 0 : readings < REST_MOST ? (unsigned)readings - 2 : REST_MOST;
	for (size_t i = 0; i < p->count; i++)
		thread_close(n, &p->threads[i]);
	p->count = 0;
	p->faults = false;
	p->read_ns = 0;
}

static int read_process(struct reading *r)
{
	const struct perf_visitor visitor = { r, take_sample, take_turn, take_fault };
	struct native_process *p = r->process;
	int64_t now_ns = (int64_t)stamp_monotonic();
	uint64_t turns = 0, interrupts = 0;
	size_t left = 0;

	turn_faults(r->native, p);
	for (size_t i = 0; i < p->count; i++) {
		struct native_thread *t = &p->threads[i];

		r->thread = t;
		t->turn_count = 0;
		perf_events_read(&t->events, &visitor);
		turns += t->turn_count + (t->turns ? t->events.lost : 0);
		interrupts += interrupts_of(r->native, t);
		switch_faults(p, t);
		if (t->turns && (t->turn_count > TURNS_MAX || t->events.lost) &&
		    !stop_turns(r->native, p, t))
			t->there = false;
		if (t->there && !p->ended)
			p->threads[left++] = *t;
		else
			thread_close(r->native, t);
	}
	p->count = left;
	if (turns)
		r->reader->turns(r->reader->ctx, p->id, turns);
	if (interrupts)
		r->reader->interrupts(r->reader->ctx, p->id, interrupts);
	if (p->read_ns)
		pause_if_costly(r->native, p, turns, now_ns - p->read_ns);
	p->read_ns = p->count ? now_ns : 0;
	return r->failed ? -1 : 0;
}

int native_read(struct native *n, int64_t now_ns, const struct native_reader *reader,
		const struct native_definitions *d)
{
	size_t left = 0;

	n->readings++;
	for (size_t i = 0; i < n->count; i++) {
		struct reading r = { n, &n->processes[i], NULL, now_ns, reader, d, false };

		if (read_process(&r))
			return -1;
		if (n->processes[i].ended)
			process_close(n, &n->processes[i]);
		else
			n->processes[left++] = n->processes[i];
	}
	n->count = left;
	return 0;
}

int native_define(struct native *n, const struct native_definitions *d)
{
	return native_places_define(n->places, d);
}

uint32_t native_hz(const struct native *n)
{
	return n->hz;
}

uint32_t native_interrupt_ns(const struct native *n)
{
	return n->interrupt_ns * COLD_TIMES;
}

uint32_t native_turn_ns(const struct native *n)
{
	return n->interrupt_ns / TURN_PARTS;
}

int native_refused(const struct native *n)
{
	return n->refused;
}

uint64_t native_lost(const struct native *n)
{
	uint64_t lost = n->lost;

	for (size_t i = 0; i < n->count; i++) {
		for (size_t t = 0; t < n->processes[i].count; t++)
			lost += n->processes[i].threads[t].events.lost;
	}
	return lost;
}
