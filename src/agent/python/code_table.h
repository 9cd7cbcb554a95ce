/*
 * From the address of an object to our note on it: of a code object, on the path of
 * every event, and without the GIL where a CUDA call wants its stack; of a module of a
 * model.
 *
 * Changed only with the GIL, read at any time by any thread, but only for code that
 * cannot be freed during the call.  A table that is outgrown stays, because a reader may
 * still be in it; together they take at most twice the memory of the newest.
 */
#ifndef AGENT_PYTHON_CODE_TABLE_H
#define AGENT_PYTHON_CODE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_entry {
	_Atomic uintptr_t code; /* 0: free; CODE_GONE: was in use, and is on the way to others */
	_Atomic uintptr_t note;
};

#define CODE_GONE ((uintptr_t)1)

struct code_table {
	struct code_table *outgrown; /* by this one; a reader may still be in it */
	size_t mask, used;           /* entries - 1, a power of two; those that are not free */
	struct code_entry entries[];
};

/* A table and those that it has outgrown; all zeros at first. */
struct code_index {
	_Atomic(struct code_table *) newest;
};

/* With the GIL; false: no memory. */
bool code_table_insert(struct code_index *in, const void *code, void *note);
/* With the GIL; the note, NULL: was not there. */
void *code_table_remove(struct code_index *in, const void *code);

size_t code_table_count(struct code_index *in); /* about how many there are; with the GIL */
/* With the GIL; `visit` must not change the table. */
void code_table_each(struct code_index *in, void (*visit)(void *note, void *context),
		     void *context);

static inline size_t code_table_slot(const struct code_table *t, uintptr_t code)
{
	return (size_t)((code >> 4) * 0x9e3779b97f4a7c15ull >> 20) & t->mask;
}

static inline struct code_entry *code_table_entry(struct code_table *t, const void *code)
{
	size_t at = code_table_slot(t, (uintptr_t)code);

	/* Ends: a table is never full. */
	for (;; at = (at + 1) & t->mask) {
		/* Pairs with the release in put(): the note is there before its key. */
		uintptr_t key = atomic_load_explicit(&t->entries[at].code, memory_order_acquire);

		if (__builtin_expect(key == (uintptr_t)code, 1))
			return &t->entries[at];
		if (!key)
			return NULL;
	}
}

/* NULL: not there. */
static inline void *code_table_find(struct code_index *in, const void *code)
{
	/* Pairs with the release in grow(). */
	struct code_table *t = atomic_load_explicit(&in->newest, memory_order_acquire);
	struct code_entry *e = t ? code_table_entry(t, code) : NULL;

	return e ? (void *)atomic_load_explicit(&e->note, memory_order_relaxed) : NULL;
}

#endif
