/*
 * The sections of report.json: each function writes the members of one part.
 */
#ifndef REPORT_JSON_REPORT_JSON_SECTIONS_H
#define REPORT_JSON_REPORT_JSON_SECTIONS_H

#include "base/json.h"
#include "report/report.h"

/* What steps spent their time on and why the GPU was idle, in report.json. */

/* Members of an object in "steps". */
void json_put_breakdown(struct json *j, const struct step_breakdown *b, enum report_detail detail);

/* Members of a section of "gpu". */
void json_put_blame(struct json *j, const struct idle_blame *b, enum report_detail detail);

/* "critical_path"; null where it is not known. */
void json_put_critical_path(struct json *j, const struct analysis_critical_path *p,
			    enum report_detail detail);

/* The verdict and the findings in report.json. */

void json_put_verdict(struct json *j, const struct analysis_verdict *v);
void json_put_findings(struct json *j, const struct analysis_findings *all);

/* The GPU's parts of report.json. */

void json_put_run_gpu(struct json *j, const struct analysis_gpu *gpu); /* "gpu" in "run" */
void json_put_step_gpu(struct json *j,
		       const struct gpu_step_figures *g); /* in a step; perhaps none */
void json_put_gpu(struct json *j, const struct analysis_gpu *gpu, enum report_detail detail);
void json_put_gpu_trust(struct json *j, const struct analysis_trust *t); /* members of "trust" */

/* The parts of report.json about layers. */

/* "layer_count", "layers" and "layers_outside". */
void json_put_layers(struct json *j, const struct analysis_layers *l);

/* The memory's parts of report.json. */

/* In a step; perhaps nothing. */
void json_put_step_memory(struct json *j, const struct memory_step_figures *m);
void json_put_memory(struct json *j, const struct analysis *a, enum report_detail detail);

/*
 * report.json with --detail short: a summary for a colleague or a language model, in at most
 * JSON_SHORT_BYTES.  docs/schema/report_short.schema.json describes it; keys are those of the
 * whole report and mean the same, but texts are cut and times have three decimals.
 */

#define JSON_SHORT_BYTES 8000u

void json_short_render(struct buf *out, const struct analysis *a);

/* The part of report.json that is PyTorch's. */

void json_put_torch(struct json *j, const struct analysis_torch *t, enum report_detail detail);

/* The parts of report.json that come from samples of threads. */

/* "states" of a thread. */
void json_put_states(struct json *j, const struct analysis_states *s);

/* "absences" of a thread. */
void json_put_absences(struct json *j, const struct analysis_absences *a);

/* "gil", "locks" and "native" of "cpu". */
void json_put_waits(struct json *j, const struct analysis *a, enum report_detail detail);

#endif
