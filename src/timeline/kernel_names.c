/*
 * Demangling is libiberty's, through its callback interface: a mangled name of
 * some hundred bytes can stand for gigabytes, and only the callback lets us stop.
 * (libstdc++ has the same demangler, but exports it without a bound.)
 */
#include "timeline/kernel_names.h"

#include <demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FULL_MAX 16384u /* bytes of a demangled name that are kept */

static const char unknown[] = "(unknown)";

struct sink {
	char *out;
	size_t len, room; /* room for the NUL included */
	jmp_buf full;
};

static void sink_add(const char *text, size_t n, void *ctx)
{
	struct sink *s = ctx;
	size_t left = s->room - 1 - s->len;

	memcpy(s->out + s->len, text, n < left ? n : left);
	s->len += n < left ? n : left;
	if (n > left)
		longjmp(s->full,
			1); /* over frames of the demangler only: it holds no memory here */
}

/* False: not a mangled name.  What does not fit is omitted. */
static bool demangle(struct sink *s, const char *mangled)
{
	if (strncmp(mangled, "_Z", 2) != 0)
		return false;
	if (!setjmp(s->full))
		return cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI, sink_add, s);
	while (s->len && s->out[s->len - 1] & 0x80)
		s->len--; /* perhaps half a character */
	return true;
}

size_t kernel_demangle(const char *mangled, char *out, size_t room)
{
	struct sink s = { .out = out, .room = room };

	if (!demangle(&s, mangled)) {
		s.len = strnlen(mangled, room - 1);
		memcpy(out, mangled, s.len);
	}
	out[s.len] = 0;
	return s.len;
}

void kernel_names_init(struct kernel_names *n, const struct trace *t)
{
	memset(n, 0, sizeof(*n));
	n->trace = t;
	idmap_init(&n->by_id);
	pair_map_init(&n->by_text);
	arena_init(&n->texts);
}

void kernel_names_release(struct kernel_names *n)
{
	free(n->items);
	free(n->mangled);
	idmap_release(&n->by_id);
	pair_map_release(&n->by_text);
	arena_release(&n->texts);
}

static const char *text_keep(struct kernel_names *n, const char *text, size_t len)
{
	char *kept = arena_alloc(&n->texts, len + 1);

	if (kept)
		memcpy(kept, text, len + 1);
	return kept;
}

static uint32_t name_add(struct kernel_names *n, const char *mangled)
{
	static _Thread_local char full[FULL_MAX];
	char brief[KERNEL_BRIEF_MAX + 1];
	struct gpu_kernel_name *items;
	struct gpu_kernel_name name;
	const char **texts;

	if (n->count >= KERNEL_NAME_NONE)
		return KERNEL_NAME_NONE;
	items = array_grow(n->items, &n->cap, n->count + 1, sizeof(*items));
	if (items)
		n->items = items;
	texts = array_grow(n->mangled, &n->mangled_cap, n->count + 1, sizeof(*texts));
	if (texts)
		n->mangled = texts;
	name.full = text_keep(n, full, kernel_demangle(mangled, full, sizeof(full)));
	kernel_brief(full, brief);
	name.brief = text_keep(n, brief, strlen(brief));
	if (!items || !texts || !name.full || !name.brief)
		return KERNEL_NAME_NONE;
	n->mangled[n->count] = mangled;
	n->items[n->count] = name;
	return (uint32_t)n->count++;
}

static uint64_t hash(const char *s, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (uint8_t)s[i]) * 0x100000001b3u;
	return h;
}

/* Two names with one hash get two entries, and the second one perhaps more: no harm done. */
static uint32_t find_or_add(struct kernel_names *n, const char *mangled)
{
	size_t len = strlen(mangled);
	uint64_t h = hash(mangled, len);
	size_t at = pair_map_find(&n->by_text, len, h);
	uint32_t index;

	if (at != PAIR_NONE && !strcmp(n->mangled[at], mangled))
		return (uint32_t)at;
	index = name_add(n, mangled);
	if (index == KERNEL_NAME_NONE ||
	    (at == PAIR_NONE && pair_map_put(&n->by_text, len, h, index)))
		return KERNEL_NAME_NONE;
	return index;
}

uint32_t kernel_names_find(struct kernel_names *n, uint32_t id)
{
	uint32_t index = idmap_find(&n->by_id, id);
	const char *mangled;

	if (index != IDMAP_NONE)
		return index;
	mangled = trace_string(n->trace, id);
	index = find_or_add(n, mangled && *mangled ? mangled : unknown);
	if (index == KERNEL_NAME_NONE || idmap_put(&n->by_id, id, index))
		return KERNEL_NAME_NONE;
	return index;
}
