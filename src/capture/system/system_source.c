#include "capture/system/system_source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void psi_parse(const struct system_source *s, struct reading *l, const char *text)
{
	static const char total[] = "total=";

	for (const struct keyed_line *k = s->lines; k->key; k++) {
		const char *line = strstr(text, k->key);
		const char *at = line ? strstr(line, total) : NULL;
		int64_t us;

		if (at && text_number(at + strlen(total), &us))
			reading_put(l, k->kind, us);
	}
}

void system_points_put(struct system_points *all, const struct series_point *p)
{
	struct series_point *grown =
		array_grow(all->items, &all->cap, all->count + 1, sizeof(*grown));

	if (!grown) {
		all->dropped++;
		return;
	}
	all->items = grown;
	grown[all->count++] = *p;
}

void system_points_release(struct system_points *all)
{
	free(all->items);
	memset(all, 0, sizeof(*all));
}

void reading_put_instance(struct reading *l, enum series_kind kind, uint32_t instance,
			  int64_t value)
{
	const struct series_point p = { l->time_ns, l->process, (uint32_t)kind, instance, value };

	system_points_put(l->points, &p);
}

void reading_put(struct reading *l, enum series_kind kind, int64_t value)
{
	reading_put_instance(l, kind, l->instance, value);
}

bool text_number(const char *text, int64_t *value)
{
	int64_t sum = 0;

	text += strspn(text, " \t");
	if (!isdigit((unsigned char)*text))
		return false; /* "max", for instance */
	for (; isdigit((unsigned char)*text); text++) {
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, *text - '0', &sum))
			return false;
	}
	*value = sum;
	return true;
}

/* NULL: no line of the table. */
static const struct keyed_line *line_of(const struct keyed_line *table, const char *text,
					size_t key_bytes)
{
	for (; table->key; table++) {
		if (strlen(table->key) == key_bytes && !memcmp(table->key, text, key_bytes))
			return table;
	}
	return NULL;
}

static void put_lines(const struct keyed_line *table, struct reading *l, const char *text)
{
	while (*text) {
		size_t bytes = strcspn(text, "\n"), key_bytes = strcspn(text, ": \t\n");
		const struct keyed_line *k = line_of(table, text, key_bytes);
		const char *behind = text + key_bytes;
		int64_t value;

		behind += *behind == ':';
		if (k && text_number(behind, &value) &&
		    !__builtin_mul_overflow(value, k->scale, &value))
			reading_put(l, k->kind, value);
		text += bytes;
		text += *text == '\n';
	}
}

void source_parse(const struct system_source *s, struct reading *l, const char *text)
{
	if (s->parse)
		s->parse(s, l, text);
	else
		put_lines(s->lines, l, text);
}
