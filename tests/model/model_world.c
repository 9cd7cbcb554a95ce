#include "model_world.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/overhead/budget.h"
#include "capture/drain/drain_state.h"
#include "format/trace_writer.h"
#include "model_entry.h"

#define PROCESSES 2u
#define MAX_THREADS 4u
#define MAX_BLOCKS 8u
#define MAX_TRACE_THREADS 8u
#define WRITER_IDS 100u /* ids of a writer's events: WRITER_IDS * writer + number */
#define NOBODY UINT32_MAX

struct drain *world_drain;
static struct shm_owner owner;
static struct ticks ticks;
static bool keeping; /* blocks stay until the end: --ring */

/* What the trace was told. */
static struct {
	uint64_t clock;
	uint32_t pushed[WORLD_WRITERS]; /* begun, and therefore possibly produced */
	uint32_t stored[WORLD_WRITERS];
	uint64_t pushed_at[WORLD_WRITERS][WRITER_IDS]; /* not later than its stamp */
	bool defined[16];
	uint64_t produced, lost;
	struct {
		uint32_t writer;
		uint64_t next;
	} threads[MAX_TRACE_THREADS];
} seen;

/* The trace, as far as the drain knows it. */

int trace_write_process(struct trace_writer *w, const struct trace_process *p, struct err *err)
{
	(void)w;
	(void)err;
	if (p->python_version != 0x030c0000)
		model_fail("a process that is not filled in");
	return 0;
}

int trace_write_thread(struct trace_writer *w, const struct trace_thread *t, struct err *err)
{
	(void)w;
	(void)err;
	if (!t->tid && !keeping) /* one stands for those of which nothing is left */
		model_fail("a thread that is not filled in");
	if (*t->name && !keeping && strcmp(t->name, "MainThread") != 0 &&
	    strcmp(t->name, "worker") != 0)
		model_fail("a name in pieces: %s", t->name);
	seen.produced += t->produced; /* 0 until the thread is accounted for */
	seen.lost += t->lost;
	return 0;
}

int trace_write_note(struct trace_writer *w, const char *text, struct err *err)
{
	(void)w;
	(void)text;
	(void)err;
	return 0;
}

int trace_write_def(struct trace_writer *w, uint8_t kind, uint32_t id, const void *payload,
		    size_t bytes, struct err *err)
{
	(void)w;
	(void)err;
	if (kind != DEF_STRING || id >= sizeof(seen.defined) || bytes != 12 ||
	    memcmp(payload, "a definition", 12) != 0)
		model_fail("a definition in pieces: id %u", id);
	else if (seen.defined[id])
		model_fail("a definition twice: id %u", id);
	else
		seen.defined[id] = true;
	return 0;
}

static bool is_stamp_of(uint32_t writer, uint64_t number, int64_t time_ns)
{
	uint64_t time = (uint64_t)time_ns;

	return number < seen.pushed[writer] && time > seen.pushed_at[writer][number] &&
	       (number + 1 == seen.pushed[writer] || time <= seen.pushed_at[writer][number + 1]);
}

int trace_write_event(struct trace_writer *w, uint32_t thread, uint64_t index, uint8_t kind,
		      uint32_t id, int64_t time_ns, const void *payload, size_t bytes,
		      struct err *err)
{
	uint32_t writer = id / WRITER_IDS;

	(void)w;
	(void)err;
	if (thread >= MAX_TRACE_THREADS || writer >= WORLD_WRITERS ||
	    bytes != (kind == RECORD_MARK ? sizeof(id) : 0) ||
	    (bytes && memcmp(payload, &id, bytes) != 0) || !is_stamp_of(writer, index, time_ns)) {
		model_fail("an event in pieces: id %u", id);
		return 0;
	}
	if (seen.threads[thread].writer == NOBODY)
		seen.threads[thread].writer = writer;
	if (seen.threads[thread].writer != writer)
		model_fail("an event of writer %u in the thread of %u", writer,
			   seen.threads[thread].writer);
	if (index < seen.threads[thread].next)
		model_fail("event %u comes after its successor", id);
	seen.threads[thread].next = index + 1;
	if (kind == RECORD_RETURN && !seen.defined[id % WRITER_IDS])
		model_fail("an event before its definition: id %u", id);
	if (kind != RECORD_RETURN && index != id % WRITER_IDS)
		model_fail("event %u has number %u", id, (unsigned)index);
	seen.stored[writer]++;
	return 0;
}

int trace_writer_flush(struct trace_writer *w, int64_t now_ns, int64_t older_than_ns,
		       struct err *err)
{
	(void)w;
	(void)now_ns;
	(void)older_than_ns;
	(void)err;
	return 0;
}

int trace_writer_forget(struct trace_writer *w, uint32_t thread, struct err *err)
{
	(void)w;
	(void)thread;
	(void)err;
	return 0;
}

/* Time: every look at a clock is a nanosecond, so that executions repeat exactly. */

int clock_gettime(clockid_t which, struct timespec *ts)
{
	(void)which;
	ts->tv_sec = 0;
	ts->tv_nsec = (long)++seen.clock;
	return 0;
}

void ticks_sync(struct ticks *t)
{
	(void)t;
}

void ticks_seek(struct ticks *t, uint64_t stamp)
{
	(void)stamp;
	t->from = 0;
	t->to = UINT64_MAX;
	t->ns_per_tick = 1;
}

int64_t ticks_now_ns(const struct ticks *t)
{
	(void)t;
	return 0;
}

/* CPU times are no part of the protocol. */

void drain_times_update(struct drain *d)
{
	(void)d;
}

uint64_t drain_costs_end(struct drain *d, struct drain_process *p)
{
	(void)d;
	(void)p;
	return 0;
}

void drain_times_finish(struct drain *d, uint32_t slot)
{
	(void)d;
	(void)slot;
}

/* Nor are samples. */

int drain_samples(struct drain *d, struct err *err)
{
	(void)d;
	(void)err;
	return 0;
}

int drain_samples_begin(struct drain *d, uint32_t slot, struct err *err)
{
	(void)d;
	(void)slot;
	(void)err;
	return 0;
}

void drain_samples_end(struct drain *d, uint32_t slot)
{
	(void)d;
	(void)slot;
}

uint32_t drain_samples_adopt(struct drain *d, uint32_t process, uint32_t tid)
{
	(void)process;
	(void)tid;
	return d->next_thread++;
}

void drain_samples_remember(struct drain *d, const struct trace_thread *entry)
{
	(void)d;
	(void)entry;
}

void drain_samples_release(struct drain *d)
{
	(void)d;
}

void frameworks_note(struct frameworks *f, uint8_t kind, const void *payload, size_t bytes)
{
	(void)f;
	(void)kind;
	(void)payload;
	(void)bytes;
}

int frameworks_write(const struct frameworks *f, struct trace_writer *w, struct err *err)
{
	(void)f;
	(void)w;
	(void)err;
	return 0;
}

void frameworks_release(struct frameworks *f)
{
	(void)f;
}

int drain_series(struct drain *d, struct err *err)
{
	(void)d;
	(void)err;
	return 0;
}

void drain_series_begin(struct drain *d, uint32_t slot)
{
	(void)d;
	(void)slot;
}

void drain_series_end(struct drain *d, uint32_t slot)
{
	(void)d;
	(void)slot;
}

int drain_series_received(struct drain *d, uint32_t slot, const struct record *r, struct err *err)
{
	(void)d;
	(void)slot;
	(void)r;
	(void)err;
	return 0;
}

void drain_series_gpu(struct drain *d)
{
	(void)d;
}

void drain_series_release(struct drain *d)
{
	(void)d;
}

int drain_native_cycle(struct drain *d, struct err *err)
{
	(void)d;
	(void)err;
	return 0;
}

int drain_native_finish(struct drain *d, struct err *err)
{
	(void)d;
	(void)err;
	return 0;
}

void drain_native_end(struct drain *d, uint32_t slot)
{
	(void)d;
	(void)slot;
}

/* The memory. */

/* The agent's mapping is ours: the model knows memory by its address. */
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	(void)at;
	(void)bytes;
	(void)protection;
	(void)flags;
	(void)fd;
	(void)offset;
	return owner.header;
}

int __wrap_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes)
{
	(void)at;
	(void)bytes;
	return 0;
}

/* Copies that the compiler does not report: of names. */
int __wrap_snprintf(char *to, size_t bytes, const char *format, ...);
int __wrap_snprintf(char *to, size_t bytes, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(to, bytes, format, args);
	va_end(args);
	model_plain(to, (size_t)n + 1, true);
	return n;
}

void *__real_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes);
void *__wrap_memcpy(void *to, const void *from, size_t bytes)
{
	model_plain(from, bytes, false);
	model_plain(to, bytes, true);
	return __real_memcpy(to, from, bytes);
}

static struct {
	_Alignas(64) struct shm_header header;
	_Alignas(64) struct shm_process processes[PROCESSES];
	_Alignas(64) struct shm_thread threads[MAX_THREADS];
	_Alignas(64) _Atomic uint64_t free_map[1];
	_Alignas(64) _Atomic uint64_t block_state[MAX_BLOCKS];
	_Alignas(64) _Atomic uint64_t block_begun[MAX_BLOCKS];
	_Alignas(64) struct shm_block blocks[MAX_BLOCKS];
} shared;

void world_init(void)
{
	owner.fd = memfd_create(SHM_MEMFD, MFD_CLOEXEC);
	owner.note_fd = memfd_create(SHM_MEMFD_NOTES, MFD_CLOEXEC);
	if (owner.fd < 0 || owner.note_fd < 0 || ftruncate(owner.fd, sizeof(shared)))
		abort();
	owner.bytes = sizeof(shared);
	owner.header = &shared.header;
	owner.processes = shared.processes;
	owner.threads = shared.threads;
	owner.free_map = shared.free_map;
	owner.block_state = shared.block_state;
	owner.block_begun = shared.block_begun;
	owner.blocks = shared.blocks;
	snprintf(owner.where, sizeof(owner.where), "%d.%d.%d.1", (int)getpid(), owner.fd,
		 owner.note_fd);
	model_observe(shared.processes, sizeof(shared.processes));
	model_observe(shared.threads, sizeof(shared.threads));
}

/* The account of what recording costs takes no part in the protocol, and its clock is not ours. */
void budget_start(const struct shm_header *h)
{
	(void)h;
}

uint32_t budget_event_cost_ps(void)
{
	return 0;
}

uint64_t budget_throttled(void)
{
	return 0;
}

bool budget_settle(struct ring *r)
{
	(void)r;
	return false;
}

#define AT(table) offsetof(__typeof__(shared), table)

static void lay_out(struct shm_header *h, uint32_t threads, uint32_t blocks)
{
	h->magic = SHM_MAGIC;
	h->version = SHM_VERSION;
	h->clock = SHM_CLOCK_MONOTONIC;
	h->token = 1;
	h->total_bytes = sizeof(shared);
	h->processes = PROCESSES;
	h->threads = threads;
	h->blocks = blocks;
	h->processes_at = AT(processes);
	h->threads_at = AT(threads);
	h->free_map_at = AT(free_map);
	h->block_state_at = AT(block_state);
	h->block_begun_at = AT(block_begun);
	h->blocks_at = AT(blocks);
	atomic_store(&h->active, 1);
	atomic_store(&h->next_id, 1);
}

void world_set_up(uint32_t threads, uint32_t blocks, bool keep_newest)
{
	struct err err;

	drain_free(world_drain);
	keeping = keep_newest;
	memset(&seen, 0, sizeof(seen));
	for (unsigned i = 0; i < MAX_TRACE_THREADS; i++)
		seen.threads[i].writer = NOBODY;
	/* Of each block only the beginning is ever used. */
	memset(&shared, 0, offsetof(__typeof__(shared), blocks));
	for (uint32_t i = 0; i < blocks; i++)
		memset(&shared.blocks[i], 0, 512);
	lay_out(&shared.header, threads, blocks);
	atomic_store(&shared.free_map[0], (1ull << blocks) - 1);
	owner.process_count = PROCESSES;
	owner.thread_count = threads;
	owner.block_count = owner.wanted = blocks;
	/* Or each execution's would lie elsewhere, and be other memory to the model. */
	free(atomic_exchange(&session_current, NULL));
	if (drain_new(&world_drain, &owner, &ticks, NULL, keep_newest, &err))
		abort();
}

void world_join(void)
{
	if (session_join(owner.where, 0x030c0000))
		model_fail("could not join");
}

struct ring *world_other_ring(void)
{
	static struct ring *ring;
	static struct session other;
	uint32_t thread = owner.thread_count - 1;

	other = (struct session){
		.header = owner.header,
		.processes = owner.processes,
		.threads = owner.threads,
		.free_map = owner.free_map,
		.block_state = owner.block_state,
		.block_begun = owner.block_begun,
		.blocks = owner.blocks,
	};
	shared.processes[1].pid = 1; /* lives */
	shared.processes[1].python_version = 0x030c0000;
	shared.processes[1].start_stamp = 1;
	atomic_store(&shared.processes[1].state, SHM_LIVE);
	shared.threads[thread].process = 1;
	shared.threads[thread].tid = 1;
	shared.threads[thread].start_stamp = 1;
	atomic_store(&shared.threads[thread].state, SHM_LIVE);
	if (!ring)
		ring = malloc(sizeof(*ring) + sizeof(uint32_t) * MAX_BLOCKS);
	if (!ring)
		abort();
	ring_init(ring, &other, thread);
	return ring;
}

/* The number of the writer's next event. */
static uint32_t next_number(unsigned writer)
{
	seen.pushed_at[writer][seen.pushed[writer]] = seen.clock;
	return seen.pushed[writer]++;
}

void world_push(unsigned writer, struct ring *r)
{
	if (r)
		ring_push(r, RECORD_CALL, WRITER_IDS * writer + next_number(writer));
}

void world_push_payload(unsigned writer, struct ring *r)
{
	uint32_t id = WRITER_IDS * writer + next_number(writer);

	ring_push_payload(r, RECORD_MARK, id, &id, sizeof(id));
}

void world_push_use(unsigned writer, struct ring *r, uint32_t definition)
{
	next_number(writer);
	ring_push(r, RECORD_RETURN, WRITER_IDS * writer + definition);
}

void world_cycle(void)
{
	struct err err;

	if (drain_cycle(world_drain, &err))
		model_fail("a cycle failed");
}

/* killed: the last event of each writer may be produced or not. */
static void check_sums(uint32_t doubtful)
{
	struct drain_totals totals = drain_totals(world_drain);
	uint64_t pushed = 0, stored = 0;

	for (unsigned i = 0; i < WORLD_WRITERS; i++) {
		pushed += seen.pushed[i];
		stored += seen.stored[i];
	}
	if (totals.damaged_blocks)
		model_fail("a block in pieces");
	if (stored + seen.lost != seen.produced || totals.stored != stored ||
	    totals.lost != seen.lost)
		model_fail("stored %u + lost %u are not the %u produced", (unsigned)stored,
			   (unsigned)seen.lost, (unsigned)seen.produced);
	if (seen.produced > pushed || seen.produced + doubtful < pushed)
		model_fail("%u pushed, %u produced", (unsigned)pushed, (unsigned)seen.produced);
}

void world_check(void)
{
	bool killed = model_was_killed(1);
	struct err err;
	uint64_t free_map;

	if (killed)
		drain_process_died(world_drain, (uint32_t)getpid());
	world_cycle();
	world_cycle();
	free_map = atomic_load_explicit(&shared.free_map[0], memory_order_relaxed);
	for (uint32_t i = 0; i < owner.block_count; i++) {
		uint64_t state = atomic_load_explicit(&shared.block_state[i], memory_order_relaxed);

		if (shm_block_phase(state) == SHM_BLOCK_FREE && !(free_map >> i & 1))
			model_fail("block %u is free and cannot be found", i);
		if (shm_block_phase(state) != SHM_BLOCK_FREE && !keeping)
			model_fail("block %u is not given back", i);
	}
	if (drain_finish(world_drain, &err))
		model_fail("the end failed");
	check_sums(killed ? 1 : 0);
}

void world_check_all(void)
{
	world_check();
	if (seen.lost)
		model_fail("%u lost although there was room", (unsigned)seen.lost);
}
