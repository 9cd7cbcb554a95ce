/* The parts of report.json that come from looks at threads. */
#ifndef REPORT_REPORT_JSON_WAITS_H
#define REPORT_REPORT_JSON_WAITS_H

#include "base/json.h"
#include "report/report.h"

/* "states" of a thread. */
void json_put_states(struct json *j, const struct analysis_states *s);

/* "absences" of a thread. */
void json_put_absences(struct json *j, const struct analysis_absences *a);

/* "gil", "locks" and "native" of "cpu". */
void json_put_waits(struct json *j, const struct analysis *a, enum report_detail detail);

#endif
