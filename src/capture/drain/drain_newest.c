/*
 * --ring: events stay in the shared memory until the recording ends.  What has
 * to give way for new ones is the oldest, whichever thread wrote it, so that
 * what is left is the same interval of all threads.
 *
 * Everything else is bounded as well, however long it takes: a thread that has
 * ended goes with the last of its events and leaves only a count.  In the trace
 * are the names, the processes and the threads of the kept interval.
 */
#include <stdlib.h>

#include "capture/drain/drain_state.h"

static int compare_begun(const void *left, const void *right)
{
	const struct listed *a = left, *b = right;

	return a->record_run < b->record_run ? -1 : a->record_run > b->record_run;
}

/* New threads or processes will soon find no entry, and ended ones hold some. */
static bool entries_are_scarce(const struct drain *d)
{
	uint32_t threads = 0, ended = 0, processes = 0, gone = 0;

	for (uint32_t i = 0; i < d->thread_limit; i++) {
		threads += d->threads[i].known;
		ended += d->threads[i].known && d->threads[i].ended;
	}
	for (uint32_t i = 0; i < d->process_limit; i++) {
		processes += d->processes[i].known;
		gone += d->processes[i].known && d->processes[i].gone;
	}
	return (ended && threads > d->owner->thread_count / 8u * 7u) ||
	       (gone && ended && processes > d->owner->process_count / 8u * 7u);
}

/* Nothing is left of the thread but how much it was. */
static void fade(struct drain *d, uint32_t slot)
{
	struct drain_process *p = &d->processes[d->threads[slot].slot];
	uint64_t events = drain_produced(d, slot);

	p->faded_threads++;
	p->faded_events += events;
	d->totals.lost += events;
	drain_free_thread(d, slot);
}

static bool let_go(struct drain *d, const struct listed *l)
{
	if (shm_block_phase(l->state) == SHM_BLOCK_FULL)
		return drain_give_back(d, l->block, l->state);
	/* A process that exits seals nothing. */
	if (!d->threads[shm_block_thread(l->state)].ended)
		return false;
	drain_skip(d, l);
	return drain_free_block(d, l->block, l->state);
}

/* The listed blocks, oldest first, until there is room. */
static void drop_oldest(struct drain *d, size_t n)
{
	uint32_t size = shm_owner_size(d->owner);
	uint32_t owed =
		size > d->owner->wanted ? size - d->owner->wanted : 0; /* shm_owner_resize() */
	uint32_t wanted = size / 8u + owed, available = shm_owner_free(d->owner);
	bool scarce = entries_are_scarce(d);

	if (available >= wanted && !scarce)
		return;
	for (size_t i = 0; i < n; i++)
		d->list[i].record_run = atomic_load_explicit(
			&d->owner->block_begun[d->list[i].block], memory_order_relaxed);
	qsort(d->list, n, sizeof(*d->list), compare_begun);
	for (size_t i = 0; i < n && (available < wanted || scarce); i++) {
		uint32_t slot = shm_block_thread(d->list[i].state);

		if (!d->threads[slot].known || !let_go(d, &d->list[i]))
			continue;
		available++;
		if (!--d->threads[slot].blocks && d->threads[slot].ended) {
			fade(d, slot);
			scarce = scarce && entries_are_scarce(d);
		}
	}
}

static int retire_processes(struct drain *d, struct err *err)
{
	for (uint32_t i = 0; i < d->thread_limit; i++)
		d->processes[d->threads[i].slot].has_threads |= d->threads[i].known;
	for (uint32_t i = 0; i < d->process_limit; i++) {
		struct drain_process *p = &d->processes[i];
		bool over = p->known && p->gone && !p->has_threads;

		p->has_threads = false;
		if (over && drain_retire_process(d, i, false, err))
			return -1;
	}
	return 0;
}

int drain_newest_keep(struct drain *d, struct err *err)
{
	size_t n = drain_scan(d, 0);

	/* Stamps that stay for long are converted at the end, between points of their own time. */
	ticks_sync(d->ticks);
	for (uint32_t i = 0; i < d->thread_limit; i++)
		d->threads[i].blocks = 0;
	for (size_t i = 0; i < n; i++)
		d->threads[shm_block_thread(d->list[i].state)].blocks++;
	drop_oldest(d, n);
	for (uint32_t i = 0; i < d->thread_limit; i++) {
		if (d->threads[i].known && d->threads[i].ended && !d->threads[i].blocks)
			fade(d, i);
	}
	return retire_processes(d, err);
}

int drain_newest_introduce(struct drain *d, struct err *err)
{
	for (uint32_t i = 0; i < d->thread_limit; i++) {
		if (d->threads[i].known && trace_write_thread(d->writer, &d->threads[i].entry, err))
			return -1;
	}
	return 0;
}
