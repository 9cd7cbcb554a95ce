/*
 * Messages and views.  Every store adds a message to its atomic's list, which is
 * the modification order; a thread's view says, for each atomic, the oldest
 * message that it may still read.  A message that was stored with release carries
 * its thread's view, and whoever reads it with acquire takes that over.  For the
 * accesses that are not atomic a view also holds a vector clock.
 */
#include "model_memory.h"

#include <stdlib.h>
#include <string.h>

#define MAX_THREADS (MODEL_THREADS + 1u)
#define MAX_ATOMICS 256u
#define MAX_MESSAGES 2048u   /* in an execution */
#define MAX_OF_AN_ATOMIC 64u /* of those */
#define MAX_PLAIN 4096u
#define APART (1ull << 32) /* between messages at the end of a list; others go in between */

struct view {
	uint32_t clock[MAX_THREADS];
	uint64_t at[MAX_ATOMICS];
};

struct message {
	uint64_t at; /* place in the modification order, rising */
	uint64_t value;
	bool attached; /* a read-modify-write: nothing goes between it and the one before */
	struct view view;
};

struct atomic {
	uint64_t address;
	unsigned bytes;
	/* Of all executions: which threads used and changed it. */
	unsigned users, writers;
	bool contended;
	/* Of this execution. */
	unsigned count;
	struct message *messages[MAX_OF_AN_ATOMIC];
};

struct plain { /* four bytes */
	uint64_t address;
	unsigned writer;
	uint32_t written, read[MAX_THREADS]; /* clocks */
};

static struct atomic atomics[MAX_ATOMICS];
static unsigned atomic_count;
static struct message messages[MAX_MESSAGES];
static unsigned message_count;
static struct plain plains[MAX_PLAIN];
static struct view views[MAX_THREADS];

static void view_join(struct view *to, const struct view *from)
{
	for (unsigned i = 0; i < MAX_THREADS; i++) {
		if (from->clock[i] > to->clock[i])
			to->clock[i] = from->clock[i];
	}
	for (unsigned i = 0; i < atomic_count; i++) {
		if (from->at[i] > to->at[i])
			to->at[i] = from->at[i];
	}
}

static uint64_t read_real(const struct atomic *a)
{
	uint64_t value = 0;

	memcpy(&value, (const void *)(uintptr_t)a->address, a->bytes); /* little endian */
	return value;
}

static struct message *message_insert(struct atomic *a, unsigned place)
{
	struct message *m;
	uint64_t before = place ? a->messages[place - 1]->at : 0;

	if (message_count == MAX_MESSAGES || a->count == MAX_OF_AN_ATOMIC)
		abort();
	m = &messages[message_count++];
	memset(m, 0, sizeof(*m));
	m->at = place == a->count ? before + APART : before + (a->messages[place]->at - before) / 2;
	memmove(&a->messages[place + 1], &a->messages[place],
		(a->count - place) * sizeof(a->messages[0]));
	a->messages[place] = m;
	a->count++;
	return m;
}

static unsigned atomic_find(uint64_t address, unsigned bytes)
{
	unsigned i = 0;

	while (i < atomic_count && atomics[i].address != address)
		i++;
	if (i == atomic_count) {
		if (atomic_count == MAX_ATOMICS)
			abort();
		atomics[atomic_count++] = (struct atomic){ .address = address, .bytes = bytes };
	}
	if (!atomics[i].count) {
		struct message *first = message_insert(&atomics[i], 0);

		first->at = 0;
		first->value = read_real(&atomics[i]);
	}
	return i;
}

void memory_reset(void)
{
	memset(atomics, 0, atomic_count * sizeof(atomics[0]));
	atomic_count = 0;
}

void memory_begin(void)
{
	for (unsigned i = 0; i < atomic_count; i++)
		atomics[i].count = 0;
	message_count = 0;
	memset(plains, 0, sizeof(plains));
	memset(views, 0, sizeof(views));
	for (unsigned i = 0; i < MAX_THREADS; i++)
		views[i].clock[i] = 1;
}

void memory_end(void)
{
	for (unsigned i = 0; i < atomic_count; i++) {
		const struct atomic *a = &atomics[i];

		if (a->count)
			memcpy((void *)(uintptr_t)a->address, &a->messages[a->count - 1]->value,
			       a->bytes);
	}
}

/* The oldest message that the thread may read. */
static unsigned oldest_visible(const struct atomic *a, uint64_t at)
{
	unsigned i = a->count - 1;

	while (i && a->messages[i]->at > at)
		i--;
	return i;
}

static bool followed_by_attached(const struct atomic *a, unsigned place)
{
	return place + 1 < a->count && a->messages[place + 1]->attached;
}

static bool rewrites(const struct memory_access *a, uint64_t value)
{
	return a->op != MEMORY_LOAD && (a->op != MEMORY_COMPARE || value == a->expected);
}

/* Which message is read.  No two read-modify-writes follow upon the same one. */
static unsigned choose_read(const struct atomic *a, unsigned oldest,
			    const struct memory_access *access)
{
	unsigned ways[MAX_OF_AN_ATOMIC], n = 0;

	for (unsigned i = a->count; i-- > oldest;) {
		if (!rewrites(access, a->messages[i]->value) || !followed_by_attached(a, i))
			ways[n++] = i;
	}
	return ways[model_choose(n)];
}

/* Behind which message a store goes. */
static unsigned choose_place(const struct atomic *a, unsigned oldest)
{
	unsigned ways[MAX_OF_AN_ATOMIC], n = 0;

	for (unsigned i = a->count; i-- > oldest;) {
		if (!followed_by_attached(a, i))
			ways[n++] = i;
	}
	return ways[model_choose(n)];
}

static uint64_t result(const struct memory_access *a, uint64_t old)
{
	switch (a->op) {
	case MEMORY_ADD:
		return old + a->operand;
	case MEMORY_SUB:
		return old - a->operand;
	case MEMORY_AND:
		return old & a->operand;
	case MEMORY_OR:
		return old | a->operand;
	default:
		return a->operand;
	}
}

uint64_t memory_access(unsigned thread, const struct memory_access *access)
{
	unsigned i = atomic_find(access->address, access->bytes);
	struct atomic *a = &atomics[i];
	struct view *mine = &views[thread];
	unsigned oldest = oldest_visible(a, mine->at[i]);
	const struct message *read = NULL;
	struct message *m;
	uint64_t old = 0;
	unsigned place;

	if (thread)
		a->users |= 1u << thread;
	if (access->op == MEMORY_STORE) {
		place = choose_place(a, oldest);
	} else {
		place = choose_read(a, oldest, access);
		read = a->messages[place];
		old = read->value;
		mine->at[i] = read->at;
		/* A comparison that fails is a relaxed load. */
		if (access->acquire && (access->op == MEMORY_LOAD || rewrites(access, old)))
			view_join(mine, &read->view);
		if (!rewrites(access, old))
			return old;
	}
	if (thread)
		a->writers |= 1u << thread;
	m = message_insert(a, place + 1);
	m->attached = read != NULL;
	m->value = result(access, old);
	if (access->bytes < 8)
		m->value &= (1ull << 8 * access->bytes) - 1;
	mine->at[i] = m->at;
	if (access->release)
		m->view = *mine;
	else
		m->view.at[i] = m->at;
	if (read) /* the release sequence goes on */
		view_join(&m->view, &read->view);
	mine->clock[thread]++;
	return old;
}

static struct plain *plain_find(uint64_t address)
{
	unsigned i = (unsigned)(address / 4u * 2654435761u % MAX_PLAIN);

	while (plains[i].address && plains[i].address != address)
		i = (i + 1) % MAX_PLAIN;
	plains[i].address = address;
	return &plains[i];
}

void memory_plain(unsigned thread, uint64_t address, uint64_t bytes, bool write)
{
	struct view *mine = &views[thread];

	for (uint64_t at = address & ~3ull; at < address + bytes; at += 4) {
		struct plain *p = plain_find(at);

		if (p->written > mine->clock[p->writer])
			model_fail("a data race: thread %u %s what thread %u wrote", thread,
				   write ? "overwrites" : "reads", p->writer);
		for (unsigned i = 0; write && i < MAX_THREADS; i++) {
			if (p->read[i] > mine->clock[i])
				model_fail("a data race: thread %u overwrites what thread %u reads",
					   thread, i);
		}
		if (write) {
			p->writer = thread;
			p->written = mine->clock[thread];
		} else {
			p->read[thread] = mine->clock[thread];
		}
	}
}

void memory_join(unsigned to, unsigned from)
{
	view_join(&views[to], &views[from]);
	views[from].clock[from]++;
}

bool memory_contended(uint64_t address)
{
	for (unsigned i = 0; i < atomic_count; i++) {
		if (atomics[i].address == address)
			return atomics[i].contended;
	}
	return false;
}

bool memory_learn(void)
{
	bool learnt = false;

	for (unsigned i = 0; i < atomic_count; i++) {
		struct atomic *a = &atomics[i];
		bool contended = a->writers && (a->users & (a->users - 1));

		learnt |= contended && !a->contended;
		a->contended |= contended;
	}
	return learnt;
}
