#include "timeline/functions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FIRST_SLOTS 1024u

static const struct trace_code no_code = { .name = "(unknown)", .file = "", .line = 0 };

static uint32_t *new_identity_slots(size_t n)
{
	uint32_t *slots = calloc(n, sizeof(*slots));

	for (size_t i = 0; slots && i < n; i++)
		slots[i] = FUNCTION_NONE;
	return slots;
}

int functions_init(struct functions *f, const struct trace *t)
{
	memset(f, 0, sizeof(*f));
	f->trace = t;
	idmap_init(&f->by_id);
	f->by_identity = new_identity_slots(FIRST_SLOTS);
	f->identity_slots = FIRST_SLOTS;
	return f->by_identity ? 0 : -1;
}

void functions_release(struct functions *f)
{
	free(f->items);
	idmap_release(&f->by_id);
	free(f->by_identity);
	memset(f, 0, sizeof(*f));
}

static uint64_t hash_bytes(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3u;
	return (h ^ 0xffu) *
	       0x100000001b3u; /* a mark between the strings: "ab","c" is not "a","bc" */
}

/* "run" of "Engine.run", and of itself. */
static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && dot[1] ? dot + 1 : name;
}

static uint64_t hash_identity(const char *name, const char *file, uint32_t line)
{
	return hash_bytes(hash_bytes(0xcbf29ce484222325u ^ line, last_part(name)), file);
}

/*
 * Before CPython 3.11 samples know no qualified names: one without any dot, in the
 * same line of the same file, is that of the function whose last part it is.
 */
static bool same_name(const struct function *fn, const struct trace_code *code)
{
	if (!strcmp(fn->name, code->name))
		return true;
	return code->line &&
	       (last_part(fn->name) == fn->name || last_part(code->name) == code->name) &&
	       !strcmp(last_part(fn->name), last_part(code->name));
}

static size_t identity_slot(const struct functions *f, const struct trace_code *code)
{
	size_t at = (size_t)hash_identity(code->name, code->file, code->line);

	for (at &= f->identity_slots - 1; f->by_identity[at] != FUNCTION_NONE;
	     at = (at + 1) & (f->identity_slots - 1)) {
		const struct function *fn = &f->items[f->by_identity[at]];

		if (fn->line == code->line && same_name(fn, code) && !strcmp(fn->file, code->file))
			break;
	}
	return at;
}

static int grow_identities(struct functions *f)
{
	size_t n = f->identity_slots * 2;
	uint32_t *slots = new_identity_slots(n);

	if (!slots)
		return -1;
	free(f->by_identity);
	f->by_identity = slots;
	f->identity_slots = n;
	for (size_t i = 0; i < f->count; i++) {
		const struct function *fn = &f->items[i];
		const struct trace_code code = { fn->name, fn->file, fn->line };

		slots[identity_slot(f, &code)] = (uint32_t)i;
	}
	return 0;
}

static uint32_t find_or_add_identity(struct functions *f, const struct trace_code *code)
{
	size_t at = identity_slot(f, code);
	struct function *grown;

	if (f->by_identity[at] != FUNCTION_NONE) {
		struct function *known = &f->items[f->by_identity[at]];

		if (strlen(code->name) > strlen(known->name))
			known->name = code->name; /* qualified */
		return f->by_identity[at];
	}
	if (f->count * 2 >= f->identity_slots) {
		if (grow_identities(f))
			return FUNCTION_NONE;
		at = identity_slot(f, code);
	}
	grown = array_grow(f->items, &f->cap, f->count + 1, sizeof(*grown));
	if (!grown)
		return FUNCTION_NONE;
	f->items = grown;
	grown[f->count] = (struct function){ code->name, code->file, code->line };
	f->by_identity[at] = (uint32_t)f->count;
	return (uint32_t)f->count++;
}

uint32_t functions_add(struct functions *f, uint32_t id)
{
	const struct trace_code *code = trace_code(f->trace, id);
	uint32_t function = find_or_add_identity(f, code ? code : &no_code);

	if (function == FUNCTION_NONE || idmap_put(&f->by_id, id, function))
		return FUNCTION_NONE;
	if (!code)
		f->unknown++;
	return function;
}
