/* The verdict and the findings in report.json. */
#ifndef REPORT_REPORT_JSON_FINDINGS_H
#define REPORT_REPORT_JSON_FINDINGS_H

#include "base/json.h"
#include "report/report.h"

void json_put_verdict(struct json *j, const struct analysis_verdict *v);
void json_put_findings(struct json *j, const struct analysis_findings *all);

#endif
