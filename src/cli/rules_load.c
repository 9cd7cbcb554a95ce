#include "cli/rules_load.h"

#include <stdlib.h>
#include <unistd.h>

#include "cli/config_file.h"

int rules_load(struct rule_set *s, const char *named, struct err *err)
{
	char *found = NULL;
	const char *path;
	struct buf text;
	int fd = -1, rc = -1;

	rule_set_init(s);
	buf_init(&text);
	if (named ? config_file_open(&file_rules, named, &fd, err)
		  : config_file_find(&file_rules, &found, &fd, err))
		goto out;
	path = named ? named : found;
	if (fd >= 0 && (config_file_read(&file_rules, &text, fd, path, err) ||
			rule_set_parse(s, path, text.data, text.len, err)))
		goto out;
	rc = 0;
out:
	if (fd >= 0)
		close(fd);
	free(found);
	buf_release(&text);
	return rc;
}
