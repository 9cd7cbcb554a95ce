/* The user's rules: --rules, else the nearest .inferscope_rules.yaml, else none. */
#ifndef CLI_RULES_LOAD_H
#define CLI_RULES_LOAD_H

#include "base/err.h"
#include "rules/rules_file.h"

/*
 * Reads the file that is named, or, where `named` is NULL, the one that is found as the
 * configuration file is (config.h).  *s is initialised; without a file it stays empty.
 */
int rules_load(struct rule_set *s, const char *named, struct err *err);

#endif
