/* Whose code the host's own part of a step is: what cpu-preprocessing and host-numpy share. */
#ifndef RULES_FINDINGS_HOST_CODE_H
#define RULES_FINDINGS_HOST_CODE_H

#include "rules/draft.h"

/* Does this place spend its time in numpy?  By the Python function, or by native samples. */
bool host_is_numpy(const struct draft *d, const struct time_cause *c);

/* Per step, of TIME_CPU_PREPROCESSING: the causes that are numpy's. */
double host_numpy_ms(const struct draft *d);

const struct time_cause *host_numpy_cause(const struct draft *d); /* the largest; or NULL */
const struct time_cause *host_other_cause(const struct draft *d); /* likewise */

#endif
