/* What the tables of a trace share, each part made when it is asked for first. */
#include <stdlib.h>

#include "base/array.h"
#include "rules/judge.h"
#include "tables/gpu_owners.h"
#include "tables/table_source.h"

struct table_source {
	const struct trace *trace;
	struct timeline *timeline;
	struct gpu_timeline *gpu;
	struct gpu_owners *owners;
	struct analysis *analysis;
	struct step_index steps; /* of the analysis */
};

int table_source_new(struct table_source **out, const struct trace *t, struct err *err)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return err_set(err, "out of memory");
	(*out)->trace = t;
	return 0;
}

void table_source_free(struct table_source *s)
{
	if (!s)
		return;
	step_index_release(&s->steps);
	analysis_free(s->analysis);
	gpu_owners_free(s->owners);
	gpu_timeline_free(s->gpu);
	timeline_free(s->timeline);
	free(s);
}

const struct trace *source_trace(const struct table_source *s)
{
	return s->trace;
}

struct timeline *source_timeline(struct table_source *s, struct err *err)
{
	const struct timeline_visitor no_visitor = { 0 };
	struct timeline *tl;

	if (s->timeline)
		return s->timeline;
	if (timeline_new(&tl, s->trace, err))
		return NULL;
	if (timeline_walk(tl, &no_visitor, err)) {
		timeline_free(tl);
		return NULL;
	}
	return s->timeline = tl;
}

struct gpu_timeline *source_gpu(struct table_source *s, struct err *err)
{
	if (!s->gpu && gpu_timeline_new(&s->gpu, s->trace, err))
		s->gpu = NULL;
	return s->gpu;
}

struct gpu_owners *source_gpu_owners(struct table_source *s, struct err *err)
{
	struct timeline *tl = source_timeline(s, err);
	struct gpu_timeline *g = source_gpu(s, err);

	if (!s->owners && tl && g)
		s->owners = gpu_owners_new(tl, g, err);
	return s->owners;
}

const struct analysis *source_analysis(struct table_source *s, struct err *err)
{
	const struct analysis_options options = { .undrawn = true };
	struct analysis *a;

	if (s->analysis)
		return s->analysis;
	if (analysis_new_with(&a, s->trace, &options, err))
		return NULL;
	if (judge(a, NULL, err)) {
		analysis_free(a);
		return NULL;
	}
	if (step_index_init(&s->steps, a)) {
		step_index_release(&s->steps);
		analysis_free(a);
		err_set(err, "out of memory");
		return NULL;
	}
	return s->analysis = a;
}

const struct trace_process *source_process(const struct table_source *s, uint32_t id)
{
	size_t at = process_position(s->trace, id);

	return at < trace_process_count(s->trace) ? trace_process(s->trace, at) : NULL;
}

const struct trace_process *source_observed(const struct table_source *s, uint32_t id)
{
	size_t at = 0, count = trace_observed_count(s->trace);

	BISECT(at, count, trace_observed(s->trace, at)->id < id);
	return at < count && trace_observed(s->trace, at)->id == id ? trace_observed(s->trace, at)
								    : NULL;
}

uint32_t source_pid(const struct table_source *s, uint32_t process)
{
	const struct trace_process *p = source_process(s, process);

	return p ? p->pid : 0;
}

const char *source_layer_name(const struct table_source *s, uint32_t layer)
{
	const struct trace_layer *l = layer ? trace_layer(s->trace, layer) : NULL;

	if (!layer)
		return NULL;
	return !l ? "(unknown)" : *l->name ? l->name : l->class_name;
}

const struct step_index *source_steps(struct table_source *s, struct err *err)
{
	return source_analysis(s, err) ? &s->steps : NULL;
}
