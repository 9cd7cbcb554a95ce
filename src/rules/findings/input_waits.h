/* Which waits are for input: a queue or a loader that somebody fills. */
#ifndef RULES_FINDINGS_INPUT_WAITS_H
#define RULES_FINDINGS_INPUT_WAITS_H

#include "rules/draft.h"

bool wait_is_for_input(const struct draft *d, const struct time_cause *c);

/* The time of the causes of a class that are, or are not, for input; per step. */
double wait_ms(const struct draft *d, enum time_class what, bool for_input);
/* The largest of them; NULL: none. */
const struct time_cause *wait_cause(const struct draft *d, enum time_class what, bool for_input);

/* What a step waits for PyTorch's DataLoader, by the agent's scopes of it; 0: not at all. */
double loader_wait_ms(const struct draft *d);

#endif
