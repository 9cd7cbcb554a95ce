#include "agent/python/code_table.h"

#include <stdlib.h>

#define FIRST_SIZE 4096u

static void put(struct code_table *t, uintptr_t code, uintptr_t note)
{
	size_t at = code_table_slot(t, code);
	uintptr_t there;

	/* The place of a freed one can be used: it is never searched for again. */
	while ((there = atomic_load_explicit(&t->entries[at].code, memory_order_relaxed)) >
	       CODE_GONE)
		at = (at + 1) & t->mask;
	atomic_store_explicit(&t->entries[at].note, note, memory_order_relaxed);
	/* Pairs with the acquire in code_table_entry(): the note is there before its key. */
	atomic_store_explicit(&t->entries[at].code, code, memory_order_release);
	t->used += !there;
}

/* Does the way from an entry's own place to where it lies lead over this one? */
static bool is_passed(const struct code_table *t, size_t at)
{
	size_t mask = t->mask, next = (at + 1) & mask;
	uintptr_t code;

	for (; (code = atomic_load_explicit(&t->entries[next].code, memory_order_relaxed));
	     next = (next + 1) & mask) {
		if (code > CODE_GONE &&
		    ((next - code_table_slot(t, code)) & mask) >= ((next - at) & mask))
			return true;
	}
	return false;
}

/*
 * A slot becomes free again when no reader of another entry passes over it, so a program that
 * creates and drops functions all day does not fill the table.
 */
static void release(struct code_table *t, size_t at)
{
	atomic_store_explicit(&t->entries[at].code, CODE_GONE, memory_order_relaxed);
	while (atomic_load_explicit(&t->entries[at].code, memory_order_relaxed) == CODE_GONE &&
	       !is_passed(t, at)) {
		atomic_store_explicit(&t->entries[at].code, 0, memory_order_relaxed);
		t->used--;
		at = (at - 1) & t->mask;
	}
}

static struct code_table *grow(struct code_index *in, struct code_table *old)
{
	size_t alive = 0, size = FIRST_SIZE;
	struct code_table *t;

	for (size_t i = 0; old && i <= old->mask; i++)
		alive += atomic_load_explicit(&old->entries[i].code, memory_order_relaxed) >
			 CODE_GONE;
	while (size < alive * 4)
		size *= 2;
	t = calloc(1, sizeof(*t) + size * sizeof(struct code_entry));
	if (!t)
		return NULL;
	t->outgrown = old;
	t->mask = size - 1;
	for (size_t i = 0; old && i <= old->mask; i++) {
		uintptr_t code = atomic_load_explicit(&old->entries[i].code, memory_order_relaxed);

		if (code > CODE_GONE)
			put(t, code,
			    atomic_load_explicit(&old->entries[i].note, memory_order_relaxed));
	}
	/* Pairs with the acquire in code_table_find(). */
	atomic_store_explicit(&in->newest, t, memory_order_release);
	return t;
}

bool code_table_insert(struct code_index *in, const void *code, void *note)
{
	struct code_table *t = atomic_load_explicit(&in->newest, memory_order_relaxed);

	if (!t || t->used * 10 >= t->mask * 7)
		t = grow(in, t);
	if (t)
		put(t, (uintptr_t)code, (uintptr_t)note);
	return t != NULL;
}

void *code_table_remove(struct code_index *in, const void *code)
{
	struct code_table *t = atomic_load_explicit(&in->newest, memory_order_relaxed);
	struct code_entry *e = t ? code_table_entry(t, code) : NULL;
	void *note = NULL;

	if (e) {
		note = (void *)atomic_load_explicit(&e->note, memory_order_relaxed);
		release(t, (size_t)(e - t->entries));
	}
	return note;
}

size_t code_table_count(struct code_index *in)
{
	struct code_table *t = atomic_load_explicit(&in->newest, memory_order_relaxed);

	return t ? t->used : 0;
}

void code_table_each(struct code_index *in, void (*visit)(void *note, void *context), void *context)
{
	struct code_table *t = atomic_load_explicit(&in->newest, memory_order_relaxed);

	for (size_t i = 0; t && i <= t->mask; i++) {
		if (atomic_load_explicit(&t->entries[i].code, memory_order_relaxed) > CODE_GONE)
			visit((void *)atomic_load_explicit(&t->entries[i].note,
							   memory_order_relaxed),
			      context);
	}
}
