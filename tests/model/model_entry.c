/*
 * What -fsanitize=thread makes the compiler call, answered by the model instead
 * of the sanitizer's library.  The return address of such a call is the site of
 * the access in the source: that is how a mutant finds the order to leave out.
 */
#include "model_entry.h"

#include <stdlib.h>
#include <string.h>

#include "model_memory.h"

#define MAX_MUTANTS 256u
#define MAX_WATCHED 4u
#define MAX_STEPS 4096u

static const char *const names[] = {
	[MEMORY_LOAD] = "load", [MEMORY_STORE] = "store",     [MEMORY_EXCHANGE] = "exchange",
	[MEMORY_ADD] = "add",   [MEMORY_SUB] = "subtract",    [MEMORY_AND] = "and",
	[MEMORY_OR] = "or",     [MEMORY_COMPARE] = "compare",
};

static struct {
	uintptr_t begin, end;
} watched[MAX_WATCHED];
static unsigned watched_count;
static struct model_mutant known[MAX_MUTANTS];
static size_t known_count;
static const struct model_mutant *weakened;
static struct model_access steps[MAX_STEPS];
static size_t step_count;

void model_observe(const void *memory, size_t bytes)
{
	if (watched_count == MAX_WATCHED)
		abort();
	watched[watched_count].begin = (uintptr_t)memory;
	watched[watched_count++].end = (uintptr_t)memory + bytes;
}

void model_entry_weaken(const struct model_mutant *mutant)
{
	weakened = mutant;
}

void model_entry_begin(void)
{
	step_count = 0;
}

size_t model_steps(const struct model_access **out)
{
	*out = steps;
	return step_count;
}

size_t model_mutants(const struct model_mutant **out)
{
	*out = known;
	return known_count;
}

static void note(uintptr_t pc, bool release)
{
	for (size_t i = 0; i < known_count; i++) {
		if (known[i].pc == pc && known[i].release == release)
			return;
	}
	if (known_count == MAX_MUTANTS)
		abort();
	known[known_count++] = (struct model_mutant){ pc, release };
}

/* Whether the access has this half of the order; a mutant's has not. */
static bool ordered(uintptr_t pc, bool release, bool in_source)
{
	if (!in_source)
		return false;
	note(pc, release);
	return !weakened || weakened->pc != pc || weakened->release != release;
}

/* The access on the real memory, outside the model.  One thread runs at a time. */
static uint64_t access_real(const struct memory_access *a)
{
	void *memory = (void *)(uintptr_t)a->address;
	uint64_t old = 0, value = a->operand;

	memcpy(&old, memory, a->bytes);
	switch (a->op) {
	case MEMORY_LOAD:
		return old;
	case MEMORY_ADD:
		value = old + a->operand;
		break;
	case MEMORY_SUB:
		value = old - a->operand;
		break;
	case MEMORY_AND:
		value = old & a->operand;
		break;
	case MEMORY_OR:
		value = old | a->operand;
		break;
	case MEMORY_COMPARE:
		if (old != a->expected)
			return old;
		break;
	default:
		break;
	}
	memcpy(memory, &value, a->bytes);
	return old;
}

static uint64_t access_atomic(uintptr_t pc, enum memory_op op, const volatile void *memory,
			      unsigned bytes, uint64_t operand, uint64_t expected, int order)
{
	struct memory_access a = { op, (uintptr_t)memory, bytes, operand, expected, false, false };
	uint64_t old;

	if (!model_running)
		return access_real(&a);
	if (model_is_killed())
		return 0;
	a.acquire = ordered(pc, false,
			    op != MEMORY_STORE &&
				    (order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL ||
				     order == __ATOMIC_SEQ_CST));
	a.release = ordered(pc, true,
			    op != MEMORY_LOAD &&
				    (order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL ||
				     order == __ATOMIC_SEQ_CST));
	model_step(a.address);
	if (model_is_killed())
		return 0;
	old = memory_access(model_self(), &a);
	if (step_count < MAX_STEPS)
		steps[step_count++] =
			(struct model_access){ pc, model_self(), memory, old, operand, names[op] };
	return old;
}

void model_plain(const volatile void *memory, size_t bytes, bool write)
{
	uintptr_t at = (uintptr_t)memory;

	if (!model_running || model_is_killed())
		return;
	for (unsigned i = 0; i < watched_count; i++) {
		if (at >= watched[i].begin && at < watched[i].end)
			memory_plain(model_self(), at, bytes, write);
	}
}

/* clang-format off */
#define PC ((uintptr_t)__builtin_return_address(0))

#define PLAIN(bytes) \
	void __tsan_read##bytes(const void *p); \
	void __tsan_read##bytes(const void *p) { model_plain(p, bytes, false); } \
	void __tsan_write##bytes(void *p); \
	void __tsan_write##bytes(void *p) { model_plain(p, bytes, true); } \
	void __tsan_unaligned_read##bytes(const void *p); \
	void __tsan_unaligned_read##bytes(const void *p) { model_plain(p, bytes, false); } \
	void __tsan_unaligned_write##bytes(void *p); \
	void __tsan_unaligned_write##bytes(void *p) { model_plain(p, bytes, true); }

PLAIN(1) PLAIN(2) PLAIN(4) PLAIN(8) PLAIN(16)

#define MODIFY(bits, name, op) \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v, int order); \
	uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t v, int order) \
	{ \
		return (uint##bits##_t)access_atomic(PC, op, p, bits / 8, v, 0, order); \
	}

#define ATOMIC(bits) \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order); \
	uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order) \
	{ \
		return (uint##bits##_t)access_atomic(PC, MEMORY_LOAD, p, bits / 8, 0, 0, order); \
	} \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order); \
	void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t v, int order) \
	{ \
		access_atomic(PC, MEMORY_STORE, p, bits / 8, v, 0, order); \
	} \
	MODIFY(bits, exchange, MEMORY_EXCHANGE) \
	MODIFY(bits, fetch_add, MEMORY_ADD) \
	MODIFY(bits, fetch_sub, MEMORY_SUB) \
	MODIFY(bits, fetch_and, MEMORY_AND) \
	MODIFY(bits, fetch_or, MEMORY_OR) \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *p, uint##bits##_t *expected, \
		uint##bits##_t v, int order, int order_if_not); \
	int __tsan_atomic##bits##_compare_exchange_strong(volatile uint##bits##_t *p, uint##bits##_t *expected, \
		uint##bits##_t v, int order, int order_if_not) \
	{ \
		uint##bits##_t old = (uint##bits##_t)access_atomic(PC, MEMORY_COMPARE, p, bits / 8, v, *expected, order); \
		bool same = old == *expected; \
		(void)order_if_not; /* relaxed wherever the code compares */ \
		*expected = old; \
		return same; \
	}

ATOMIC(8) ATOMIC(32) ATOMIC(64)
	/* clang-format on */

	void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_read_range(void *p, long bytes);
void __tsan_read_range(void *p, long bytes)
{
	model_plain(p, (size_t)bytes, false);
}

void __tsan_write_range(void *p, long bytes);
void __tsan_write_range(void *p, long bytes)
{
	model_plain(p, (size_t)bytes, true);
}
