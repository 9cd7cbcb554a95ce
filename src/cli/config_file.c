/* What stands in a configuration file: YAML events to settings. */
#include "cli/config_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

#include "cli/suggest.h"

struct file {
	struct config *config;
	const char *path;
	const char *text;
	size_t len;
	yaml_parser_t yaml;
	const struct setting *setting;    /* whose value is being read; NULL: none yet */
	size_t first_line[SETTING_COUNT]; /* of each key, from 1; 0: not seen */
	struct err *err;
};

static size_t line_of(const yaml_event_t *e)
{
	return e->start_mark.line + 1;
}

/* An error at a line, in the value of the current setting if there is one. */
static int mistake(const struct file *f, size_t line, const char *what)
{
	if (f->setting)
		return err_set(f->err, "%s:%zu: %s: %s", f->path, line, f->setting->key, what);
	return err_set(f->err, "%s:%zu: %s", f->path, line, what);
}

static size_t line_at(const struct file *f, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset && i < f->len; i++)
		line += f->text[i] == '\n';
	return line;
}

/* YAML forbids tabs in indentation, and the parser's words for it do not say so. */
static bool tab_indents(const struct file *f, size_t line)
{
	const char *p = f->text, *end = f->text + f->len;

	while (--line) {
		p = memchr(p, '\n', (size_t)(end - p));
		if (!p)
			return false;
		p++;
	}
	while (p < end && *p == ' ')
		p++;
	return p < end && *p == '\t';
}

static int syntax_error(const struct file *f)
{
	const yaml_parser_t *y = &f->yaml;
	size_t line = y->problem_mark.line + 1;
	char what[256];

	if (y->error == YAML_MEMORY_ERROR)
		return err_set(f->err, "out of memory");
	if (y->error == YAML_READER_ERROR)
		return err_set(f->err, "%s:%zu: not UTF-8 text: %s", f->path,
			       line_at(f, y->problem_offset), y->problem);
	if (tab_indents(f, line))
		return mistake(f, line, "tabs cannot indent in YAML; use spaces");
	if (y->context && y->context_mark.line != y->problem_mark.line)
		snprintf(what, sizeof(what), "not valid YAML: %s, %s that began on line %zu",
			 y->problem, y->context, y->context_mark.line + 1);
	else
		snprintf(what, sizeof(what), "not valid YAML: %s", y->problem);
	return mistake(f, line, what);
}

static int next_event(struct file *f, yaml_event_t *e)
{
	return yaml_parser_parse(&f->yaml, e) ? 0 : syntax_error(f);
}

static int find_key(struct file *f, const yaml_event_t *e)
{
	const char *key = (const char *)e->data.scalar.value;
	struct suggest near;

	suggest_init(&near, key);
	for (size_t i = 0; settings[i]; i++) {
		const struct setting *s = settings[i];

		if (!s->key)
			continue;
		if (strcmp(s->key, key) != 0) {
			suggest_push(&near, s->key);
			continue;
		}
		if (f->first_line[i])
			return err_set(f->err, "%s:%zu: %s: duplicate key, first on line %zu",
				       f->path, line_of(e), key, f->first_line[i]);
		f->first_line[i] = line_of(e);
		f->setting = s;
		return 0;
	}
	if (near.best)
		return err_set(f->err, "%s:%zu: unknown key '%s'; did you mean '%s'?", f->path,
			       line_of(e), key, near.best);
	return err_set(f->err, "%s:%zu: unknown key '%.200s'", f->path, line_of(e), key);
}

static bool is_word(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strcasecmp(text, *words))
			return true;
	return false;
}

/* Plain words that YAML does not read as text must be quoted to be taken as such. */
static int check_plain(const struct file *f, const yaml_event_t *e)
{
	static const char *const nulls[] = { "", "~", "null", NULL };
	static const char *const flags[] = { "true", "false", "yes", "no", "on", "off", NULL };
	const struct setting *s = f->setting;
	const char *text = (const char *)e->data.scalar.value;

	if (e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return 0;
	if (is_word(text, nulls))
		return mistake(f, line_of(e), "the value is missing");
	if (s->type != SETTING_PATH && s->type != SETTING_LIST)
		return 0;
	if (!is_word(text, flags) || (s->off_flag && !strcmp(text, "off")))
		return 0;
	return mistake(f, line_of(e),
		       s->off_flag ? "expected a path or off, not true or false (quote a name)"
				   : "expected text, not true or false (quote a name)");
}

static int add_scalar(struct file *f, const yaml_event_t *e)
{
	const struct setting *s = f->setting;
	const char *text = (const char *)e->data.scalar.value;
	char where[PATH_MAX + 32], name[PATH_MAX + 64];

	if (e->data.scalar.tag)
		return mistake(f, line_of(e), "tags are not supported");
	if (strlen(text) != e->data.scalar.length)
		return mistake(f, line_of(e), "a NUL character in the value");
	if (check_plain(f, e))
		return -1;
	snprintf(where, sizeof(where), "%s:%zu", f->path, line_of(e));
	snprintf(name, sizeof(name), "%s: %s", where, s->key);
	return value_add(config_value(f->config, s), s, text,
			 &(struct origin){ SOURCE_FILE, where, name }, f->err);
}

/* Reads the items of a sequence whose start event is `start`. */
static int add_sequence(struct file *f, const yaml_event_t *start)
{
	const struct setting *s = f->setting;
	char where[PATH_MAX + 32];
	bool end = false;
	int rc = 0;

	if (s->type != SETTING_LIST)
		return mistake(f, line_of(start), "expected one value, not a list");
	snprintf(where, sizeof(where), "%s:%zu", f->path, line_of(start));
	/* an empty list is a value too */
	if (value_claim(config_value(f->config, s), s,
			&(struct origin){ SOURCE_FILE, where, where }, f->err) < 0)
		return -1;
	while (!rc && !end) {
		yaml_event_t e;

		if (next_event(f, &e))
			return -1;
		if (e.type == YAML_SEQUENCE_END_EVENT)
			end = true;
		else if (e.type == YAML_SCALAR_EVENT)
			rc = add_scalar(f, &e);
		else
			rc = mistake(f, line_of(&e), "expected a list of plain values");
		yaml_event_delete(&e);
	}
	return rc;
}

static int add_value(struct file *f)
{
	yaml_event_t e;
	int rc;

	if (next_event(f, &e))
		return -1;
	if (e.type == YAML_SCALAR_EVENT)
		rc = add_scalar(f, &e);
	else if (e.type == YAML_SEQUENCE_START_EVENT)
		rc = add_sequence(f, &e);
	else if (e.type == YAML_ALIAS_EVENT)
		rc = mistake(f, line_of(&e), "aliases are not supported");
	else
		rc = mistake(f, line_of(&e), "expected a value, not a mapping");
	yaml_event_delete(&e);
	return rc;
}

static int read_mapping(struct file *f)
{
	for (;;) {
		yaml_event_t e;
		bool end;
		int rc = 0;

		f->setting = NULL;
		if (next_event(f, &e))
			return -1;
		end = e.type == YAML_MAPPING_END_EVENT;
		if (e.type == YAML_SCALAR_EVENT)
			rc = find_key(f, &e);
		else if (!end)
			rc = mistake(f, line_of(&e), "expected the name of a setting");
		yaml_event_delete(&e);
		if (rc || end)
			return rc;
		if (add_value(f))
			return -1;
	}
}

static int read_document(struct file *f, const yaml_event_t *root)
{
	if (root->type == YAML_MAPPING_START_EVENT)
		return read_mapping(f);
	if (root->type == YAML_SCALAR_EVENT && root->data.scalar.plain_implicit &&
	    !root->data.scalar.length)
		return 0; /* "---" and nothing else */
	return mistake(f, line_of(root), "expected lines of the form 'key: value'");
}

/* Stream and document starts carry nothing; the first event of interest is the root. */
static int read_stream(struct file *f)
{
	unsigned documents = 0;

	for (;;) {
		yaml_event_t e;
		bool end;
		int rc = 0;

		f->setting = NULL;
		if (next_event(f, &e))
			return -1;
		end = e.type == YAML_STREAM_END_EVENT;
		switch (e.type) {
		case YAML_DOCUMENT_START_EVENT:
			if (++documents > 1)
				rc = mistake(f, line_of(&e), "a second document");
			break;
		case YAML_STREAM_START_EVENT:
		case YAML_DOCUMENT_END_EVENT:
		case YAML_STREAM_END_EVENT:
			break;
		default:
			rc = read_document(f, &e);
			break;
		}
		yaml_event_delete(&e);
		if (rc || end)
			return rc;
	}
}

int config_file_parse(struct config *c, const char *path, const void *text, size_t len,
		      struct err *err)
{
	struct file f = { .config = c, .path = path, .text = text, .len = len, .err = err };
	int rc;

	if (!yaml_parser_initialize(&f.yaml))
		return err_set(err, "out of memory");
	yaml_parser_set_encoding(&f.yaml, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&f.yaml, text, len);
	rc = read_stream(&f);
	yaml_parser_delete(&f.yaml);
	return rc;
}
