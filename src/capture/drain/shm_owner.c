#include "capture/drain/shm_owner.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIN_BLOCKS 16u

static uint64_t align(uint64_t at, uint64_t to)
{
	return (at + to - 1) / to * to;
}

static void lay_out(struct shm_header *h, uint32_t blocks)
{
	uint64_t at = align(sizeof(*h), 4096);

	h->processes = SHM_MAX_PROCESSES;
	h->threads = SHM_MAX_THREADS;
	h->blocks = blocks;
	h->processes_at = at;
	at = align(at + (uint64_t)h->processes * sizeof(struct shm_process), 4096);
	h->threads_at = at;
	at = align(at + (uint64_t)h->threads * sizeof(struct shm_thread), 4096);
	h->windows = SHM_MAX_WINDOWS;
	h->windows_at = at;
	at += (uint64_t)h->windows * sizeof(struct shm_window);
	h->free_map_at = at;
	at = align(at + (uint64_t)(blocks + 63u) / 64u * 8u, 64);
	h->block_state_at = at;
	at = align(at + (uint64_t)blocks * 8u, 64);
	h->block_begun_at = at;
	at = align(at + (uint64_t)blocks * 8u, 4096);
	h->blocks_at = at;
	h->total_bytes = at + (uint64_t)blocks * SHM_BLOCK_BYTES;
}

static void set_up_header(struct shm_owner *a, const struct shm_header *layout, uint32_t clock,
			  uint32_t collect, uint64_t token)
{
	struct shm_header *h = a->header;

	memcpy(h, layout, sizeof(*h));
	h->version = SHM_VERSION;
	h->clock = clock;
	h->collect = collect;
	h->recorder_pid = (uint32_t)getpid();
	h->token = token;
	atomic_store(&h->next_id, 1);
	for (uint32_t i = 0; i < h->blocks; i++)
		atomic_fetch_or_explicit(&a->free_map[i / 64u], 1ull << (i % 64u),
					 memory_order_relaxed);
	h->magic = SHM_MAGIC;
	atomic_store(&h->active, SHM_ON);
}

/*
 * Who may open it through /proc is the kernel's to say, by the rules of ptrace;
 * the mode, which is 0777 at first, is a second lock.
 */
static int private_memfd(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0)
		fchmod(fd, 0600);
	return fd;
}

int shm_owner_init(struct shm_owner *a, uint64_t bytes, uint32_t clock, uint32_t collect,
		   struct err *err)
{
	uint64_t blocks = bytes / SHM_BLOCK_BYTES;
	struct shm_header layout;
	uint64_t token;

	memset(a, 0, sizeof(*a));
	a->fd = a->note_fd = -1;
	if (blocks < MIN_BLOCKS)
		blocks = MIN_BLOCKS;
	if (blocks > SHM_MAX_BLOCKS)
		return err_set(err, "a trace buffer of %llu MB is too large",
			       (unsigned long long)(bytes >> 20));
	memset(&layout, 0, sizeof(layout));
	lay_out(&layout, (uint32_t)blocks);
	a->bytes = layout.total_bytes;
	a->fd = private_memfd(SHM_MEMFD);
	a->note_fd = private_memfd(SHM_MEMFD_NOTES);
	if (a->fd < 0 || a->note_fd < 0) {
		/* No file elsewhere: it could not be sealed, and a full disk would be a SIGBUS. */
		err_errno(err, "cannot create the trace buffer: memfd_create is refused; permit it "
			       "in the container's seccomp profile");
		goto fail;
	}
	if (ftruncate(a->fd, (off_t)a->bytes)) {
		err_errno(err, "cannot create the trace buffer");
		goto fail;
	}
	/*
	 * The workload can open it for writing.  Cut short, it would be a SIGBUS in us
	 * and in every other process of the workload.
	 */
	if (fcntl(a->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		err_errno(err, "cannot seal the trace buffer");
		goto fail;
	}
	a->header = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
	if (a->header == MAP_FAILED) {
		a->header = NULL;
		err_errno(err, "cannot map the trace buffer of %llu MB",
			  (unsigned long long)(bytes >> 20));
		goto fail;
	}
	if (getrandom(&token, sizeof(token), 0) != (ssize_t)sizeof(token)) {
		err_errno(err, "cannot draw a random number");
		goto fail;
	}
	a->process_count = layout.processes;
	a->thread_count = layout.threads;
	a->block_count = layout.blocks;
	a->processes = (void *)((char *)a->header + layout.processes_at);
	a->threads = (void *)((char *)a->header + layout.threads_at);
	a->windows = (void *)((char *)a->header + layout.windows_at);
	a->free_map = (void *)((char *)a->header + layout.free_map_at);
	a->block_state = (void *)((char *)a->header + layout.block_state_at);
	a->block_begun = (void *)((char *)a->header + layout.block_begun_at);
	a->blocks = (void *)((char *)a->header + layout.blocks_at);
	a->wanted = layout.blocks;
	a->kept = calloc((layout.blocks + 63u) / 64u, sizeof(*a->kept));
	if (!a->kept) {
		err_set(err, "out of memory");
		goto fail;
	}
	set_up_header(a, &layout, clock, collect, token);
	snprintf(a->where, sizeof(a->where), "%d.%d.%d.%llx", (int)getpid(), a->fd, a->note_fd,
		 (unsigned long long)token);
	return 0;
fail:
	shm_owner_release(a);
	return -1;
}

uint32_t shm_owner_size(const struct shm_owner *a)
{
	return a->block_count - a->kept_count;
}

uint64_t shm_owner_held_bytes(const struct shm_owner *a)
{
	struct stat st;

	return fstat(a->fd, &st) ? 0 : (uint64_t)st.st_blocks * 512u;
}

uint32_t shm_owner_free(const struct shm_owner *a)
{
	uint32_t n = 0;

	for (uint32_t w = 0; w < (a->block_count + 63u) / 64u; w++)
		n += (uint32_t)__builtin_popcountll(
			atomic_load_explicit(&a->free_map[w], memory_order_relaxed));
	return n;
}

/* Takes a block out of the pool as an agent does; false: it is not free. */
static bool keep_block(struct shm_owner *a, uint32_t block)
{
	uint64_t bit = 1ull << (block % 64u), state = SHM_BLOCK_FREE;

	/* Relaxed: only we read blocks, and the last writer's stores came to us with its seal. */
	if (a->kept[block / 64u] & bit ||
	    !atomic_compare_exchange_strong_explicit(&a->block_state[block], &state, SHM_BLOCK_KEPT,
						     memory_order_relaxed, memory_order_relaxed))
		return false;
	a->kept[block / 64u] |= bit;
	a->kept_count++;
	atomic_fetch_and_explicit(&a->free_map[block / 64u], ~bit, memory_order_relaxed);
	return true;
}

static void return_block(struct shm_owner *a, uint32_t block)
{
	uint64_t bit = 1ull << (block % 64u);

	if (!(a->kept[block / 64u] & bit))
		return;
	a->kept[block / 64u] &= ~bit;
	a->kept_count--;
	/* Release pairs with the acquire in pool_take(): we are done emptying the block. */
	atomic_store_explicit(&a->block_state[block], SHM_BLOCK_FREE, memory_order_release);
	atomic_fetch_or_explicit(&a->free_map[block / 64u], bit, memory_order_relaxed);
}

/* A free block is never read: its contents may become zeros. */
static void empty_blocks(const struct shm_owner *a, uint32_t first, uint32_t count)
{
	off_t at = (off_t)((char *)&a->blocks[first] - (char *)a->header);

	if (count)
		fallocate(a->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at,
			  (off_t)count * SHM_BLOCK_BYTES);
}

/* From the end: agents take the lowest, so those have their memory already. */
static void keep_blocks(struct shm_owner *a, uint32_t count)
{
	uint32_t run = 0, end = a->block_count;

	for (; count && end; end--) {
		if (keep_block(a, end - 1)) {
			run++;
			count--;
		} else {
			empty_blocks(a, end, run);
			run = 0;
		}
	}
	empty_blocks(a, end, run);
}

void shm_owner_resize(struct shm_owner *a, uint32_t blocks)
{
	uint32_t size = shm_owner_size(a), spare;

	a->wanted = blocks < MIN_BLOCKS ? MIN_BLOCKS : blocks;
	for (uint32_t i = 0; i < a->block_count && shm_owner_size(a) < a->wanted; i++)
		return_block(a, i);
	if (size <= a->wanted)
		return;
	/* Threads that begin need a block each. */
	spare = shm_owner_free(a);
	spare = spare > MIN_BLOCKS ? spare - MIN_BLOCKS : 0;
	keep_blocks(a, size - a->wanted < spare ? size - a->wanted : spare);
}

void shm_owner_release(struct shm_owner *a)
{
	free(a->kept);
	if (a->header) {
		munmap(a->header, a->bytes);
		/* Agents that live on keep their mapping: take the pages out of it.  Zeros mean
		 * "over". */
		fallocate(a->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)a->bytes);
	}
	if (a->fd >= 0)
		close(a->fd);
	if (a->note_fd >= 0)
		close(a->note_fd);
	memset(a, 0, sizeof(*a));
	a->fd = a->note_fd = -1;
}
