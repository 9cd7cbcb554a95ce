/*
 * The recorder's end of the shared memory (format/shm.h): creates it, lays it
 * out, and says where agents find it.
 *
 * The table sizes here are the recorder's own copies: the workload can write to
 * the header, so nothing is read back from it.
 */
#ifndef CAPTURE_DRAIN_SHM_OWNER_H
#define CAPTURE_DRAIN_SHM_OWNER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/shm.h"

struct shm_owner {
	int fd;      /* the memory */
	int note_fd; /* a memfd to which start-up shims append lines of text */
	size_t bytes;
	uint32_t process_count, thread_count, block_count;
	struct shm_header *header;
	struct shm_process *processes;
	struct shm_thread *threads;
	struct shm_window *windows; /* SHM_MAX_WINDOWS; memory only once they are used */
	_Atomic uint64_t *free_map;
	_Atomic uint64_t *block_state;
	_Atomic uint64_t *block_begun;
	struct shm_block *blocks;
	char where[96]; /* the value of SHM_ENV */
	uint64_t *kept; /* a set bit is a block that is kept from the agents */
	uint32_t kept_count;
	uint32_t wanted; /* blocks that they are to have; see shm_owner_resize() */
};

/* `bytes` is for the blocks; at least 16 are made.  collect: enum shm_collect bits. */
int shm_owner_init(struct shm_owner *a, uint64_t bytes, uint32_t clock, uint32_t collect,
		   struct err *err);
/*
 * Lets agents have only that many blocks: the free ones beyond are kept from
 * them and their memory goes back to the system; or they come back.  Blocks in
 * use stay, and so do the last few free ones: called again, it goes on.
 */
void shm_owner_resize(struct shm_owner *a, uint32_t blocks);
uint32_t shm_owner_size(const struct shm_owner *a); /* blocks that agents have, free or in use */
uint32_t shm_owner_free(const struct shm_owner *a); /* of these, the free ones: a moment's count */
uint64_t shm_owner_held_bytes(const struct shm_owner *a); /* of the machine's memory */

void shm_owner_release(struct shm_owner *a); /* the memory goes, even where agents still map it */

#endif
