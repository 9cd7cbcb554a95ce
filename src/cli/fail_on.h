/* --fail-on: which findings make `analyze` exit with status 3. */
#ifndef CLI_FAIL_ON_H
#define CLI_FAIL_ON_H

#include "analyze/finding_figures.h"
#include "cli/config.h"
#include "cli/suggest.h"
#include "rules/rules_file.h"

/* Is it high, medium or the id of a rule?  If not, *near has the word it may have meant. */
bool fail_on_known(const struct rule_set *custom, const char *name, struct suggest *near);

bool fail_on_fires(const struct config *c, const struct analysis_findings *f);

#endif
