#include "cli/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/config_file.h"
#include "cli/options.h"
#include "cli/value.h"

static size_t index_of(const struct setting *s)
{
	size_t i = 0;

	while (settings[i] != s)
		i++;
	return i;
}

struct value *config_value(struct config *c, const struct setting *s)
{
	return &c->values[index_of(s)];
}

static const struct value *value_of(const struct config *c, const struct setting *s)
{
	return &c->values[index_of(s)];
}

static int load_options(struct config *c, unsigned scope, int argc, char **argv, int *operand,
			bool *dashes, struct err *err)
{
	struct options o;
	struct option option;
	int more;

	options_init(&o, scope, argc, argv);
	while ((more = options_next(&o, &option, err)) > 0) {
		struct origin from = { SOURCE_COMMAND_LINE, "command line", option.name };

		if (option.setting && value_add(config_value(c, option.setting), option.setting,
						option.value, &from, err))
			return -1;
	}
	*operand = o.operands;
	*dashes = o.dashes;
	return more;
}

/* A list's items are separated by commas; an empty one between them is skipped. */
static int load_variable(struct config *c, const struct setting *s, const char *text,
			 struct err *err)
{
	struct origin from = { SOURCE_ENVIRONMENT, s->env, s->env };
	struct value *v = config_value(c, s);
	char *copy, *item, *state;
	int rc = 0;

	if (s->type != SETTING_LIST)
		return value_add(v, s, text, &from, err);
	copy = strdup(text);
	if (!copy)
		return err_set(err, "out of memory");
	for (item = strtok_r(copy, ",", &state); item && !rc; item = strtok_r(NULL, ",", &state))
		rc = value_add(v, s, item, &from, err);
	free(copy);
	return rc;
}

static int load_environment(struct config *c, struct err *err)
{
	for (const struct setting *const *s = settings; *s; s++) {
		const char *text = (*s)->env ? getenv((*s)->env) : NULL;

		/* `NAME= command` is how a shell user unsets one */
		if (text && *text && load_variable(c, *s, text, err))
			return -1;
	}
	return 0;
}

/* Adds what a file says, if there is one, and keeps its path. */
static int load_file(struct config *c, enum source source, struct found_file *file, struct err *err)
{
	int rc = 0;

	if (file->path) {
		rc = config_file_parse(c, source, file->path, file->text.data, file->text.len, err);
		c->files[c->file_count++] = file->path;
		file->path = NULL;
	}
	found_file_release(file);
	return rc;
}

static int load_files(struct config *c, struct err *err)
{
	const char *named = config_text(c, &setting_config);
	struct found_file file;

	if (named ? config_file_open(&file, &file_configuration, named, err)
		  : config_file_find(&file, &file_configuration, err))
		return -1;
	if (load_file(c, named ? SOURCE_NAMED_FILE : SOURCE_FOUND_FILE, &file, err) ||
	    config_file_find_users(&file, &file_configuration, err))
		return -1;
	return load_file(c, SOURCE_USER_FILE, &file, err);
}

static int load_defaults(struct config *c, struct err *err)
{
	for (const struct setting *const *s = settings; *s; s++) {
		struct origin from = { SOURCE_DEFAULT, "default", (*s)->key };
		struct value *v = config_value(c, *s);

		if (v->source != SOURCE_NONE)
			continue;
		if ((*s)->fallback ? value_add(v, *s, (*s)->fallback, &from, err)
				   : value_claim(v, *s, &from, err) < 0)
			return -1;
	}
	return 0;
}

int config_load(struct config **out, unsigned scope, int argc, char **argv, int *operand,
		bool *dashes, struct err *err)
{
	struct config *c = calloc(1, sizeof(*c));

	if (!c)
		return err_set(err, "out of memory");
	/* The strongest first: --config and INFERSCOPE_CONFIG say which file to read. */
	if (load_options(c, scope, argc, argv, operand, dashes, err) || load_environment(c, err) ||
	    load_files(c, err) || load_defaults(c, err)) {
		config_free(c);
		return -1;
	}
	*out = c;
	return 0;
}

void config_free(struct config *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < SETTING_COUNT; i++)
		value_release(&c->values[i]);
	for (size_t i = 0; i < c->file_count; i++)
		free(c->files[i]);
	free(c);
}

bool config_flag(const struct config *c, const struct setting *s)
{
	return value_of(c, s)->number != 0;
}

double config_number(const struct config *c, const struct setting *s)
{
	return value_of(c, s)->number;
}

const char *config_text(const struct config *c, const struct setting *s)
{
	return config_list(c, s, 0);
}

size_t config_list_count(const struct config *c, const struct setting *s)
{
	return value_of(c, s)->count;
}

const char *config_list(const struct config *c, const struct setting *s, size_t i)
{
	const struct value *v = value_of(c, s);

	return i < v->count ? v->items[i] : NULL;
}

const char *config_origin(const struct config *c, const struct setting *s)
{
	return value_of(c, s)->origin;
}

bool config_is_default(const struct config *c, const struct setting *s)
{
	return value_of(c, s)->source == SOURCE_DEFAULT;
}

const char *config_used_file(const struct config *c, size_t i)
{
	return i < c->file_count ? c->files[i] : NULL;
}

bool config_warns(const struct config *c)
{
	return strcmp(config_text(c, &setting_log_level), "error") != 0;
}
