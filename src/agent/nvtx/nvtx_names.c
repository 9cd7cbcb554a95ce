#include "agent/nvtx/nvtx.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/hot.h"
#include "agent/core/intern.h"
#include "agent/core/session.h"
#include "base/varint.h"

/* Both powers of two; a quarter stays free.  Memory is used by what is in them only. */
#define NAMES 262144u
#define CATEGORIES 4096u

#define UNNAMED "(unnamed)"
#define TOO_MANY "(too many names)"
#define TOO_MANY_NUMBER (NAMES + 1)

static _Atomic(char *) names[NAMES]; /* open addressing, by contents; number - 1 is the place */
static _Atomic uint32_t name_count;

struct category {
	_Atomic uint64_t key; /* domain << 32 | category; 0: free */
	_Atomic uint32_t name;
};

static struct category categories[CATEGORIES];
static _Atomic uint32_t category_count;
static _Atomic uint32_t renamed; /* so often was a category named */

INTERN(known, INTERN_SLOTS);

static bool is_called(const char *name, const char *text, size_t bytes)
{
	return !strncmp(name, text, bytes) && !name[bytes];
}

/* Puts a copy of the text where `place` points, unless another thread is faster. */
static char *keep(_Atomic(char *) *place, const char *text, size_t bytes)
{
	char *copy = malloc(bytes + 1), *there = NULL;

	if (!copy)
		return NULL;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	/* Pairs with the acquires in this file: a reader of the name sees its text. */
	if (atomic_compare_exchange_strong_explicit(place, &there, copy, memory_order_acq_rel,
						    memory_order_acquire)) {
		atomic_fetch_add_explicit(&name_count, 1, memory_order_relaxed);
		return copy;
	}
	free(copy);
	return there;
}

uint32_t nvtx_name_number(const char *name, size_t max)
{
	size_t bytes = name ? strnlen(name, max) : 0;
	uint32_t place = (uint32_t)(intern_mix_bytes(0, name ? name : "", bytes) >> 40);

	if (!name)
		return 0;
	for (uint32_t n = 0; n < NAMES; n++, place++) {
		_Atomic(char *) *slot = &names[place & (NAMES - 1)];
		char *there = atomic_load_explicit(slot, memory_order_acquire);

		if (!there) {
			if (atomic_load_explicit(&name_count, memory_order_relaxed) > NAMES / 4 * 3)
				break;
			there = keep(slot, name, bytes);
		}
		if (!there)
			break;
		if (is_called(there, name, bytes))
			return (place & (NAMES - 1)) + 1;
	}
	return TOO_MANY_NUMBER;
}

/* NULL: no such number was given out. */
static const char *name_of(uint32_t number)
{
	if (number == TOO_MANY_NUMBER)
		return TOO_MANY;
	if (!number || number > NAMES)
		return NULL;
	return atomic_load_explicit(&names[number - 1], memory_order_acquire);
}

static size_t put_utf8(char *out, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

void nvtx_narrow(char out[NVTX_NAME_MAX + 1], const wchar_t *wide)
{
	size_t n = 0;

	while (wide && *wide && n + 4 <= NVTX_NAME_MAX)
		n += put_utf8(out + n, (uint32_t)*wide++);
	out[n] = '\0';
}

/* The entry of a category; NULL: it has none, or there is no room for one. */
static struct category *category_find(uint64_t key, bool make)
{
	uint32_t place = (uint32_t)(intern_mix(0, key) >> 40);

	for (uint32_t n = 0; n < CATEGORIES; n++, place++) {
		struct category *c = &categories[place & (CATEGORIES - 1)];
		uint64_t there = atomic_load_explicit(&c->key, memory_order_acquire);

		if (!there && make &&
		    atomic_load_explicit(&category_count, memory_order_relaxed) <
			    CATEGORIES / 4 * 3 &&
		    atomic_compare_exchange_strong_explicit(
			    &c->key, &there, key, memory_order_acq_rel, memory_order_acquire)) {
			atomic_fetch_add_explicit(&category_count, 1, memory_order_relaxed);
			return c;
		}
		if (there == key)
			return c;
		if (!there)
			return NULL;
	}
	return NULL;
}

static uint64_t category_key(uint32_t domain, uint32_t category)
{
	return (uint64_t)domain << 32 | category;
}

void nvtx_name_category(uint32_t domain, uint32_t category, const char *name)
{
	uint32_t number = nvtx_name_number(name, NVTX_SHORT_NAME);
	struct category *c = category ? category_find(category_key(domain, category), true) : NULL;

	if (!c || atomic_exchange_explicit(&c->name, number, memory_order_relaxed) == number)
		return;
	/* Pairs with the acquire in hash_of(): what is defined from here on has the new name. */
	atomic_fetch_add_explicit(&renamed, 1, memory_order_release);
}

static const char *category_name(uint32_t domain, uint32_t category)
{
	struct category *c = category ? category_find(category_key(domain, category), false) : NULL;

	return c ? name_of(atomic_load_explicit(&c->name, memory_order_relaxed)) : NULL;
}

/*
 * Where the name ends in a text that goes on with the number of an event: as PyTorch's
 * emit_nvtx() has it ("aten::linear, seq = 3, op_id = 17"), where otherwise no two events would
 * have the same name.
 */
static HOT size_t name_bytes(const char *text, size_t bytes)
{
	static const char *const numbers[] = { ", seq = ", ", op_id = " };
	const char *end = memchr(text, ',', bytes);

	for (; end; end = memchr(end + 1, ',', bytes - (size_t)(end + 1 - text))) {
		for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
			const char *digit = end + strlen(numbers[i]);

			if (!strncmp(end, numbers[i], strlen(numbers[i])) && *digit >= '0' &&
			    *digit <= '9')
				return (size_t)(end - text);
		}
	}
	return bytes;
}

static HOT uint64_t hash_of(const struct nvtx_event *e, size_t bytes)
{
	uint64_t hash = intern_mix(e->kind, (uint64_t)e->domain << 32 | e->category);

	hash = intern_mix(
		hash,
		(uint64_t)e->colour << 32 |
			(e->category ? atomic_load_explicit(&renamed, memory_order_acquire) : 0));
	return e->text ? intern_mix_bytes(hash, e->text, bytes)
		       : intern_mix(hash, 1ull << 63 | e->registered);
}

static size_t put_short_name(uint8_t *to, const char *name)
{
	size_t bytes = name ? strnlen(name, NVTX_SHORT_NAME) : 0;
	size_t n = varint_put(to, bytes);

	if (bytes)
		memcpy(to + n, name, bytes);
	return n + bytes;
}

static COLD uint32_t define(struct ring *r, const struct nvtx_event *e, size_t bytes, uint64_t hash)
{
	uint8_t head[5 * VARINT_MAX + 2 * NVTX_SHORT_NAME];
	const char *text = e->text ? e->text : name_of(e->registered);
	uint32_t id = session_next_id(r->session);
	size_t n = varint_put(head, e->kind);

	n += varint_put(head + n, e->colour);
	n += varint_put(head + n, e->category);
	n += put_short_name(head + n, name_of(e->domain));
	n += put_short_name(head + n, category_name(e->domain, e->category));
	if (!e->text && text)
		bytes = strnlen(text, NVTX_NAME_MAX);
	if (!text || !bytes) {
		text = UNNAMED;
		bytes = strlen(UNNAMED);
	}
	if (!ring_define(r, DEF_NVTX, id, head, (uint32_t)n, text, (uint32_t)bytes))
		return 0;
	intern_put(&known, hash, id);
	return id;
}

HOT uint32_t nvtx_id(struct ring *r, const struct nvtx_event *e, const char **about)
{
	size_t all = e->text ? strnlen(e->text, NVTX_NAME_MAX) : 0;
	size_t bytes = all ? name_bytes(e->text, all) : 0;
	uint64_t hash = hash_of(e, bytes);
	uint32_t id = intern_find(&known, hash);

	*about = bytes < all ? e->text + bytes + strlen(", ") : NULL;
	return id ? id : define(r, e, bytes, hash);
}
