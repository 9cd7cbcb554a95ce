#include "agent/code_table.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST_SIZE 4096u

struct entry {
	_Atomic uintptr_t code; /* 0: free; GONE: was in use, and is on the way to others */
	_Atomic uintptr_t note;
};

struct table {
	struct table *outgrown; /* by this one; a reader may still be in it */
	size_t size, used;      /* a power of two; entries that are not free */
	struct entry entries[];
};

#define GONE ((uintptr_t)1)

static _Atomic(struct table *) current;

static size_t slot_of(const struct table *t, uintptr_t code)
{
	return (size_t)((code >> 4) * 0x9e3779b97f4a7c15ull >> 20) & (t->size - 1);
}

static void put(struct table *t, uintptr_t code, uintptr_t note)
{
	size_t at = slot_of(t, code);
	uintptr_t there;

	/* The place of one that is gone will do: nobody looks for that one any more. */
	while ((there = atomic_load_explicit(&t->entries[at].code, memory_order_relaxed)) > GONE)
		at = (at + 1) & (t->size - 1);
	atomic_store_explicit(&t->entries[at].note, note, memory_order_relaxed);
	/* Pairs with the acquire in code_table_find(): the note is there before its key. */
	atomic_store_explicit(&t->entries[at].code, code, memory_order_release);
	t->used += !there;
}

/* Does the way from an entry's own place to where it lies lead over this one? */
static bool is_passed(const struct table *t, size_t at)
{
	size_t mask = t->size - 1, next = (at + 1) & mask;
	uintptr_t code;

	for (; (code = atomic_load_explicit(&t->entries[next].code, memory_order_relaxed));
	     next = (next + 1) & mask) {
		if (code > GONE && ((next - slot_of(t, code)) & mask) >= ((next - at) & mask))
			return true;
	}
	return false;
}

/*
 * A place is free again when no reader of another entry comes by; so a program
 * that makes and drops functions all day does not fill the table.
 */
static void release(struct table *t, size_t at)
{
	atomic_store_explicit(&t->entries[at].code, GONE, memory_order_relaxed);
	while (atomic_load_explicit(&t->entries[at].code, memory_order_relaxed) == GONE &&
	       !is_passed(t, at)) {
		atomic_store_explicit(&t->entries[at].code, 0, memory_order_relaxed);
		t->used--;
		at = (at - 1) & (t->size - 1);
	}
}

static struct table *grow(struct table *old)
{
	size_t alive = 0, size = FIRST_SIZE;
	struct table *t;

	for (size_t i = 0; old && i < old->size; i++)
		alive += atomic_load_explicit(&old->entries[i].code, memory_order_relaxed) > GONE;
	while (size < alive * 4)
		size *= 2;
	t = calloc(1, sizeof(*t) + size * sizeof(struct entry));
	if (!t)
		return NULL;
	t->outgrown = old;
	t->size = size;
	for (size_t i = 0; old && i < old->size; i++) {
		uintptr_t code = atomic_load_explicit(&old->entries[i].code, memory_order_relaxed);

		if (code > GONE)
			put(t, code,
			    atomic_load_explicit(&old->entries[i].note, memory_order_relaxed));
	}
	/* Pairs with the acquire in code_table_find(). */
	atomic_store_explicit(&current, t, memory_order_release);
	return t;
}

void code_table_insert(const void *code, void *note)
{
	struct table *t = atomic_load_explicit(&current, memory_order_relaxed);

	if (!t || t->used * 10 >= t->size * 7)
		t = grow(t);
	if (t)
		put(t, (uintptr_t)code, (uintptr_t)note);
}

static struct entry *find(struct table *t, uintptr_t code)
{
	size_t at;

	if (!t)
		return NULL;
	at = slot_of(t, code);
	for (size_t n = 0; n < t->size; n++) {
		uintptr_t key = atomic_load_explicit(&t->entries[at].code, memory_order_acquire);

		if (key == code)
			return &t->entries[at];
		if (!key)
			return NULL;
		at = (at + 1) & (t->size - 1);
	}
	return NULL;
}

void code_table_remove(const void *code)
{
	struct table *t = atomic_load_explicit(&current, memory_order_relaxed);
	struct entry *e = find(t, (uintptr_t)code);

	if (e)
		release(t, (size_t)(e - t->entries));
}

void *code_table_find(const void *code)
{
	struct entry *e =
		find(atomic_load_explicit(&current, memory_order_acquire), (uintptr_t)code);

	return e ? (void *)atomic_load_explicit(&e->note, memory_order_relaxed) : NULL;
}
