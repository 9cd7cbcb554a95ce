#include "cli/value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SHOWN "%.200s" /* of a wrong value in an error */

static bool text_to_flag(const char *text, double *number)
{
	static const struct {
		const char *word;
		int value;
	} words[] = {
		{ "true", 1 }, { "false", 0 }, { "yes", 1 }, { "no", 0 },
		{ "on", 1 },   { "off", 0 },   { "1", 1 },   { "0", 0 },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcasecmp(text, words[i].word)) {
			*number = words[i].value;
			return true;
		}
	}
	return false;
}

/* Decimal only: strtod() alone would take "inf", "0x10" and leading blanks. */
static bool text_to_number(const char *text, bool integer, double *number)
{
	const char *allowed = integer ? "0123456789+-" : "0123456789+-.eE";
	char *end;

	if (!*text || text[strspn(text, allowed)])
		return false;
	*number = strtod(text, &end);
	return !*end && isfinite(*number);
}

/* "512M": an integer and a power of 1024. */
static bool text_to_size(const char *text, double *bytes)
{
	static const char units[] = "KMGT";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] ? strchr(units, text[digits] & ~0x20) : NULL;
	char number[24];

	if (!digits || digits >= sizeof(number) || (text[digits] && (!unit || text[digits + 1])))
		return false;
	snprintf(number, sizeof(number), "%.*s", (int)digits, text);
	*bytes = strtod(number, NULL) * (unit ? pow(1024, (double)(unit - units + 1)) : 1);
	return true;
}

static bool is_choice(const char *choices, const char *text)
{
	size_t len = strlen(text);

	while (len) {
		size_t n = strcspn(choices, "|");

		if (n == len && !memcmp(choices, text, n))
			return true;
		if (!choices[n])
			break;
		choices += n + 1;
	}
	return false;
}

static int reject(const struct setting *s, const char *text, const struct origin *from,
		  struct err *err)
{
	switch (s->type) {
	case SETTING_FLAG:
		return err_set(err, "%s: expected true or false, not '" SHOWN "'", from->name,
			       text);
	case SETTING_INTEGER:
		return err_set(err, "%s: expected an integer from %.15g to %.15g, not '" SHOWN "'",
			       from->name, s->min, s->max, text);
	case SETTING_NUMBER:
		return err_set(err, "%s: expected a number from %.15g to %.15g, not '" SHOWN "'",
			       from->name, s->min, s->max, text);
	case SETTING_SIZE:
		return err_set(
			err, "%s: expected a size from 1M on, such as 512M or 4G, not '" SHOWN "'",
			from->name, text);
	case SETTING_CHOICE:
		return err_set(err, "%s: expected %s, not '" SHOWN "'", from->name, s->choices,
			       text);
	case SETTING_PATH:
	case SETTING_LIST:
		break;
	}
	return err_set(err, "%s: the value is empty", from->name);
}

/* Checks a text; *keep becomes what is stored, in `room` where it must be rewritten. */
static int interpret(const struct setting *s, const char *text, const struct origin *from,
		     char room[32], const char **keep, double *number, struct err *err)
{
	*keep = text;
	switch (s->type) {
	case SETTING_FLAG:
		if (!text_to_flag(text, number))
			return reject(s, text, from, err);
		*keep = *number != 0 ? "true" : "false";
		return 0;
	case SETTING_INTEGER:
	case SETTING_NUMBER:
		if (!text_to_number(text, s->type == SETTING_INTEGER, number) || *number < s->min ||
		    *number > s->max)
			return reject(s, text, from, err);
		snprintf(room, 32, "%.15g", *number);
		*keep = room;
		return 0;
	case SETTING_SIZE:
		return text_to_size(text, number) && *number >= s->min && *number <= s->max
			       ? 0
			       : reject(s, text, from, err);
	case SETTING_CHOICE:
		return is_choice(s->choices, text) ? 0 : reject(s, text, from, err);
	case SETTING_PATH:
		if (s->off_flag && !strcmp(text, "off"))
			*keep = "";
		else if (!*text)
			return reject(s, text, from, err);
		return 0;
	case SETTING_LIST:
		return *text ? 0 : reject(s, text, from, err);
	}
	return -1;
}

static int append(struct value *v, const char *text)
{
	char **items = realloc(v->items, (v->count + 1) * sizeof(*items));

	if (!items)
		return -1;
	v->items = items;
	v->items[v->count] = strdup(text);
	if (!v->items[v->count])
		return -1;
	v->count++;
	return 0;
}

static void clear_items(struct value *v)
{
	for (size_t i = 0; i < v->count; i++)
		free(v->items[i]);
	v->count = 0;
}

int value_claim(struct value *v, const struct setting *s, const struct origin *from,
		struct err *err)
{
	char *origin;

	if (v->source > from->source)
		return 0;
	if (s->type == SETTING_LIST && v->source == from->source)
		return 1;
	origin = strdup(from->where);
	if (!origin)
		return err_set(err, "out of memory");
	clear_items(v);
	free(v->origin);
	v->origin = origin;
	v->source = from->source;
	return 1;
}

int value_add(struct value *v, const struct setting *s, const char *text, const struct origin *from,
	      struct err *err)
{
	const char *keep;
	double number = 0;
	char room[32];
	int claimed;

	if (interpret(s, text, from, room, &keep, &number, err))
		return -1;
	claimed = value_claim(v, s, from, err);
	if (claimed <= 0)
		return claimed;
	if (append(v, keep))
		return err_set(err, "out of memory");
	v->number = number;
	return 0;
}

void value_release(struct value *v)
{
	clear_items(v);
	free(v->items);
	free(v->origin);
	memset(v, 0, sizeof(*v));
}
