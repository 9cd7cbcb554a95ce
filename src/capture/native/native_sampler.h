/*
 * Native code under sampling: all threads of all recorded processes, those that
 * know no Python included, by the kernel's perf events.
 *
 * It also reports when a thread had no CPU, unless the thread switches so often
 * that this would cost more than 0.1 % of its time.  Watching makes such switches
 * more expensive: where that costs a process more than samples may, it is
 * watched a part of the time.
 *
 * Where the kernel refuses, nothing happens but that native_refused() says why.
 * One thread.
 */
#ifndef CAPTURE_NATIVE_NATIVE_SAMPLER_H
#define CAPTURE_NATIVE_NATIVE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Places in native code: addresses of processes become files and offsets while
 * the processes live, and functions with names when the recording ends.
 *
 * Reading the symbols of a large library takes a tenth of a second: that is not
 * for the time while the workload runs.  One thread.
 */

struct native_places;

/* How the places become definitions of the trace. */
struct native_definitions {
	void *ctx;
	uint32_t (*next_id)(void *ctx); /* never 0 */
	/* -1 ends the work. */
	int (*define)(void *ctx, uint8_t kind, uint32_t id, const void *payload, size_t bytes);
};

struct native_places *native_places_new(void);    /* NULL: no memory */
void native_places_free(struct native_places *p); /* NULL is a no-op */

/* What a process has mapped, as far as it is known.  All 0: nothing yet. */
struct native_maps {
	struct native_mapping *items;
	size_t count, cap;
	int64_t read_ns; /* when */
};

void native_maps_release(struct native_maps *m);

/*
 * The id of the place at an address; 0: unknown.  The process is asked what it has mapped
 * where that is needed, though not all the time.
 */
uint32_t native_places_find(struct native_places *p, struct native_maps *m, pid_t pid,
			    uint64_t address, int64_t now_ns, const struct native_definitions *d);

/* Names them all.  -1: no memory, or define() said so. */
int native_places_define(struct native_places *p, const struct native_definitions *d);

struct native;

/* For one call of native_read(): a thread of this process ran at this place. */
struct native_sample {
	uint32_t process; /* as given to native_sampler_add() */
	pid_t tid;
	int64_t monotonic_ns;
	uint32_t place; /* id that native_define() defines; 0: unknown */
};

/* A page fault of a thread, one of `count` that it stands for. */
struct native_fault {
	struct native_sample at;
	uint32_t count;
	bool major;
};

/* A thread had no CPU for a millisecond or longer. */
struct native_absence {
	uint32_t process;
	pid_t tid;
	int64_t start_ns, end_ns; /* CLOCK_MONOTONIC */
	bool preempted;           /* it would have gone on; else it waited for something */
};

/* -1 ends the reading. */
struct native_reader {
	void *ctx;
	int (*sample)(void *ctx, const struct native_sample *s);
	int (*absence)(void *ctx, const struct native_absence *a);
	int (*fault)(void *ctx, const struct native_fault *f);
	/* Threads of the process lost or got a CPU so often, and were interrupted so often. */
	void (*turns)(void *ctx, uint32_t process, uint64_t count);
	void (*interrupts)(void *ctx, uint32_t process, uint64_t count);
};

/*
 * Measures what samples cost, in a millisecond.  budget_ppm: of shm_header.  faults: page faults
 * are sampled too.  NULL: no memory.
 */
struct native *native_new(uint32_t budget_ppm, bool faults);
void native_free(struct native *n); /* NULL is a no-op */

/* Takes in the threads that a process has now.  Again and again while it lives. */
void native_sampler_add(struct native *n, uint32_t process, pid_t pid);

/* What came since the last time.  Threads that have ended are let go afterwards. */
int native_read(struct native *n, int64_t now_ns, const struct native_reader *r,
		const struct native_definitions *d);

/* A process has ended; what it left is still read. */
void native_forget(struct native *n, uint32_t process);

int native_define(struct native *n, const struct native_definitions *d);

/*
 * How often a thread is sampled per second of its CPU time, and what a sample costs.  The
 * interrupt itself takes 2 us, in a virtual machine 12; but it also displaces cache contents and
 * branch predictions of a large program: 50 us in all of eager PyTorch (bench/model_turns.py
 * interrupts), 16 of a tokenizer.
 */
uint32_t native_hz(const struct native *n);
uint32_t native_interrupt_ns(const struct native *n);

/*
 * What it takes a thread that is watched longer to lose a CPU, or to get one:
 * bench/workloads/gil_threads.py's threads do so 6000 times a second.  Two threads that wake each
 * other up, events on and off in turns, in a virtual machine: 1.9 us, where an interrupt takes 12.
 */
uint32_t native_turn_ns(const struct native *n);

/* An errno; 0: the kernel has not refused. */
int native_refused(const struct native *n);
uint64_t native_lost(const struct native *n); /* samples that found no room */

#endif
