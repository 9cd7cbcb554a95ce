/* links: is_capture */
/*
 * The drain against a writer that follows no rule.  The bytes are orders: claim
 * entries, fill blocks with records sound or not, put any word anywhere in the
 * pool, let a cycle pass.  Whatever was ordered, the recording goes on, the trace
 * is whole, and its counts add up.  (tests/unit/test_drain_race.c does the same
 * while the drain reads.)
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/drain/drain.h"
#include "format/trace.h"

#define CYCLES_MAX 12u
#define FEW 4u /* entries and blocks that orders are about, so that they meet */

struct input {
	const uint8_t *p, *end;
};

static void require(int ok)
{
	if (!ok)
		abort();
}

static uint8_t next(struct input *in)
{
	return in->p < in->end ? *in->p++ : 0;
}

static uint64_t next_number(struct input *in, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | next(in);
	return value;
}

/* Small ones, values around a power of two, or all 64 bits of the input. */
static uint64_t next_word(struct input *in)
{
	uint8_t how = next(in);

	if (how < 64)
		return how;
	if (how < 128)
		return (1ull << (how - 64)) - 1 + next(in) % 3;
	return next_number(in, 8);
}

static void order_process(struct shm_owner *a, struct input *in)
{
	struct shm_process *p = &a->processes[next(in) % FEW];

	p->pid = next(in) % 4 ? (uint32_t)getpid() : (uint32_t)next_word(in);
	p->start_stamp = next_word(in);
	memset(p->name, next(in), sizeof(p->name));
	atomic_store(&p->refusal, next(in));
	atomic_store(&p->displaced, next(in));
	atomic_store(&p->defs_lost, next(in));
	atomic_store(&p->state, next(in) % 5);
}

static void order_thread(struct shm_owner *a, struct input *in)
{
	struct shm_thread *t = &a->threads[next(in) % FEW];

	t->process = next(in) % 8 ? next(in) % FEW : (uint32_t)next_word(in);
	t->tid = (uint32_t)next_word(in);
	t->start_stamp = next_word(in);
	atomic_store(&t->end_stamp, next_word(in));
	atomic_store(&t->produced, next_word(in));
	memset(t->name, next(in), sizeof(t->name));
	atomic_store(&t->name_set, next(in));
	atomic_store(&t->state, next(in) % 5);
}

static uint32_t put_record(struct shm_block *b, uint32_t at, struct input *in)
{
	uint8_t kind = next(in);
	uint32_t payload = kind & RECORD_PAYLOAD ? next(in) : 0;
	uint32_t bytes = record_bytes(payload);

	if (next(in) == 255)
		payload = (uint32_t)next_word(in); /* more than is there, or than may be */
	if (at + bytes > SHM_BLOCK_WORDS * 8u)
		return at;
	atomic_store(&b->words[at / 8], next_word(in));
	atomic_store(&b->words[at / 8 + 1],
		     next_number(in, 1) | (uint64_t)kind << 32 | (uint64_t)payload << 48);
	for (uint32_t i = sizeof(struct record); i + 8 <= bytes; i += 8)
		atomic_store(&b->words[(at + i) / 8], next_number(in, 1) * 0x0101010101010101ull);
	return at + bytes;
}

static void order_block(struct shm_owner *a, struct input *in)
{
	uint32_t block = next(in) % (2 * FEW), records = next(in) % 8, at = 0;
	struct shm_block *b = &a->blocks[block];
	uint8_t phase = next(in);
	uint64_t defs = phase & 4 ? SHM_BLOCK_DEFS : 0;
	uint32_t thread = phase & 128 ? (uint32_t)next_word(in) : (phase >> 3) % FEW;

	if (phase & 64)
		at = (uint32_t)atomic_load(&b->head) % (SHM_BLOCK_WORDS * 8u) & ~7u;
	while (records--)
		at = put_record(b, at, in);
	atomic_store(&b->first_index, next_word(in));
	atomic_store(&b->head, phase & 32 ? (uint32_t)next_word(in) : at);
	atomic_store(&a->block_state[block],
		     shm_block_state((enum shm_block_phase)(phase & 3), defs, thread,
				     next(in) % 8 ? next(in) : next_word(in)));
}

/* Any word of what comes before the blocks, or of the first blocks. */
static void order_scribble(struct shm_owner *a, struct input *in)
{
	_Atomic uint64_t *words = (_Atomic uint64_t *)(void *)a->header;
	uint64_t at = next_word(in);

	atomic_store(&words[at % (a->bytes / 8)], next_word(in));
}

static void order_notes(struct shm_owner *a, struct input *in)
{
	char text[64];
	size_t n = next(in) % sizeof(text);

	for (size_t i = 0; i < n; i++)
		text[i] = (char)next(in);
	if (pwrite(a->note_fd, text, n, lseek(a->note_fd, 0, SEEK_END)) != (ssize_t)n)
		abort();
}

static void (*const orders[])(struct shm_owner *, struct input *) = {
	order_process, order_thread, order_block,    order_block,
	order_block,   order_block,  order_scribble, order_notes,
};

#define ORDERS (sizeof(orders) / sizeof(orders[0]))

static void run(struct shm_owner *a, struct drain *d, struct input *in)
{
	unsigned cycles = 0;
	struct err err;

	while (in->p < in->end && cycles < CYCLES_MAX) {
		uint8_t order = next(in) % (ORDERS + 2);

		if (order < ORDERS) {
			orders[order](a, in);
			continue;
		}
		cycles++;
		if (order == ORDERS + 1)
			drain_process_died(d, (uint32_t)getpid());
		require(!drain_cycle(d, &err));
	}
	require(!drain_finish(d, &err));
}

static void check_trace(int fd, const struct drain_totals *totals, bool keep_newest)
{
	uint64_t stored = 0, lost = 0;
	struct event_batch batch;
	struct trace *t;
	struct err err;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	require(!trace_open(&t, path, &err) && !trace_damage(t));
	event_batch_init(&batch);
	for (size_t i = 0; i < trace_thread_count(t); i++) {
		for (size_t n = 0; n < trace_batch_count(t, i); n++) {
			require(!trace_batch_read(t, i, n, &batch, &err));
			stored += batch.count;
		}
		lost += trace_thread(t, i)->lost;
	}
	require(stored == totals->stored && lost == totals->lost);
	/* With a ring, one thread may stand for many that ended before. */
	require(keep_newest || trace_thread_count(t) == totals->threads);
	require(keep_newest || trace_process_count(t) == totals->processes);
	event_batch_release(&batch);
	trace_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ticks ticks;
	struct input in = { data, data + size };
	bool keep_newest = size && data[0] & 1;
	const struct trace_end end = { .wall_ns = 1 };
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct drain_totals totals;
	struct trace_writer *w = NULL;
	struct drain *d = NULL;
	struct shm_owner owner;
	struct err err;

	if (!ticks.count)
		ticks_init(&ticks, SHM_CLOCK_MONOTONIC, 0);
	require(!shm_owner_init(&owner, 0, SHM_CLOCK_MONOTONIC, 0, &err));
	require(fd >= 0 && !trace_writer_new(&w, fd, &err));
	require(!drain_new(&d, &owner, &ticks, w, keep_newest, &err));
	run(&owner, d, &in);
	require(!trace_write_end(w, &end, &err));
	totals = drain_totals(d);
	drain_free(d);
	trace_writer_free(w);
	shm_owner_release(&owner);
	check_trace(fd, &totals, keep_newest);
	close(fd);
	return 0;
}
