#include "base/yaml_events.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int yaml_events_init(struct yaml_events *y, const char *path, const void *text, size_t len,
		     struct err *err)
{
	*y = (struct yaml_events){ .path = path, .text = text, .len = len, .err = err };
	if (!yaml_parser_initialize(&y->parser))
		return err_set(err, "out of memory");
	yaml_parser_set_encoding(&y->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&y->parser, text, len);
	return 0;
}

void yaml_events_release(struct yaml_events *y)
{
	yaml_parser_delete(&y->parser);
}

int yaml_mistake(const struct yaml_events *y, size_t line, const char *key, const char *what)
{
	if (key)
		return err_set(y->err, "%s:%zu: %s: %s", y->path, line, key, what);
	return err_set(y->err, "%s:%zu: %s", y->path, line, what);
}

static size_t line_at(const struct yaml_events *y, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset && i < y->len; i++)
		line += y->text[i] == '\n';
	return line;
}

/* YAML forbids tabs in indentation, and the parser's message does not mention them. */
static bool tab_indents(const struct yaml_events *y, size_t line)
{
	const char *p = y->text, *end = y->text + y->len;

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

static int syntax_error(const struct yaml_events *y, const char *key)
{
	const yaml_parser_t *p = &y->parser;
	size_t line = p->problem_mark.line + 1;
	char what[256];

	if (p->error == YAML_MEMORY_ERROR)
		return err_set(y->err, "out of memory");
	if (p->error == YAML_READER_ERROR)
		return err_set(y->err, "%s:%zu: not UTF-8 text: %s", y->path,
			       line_at(y, p->problem_offset), p->problem);
	if (tab_indents(y, line))
		return yaml_mistake(y, line, key, "tabs cannot indent in YAML; use spaces");
	if (p->context && p->context_mark.line != p->problem_mark.line)
		snprintf(what, sizeof(what), "not valid YAML: %s, %s that began on line %zu",
			 p->problem, p->context, p->context_mark.line + 1);
	else
		snprintf(what, sizeof(what), "not valid YAML: %s", p->problem);
	return yaml_mistake(y, line, key, what);
}

int yaml_events_next(struct yaml_events *y, yaml_event_t *e, const char *key)
{
	return yaml_parser_parse(&y->parser, e) ? 0 : syntax_error(y, key);
}

/* Stream and document starts carry nothing; the first event of interest is the root. */
int yaml_events_document(struct yaml_events *y,
			 int (*read_root)(void *ctx, const yaml_event_t *root), void *ctx)
{
	unsigned documents = 0;

	for (;;) {
		yaml_event_t e;
		bool end;
		int rc = 0;

		if (yaml_events_next(y, &e, NULL))
			return -1;
		end = e.type == YAML_STREAM_END_EVENT;
		switch (e.type) {
		case YAML_DOCUMENT_START_EVENT:
			if (++documents > 1)
				rc = yaml_mistake(y, yaml_line(&e), NULL, "a second document");
			break;
		case YAML_STREAM_START_EVENT:
		case YAML_DOCUMENT_END_EVENT:
		case YAML_STREAM_END_EVENT:
			break;
		default:
			rc = read_root(ctx, &e);
			break;
		}
		yaml_event_delete(&e);
		if (rc || end)
			return rc;
	}
}
