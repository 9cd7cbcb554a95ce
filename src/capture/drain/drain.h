/*
 * From the shared memory to the trace file, while the workload runs.
 *
 * The memory is hostile input: indices are checked, records are parsed from a
 * private copy, and a block that is invalid is counted as lost, not
 * believed.  One thread.
 */
#ifndef CAPTURE_DRAIN_DRAIN_H
#define CAPTURE_DRAIN_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/drain/shm_owner.h"
#include "capture/drain/ticks.h"
#include "capture/sampler/sampler.h"
#include "format/trace_writer.h"

struct drain;
struct native;
struct system_reader;

struct drain_totals {
	uint64_t stored, lost; /* events */
	uint32_t processes, threads;
	uint32_t damaged_blocks; /* that made no sense */
};

/*
 * Borrows all three until drain_free().  keep_newest: events stay in memory, the
 * oldest give way to new ones, and only drain_finish() writes them (--ring).
 */
int drain_new(struct drain **out, struct shm_owner *owner, struct ticks *ticks,
	      struct trace_writer *writer, bool keep_newest, struct err *err);
void drain_free(struct drain *d); /* NULL is a no-op */

/* Command lines are written as they are, without base/secrets.h. */
void drain_keep_secrets(struct drain *d);

/* Python processes that join from now on are sampled.  Borrowed until drain_free(). */
void drain_sample(struct drain *d, struct sampler *s);

/* All processes' native code is sampled from now on.  Likewise. */
void drain_sample_native(struct drain *d, struct native *n);

/* Processes that join from now on, and the machine, are watched.  Likewise. */
void drain_read_system(struct drain *d, struct system_reader *w);

/* Writes out what is there now.  -1: the trace could not be written; see trace_writer.h. */
int drain_cycle(struct drain *d, struct err *err);

/*
 * How long there is time until the next cycle.  Where no CPU is idle each cycle takes one from the
 * workload, caches included: fewer and larger ones then, as long as memory and table of threads are
 * far from full.
 */
#define DRAIN_WAIT_MS 10 /* elsewhere */
int drain_wait_ms(const struct drain *d);

/* The last one: everything is written out, every thread accounted for. */
int drain_finish(struct drain *d, struct err *err);

/*
 * A process has ended but its parent has not waited for it yet: the last moment at which
 * the kernel can be asked about it.
 */
void drain_process_ends(struct drain *d, uint32_t pid);

/* A process is known to be dead (its parent has waited for it). */
void drain_process_died(struct drain *d, uint32_t pid);

/*
 * The living process with this pid, once it has joined; else NULL.  Borrowed until the next
 * call.
 */
const struct trace_process *drain_find_process(const struct drain *d, uint32_t pid);

/* Processes that have joined and still live, without `except`. */
uint32_t drain_living(const struct drain *d, uint32_t except);

/* Why a process could not be recorded, the first that said so; NULL: none did.  Borrowed. */
const char *drain_refusal(const struct drain *d);

/* Likewise, why a GPU could not be recorded, or not to the end. */
const char *drain_gpu_refusal(const struct drain *d);

struct drain_totals drain_totals(const struct drain *d);

#endif
