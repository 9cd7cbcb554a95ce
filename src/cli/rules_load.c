#include "cli/rules_load.h"

#include <stdlib.h>

#include "cli/config_file.h"

int rules_load(struct rule_set *s, const char *named, struct err *err)
{
	struct buf text;
	char *path;
	int rc;

	rule_set_init(s);
	buf_init(&text);
	rc = config_file_load(&file_rules, named, &path, &text, err);
	if (!rc && path)
		rc = rule_set_parse(s, path, text.data, text.len, err);
	free(path);
	buf_release(&text);
	return rc;
}
