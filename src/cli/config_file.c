/* What stands in a configuration file: YAML events to settings. */
#include "cli/config_file.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "base/yaml_events.h"
#include "cli/help.h"

/* Plain scalars that YAML 1.1 readers take for a boolean or nothing. */
static bool is_reserved(const char *text)
{
	static const char *const words[] = {
		"true", "false", "yes", "no", "on", "off", "y", "n", "null",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcasecmp(text, words[i]))
			return true;
	return false;
}

/* Letter, '_' or '/' first: no number, date or indicator begins so. */
static bool is_plain(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_/.+-";

	if (!isalpha((unsigned char)*text) && *text != '_' && *text != '/')
		return false;
	return !text[strspn(text, allowed)] && !is_reserved(text);
}

/* The character that a valid sequence of `len` bytes stands for. */
static unsigned decode(const char *s, size_t len)
{
	unsigned code = (unsigned char)*s;

	if (len > 1)
		code &= 0xffu >> (len + 1);
	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)s[i] & 0x3fu);
	return code;
}

/* What may stand in a YAML stream and is not taken for a line break or a byte order mark. */
static bool is_printable(unsigned code)
{
	if (code < 0xa0)
		return code >= ' ' && code < 0x7f;
	return code != 0x2028 && code != 0x2029 && code != 0xfeff && (code & 0xfffe) != 0xfffe;
}

void yaml_add_text(struct buf *out, const char *text)
{
	const char *end = text + strlen(text);

	if (is_plain(text)) {
		buf_add_str(out, text);
		return;
	}
	buf_add_byte(out, '"');
	while (text < end) {
		size_t len = utf8_sequence(text, (size_t)(end - text));
		unsigned code = decode(text, len);

		if (len && is_printable(code)) {
			if (code == '"' || code == '\\')
				buf_add_byte(out, '\\');
			buf_add(out, text, len);
		} else if (code > 0xffff) {
			buf_printf(out, "\\U%08X", code);
		} else if (code > 0xff) {
			buf_printf(out, "\\u%04X", code);
		} else { /* a control character, or a byte that is no text */
			buf_printf(out, "\\x%02X", code);
		}
		text += len ? len : 1;
	}
	buf_add_byte(out, '"');
}

struct file {
	struct config *config;
	enum source source;
	struct yaml_events yaml;
	const struct setting *setting;    /* whose value is being read; NULL: none yet */
	size_t first_line[SETTING_COUNT]; /* of each key, from 1; 0: not seen */
};

static const char *key_of(const struct file *f)
{
	return f->setting ? f->setting->key : NULL;
}

/* An error at a line, in the value of the current setting if there is one. */
static int mistake(const struct file *f, size_t line, const char *what)
{
	return yaml_mistake(&f->yaml, line, key_of(f), what);
}

static int next_event(struct file *f, yaml_event_t *e)
{
	return yaml_events_next(&f->yaml, e, key_of(f));
}

/* The setting is not allowed in a file that was found, not named: see config.h. */
static int refuse(const struct file *f, const yaml_event_t *e)
{
	return err_set(f->yaml.err,
		       "%s:%zu: %s: not allowed in an automatically found file; remove the line, "
		       "or name the file with %s if you trust it",
		       f->yaml.path, yaml_line(e), f->setting->key, setting_config.flag);
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
			return err_set(f->yaml.err, "%s:%zu: %s: duplicate key, first on line %zu",
				       f->yaml.path, yaml_line(e), key, f->first_line[i]);
		f->first_line[i] = yaml_line(e);
		f->setting = s;
		return f->source == SOURCE_FOUND_FILE && s->trusted_only ? refuse(f, e) : 0;
	}
	if (near.best)
		return err_set(f->yaml.err, "%s:%zu: unknown key '%s'; did you mean '%s'?",
			       f->yaml.path, yaml_line(e), key, near.best);
	return err_set(f->yaml.err, "%s:%zu: unknown key '%.200s'", f->yaml.path, yaml_line(e),
		       key);
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
		return mistake(f, yaml_line(e), "the value is missing");
	if (s->type != SETTING_PATH && s->type != SETTING_LIST)
		return 0;
	if (!is_word(text, flags) || (s->off_flag && !strcmp(text, "off")))
		return 0;
	return mistake(f, yaml_line(e),
		       s->off_flag ? "expected a path or off, not true or false (quote a name)"
				   : "expected text, not true or false (quote a name)");
}

static int add_scalar(struct file *f, const yaml_event_t *e)
{
	const struct setting *s = f->setting;
	const char *text = (const char *)e->data.scalar.value;
	char where[PATH_MAX + 32], name[PATH_MAX + 64];

	if (e->data.scalar.tag)
		return mistake(f, yaml_line(e), "tags are not supported");
	if (strlen(text) != e->data.scalar.length)
		return mistake(f, yaml_line(e), "a NUL character in the value");
	if (check_plain(f, e))
		return -1;
	snprintf(where, sizeof(where), "%s:%zu", f->yaml.path, yaml_line(e));
	snprintf(name, sizeof(name), "%s: %s", where, s->key);
	return value_add(config_value(f->config, s), s, text,
			 &(struct origin){ f->source, where, name }, f->yaml.err);
}

/* Reads the items of a sequence whose start event is `start`. */
static int add_sequence(struct file *f, const yaml_event_t *start)
{
	const struct setting *s = f->setting;
	char where[PATH_MAX + 32];
	bool end = false;
	int rc = 0;

	if (s->type != SETTING_LIST)
		return mistake(f, yaml_line(start), "expected one value, not a list");
	snprintf(where, sizeof(where), "%s:%zu", f->yaml.path, yaml_line(start));
	/* an empty list is a value too */
	if (value_claim(config_value(f->config, s), s, &(struct origin){ f->source, where, where },
			f->yaml.err) < 0)
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
			rc = mistake(f, yaml_line(&e), "expected a list of plain values");
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
		rc = mistake(f, yaml_line(&e), "aliases are not supported");
	else
		rc = mistake(f, yaml_line(&e), "expected a value, not a mapping");
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
			rc = mistake(f, yaml_line(&e), "expected the name of a setting");
		yaml_event_delete(&e);
		if (rc || end)
			return rc;
		if (add_value(f))
			return -1;
	}
}

static int read_document(void *ctx, const yaml_event_t *root)
{
	struct file *f = ctx;

	if (root->type == YAML_MAPPING_START_EVENT)
		return read_mapping(f);
	if (root->type == YAML_SCALAR_EVENT && root->data.scalar.plain_implicit &&
	    !root->data.scalar.length)
		return 0; /* "---" and nothing else */
	return mistake(f, yaml_line(root), "expected lines of the form 'key: value'");
}

int config_file_parse(struct config *c, enum source source, const char *path, const void *text,
		      size_t len, struct err *err)
{
	struct file f = { .config = c, .source = source };
	int rc;

	if (yaml_events_init(&f.yaml, path, text, len, err))
		return -1;
	rc = yaml_events_document(&f.yaml, read_document, &f);
	yaml_events_release(&f.yaml);
	return rc;
}
