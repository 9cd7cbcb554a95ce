/* What steps spent their time on and why the GPU was idle, in report.json. */
#ifndef REPORT_REPORT_JSON_BREAKDOWN_H
#define REPORT_REPORT_JSON_BREAKDOWN_H

#include "base/json.h"
#include "report/report.h"

/* Members of an object in "steps". */
void json_put_breakdown(struct json *j, const struct step_breakdown *b, enum report_detail detail);

/* Members of a section of "gpu". */
void json_put_blame(struct json *j, const struct idle_blame *b, enum report_detail detail);

#endif
