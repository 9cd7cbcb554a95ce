/* The GPU's parts of report.json. */
#ifndef REPORT_REPORT_JSON_GPU_H
#define REPORT_REPORT_JSON_GPU_H

#include "base/json.h"
#include "report/report.h"

void json_put_run_gpu(struct json *j, const struct analysis_gpu *gpu); /* "gpu" in "run" */
void json_put_step_gpu(struct json *j,
		       const struct gpu_step_figures *g); /* in a step; perhaps none */
void json_put_gpu(struct json *j, const struct analysis_gpu *gpu, enum report_detail detail);
void json_put_gpu_trust(struct json *j, const struct analysis_trust *t); /* members of "trust" */

#endif
