#include "analyze/steps/steps.h"

#include <stdlib.h>

#include "analyze/classes/stack_class.h"
#include "analyze/figures/track.h"
#include "base/array.h"
#include "timeline/sample_walk.h"
#include "timeline/timeline.h"

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

static void judge_from_call_to_call(struct analysis_step *s, const struct model_interval *interval)
{
	s->name = "from the model's first call to its last";
	s->begin_ns = interval->begin_ns;
	s->until_ns = interval->end_ns;
	s->model_parts = interval->parts;
}

static int measure_run(struct analysis_step *s, size_t thread, uint32_t process,
		       const struct step_sources *from, const struct trace *t,
		       struct step_items *items)
{
	gpu_steps_measure_run(from->gpu, process, s->begin_ns, s->until_ns, &s->gpu);
	memory_steps_measure_run(from->memory, process, s->begin_ns, s->until_ns, &s->memory);
	s->first_item = items->count;
	if (thread == trace_thread_count(t))
		return 0;
	s->item_count = 1;
	return step_items_add(items, s->begin_ns, s->until_ns, (uint32_t)thread);
}

int whole_run_collect(struct analysis *a, const struct model_interval *interval,
		      const struct step_sources *from, const struct trace *t,
		      struct step_items *items)
{
	struct analysis_step *s = array_grow(a->steps, &(size_t){ 0 }, 1, sizeof(*s));
	uint32_t process = a->process_count ? trace_process(t, 0)->id : 0;
	size_t thread = a->process_count ? first_thread(t) : 0, at = 0;

	if (!s)
		return -1;
	if (interval->parts) {
		thread = interval->thread;
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
	if (interval->parts)
		judge_from_call_to_call(s, interval);
	else if (a->process_count)
		judge_from_work_to_work(s, gpu_section_find(&a->gpu, process));
	s->total_ns = s->p50_ns = s->p95_ns = s->p99_ns = s->max_ns = s->until_ns - s->begin_ns;
	s->mean_ns = (double)s->total_ns;
	return a->process_count ? measure_run(s, thread, process, from, t, items) : 0;
}

#define LEAST_SAMPLES 20u /* in models: the times of fewer are chance */
#define TRIAL_PAUSE 0.2   /* of all */
#define TRIAL_SHARE 0.1   /* of the models' time, less */
#define START_SHARE 0.5   /* of all, at most */

/* Of a thread: when it was in models, and when it did what is done once. */
struct phases {
	struct track models, starts;
	uint64_t samples; /* in models */
};

struct find_phases {
	struct stack_classes classes;
	struct phases *threads; /* by position */
	bool failed;
};

static void take_sample(void *ctx, const struct timed_sample *s)
{
	struct find_phases *l = ctx;
	const struct stack_class *at = stack_classes_of(&l->classes, s->sample->stack);
	const struct piece p = { s->start_ns, s->end_ns, 0, 0 };
	struct phases *of = &l->threads[s->thread];

	if (at->in_module) {
		of->samples += s->sample->count;
		l->failed |= track_add(&of->models, &p) != 0;
	}
	if (at->imports || at->what == TIME_COMPILE)
		l->failed |= track_add(&of->starts, &p) != 0;
}

static int64_t covered_ns(const struct track *t)
{
	return t->count ? track_overlap_ns(t, t->items[0].start_ns, t->items[t->count - 1].end_ns)
			: 0;
}

/* The begin of the first call behind a trial, or of the first of all. */
static int64_t behind_trials(const struct track *models)
{
	int64_t begin_ns = models->items[0].start_ns, before_ns = 0;
	double all_ns = (double)models->items[models->count - 1].end_ns - (double)begin_ns;
	double least_ns = TRIAL_PAUSE * all_ns, most_ns = TRIAL_SHARE * (double)covered_ns(models);

	for (size_t i = 1; i < models->count; i++) {
		const struct piece *p = &models->items[i - 1], *next = &models->items[i];

		before_ns += p->end_ns - p->start_ns;
		if ((double)before_ns >= most_ns)
			break;
		if ((double)next->start_ns - (double)p->end_ns > least_ns)
			begin_ns = next->start_ns;
	}
	return begin_ns;
}

static int64_t behind_starts(const struct track *starts, int64_t begin_ns, int64_t end_ns)
{
	int64_t until_ns = begin_ns + (int64_t)(START_SHARE * (double)(end_ns - begin_ns));

	for (size_t i = 0; i < starts->count && starts->items[i].end_ns <= until_ns; i++) {
		if (starts->items[i].end_ns > begin_ns)
			begin_ns = starts->items[i].end_ns;
	}
	return begin_ns;
}

static void measure(struct model_interval *out, const struct phases *of)
{
	const struct track *models = &of->models;
	double length_ns;

	out->end_ns = models->items[models->count - 1].end_ns;
	out->begin_ns = behind_starts(&of->starts, behind_trials(models), out->end_ns);
	length_ns = (double)(out->end_ns - out->begin_ns);
	for (int i = 0; i < INTERVAL_PARTS; i++) {
		int64_t from_ns = out->begin_ns + (int64_t)(length_ns * i / INTERVAL_PARTS);
		int64_t to_ns = out->begin_ns + (int64_t)(length_ns * (i + 1) / INTERVAL_PARTS);

		out->parts += track_overlap_ns(models, from_ns, to_ns) > 0;
	}
}

static void choose(struct model_interval *out, const struct phases *threads, size_t count)
{
	int64_t most_ns = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t ns = covered_ns(&threads[i].models);

		if (threads[i].samples < LEAST_SAMPLES || ns <= most_ns)
			continue;
		most_ns = ns;
		out->thread = (uint32_t)i;
	}
	if (most_ns)
		measure(out, &threads[out->thread]);
}

int model_interval_find(struct model_interval *out, const struct trace *t, struct timeline *tl,
			struct err *err)
{
	size_t count = trace_thread_count(t);
	struct find_phases l = { .threads = calloc(count + 1, sizeof(*l.threads)) };
	const struct sample_visitor visitor = { .ctx = &l, .sample = take_sample };
	struct sample_walk walk; /* what is damaged is counted by sample_totals.c */
	int rc = -1;

	*out = (struct model_interval){ 0 };
	err_set(err, "out of memory");
	stack_classes_init(&l.classes, t, tl);
	if (l.threads && !sample_walk(&walk, t, &visitor, err) && !l.failed && !l.classes.failed) {
		choose(out, l.threads, count);
		rc = 0;
	}
	for (size_t i = 0; l.threads && i < count; i++) {
		track_release(&l.threads[i].models);
		track_release(&l.threads[i].starts);
	}
	free(l.threads);
	stack_classes_release(&l.classes);
	return rc;
}
