/* The part of report.json that is PyTorch's. */
#ifndef REPORT_REPORT_JSON_TORCH_H
#define REPORT_REPORT_JSON_TORCH_H

#include "base/json.h"
#include "report/report.h"

void json_put_torch(struct json *j, const struct analysis_torch *t, enum report_detail detail);

#endif
