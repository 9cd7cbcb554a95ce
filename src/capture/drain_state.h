/* What drain.c and drain_tables.c share; nobody else includes this. */
#ifndef CAPTURE_DRAIN_STATE_H
#define CAPTURE_DRAIN_STATE_H

#include "capture/drain.h"

#define DRAIN_BATCH \
	64u /* blocks copied before their definitions are fetched and they are written */

#define GAP_MAX (1ull << 40) /* more records than this are not lost at once */

/* How far a block has been read. */
struct cursor {
	uint64_t identity; /* thread, kind and sequence: block_state without its phase */
	uint64_t index;    /* of the next record */
	uint32_t at;       /* bytes */
};

struct drain_process {
	bool known;
	bool dead; /* somebody said so */
	bool gone; /* it was dead when this cycle began */
	int pidfd; /* -1: none */
	struct trace_process entry;
	char name[sizeof(((struct shm_process *)0)->name) + 1];
	uint32_t noted_refusal;
	bool noted_displaced;
};

struct drain_thread {
	bool known, named;
	bool ended;    /* it had ended when this cycle began */
	uint32_t slot; /* of its process */
	uint64_t next_index, stored;
	struct trace_thread entry;
	char name[sizeof(((struct shm_thread *)0)->name) + 1];
};

/* A stretch of a block, copied out of the shared memory. */
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
	uint64_t begun; /* --ring only: when */
};

struct drain {
	struct area *area;
	struct ticks *ticks;
	struct trace_writer *writer;
	bool keep_newest;
	uint32_t next_process, next_thread; /* ids in the trace */
	struct drain_totals totals;
	off_t notes_read;
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

/* Accounts for threads that have ended, and frees their entries and blocks. */
int drain_tables_retire(struct drain *d, bool everything, struct err *err);

/* Gives a block back to the pool; nobody may be writing to it. */
void drain_free_block(struct drain *d, uint32_t block);

#endif
