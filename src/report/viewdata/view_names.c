#include "report/viewdata/view_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/plain_text.h"

#define STRING_MAX 400u /* bytes; longer names are unreadable anyway */

void view_names_init(struct view_names *n, const char *root)
{
	memset(n, 0, sizeof(*n));
	n->root = root;
	buf_init(&n->text);
	buf_init(&n->frames);
	buf_init(&n->scratch);
	pair_map_init(&n->known);
}

void view_names_release(struct view_names *n)
{
	buf_release(&n->text);
	buf_release(&n->frames);
	buf_release(&n->scratch);
	pair_map_release(&n->known);
	free(n->strings);
	free(n->places);
	free(n->labels);
	free(n->stacks);
	free(n->string_set.slots);
	free(n->place_set.slots);
	free(n->label_set.slots);
	memset(n, 0, sizeof(*n));
}

static uint64_t hash_bytes(const void *data, size_t bytes)
{
	const uint8_t *p = data;
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ p[i]) * 1099511628211u;
	return hash ^ hash >> 29;
}

static void set_put(struct view_set *s, uint64_t hash, uint32_t value)
{
	size_t at = hash & (s->slot_count - 1);

	while (s->slots[at])
		at = (at + 1) & (s->slot_count - 1);
	s->slots[at] = value;
}

/* Room for one more; hash_of gives the hash of an index.  -1: no memory. */
static int set_grow(struct view_set *s, const struct view_names *n,
		    uint64_t (*hash_of)(const struct view_names *, uint32_t))
{
	struct view_set grown = { NULL, s->slot_count ? 2 * s->slot_count : 256, s->count };

	if (s->slot_count && 2 * (s->count + 1) < s->slot_count)
		return 0;
	grown.slots = calloc(grown.slot_count, sizeof(*grown.slots));
	if (!grown.slots)
		return -1;
	for (size_t i = 0; i < s->slot_count; i++)
		if (s->slots[i])
			set_put(&grown, hash_of(n, s->slots[i] - 1), s->slots[i]);
	free(s->slots);
	*s = grown;
	return 0;
}

const char *view_text(const struct view_names *n, uint32_t string)
{
	return string ? n->text.data + n->strings[string - 1] : "";
}

static uint64_t string_hash(const struct view_names *n, uint32_t i)
{
	const char *s = n->text.data + n->strings[i];

	return hash_bytes(s, strlen(s));
}

static uint32_t add_string(struct view_names *n, const char *s)
{
	size_t *grown = array_grow(n->strings, &n->string_cap, n->string_count + 1, sizeof(*grown));

	if (grown)
		n->strings = grown;
	if (!grown || set_grow(&n->string_set, n, string_hash)) {
		n->failed = true;
		return 0;
	}
	grown[n->string_count++] = n->text.len;
	buf_add(&n->text, s, strlen(s) + 1);
	if (n->text.failed) {
		n->failed = true;
		return 0;
	}
	n->string_set.count++;
	set_put(&n->string_set, hash_bytes(s, strlen(s)), (uint32_t)n->string_count);
	return (uint32_t)n->string_count;
}

static uint32_t find_string(struct view_names *n, const char *s)
{
	const struct view_set *set = &n->string_set;
	size_t at;

	if (n->failed || n->scratch.failed) {
		n->failed = true;
		return 0;
	}
	if (!set->slot_count)
		return add_string(n, s);
	at = hash_bytes(s, strlen(s)) & (set->slot_count - 1);
	for (; set->slots[at]; at = (at + 1) & (set->slot_count - 1))
		if (!strcmp(view_text(n, set->slots[at]), s))
			return set->slots[at];
	return add_string(n, s);
}

/* Cut between two characters. */
static const char *scratch_text(struct view_names *n)
{
	size_t len = n->scratch.len;

	if (len > STRING_MAX) {
		len = STRING_MAX;
		while (len && ((uint8_t)n->scratch.data[len] & 0xc0) == 0x80)
			len--;
		n->scratch.len = len;
	}
	return buf_string(&n->scratch);
}

uint32_t view_string(struct view_names *n, const char *s)
{
	if (!s)
		return 0;
	buf_clear(&n->scratch);
	text_add_clean(&n->scratch, s);
	return find_string(n, scratch_text(n));
}

uint32_t view_lasting_string(struct view_names *n, const char *s)
{
	size_t at = pair_map_find(&n->known, 2, (uintptr_t)s);
	uint32_t string;

	if (at != PAIR_NONE)
		return (uint32_t)at;
	string = view_string(n, s);
	if (pair_map_put(&n->known, 2, (uintptr_t)s, string))
		n->failed = true;
	return string;
}

static uint32_t file_string(struct view_names *n, const char *file)
{
	if (!file || !*file)
		return 0;
	buf_clear(&n->scratch);
	text_add_short_path(&n->scratch, file, n->root);
	return find_string(n, scratch_text(n));
}

static uint64_t place_hash(const struct view_names *n, uint32_t i)
{
	return hash_bytes(&n->places[i], sizeof(n->places[i]));
}

uint32_t view_place(struct view_names *n, const char *function, const char *file, uint32_t line)
{
	struct view_place p = { view_string(n, function), file_string(n, file), line };
	struct view_set *set = &n->place_set;
	struct view_place *grown;
	uint64_t hash = hash_bytes(&p, sizeof(p));

	if (!function || n->failed)
		return 0;
	if (set->slot_count) {
		size_t at = hash & (set->slot_count - 1);

		for (; set->slots[at]; at = (at + 1) & (set->slot_count - 1))
			if (!memcmp(&n->places[set->slots[at] - 1], &p, sizeof(p)))
				return set->slots[at];
	}
	grown = array_grow(n->places, &n->place_cap, n->place_count + 1, sizeof(*grown));
	if (grown)
		n->places = grown;
	if (!grown || set_grow(set, n, place_hash)) {
		n->failed = true;
		return 0;
	}
	grown[n->place_count++] = p;
	set->count++;
	set_put(set, hash, (uint32_t)n->place_count);
	return (uint32_t)n->place_count;
}

uint32_t view_stack(struct view_names *n, const struct gpu_timeline *g, uint32_t id)
{
	size_t at = pair_map_find(&n->known, 1, id);
	struct place p;
	size_t *grown;

	if (!id || at != PAIR_NONE)
		return id ? (uint32_t)at : 0;
	grown = array_grow(n->stacks, &n->stack_cap, n->stack_count + 2, sizeof(*grown));
	if (!grown) {
		n->failed = true;
		return 0;
	}
	n->stacks = grown;
	grown[n->stack_count++] = n->frames.len / sizeof(uint32_t);
	for (size_t i = 0; i < VIEW_STACK_FRAMES && gpu_stack_frame(g, id, i, &p); i++) {
		uint32_t place = view_place(n, p.name ? p.name : "(unknown)", p.file, p.line);

		buf_add(&n->frames, &place, sizeof(place));
	}
	grown[n->stack_count] = n->frames.len / sizeof(uint32_t);
	n->failed |= n->frames.failed;
	if (pair_map_put(&n->known, 1, id, n->stack_count))
		n->failed = true;
	return (uint32_t)n->stack_count;
}

const uint32_t *view_stack_frames(const struct view_names *n, uint32_t stack, size_t *count)
{
	const uint32_t *all = (const uint32_t *)(const void *)n->frames.data;

	*count = 0;
	if (!stack || !all)
		return NULL;
	*count = n->stacks[stack] - n->stacks[stack - 1];
	return all + n->stacks[stack - 1];
}

static uint64_t label_hash(const struct view_names *n, uint32_t i)
{
	return hash_bytes(&n->labels[i], sizeof(n->labels[i]));
}

uint32_t view_label(struct view_names *n, const struct view_label *label)
{
	struct view_set *set = &n->label_set;
	struct view_label *grown, few;
	uint64_t hash = hash_bytes(label, sizeof(*label));

	if (n->failed)
		return 0;
	if (set->slot_count) {
		size_t at = hash & (set->slot_count - 1);

		for (; set->slots[at]; at = (at + 1) & (set->slot_count - 1))
			if (!memcmp(&n->labels[set->slots[at] - 1], label, sizeof(*label)))
				return set->slots[at] - 1;
	}
	if (n->label_count >= VIEW_LABELS_MAX) {
		few = (struct view_label){ .kind = label->kind, .what = label->what };
		return n->label_count >= VIEW_LABELS_MAX + 1000 || !memcmp(&few, label, sizeof(few))
			       ? 0
			       : view_label(n, &few);
	}
	grown = array_grow(n->labels, &n->label_cap, n->label_count + 1, sizeof(*grown));
	if (grown)
		n->labels = grown;
	if (!grown || set_grow(set, n, label_hash)) {
		n->failed = true;
		return 0;
	}
	grown[n->label_count++] = *label;
	set->count++;
	set_put(set, hash, (uint32_t)n->label_count);
	return (uint32_t)n->label_count - 1;
}

static void put_stacks(const struct view_names *n, struct json *j)
{
	json_key(j, "stacks");
	json_array_begin(j);
	for (uint32_t i = 1; i <= n->stack_count; i++) {
		size_t count;
		const uint32_t *frames = view_stack_frames(n, i, &count);

		json_array_begin(j);
		for (size_t k = 0; k < count; k++)
			json_uint(j, frames[k]);
		json_array_end(j);
	}
	json_array_end(j);
}

/* Flat lists: eight numbers for each label, three for each place. */
void view_names_put(const struct view_names *n, struct json *j)
{
	json_key(j, "strings");
	json_array_begin(j);
	for (uint32_t i = 1; i <= n->string_count; i++)
		json_string(j, view_text(n, i));
	json_array_end(j);
	json_key(j, "places");
	json_array_begin(j);
	for (size_t i = 0; i < n->place_count; i++) {
		json_uint(j, n->places[i].function);
		json_uint(j, n->places[i].file);
		json_uint(j, n->places[i].line);
	}
	json_array_end(j);
	put_stacks(n, j);
	json_key(j, "labels");
	json_array_begin(j);
	for (size_t i = 0; i < n->label_count; i++) {
		const struct view_label *l = &n->labels[i];

		json_uint(j, l->kind);
		json_uint(j, l->what);
		json_uint(j, l->name);
		json_uint(j, l->place);
		json_uint(j, l->stack);
		json_uint(j, l->layer);
		json_uint(j, l->full);
		json_uint(j, l->more);
	}
	json_array_end(j);
}
