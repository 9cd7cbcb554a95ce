#include "analyze/whole_run.h"

#include "base/array.h"
#include "timeline/process_position.h"

/* The first thread of the first process; trace_thread_count(): it has none. */
static size_t first_thread(const struct trace *t)
{
	size_t i = 0;

	while (i < trace_thread_count(t) && trace_thread(t, i)->process != trace_process(t, 0)->id)
		i++;
	return i;
}

/* The imports before the device's first work, and what follows its last, are no part of it. */
static void judge_from_work_to_work(struct analysis_step *s, const struct gpu_section *section)
{
	if (!section || section->first_ns < 0 || section->first_ns >= section->last_ns)
		return;
	s->name = "from the GPU's first work to its last";
	s->begin_ns = section->first_ns;
	s->until_ns = section->last_ns;
}

static void judge_from_call_to_call(struct analysis_step *s, const struct model_stretch *stretch)
{
	s->name = "from the model's first call to its last";
	s->begin_ns = stretch->begin_ns;
	s->until_ns = stretch->end_ns;
	s->model_parts = stretch->parts;
}

static int measure(struct analysis_step *s, size_t thread, uint32_t process,
		   const struct step_sources *from, const struct trace *t, struct step_items *items)
{
	gpu_steps_measure_run(from->gpu, process, s->begin_ns, s->until_ns, &s->gpu);
	memory_steps_measure_run(from->memory, process, s->begin_ns, s->until_ns, &s->memory);
	s->first_item = items->count;
	if (thread == trace_thread_count(t))
		return 0;
	s->item_count = 1;
	return step_items_add(items, s->begin_ns, s->until_ns, (uint32_t)thread);
}

int whole_run_collect(struct analysis *a, const struct model_stretch *stretch,
		      const struct step_sources *from, const struct trace *t,
		      struct step_items *items)
{
	struct analysis_step *s = array_grow(a->steps, &(size_t){ 0 }, 1, sizeof(*s));
	uint32_t process = a->process_count ? trace_process(t, 0)->id : 0;
	size_t thread = a->process_count ? first_thread(t) : 0, at = 0;

	if (!s)
		return -1;
	if (stretch->parts) {
		thread = stretch->thread;
		process = trace_thread(t, thread)->process;
		at = process_position(t, process);
	}
	a->steps = s;
	a->step_count = 1;
	*s = (struct analysis_step){
		.name = "whole run",
		.source = STEP_WHOLE_RUN,
		.pid = at < a->process_count ? a->processes[at].pid : 0,
		.count = 1,
		.until_ns = a->run.wall_ns,
	};
	if (stretch->parts)
		judge_from_call_to_call(s, stretch);
	else if (a->process_count)
		judge_from_work_to_work(s, gpu_section_find(&a->gpu, process));
	s->total_ns = s->p50_ns = s->p95_ns = s->p99_ns = s->max_ns = s->until_ns - s->begin_ns;
	s->mean_ns = (double)s->total_ns;
	return a->process_count ? measure(s, thread, process, from, t, items) : 0;
}
