/* The memory's parts of report.json. */
#ifndef REPORT_REPORT_JSON_MEMORY_H
#define REPORT_REPORT_JSON_MEMORY_H

#include "base/json.h"
#include "report/report.h"

/* In a step; perhaps nothing. */
void json_put_step_memory(struct json *j, const struct memory_step_figures *m);
void json_put_memory(struct json *j, const struct analysis *a, enum report_detail detail);

#endif
