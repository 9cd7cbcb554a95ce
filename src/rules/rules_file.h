/*
 * Rules of the user's own (YAML):
 *
 *	bottleneck_rules:
 *	  - name: "high_memory_overhead"
 *	    condition: "h2d_time / total_time > 0.3"
 *	    suggestion: "Use pinned memory or reduce batch size"
 *	    confidence_weight: 1.2
 *
 * A name and a condition (condition.h) are needed.  `suggestion` is a text or a list of
 * them; `title` is what reports call the finding, else its name; `saving` is another
 * expression, in ms of a step.  Everything is checked when the file is read.
 */
#ifndef RULES_RULES_FILE_H
#define RULES_RULES_FILE_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"

#define RULES_MAX 1000u
#define RULE_SUGGESTIONS 16u
#define RULE_TEXT_MAX 2000u /* bytes of a text that is not an expression */

struct custom_rule {
	const char *name, *title, *condition;
	const char *saving; /* NULL: not given */
	size_t suggestion_count;
	const char *suggestions[RULE_SUGGESTIONS];
	double confidence_weight; /* 1 where it is not given */
	size_t line;              /* where it begins, from 1 */
};

struct rule_set {
	const char *path; /* of the file; a copy */
	size_t count;
	struct custom_rule *items; /* in order of the file */
	struct arena texts;
};

void rule_set_init(struct rule_set *s);
void rule_set_release(struct rule_set *s);

/*
 * Reads a text into an empty set.  -1: errors begin "PATH:LINE: " and name the rule and,
 * in an expression, the character.  Release it in any case.
 */
int rule_set_parse(struct rule_set *s, const char *path, const void *text, size_t len,
		   struct err *err);

#endif
