/*
 * Samples the Python threads of all recorded processes, some thousand times a
 * second, from outside: a thread of the recorder that reads their memory.  Where the
 * kernel refuses that, it asks the agent in the process (remote.h), less often.
 *
 * It holds itself back: its own CPU time stays below a tenth of a core, and of a
 * core that the workload has to share with the recorder the whole recorder takes
 * a hundredth or so.  Samples become fewer then, and sampler_totals() says how many.
 *
 * All calls are for the recorder's main thread.
 */
#ifndef CAPTURE_SAMPLER_SAMPLER_H
#define CAPTURE_SAMPLER_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "format/sample.h"
#include "format/shm.h"

struct sampler;

/*
 * budget_ppm: as struct shm_header has it.  Header and windows are borrowed; times are
 * CLOCK_MONOTONIC minus origin_ns.
 */
int sampler_new(struct sampler **out, uint32_t hz, uint32_t budget_ppm, struct shm_header *header,
		struct shm_window *windows, int64_t origin_ns, struct err *err);
void sampler_free(struct sampler *s); /* stops it; NULL is a no-op */

/*
 * A process to sample, by its id in the trace; its entry is borrowed.  -1: its version is
 * unknown, or it is not laid out as that version should be.
 */
int sampler_add(struct sampler *s, uint32_t process, pid_t pid, uint32_t python_version,
		const struct shm_python *where, struct shm_process *entry);
void sampler_remove(struct sampler *s, uint32_t process);

/* What was seen of a thread; sample.thread is not set.  A count of 0: the thread has ended. */
struct sampler_sample {
	uint32_t process;
	uint32_t tid;
	struct sample sample;
	uint64_t lines; /* of its memory, that were read for all of these: struct remote's */
};

/* A definition; its payload follows it, and then the next one. */
struct sampler_def {
	uint32_t id;
	uint16_t bytes;
	uint8_t kind;
};

struct sampler_taken {
	struct buf defs; /* struct sampler_def and payload, for these samples and later ones */
	struct sampler_sample *samples;
	size_t sample_count, sample_cap;
};

/* Replaces what is in `out` (its memory is used again) by what was seen since the last call. */
void sampler_take(struct sampler *s, struct sampler_taken *out);
void sampler_taken_release(struct sampler_taken *t);

/* The last one: nothing is sampled any more, and sampler_take() gets the rest. */
void sampler_stop(struct sampler *s);

struct sampler_totals {
	uint64_t samples;  /* at a thread */
	uint64_t unstable; /* whose innermost frame is uncertain */
	uint64_t failed;   /* that found no stack */
	uint64_t dropped;  /* that found no room: the trace could not be written fast enough */
	uint64_t rounds;   /* over all threads */
	int64_t active_ns; /* in which there was something to sample */
	int64_t cpu_ns;    /* that it took */
	uint64_t hidden;   /* of threads whose system calls the kernel hides */
	bool held_back;    /* fewer samples than asked for, for the workload's or machine's sake */
	/* Of processes, how often and for how long they were sampled, either way. */
	struct sampler_reach {
		uint32_t processes;
		uint64_t rounds;
		int64_t ns;
	} outside, inside;
	uint32_t unread;   /* processes that could be read in no way */
	int64_t silent_ns; /* of those of which it took long until they could, the longest */
	int refusal;       /* an errno: the kernel's last one */
};

/* After sampler_stop(). */
struct sampler_totals sampler_totals(const struct sampler *s);

#endif
