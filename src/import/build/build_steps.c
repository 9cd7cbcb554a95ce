/*
 * Names of scopes that differ in a running number only: "ProfilerStep#6", "ProfilerStep#7" and so
 * on are one kind of step.
 *
 * A number behind "#" at the end always counts as running: that is how PyTorch writes it.  Other
 * digits do where the file shows it: the names that are equal but for their digits are many, and
 * hardly any of them comes twice.  "layer 3" that comes with every step keeps its name.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/build/build_tables.h"

#define KINDS_LEAST 3 /* different names, of which ... */
#define TWICE_LEAST 2 /* ... none may come this often on average */

/* A name with every run of digits replaced by one sign. */
struct pattern {
	uint32_t name;
	uint64_t names, uses;
};

struct patterns {
	struct pattern *items;
	size_t count, cap;
	struct keymap at;      /* name of the pattern: position */
	struct keymap of_name; /* name of a scope: position + 1; 0: it has no digits */
	struct buf text;
};

/* "ProfilerStep#6": without the number; 0: it has none. */
static size_t hash_number(const char *text, size_t bytes)
{
	size_t end = bytes;

	while (end && isdigit((unsigned char)text[end - 1]))
		end--;
	return end && end < bytes && text[end - 1] == '#' ? end - 1 : 0;
}

/* 0: no memory; the name itself where it has no digits. */
static uint32_t pattern_of(struct patterns *p, struct build *b, uint32_t name)
{
	const char *text = build_text(b, name);
	size_t bytes = b->names.items[name].bytes, hash = hash_number(text, bytes);

	if (hash)
		return build_name(b, text, hash);
	buf_clear(&p->text);
	for (size_t i = 0; i < bytes; i++) {
		if (!isdigit((unsigned char)text[i]))
			buf_add_byte(&p->text, (uint8_t)text[i]);
		else if (!i || !isdigit((unsigned char)text[i - 1]))
			buf_add_byte(&p->text, '#');
	}
	return p->text.failed ? 0 : build_name(b, p->text.data, p->text.len);
}

static int name_add(struct patterns *p, struct build *b, uint32_t name)
{
	uint32_t pattern = pattern_of(p, b, name), at;
	struct pattern *grown;

	if (!pattern)
		return -1;
	if (pattern == name)
		return keymap_put(&p->of_name, name, 0);
	at = keymap_find(&p->at, pattern);
	if (at == KEYMAP_NONE) {
		grown = array_grow(p->items, &p->cap, p->count + 1, sizeof(*grown));
		if (!grown)
			return -1;
		p->items = grown;
		at = (uint32_t)p->count;
		grown[p->count++] = (struct pattern){ .name = pattern };
		if (keymap_put(&p->at, pattern, at))
			return -1;
	}
	p->items[at].names++;
	return keymap_put(&p->of_name, name, at + 1);
}

/* The name of a scope; of NVTX's, that in its definition. */
static uint32_t name_of(const struct build *b, const struct build_span *s)
{
	return s->call == BUILD_SPAN_NVTX ? b->nvtx[s->name].what.name : s->name;
}

/* 0: no memory. */
static uint32_t renamed(struct build *b, const struct build_span *s, uint32_t name)
{
	struct build_nvtx what;

	if (s->call != BUILD_SPAN_NVTX)
		return name;
	what = b->nvtx[s->name].what;
	what.name = name;
	return build_nvtx(b, &what);
}

static int names_count(struct patterns *p, struct build *b)
{
	for (size_t i = 0; i < b->spans.count; i++) {
		const struct build_span *s = build_span(b, i);
		uint32_t at, name;

		if (s->kind != BUILD_SCOPE)
			continue;
		name = name_of(b, s);
		if (keymap_find(&p->of_name, name) == KEYMAP_NONE && name_add(p, b, name))
			return -1;
		at = keymap_find(&p->of_name, name);
		if (at)
			p->items[at - 1].uses++;
	}
	return 0;
}

static bool is_running(const struct build *b, const struct pattern *p, uint32_t name)
{
	const char *text = build_text(b, name);

	if (hash_number(text, b->names.items[name].bytes))
		return true;
	return p->names >= KINDS_LEAST && p->uses < TWICE_LEAST * p->names;
}

static int names_replace(const struct patterns *p, struct build *b)
{
	for (size_t i = 0; i < b->spans.count; i++) {
		struct build_span *s = build_span(b, i);
		uint32_t at;

		if (s->kind != BUILD_SCOPE)
			continue;
		at = keymap_find(&p->of_name, name_of(b, s));
		if (!at || !is_running(b, &p->items[at - 1], name_of(b, s)))
			continue;
		s->name = renamed(b, s, p->items[at - 1].name);
		if (!s->name)
			return -1;
	}
	return 0;
}

int build_number_names(struct build *b)
{
	struct patterns p = { 0 };
	int rc;

	keymap_init(&p.at);
	keymap_init(&p.of_name);
	buf_init(&p.text);
	rc = names_count(&p, b);
	if (!rc)
		rc = names_replace(&p, b);
	keymap_release(&p.at);
	keymap_release(&p.of_name);
	buf_release(&p.text);
	free(p.items);
	return rc;
}
