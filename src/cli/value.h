/*
 * The inside of struct config: the value of each setting and the rule by which
 * sources compete.  For config*.c and its tests; everyone else uses config.h.
 */
#ifndef CLI_VALUE_H
#define CLI_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/config.h"
#include "cli/settings.h"

/* Later ones win, whatever the order in which they are read. */
enum source {
	SOURCE_NONE,
	SOURCE_DEFAULT,
	SOURCE_USER_FILE,  /* ~/.config/inferscope/config.yaml */
	SOURCE_FOUND_FILE, /* .inferscope.yaml: it may not set what is trusted_only */
	SOURCE_NAMED_FILE, /* --config, INFERSCOPE_CONFIG: in the place of a found one */
	SOURCE_ENVIRONMENT,
	SOURCE_COMMAND_LINE,
};

struct value {
	char **items;  /* a list's; a scalar has one, as `config show` prints it */
	size_t count;  /* 0: unset, or an empty list */
	double number; /* of integers and numbers; 0 or 1 of a flag */
	enum source source;
	char *origin;
};

/* In the order of settings[]. */
struct config {
	struct value values[SETTING_COUNT];
	char *files[CONFIG_FILES_MAX]; /* that were read, the strongest first */
	size_t file_count;
};

/* Where a text was found.  Both strings are copied where they are kept. */
struct origin {
	enum source source;
	const char *where; /* "command line", "INFERSCOPE_CPU", "FILE:LINE" */
	const char *name;  /* how an error begins: "--cpu", "INFERSCOPE_CPU", "FILE:LINE: cpu" */
};

struct value *config_value(struct config *c, const struct setting *s);

/*
 * Makes room for what `from` says: empties the value, unless it is a list that
 * the same source has begun.  1: go on with value_add(); 0: a stronger source
 * was there first; -1: out of memory.
 */
int value_claim(struct value *v, const struct setting *s, const struct origin *from,
		struct err *err);

/*
 * Checks a text and stores it (a list: appends it), unless a stronger source was
 * there first: a mistake is reported even where it would have no effect.
 */
int value_add(struct value *v, const struct setting *s, const char *text, const struct origin *from,
	      struct err *err);

void value_release(struct value *v);

#endif
