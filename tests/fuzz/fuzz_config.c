/* links: is_cli */
/*
 * Any bytes as a configuration file.  Beyond memory safety it checks two
 * promises: a refusal is one line that names the file, and an accepted text
 * comes back unchanged from what `config show` writes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "cli/config.h"
#include "cli/config_file.h"

#define PATH "fuzz.yaml"

static struct config *parse(const void *text, size_t len, struct err *err)
{
	struct config *c = calloc(1, sizeof(*c));

	if (c && !config_file_parse(c, SOURCE_NAMED_FILE, PATH, text, len, err))
		return c;
	config_free(c);
	return NULL;
}

static void check_refusal(const struct err *err)
{
	if (strncmp(err->text, PATH ":", strlen(PATH ":")))
		abort();
}

static void check_round_trip(const struct config *c, const struct setting *s, size_t i)
{
	struct config *again;
	struct buf file;
	struct err err;

	buf_init(&file);
	buf_printf(&file, "%s: ", s->key);
	yaml_add_text(&file, config_list(c, s, i));
	again = parse(file.data, file.len, &err);
	if (!again || strcmp(config_text(again, s), config_list(c, s, i)))
		abort();
	config_free(again);
	buf_release(&file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = { "" };
	struct config *c = parse(data, size, &err);

	if (!c) {
		check_refusal(&err);
		return 0;
	}
	for (const struct setting *const *s = settings; *s; s++)
		if ((*s)->type == SETTING_LIST || *s == &setting_python || *s == &setting_rules)
			for (size_t i = 0; i < config_list_count(c, *s); i++)
				check_round_trip(c, *s, i);
	config_free(c);
	return 0;
}
