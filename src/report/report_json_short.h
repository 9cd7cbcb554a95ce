/*
 * report.json with --detail short: what a person would tell a colleague, or a language model, in at
 * most JSON_SHORT_BYTES.  docs/schema/report_short.schema.json describes it; keys are those
 * of the whole report and mean the same, but texts are cut and times have three decimals.
 */
#ifndef REPORT_REPORT_JSON_SHORT_H
#define REPORT_REPORT_JSON_SHORT_H

#include "report/report.h"

#define JSON_SHORT_BYTES 8000u

void json_short_render(struct buf *out, const struct analysis *a);

#endif
