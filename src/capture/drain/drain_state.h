/* Shared by drain.c and drain_tables.c; no other file includes this. */
#ifndef CAPTURE_DRAIN_DRAIN_STATE_H
#define CAPTURE_DRAIN_DRAIN_STATE_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "capture/drain/drain.h"
#include "capture/native/native_sampler.h"
#include "capture/sampler/thread_state.h"
#include "capture/system/system_reader.h"
#include "format/trace_writer.h"

/*
 * Which frameworks a workload runs, and in which versions: seen from outside.  A function's file
 * lies in the folder of its package, and beside that lies what the installer wrote of it
 * ("torch-2.11.0.dist-info").  Nothing is asked of the workload, nothing imported.
 *
 * Files' names are the workload's word: they lead to a folder that is listed, no more.  One thread.
 */

#define FRAMEWORKS_MAX 48u    /* more than the list has */
#define FRAMEWORK_VERSION 64u /* bytes; longer ones are none */

struct frameworks {
	char *folders[FRAMEWORKS_MAX]; /* by the list's order: that the package lies in; or NULL */
};

void frameworks_release(struct frameworks *f); /* zeroed is fine */

/* Examines a definition (format/record.h) on its way to the trace; not if memory is short. */
void frameworks_note(struct frameworks *f, uint8_t kind, const void *payload, size_t bytes);

/* Writes a fact for each: "framework", "torch 2.11.0"; without the version where none is found. */
int frameworks_write(const struct frameworks *f, struct trace_writer *w, struct err *err);

#define DRAIN_BATCH \
	64u /* blocks copied before their definitions are fetched and they are written */

#define DRAIN_REPORTED_MAX 64u /* more do not matter: they may be reported twice */

#define GAP_MAX (1ull << 40) /* more records than this are not lost at once */

/* How far a block has been read. */
struct cursor {
	uint64_t identity; /* thread, kind and sequence: block_state without its phase */
	uint64_t index;    /* of the next record */
	uint32_t at;       /* bytes */
};

struct drain_process {
	bool known;
	bool dead; /* it has been notified */
	bool gone; /* it was dead when this cycle began */
	int pidfd; /* -1: none */
	struct trace_process entry;
	char name[sizeof(((struct shm_process *)0)->name) + 1];
	bool noted_refusal, noted_displaced, noted_no_lines, noted_layers;
	uint64_t ran_ns, queued_ns; /* its threads, of late: see drain_times.c */
	uint64_t outside_ns;        /* what recording has cost it: see drain_costs.c; */
	uint64_t outside_before_ns; /* at the beginning of the window, */
	uint64_t samples, lines;    /* and since then, with what they read; */
	uint64_t interrupts;        /* likewise, */
	uint64_t faults, turns;     /* likewise */
	double blamed_ns;           /* its threads waited for us, together, */
	uint64_t runnable_ns;       /* of the time in which they ran and waited */
	bool sampled;               /* the sampler has it, or refused it */
	bool unwatched;      /* the system reader knows that it has ended: see drain_series.c */
	int64_t reported_ns; /* likewise: when its agent last reported points itself */
	/* --ring only: threads of which nothing is left, and their events. */
	uint64_t faded_threads, faded_events;
	bool has_threads; /* scratch of retire_processes() */
};

struct drain_thread {
	bool known, named;
	bool ended;    /* it had ended when this cycle began */
	uint32_t slot; /* of its process */
	uint64_t next_index, stored;
	uint32_t blocks;     /* --ring only: that hold its events */
	uint64_t newest_seq; /* of its event blocks, as far as drain_scan() knows */
	struct trace_thread entry;
	uint64_t cpu_begin_ns;           /* of the agent's own clock */
	struct thread_times first, last; /* the kernel's; see drain_times.c */
	char name[sizeof(((struct shm_thread *)0)->name) + 1];
};

/* A thread that was sampled from outside; see drain_samples.c. */
struct sampled_thread {
	struct trace_thread entry; /* without name */
	bool ours;                 /* no ring accounts for it */
	int64_t expires_ns;        /* 0: not before it ends */
	char name[32];
	struct thread_times first, last; /* the kernel's; see drain_times.c */
};

/* What the recorder needs of the CPUs; see drain_costs.c. */
struct drain_costs {
	cpu_set_t cpus; /* that count */
	bool idle_known;
	int64_t since_ns;         /* the window's beginning */
	uint64_t idle_ns, own_ns; /* CPU times then */
	double own, busy;         /* CPUs, in the last window: that we had; that were not idle */
	uint32_t windows;         /* so far */
	bool virtual;             /* see cpus_virtual() */
};

/* An interval of a block, copied out of the shared memory. */
struct copied {
	uint32_t block, thread;
	uint32_t at, bytes;
	uint64_t index; /* of its first record */
	uint64_t state; /* as it was before the copy */
	uint64_t words[SHM_BLOCK_WORDS];
};

struct listed { /* a block seen in a scan */
	uint32_t block;
	uint64_t state;
	uint64_t record_run; /* --ring only: when */
};

#define DRAIN_JOINED_KEPT 64u

struct drain {
	struct shm_owner *owner;
	struct ticks *ticks;
	struct trace_writer *writer;
	bool keep_newest;
	bool keep_secrets;
	struct sampler *sampler; /* NULL: nothing is sampled */
	struct sampler_taken taken;
	struct sampled_thread *sampled;
	size_t sampled_count, sampled_cap;
	struct native *native;        /* NULL: native code is not sampled */
	int64_t native_due_ns;        /* when to read the kernel's samples again */
	struct system_reader *system; /* NULL: memory is not recorded */
	struct system_points points;  /* on their way */
	struct system_founds found;   /* likewise, processes without an agent */
	struct {
		uint32_t pid;
		int64_t start_ns;
	} joined[DRAIN_JOINED_KEPT]; /* the latest, as the system's reader is told of them later */
	unsigned joined_next;
	uint32_t next_process, next_thread; /* ids in the trace */
	struct drain_totals totals;
	uint64_t newly_stored; /* events, in the last cycle */
	uint32_t newly_joined; /* threads, likewise */
	off_t notes_read;
	char last_note[1024];
	int64_t times_due_ns;   /* when to ask the kernel again for CPU times */
	int64_t times_asked_ns; /* when it was asked */
	struct drain_costs costs;
	struct frameworks frameworks;
	uint32_t reported_pids[DRAIN_REPORTED_MAX]; /* whose shim left a note */
	unsigned reported;
	unsigned kept_out;                    /* Pythons that the agent did not get into */
	char refusal[1024];                   /* the first one; "": none */
	char gpu_refusal[1024];               /* likewise */
	uint32_t process_limit, thread_limit; /* see drain_tables_update() */
	struct drain_process *processes;
	struct drain_thread *threads;
	struct cursor *cursors;
	struct listed *list;   /* room for every block */
	struct copied *copies; /* DRAIN_BATCH + 1: the last one is for definitions */
};

/* Notices processes and threads that joined, and what they have to say. */
int drain_tables_update(struct drain *d, struct err *err);

/* What can be said of the processes when all of them are known. */
int drain_tables_finish(struct drain *d, struct err *err);

/* Accounts for threads that have ended, and frees their entries and blocks. */
int drain_tables_retire(struct drain *d, bool everything, struct err *err);

/* Accounts for a process.  over: the recording ends, and its entry is not needed again. */
int drain_retire_process(struct drain *d, uint32_t slot, bool over, struct err *err);

/*
 * Asks the kernel now and then for the CPU times of all threads, and at once for those of
 * a thread that is new.
 */
void drain_times_update(struct drain *d);

/* No CPU was idle lately, or there is only one: what we do is done instead of the workload. */
bool drain_is_crowded(const struct drain *d);

/* What recording costs from outside: now and then. */
void drain_costs_cycle(struct drain *d, int64_t now_ns);

/* A thread of the process ran and waited for a CPU in the time that has passed. */
void drain_costs_waited(struct drain *d, struct drain_process *p, int64_t passed_ns,
			uint64_t ran_ns, uint64_t queued_ns);

/*
 * A thread of the process (its id in the trace): it was sampled; was interrupted for a native
 * sample; had page faults that were counted; lost or got a CPU while its switches were recorded.
 */
void drain_costs_samples(struct drain *d, const struct sampler_sample *l);
void drain_costs_interrupts(struct drain *d, uint32_t process, uint64_t count);
void drain_costs_faults(struct drain *d, uint32_t process, uint32_t count);
void drain_costs_turns(struct drain *d, uint32_t process, uint64_t count);

/* All that it has cost a process that has ended. */
uint64_t drain_costs_end(struct drain *d, struct drain_process *p);

/* Put into a thread's entry what is known of its CPU times. */
void drain_times_finish(struct drain *d, uint32_t slot);
void drain_times_finish_sampled(struct sampled_thread *s);

/* How many events a thread made, as far as that can be true. */
uint64_t drain_produced(const struct drain *d, uint32_t slot);

/* A thread without a writer gives back its blocks and its entry in the shared memory. */
void drain_free_thread(struct drain *d, uint32_t slot);

/*
 * Lists the blocks in use of one kind in d->list, each thread's in order and none
 * omitted; returns how many.
 */
size_t drain_scan(struct drain *d, uint64_t defs);

/*
 * Gives a block back to the pool; no thread may be writing to it.  False: its state has
 * changed, because a thread that needs room took it back.
 */
bool drain_free_block(struct drain *d, uint32_t block, uint64_t state);

/*
 * The same for a sealed block, whose thread may take it back at this moment:
 * false then.  A block that is being written is left alone: true.
 */
bool drain_give_back(struct drain *d, uint32_t block, uint64_t state);

/* Counts what is in a block of a thread without a writer as produced. */
void drain_skip(struct drain *d, const struct listed *l);

/* Writes the kernel's samples, at most every 100 ms; and the last ones, with all names. */
int drain_native_cycle(struct drain *d, struct err *err);
int drain_native_finish(struct drain *d, struct err *err);
void drain_native_end(struct drain *d, uint32_t slot); /* the process has ended */

/* The process with this id in the trace, while it is known; else NULL. */
const struct trace_process *drain_process_of(const struct drain *d, uint32_t id);

/* A process is watched from here on; it has ended. */
void drain_series_begin(struct drain *d, uint32_t slot);
void drain_series_end(struct drain *d, uint32_t slot); /* may be called again */

/* A child of ours has ended, which need not have joined. */
void drain_series_ended(struct drain *d, uint32_t pid);

/* Of a RECORD_SERIES of a process: points for the quantities that agents report. */
int drain_series_received(struct drain *d, uint32_t slot, const struct record *r, struct err *err);

/* Writes what was read about the system. */
int drain_series(struct drain *d, struct err *err);
void drain_series_gpu(struct drain *d); /* a process uses one */
void drain_series_release(struct drain *d);

/* Writes what the sampler has seen. */
int drain_samples(struct drain *d, struct err *err);

/* Hands a process to the sampler, once it is known where its Python is; or takes it away. */
int drain_samples_begin(struct drain *d, uint32_t slot, struct err *err);
void drain_samples_end(struct drain *d, uint32_t slot);

/* The id for a thread that has got a ring: the existing one if it was sampled before. */
uint32_t drain_samples_adopt(struct drain *d, uint32_t process, uint32_t tid);

/* A thread with a ring has ended; what was seen of it may still be on its way. */
void drain_samples_remember(struct drain *d, const struct trace_thread *entry);

void drain_samples_release(struct drain *d);

/* --ring: makes room for what is to come. */
int drain_newest_keep(struct drain *d, struct err *err);

/* --ring, at the end: introduces the threads whose events are going to be written. */
int drain_newest_introduce(struct drain *d, struct err *err);

#endif
