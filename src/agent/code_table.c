#include "agent/code_table.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#define FIRST_SIZE 4096u

struct entry {
	_Atomic uintptr_t code; /* 0: free; GONE: was in use */
	_Atomic uintptr_t note;
};

struct table {
	size_t size, used; /* a power of two; entries that are not free */
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

	while (atomic_load_explicit(&t->entries[at].code, memory_order_relaxed))
		at = (at + 1) & (t->size - 1);
	atomic_store_explicit(&t->entries[at].note, note, memory_order_relaxed);
	/* Pairs with the acquire in code_table_find(): the note is there before its key. */
	atomic_store_explicit(&t->entries[at].code, code, memory_order_release);
	t->used++;
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
	struct entry *e =
		find(atomic_load_explicit(&current, memory_order_relaxed), (uintptr_t)code);

	if (e)
		atomic_store_explicit(&e->code, GONE, memory_order_relaxed);
}

void *code_table_find(const void *code)
{
	struct entry *e =
		find(atomic_load_explicit(&current, memory_order_acquire), (uintptr_t)code);

	return e ? (void *)atomic_load_explicit(&e->note, memory_order_relaxed) : NULL;
}
