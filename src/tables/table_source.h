/*
 * What the tables of a trace share, each part made when it is asked for first; for exports that
 * need the same parts as well.
 */
#ifndef TABLES_TABLE_SOURCE_H
#define TABLES_TABLE_SOURCE_H

#include "analyze/analysis.h"
#include "base/json.h"
#include "tables/gpu_owners.h"
#include "tables/step_index.h"
#include "tables/table.h"
#include "timeline/gpu.h"
#include "timeline/timeline.h"

/* All return NULL without memory; err reports it. */

const struct trace *source_trace(const struct table_source *s);
/* Walked: functions, scopes and counts of threads are known. */
struct timeline *source_timeline(struct table_source *s, struct err *err);
struct gpu_timeline *source_gpu(struct table_source *s, struct err *err);
const struct analysis *source_analysis(struct table_source *s, struct err *err); /* judged */
const struct step_index *source_steps(struct table_source *s, struct err *err);
const struct trace_process *source_process(const struct table_source *s, uint32_t id);
/* One without an agent. */
const struct trace_process *source_observed(const struct table_source *s, uint32_t id);
uint32_t source_pid(const struct table_source *s, uint32_t process);

/* Which layers of models CUDA calls belong to; NULL: no memory. */
struct gpu_owners *source_gpu_owners(struct table_source *s, struct err *err);

/* The layer's name below its model, of a root its class; NULL: none. */
const char *source_layer_name(const struct table_source *s, uint32_t layer);

/* The metadata of a scope or mark as a JSON object. */
void args_add_json(struct json *j, const uint8_t *args, size_t bytes);
void args_add_value(struct json *j, const struct trace_arg *a); /* of one of them */

#endif
