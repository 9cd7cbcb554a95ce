/*
 * Resolved settings, the strongest source first:
 *
 *   1. the command line
 *   2. the environment
 *   3. the file that --config or INFERSCOPE_CONFIG names; without one, .inferscope.yaml in the
 *      working directory or the nearest parent that has one
 *   4. the user's own $XDG_CONFIG_HOME/inferscope/config.yaml (~/.config where it is unset)
 *   5. the defaults
 *
 * A found .inferscope.yaml may have come with someone else's repository: it may set nothing
 * that is trusted_only (settings.h), and must belong to the caller, to root or to the owner of
 * the working directory.  The user's own file must belong to the caller or to root, and no
 * other user may be able to write it.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/settings.h"

struct config;

/*
 * Loads everything for a command.  argv[0] is the command's name; options end at
 * the first operand or "--", whose position goes to *operand (argc if none;
 * *dashes tells whether "--" was there, *operand is then the word behind it).
 * Other scopes than SETTING_FOR_RUN may mix options and operands, as in
 * "analyze TRACE --report FILE": argv is reordered so that all operands stand at
 * its end, in their order.
 * -1: a usage error whose text names the option, or file, line and key.
 */
int config_load(struct config **out, unsigned scope, int argc, char **argv, int *operand,
		bool *dashes, struct err *err);
void config_free(struct config *c); /* NULL is a no-op */

/* Flags, numbers and text of an unset setting are false, 0 and NULL. */
bool config_flag(const struct config *c, const struct setting *s);
double config_number(const struct config *c, const struct setting *s);    /* integers too */
const char *config_text(const struct config *c, const struct setting *s); /* any scalar; borrowed */
size_t config_list_count(const struct config *c, const struct setting *s);
const char *config_list(const struct config *c, const struct setting *s, size_t i);

/* Where the value comes from: "default", "command line", "INFERSCOPE_X", "FILE:LINE". */
const char *config_origin(const struct config *c, const struct setting *s);
bool config_is_default(const struct config *c, const struct setting *s);

/* The files that settings come from, the strongest first; NULL past the last. */
#define CONFIG_FILES_MAX 2
const char *config_used_file(const struct config *c, size_t i);

/* Are warnings wanted?  Not at log_level error. */
bool config_warns(const struct config *c);

#endif
