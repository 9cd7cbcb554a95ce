#include "cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/help.h"

void options_init(struct options *o, unsigned scope, int argc, char **argv)
{
	o->scope = scope;
	o->argc = argc;
	o->argv = argv;
	o->next = argc > 0 ? 1 : 0;
	o->operands = argc;
	o->dashes = false;
}

/* Puts the operand at `next` behind all other words, which keeps operands in their order. */
static void put_last(struct options *o)
{
	char **at = o->argv + o->next;
	char *word = *at;

	memmove(at, at + 1, (size_t)(o->argc - o->next - 1) * sizeof(*at));
	o->argv[o->argc - 1] = word;
	o->operands--;
}

/* Finds the next word that is an option; NULL at their end. */
static char *next_word(struct options *o)
{
	bool mixed = !(o->scope & SETTING_FOR_RUN);

	while (o->next < o->operands) {
		char *word = o->argv[o->next];

		if (!o->dashes && !strcmp(word, "--")) {
			o->dashes = true;
			o->next++;
			if (!mixed)
				break;
		} else if (!o->dashes && word[0] == '-' && word[1]) {
			o->next++;
			return word;
		} else if (mixed) {
			put_last(o);
		} else {
			break;
		}
	}
	o->operands = o->next;
	return NULL;
}

static bool is_flag(const char *flag, const char *word, size_t len)
{
	return flag && strlen(flag) == len && !memcmp(flag, word, len);
}

static const struct setting *find_setting(unsigned scope, const char *word, size_t len, bool *off)
{
	for (const struct setting *const *s = settings; *s; s++) {
		if (!((*s)->scope & scope))
			continue;
		*off = is_flag((*s)->off_flag, word, len);
		if (*off || is_flag((*s)->flag, word, len))
			return *s;
	}
	return NULL;
}

/* The interpreter that was asked for, also behind the mistake: no script ends the options. */
static const char *given_python(const struct options *o)
{
	const char *flag = setting_python.flag, *asked = getenv(setting_python.env);
	size_t n = strlen(flag);

	for (int i = 1; i < o->argc && strcmp(o->argv[i], "--") != 0; i++) {
		const char *word = o->argv[i];

		if (!strncmp(word, flag, n) && word[n] == '=')
			asked = word + n + 1;
		else if (!strcmp(word, flag) && i + 1 < o->argc && o->argv[i + 1][0] != '-')
			asked = o->argv[i + 1];
	}
	return asked && *asked ? asked : "python3";
}

static int unknown_option(const struct options *o, const char *word, size_t len, struct err *err)
{
	unsigned scope = o->scope;
	struct suggest near;
	char name[64];
	size_t kept = len < sizeof(name) ? len : sizeof(name) - 1;
	bool off;

	memcpy(name, word, kept);
	name[kept] = '\0';
	suggest_init(&near, name);
	suggest_push(&near, "--help");
	for (const struct setting *const *s = settings; *s; s++) {
		if ((*s)->scope & scope) {
			suggest_push(&near, (*s)->flag);
			suggest_push(&near, (*s)->off_flag);
		}
	}
	if (near.best)
		return err_set(err, "unknown option '%s'; did you mean '%s'?", name, near.best);
	if (find_setting(~0u, word, len, &off))
		return err_set(err, "option '%s' does not belong to this command", name);
	if (scope & SETTING_FOR_RUN && (!strcmp(name, "-m") || !strcmp(name, "-c")))
		return err_set(err, "unknown option '%s'; did you mean 'run -- %s %s ...'?", name,
			       given_python(o), name);
	return err_set(err, "unknown option '%s'", name);
}

int options_next(struct options *o, struct option *out, struct err *err)
{
	char *word = next_word(o);
	const struct setting *s;
	const char *equals;
	size_t len;
	bool off;

	if (!word)
		return 0;
	if (!strcmp(word, "--help") || !strcmp(word, "-h")) {
		*out = (struct option){ .name = "--help" };
		return 1;
	}
	equals = word[1] == '-' ? strchr(word, '=') : NULL;
	len = equals ? (size_t)(equals - word) : strlen(word);
	s = find_setting(o->scope, word, len, &off);
	if (!s)
		return unknown_option(o, word, len, err);

	out->setting = s;
	out->name = off ? s->off_flag : s->flag;
	if (off || s->type == SETTING_FLAG) {
		if (equals)
			return err_set(err, "%s takes no value", out->name);
		out->value = s->type != SETTING_FLAG ? "off" : off ? "false" : "true";
	} else if (equals) {
		out->value = equals + 1;
	} else if (o->next < o->operands && strncmp(o->argv[o->next], "--", 2) != 0) {
		out->value = o->argv[o->next++];
	} else { /* "--report --quiet" is a slip; "--report=--quiet" is not */
		return err_set(err, "%s needs a value: %s %s", out->name, out->name,
			       s->choices ? s->choices : s->metavar);
	}
	return 1;
}

bool options_want_help(unsigned scope, int argc, char **argv)
{
	char **copy = malloc((size_t)argc * sizeof(*copy)); /* the walk may reorder it */
	struct options o;
	struct option option = { 0 };
	bool wanted = false;

	if (!copy)
		return false;
	memcpy(copy, argv, (size_t)argc * sizeof(*copy));
	options_init(&o, scope, argc, copy);
	while (!wanted && options_next(&o, &option, NULL) > 0)
		wanted = !option.setting;
	free(copy);
	return wanted;
}
