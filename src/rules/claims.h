/*
 * Which finding has which time.
 *
 * Each rule claims the parts of a step that its cause takes, class by class (draft_claim()).
 * Two rules may see the same time from two sides: the host that waits for the GPU and the
 * framework's code that nothing hides because of it.  A fix brings that time once.  So the
 * finding that is best supported has all that it claims, and what others claim of it lowers
 * their saving, and their evidence with it, as far as nothing else is left to them.
 *
 * What a cause takes is not all that goes with it: caches are cold after it, threads have gone
 * to sleep, clocks have fallen.  A cause that has nearly all of the time that is not the GPU's
 * own work is behind the rest of it as well; one that has little of it leaves the rest as it
 * is.  So the most that a finding may save is what it claims, and of the rest the share that it
 * has of the whole.
 */
#ifndef RULES_CLAIMS_H
#define RULES_CLAIMS_H

#include "rules/draft.h"

/*
 * Settles what each of the drafts has, the best supported first, and leaves the others with
 * what remains.  Those with nothing that is worth a person's time are marked as `dropped`.
 */
void claims_settle(struct draft *drafts, size_t count);

#endif
