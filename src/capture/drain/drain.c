/* The blocks: copy, check, parse, write, give back.  See drain.h and format/shm.h. */
#include "capture/drain/drain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/drain/drain_state.h"
#include "format/record.h"

#define FLUSH_AFTER_NS 1000000000 /* events reach the file within a second */

int drain_new(struct drain **out, struct shm_owner *owner, struct ticks *ticks,
	      struct trace_writer *writer, bool keep_newest, struct err *err)
{
	struct drain *d = calloc(1, sizeof(*d));

	if (!d)
		return err_set(err, "out of memory");
	d->owner = owner;
	d->ticks = ticks;
	d->writer = writer;
	d->keep_newest = keep_newest;
	d->next_process = d->next_thread = 1;
	d->processes = calloc(owner->process_count, sizeof(*d->processes));
	d->threads = calloc(owner->thread_count, sizeof(*d->threads));
	d->cursors = calloc(owner->block_count, sizeof(*d->cursors));
	d->list = calloc(owner->block_count, sizeof(*d->list));
	d->copies = calloc(DRAIN_BATCH + 1, sizeof(*d->copies));
	if (!d->processes || !d->threads || !d->cursors || !d->list || !d->copies) {
		drain_free(d);
		return err_set(err, "out of memory");
	}
	*out = d;
	return 0;
}

void drain_keep_secrets(struct drain *d)
{
	d->keep_secrets = true;
}

void drain_sample_native(struct drain *d, struct native *n)
{
	d->native = n;
}

void drain_sample(struct drain *d, struct sampler *s)
{
	d->sampler = s;
}

bool drain_free_block(struct drain *d, uint32_t block, uint64_t state)
{
	/*
	 * Release pairs with the acquire in pool_take(): we are done reading the block.
	 * seal() heads the same release sequence, so whoever gets the block next also
	 * comes after its last writer.
	 */
	if (!atomic_compare_exchange_strong_explicit(&d->owner->block_state[block], &state,
						     SHM_BLOCK_FREE, memory_order_release,
						     memory_order_relaxed))
		return false;
	d->cursors[block].identity = 0; /* a later thread with this index counts from 1 again */
	atomic_fetch_or_explicit(&d->owner->free_map[block / 64u], 1ull << (block % 64u),
				 memory_order_relaxed);
	return true;
}

/*
 * Copies what is new in a block.  False: nothing, or the block changed hands during the copy;
 * then its contents are lost and show as a gap.
 */
static bool drain_copy(struct drain *d, const struct listed *l, struct copied *c)
{
	struct shm_block *b = &d->owner->blocks[l->block];
	_Atomic uint64_t *state = &d->owner->block_state[l->block];
	struct cursor *cursor = &d->cursors[l->block];
	uint64_t identity = l->state & ~3ull;
	uint64_t index;
	uint32_t head;

	/* Acquire: pairs with ring_publish(), begin() and the words' stores; see format/shm.h. */
	head = atomic_load_explicit(&b->head, memory_order_acquire);
	index = atomic_load_explicit(&b->first_index, memory_order_acquire);
	if (head > SHM_BLOCK_WORDS * 8u)
		head = SHM_BLOCK_WORDS * 8u;
	head &= ~7u;
	if (cursor->identity != identity) {
		cursor->identity = identity;
		cursor->at = 0;
		cursor->index = index;
	}
	c->block = l->block;
	c->thread = shm_block_thread(l->state);
	c->state = l->state;
	c->at = cursor->at;
	c->bytes = head > cursor->at ? head - cursor->at : 0;
	c->index = cursor->index;
	for (uint32_t i = 0; i < c->bytes / 8u; i++)
		c->words[i] = atomic_load_explicit(&b->words[c->at / 8u + i], memory_order_acquire);
	/*
	 * Unchanged now means unchanged all the while: a sequence number is never used
	 * again.  Relaxed: had any load above seen a newer word, its acquire would make
	 * this one see the newer state.
	 */
	if ((atomic_load_explicit(state, memory_order_relaxed) & ~3ull) != identity)
		return false;
	return true;
}

bool drain_give_back(struct drain *d, uint32_t block, uint64_t state)
{
	return shm_block_phase(state) != SHM_BLOCK_FULL || drain_free_block(d, block, state);
}

/* The record at `at`, or NULL: it is invalid. */
static const struct record *record_at(const struct copied *c, uint32_t at, uint32_t payload_max)
{
	const struct record *r = (const void *)((const char *)c->words + at);

	if (c->bytes - at < sizeof(*r) || (r->kind & ~RECORD_PAYLOAD) == 0 ||
	    (r->payload_bytes && !(r->kind & RECORD_PAYLOAD)) || r->payload_bytes > payload_max ||
	    record_bytes(r->payload_bytes) > c->bytes - at)
		return NULL;
	return r;
}

static void note_gpu_state(struct drain *d, const struct record *r)
{
	drain_series_gpu(d);
	if (!*d->gpu_refusal && (r->id == GPU_STATE_UNAVAILABLE || r->id == GPU_STATE_STOPPED))
		snprintf(d->gpu_refusal, sizeof(d->gpu_refusal), "%.*s", (int)r->payload_bytes,
			 (const char *)(r + 1));
}

static int write_events(struct drain *d, const struct copied *c, struct err *err)
{
	struct drain_thread *t = &d->threads[c->thread];
	struct cursor *cursor = &d->cursors[c->block];
	uint64_t index = c->index;
	uint32_t at = 0;

	/* A sound agent numbers its records upwards, and never loses that many. */
	if (index < t->next_index || index - t->next_index > GAP_MAX)
		index = t->next_index;
	while (at < c->bytes) {
		const struct record *r = record_at(c, at, RECORD_PAYLOAD_MAX);

		if (!r) {
			d->totals.damaged_blocks++;
			break;
		}
		if (trace_write_event(d->writer, t->entry.id, index, r->kind, r->id,
				      ticks_ns(d->ticks, r->stamp), r + 1, r->payload_bytes, err))
			return -1;
		if (r->kind == RECORD_GPU_STATE)
			note_gpu_state(d, r);
		if (r->kind == RECORD_SERIES && drain_series_received(d, t->slot, r, err))
			return -1;
		at += record_bytes(r->payload_bytes);
		index++;
		t->stored++;
		d->totals.stored++;
	}
	t->next_index = index;
	/*
	 * A block that was given back may hold definitions by now, and drain_defs() has begun
	 * them.
	 */
	if (cursor->identity == (c->state & ~3ull)) {
		cursor->at = c->at + c->bytes;
		cursor->index = index;
	}
	return 0;
}

void drain_skip(struct drain *d, const struct listed *l)
{
	struct copied *c = &d->copies[DRAIN_BATCH];
	struct drain_thread *t = &d->threads[shm_block_thread(l->state)];
	const struct record *r;
	uint64_t index;

	if (!drain_copy(d, l, c))
		return;
	index = c->index;
	for (uint32_t at = 0; at < c->bytes && (r = record_at(c, at, RECORD_PAYLOAD_MAX)); index++)
		at += record_bytes(r->payload_bytes);
	if (index > t->next_index && index - t->next_index <= GAP_MAX)
		t->next_index = index;
}

static int write_defs(struct drain *d, const struct copied *c, struct err *err)
{
	uint32_t at = 0;

	while (at < c->bytes) {
		const struct record *r = record_at(c, at, DEF_PAYLOAD_MAX);

		if (!r) {
			d->totals.damaged_blocks++;
			break;
		}
		if (trace_write_def(d->writer, r->kind, r->id, r + 1, r->payload_bytes, err))
			return -1;
		frameworks_note(&d->frameworks, r->kind, r + 1, r->payload_bytes);
		at += record_bytes(r->payload_bytes);
	}
	d->cursors[c->block].at = c->at + c->bytes;
	return 0;
}

static int compare_listed(const void *left, const void *right)
{
	const struct listed *a = left, *b = right;
	uint32_t thread_a = shm_block_thread(a->state), thread_b = shm_block_thread(b->state);

	if (thread_a != thread_b)
		return thread_a < thread_b ? -1 : 1;
	if (shm_block_seq(a->state) != shm_block_seq(b->state))
		return shm_block_seq(a->state) < shm_block_seq(b->state) ? -1 : 1;
	return 0;
}

/* Whether a block is in use, of this kind, and may be read. */
static bool is_readable(const struct drain *d, uint64_t state, uint64_t defs)
{
	enum shm_block_phase phase = shm_block_phase(state);
	uint32_t thread = shm_block_thread(state);

	/*
	 * Definitions of a thread that we have not met are taken as well: events of
	 * another one may use them already.
	 */
	return (phase == SHM_BLOCK_WRITING || phase == SHM_BLOCK_FULL) &&
	       (state & SHM_BLOCK_DEFS) == defs && thread < d->owner->thread_count &&
	       (defs || d->threads[thread].known);
}

/*
 * One pass over the blocks is not enough: a thread may fill a block that we have
 * visited and continue in one that we have not.  So the first pass only finds how
 * far each thread has come, and the second, which comes after all that, lists the
 * blocks up to there.  Definitions need no order.
 */
size_t drain_scan(struct drain *d, uint64_t defs)
{
	size_t n = 0;

	for (uint32_t i = 0; !defs && i < d->owner->block_count; i++) {
		/* Acquire: pairs with begin(), which comes after the thread's earlier blocks. */
		uint64_t state =
			atomic_load_explicit(&d->owner->block_state[i], memory_order_acquire);
		struct drain_thread *t;

		if (!is_readable(d, state, 0))
			continue;
		t = &d->threads[shm_block_thread(state)];
		if (shm_block_seq(state) > t->newest_seq)
			t->newest_seq = shm_block_seq(state);
	}
	for (uint32_t i = 0; i < d->owner->block_count; i++) {
		/* Acquire: pairs with begin() and seal(). */
		uint64_t state =
			atomic_load_explicit(&d->owner->block_state[i], memory_order_acquire);

		if (is_readable(d, state, defs) &&
		    (defs ||
		     shm_block_seq(state) <= d->threads[shm_block_thread(state)].newest_seq)) {
			d->list[n].block = i;
			d->list[n++].state = state;
		}
	}
	qsort(d->list, n, sizeof(*d->list), compare_listed);
	return n;
}

static int drain_defs(struct drain *d, struct err *err)
{
	struct copied *c = &d->copies[DRAIN_BATCH];
	size_t n = drain_scan(d, SHM_BLOCK_DEFS);

	for (size_t i = 0; i < n; i++) {
		if (!drain_copy(d, &d->list[i], c))
			continue;
		if (write_defs(d, c, err))
			return -1;
		drain_give_back(d, c->block, c->state);
	}
	return 0;
}

/*
 * Events are copied first and definitions second, so that whatever an event
 * refers to is on its way to the file before the event is.
 */
static int drain_events(struct drain *d, struct err *err)
{
	size_t n = drain_scan(d, 0);
	struct listed *list = NULL;
	size_t done = 0;
	int rc = -1;

	if (n) { /* drain_defs() uses the list too */
		list = malloc(n * sizeof(*list));
		if (!list)
			return err_set(err, "out of memory");
		memcpy(list, d->list, n * sizeof(*list));
	}
	do { /* without events, too: definitions of threads that have ended go with their blocks */
		size_t copied = 0;

		for (; done < n && copied < DRAIN_BATCH; done++) {
			struct copied *c = &d->copies[copied];

			if (drain_copy(d, &list[done], c) && drain_give_back(d, c->block, c->state))
				copied++;
		}
		ticks_sync(d->ticks); /* all stamps copied are older than this */
		if (drain_defs(d, err))
			goto out;
		for (size_t i = 0; i < copied; i++) {
			if (write_events(d, &d->copies[i], err))
				goto out;
		}
	} while (done < n);
	rc = 0;
out:
	free(list);
	return rc;
}

int drain_cycle(struct drain *d, struct err *err)
{
	uint64_t stored_before = d->totals.stored;
	uint32_t joined_before = d->totals.threads;

	if (drain_tables_update(d, err))
		return -1;
	drain_times_update(d);
	if (d->keep_newest) {
		if (drain_defs(d, err) || drain_samples(d, err) || drain_newest_keep(d, err))
			return -1;
	} else if (drain_events(d, err) || drain_samples(d, err) ||
		   drain_tables_retire(d, false, err)) {
		return -1;
	}
	d->newly_stored = d->totals.stored - stored_before;
	d->newly_joined = d->totals.threads - joined_before;
	if (drain_native_cycle(d, err) || drain_series(d, err))
		return -1;
	return trace_writer_flush(d->writer, ticks_now_ns(d->ticks), FLUSH_AFTER_NS, err);
}

int drain_finish(struct drain *d, struct err *err)
{
	if (drain_tables_update(d, err) || (d->keep_newest && drain_newest_introduce(d, err)) ||
	    drain_events(d, err) || drain_defs(d, err) || drain_samples(d, err) ||
	    drain_native_finish(d, err) || drain_series(d, err))
		return -1;
	return drain_tables_retire(d, true, err) || drain_tables_finish(d, err) ||
			       frameworks_write(&d->frameworks, d->writer, err)
		       ? -1
		       : 0;
}

const char *drain_refusal(const struct drain *d)
{
	return *d->refusal ? d->refusal : NULL;
}

const char *drain_gpu_refusal(const struct drain *d)
{
	return *d->gpu_refusal ? d->gpu_refusal : NULL;
}

struct drain_totals drain_totals(const struct drain *d)
{
	return d->totals;
}
