#include "analyze/model_stretch.h"

#include <stdlib.h>

#include "analyze/stack_class.h"
#include "analyze/track.h"
#include "timeline/sample_walk.h"

#define LEAST_LOOKS 20u /* in models: the times of fewer are chance */
#define TRIAL_PAUSE 0.2 /* of all */
#define TRIAL_SHARE 0.1 /* of the models' time, less */
#define START_SHARE 0.5 /* of all, at most */

/* Of a thread: when it was in models, and when it did what is done once. */
struct phases {
	struct track models, starts;
	uint64_t looks; /* in models */
};

struct look_phases {
	struct stack_classes classes;
	struct phases *threads; /* by position */
	bool failed;
};

static void take_sample(void *ctx, const struct timed_sample *s)
{
	struct look_phases *l = ctx;
	const struct stack_class *at = stack_classes_of(&l->classes, s->sample->stack);
	const struct piece p = { s->start_ns, s->end_ns, 0, 0 };
	struct phases *of = &l->threads[s->thread];

	if (at->in_module) {
		of->looks += s->sample->count;
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

static void measure(struct model_stretch *out, const struct phases *of)
{
	const struct track *models = &of->models;
	double length_ns;

	out->end_ns = models->items[models->count - 1].end_ns;
	out->begin_ns = behind_starts(&of->starts, behind_trials(models), out->end_ns);
	length_ns = (double)(out->end_ns - out->begin_ns);
	for (int i = 0; i < STRETCH_PARTS; i++) {
		int64_t from_ns = out->begin_ns + (int64_t)(length_ns * i / STRETCH_PARTS);
		int64_t to_ns = out->begin_ns + (int64_t)(length_ns * (i + 1) / STRETCH_PARTS);

		out->parts += track_overlap_ns(models, from_ns, to_ns) > 0;
	}
}

static void choose(struct model_stretch *out, const struct phases *threads, size_t count)
{
	int64_t most_ns = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t ns = covered_ns(&threads[i].models);

		if (threads[i].looks < LEAST_LOOKS || ns <= most_ns)
			continue;
		most_ns = ns;
		out->thread = (uint32_t)i;
	}
	if (most_ns)
		measure(out, &threads[out->thread]);
}

int model_stretch_find(struct model_stretch *out, const struct trace *t, struct timeline *tl,
		       struct err *err)
{
	size_t count = trace_thread_count(t);
	struct look_phases l = { .threads = calloc(count + 1, sizeof(*l.threads)) };
	const struct sample_visitor visitor = { .ctx = &l, .sample = take_sample };
	struct sample_walk walk; /* what is damaged is counted by the census of the samples */
	int rc = -1;

	*out = (struct model_stretch){ 0 };
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
