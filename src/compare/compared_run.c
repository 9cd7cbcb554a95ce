#include "compare/compared_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/plain_text.h"

/* Text that is kept; NULL: no memory. */
const char *compared_run_keep(struct compared_run *r, const char *text)
{
	size_t n = strlen(text) + 1;
	char *copy = arena_alloc(&r->texts, n);

	return copy ? memcpy(copy, text, n) : NULL;
}

static const char *keep_buf(struct compared_run *r, struct buf *b)
{
	const char *copy = b->failed ? NULL : compared_run_keep(r, buf_string(b));

	buf_release(b);
	return copy;
}

/* As reports show it, so that two folders with the same program have the same files. */
static const char *keep_path(struct compared_run *r, const char *file, const char *root)
{
	struct buf b;

	buf_init(&b);
	if (file && *file)
		text_add_short_path(&b, file, root);
	return keep_buf(r, &b);
}

int compared_run_add(struct compared_run *r, const struct compared_item *item)
{
	struct compared_item *grown =
		array_grow(r->items, &r->item_cap, r->item_count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	r->items = grown;
	if (!item->name || !item->file || !item->detail)
		return -1;
	r->items[r->item_count++] = *item;
	return 0;
}

static int add_fact(struct compared_run *r, const char *name, const char *value)
{
	struct compared_fact *grown =
		array_grow(r->facts, &r->fact_cap, r->fact_count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	r->facts = grown;
	grown[r->fact_count] =
		(struct compared_fact){ compared_run_keep(r, name), compared_run_keep(r, value) };
	if (!grown[r->fact_count].name || !grown[r->fact_count].value)
		return -1;
	r->fact_count++;
	return 0;
}

static int copy_facts(struct compared_run *r, const struct analysis *a)
{
	const struct analysis_run *run = &a->run;
	struct buf command;

	buf_init(&command);
	for (size_t i = 0; i < run->command_count; i++) {
		if (i)
			buf_add_byte(&command, ' ');
		text_add_argument(&command, run->command[i]);
	}
	r->command = keep_buf(r, &command);
	if (!r->command || (run->python && add_fact(r, "Python", run->python)))
		return -1;
	for (size_t i = 0; i < run->framework_count; i++)
		if (run->frameworks[i].version &&
		    add_fact(r, run->frameworks[i].name, run->frameworks[i].version))
			return -1;
	if (a->gpu.section_count && a->gpu.sections[0].device_count &&
	    add_fact(r, "GPU", a->gpu.sections[0].devices[0].name))
		return -1;
	return 0;
}

/* Of the time in which the threads of a process could run, what they waited for a CPU. */
static double queued_share(const struct analysis *a, uint32_t pid)
{
	double queued = 0, ran = 0;

	for (size_t i = 0; i < a->thread_count; i++) {
		const struct analysis_thread *t = &a->threads[i];

		if (!t->timed || t->pid != pid)
			continue;
		queued += (double)t->queued_ns;
		ran += (double)t->on_cpu_ns;
	}
	return queued > 0 && ran >= 0 ? queued / (queued + ran) : 0;
}

static int copy_classes(struct compared_run *r, const struct step_breakdown *b, size_t step)
{
	for (enum time_class c = 0; c < TIME_CLASSES; c++) {
		const struct compared_item item = { .part = PART_CLASS,
						    .step = step,
						    .name = time_class_title(c),
						    .file = "",
						    .detail = "",
						    .ns = (double)b->parts[c].ns };

		if (b->parts[c].ns && compared_run_add(r, &item))
			return -1;
	}
	return 0;
}

/* Device time goes to the line that launched it, which is what the user may change. */
static int copy_lines(struct compared_run *r, const struct analysis *a,
		      const struct step_breakdown *b, size_t step)
{
	for (size_t i = 0; i < b->cause_count; i++) {
		const struct time_cause *c = &b->causes[i];
		struct compared_item item = { .part = PART_LINE,
					      .step = step,
					      .detail = time_class_title(c->what),
					      .line = c->where.line,
					      .ns = (double)c->ns };

		if (!c->where.name)
			continue;
		item.name = compared_run_keep(r, c->where.name);
		item.file = keep_path(r, c->where.file, a->run.root);
		if (compared_run_add(r, &item))
			return -1;
	}
	return 0;
}

static int copy_steps(struct compared_run *r, const struct analysis *a)
{
	r->steps = calloc(a->step_count + 1, sizeof(*r->steps));
	r->ns = malloc((a->step_items.count + 1) * sizeof(*r->ns));
	if (!r->steps || !r->ns)
		return -1;
	for (size_t i = 0; i < a->step_items.count; i++)
		r->ns[i] = a->step_items.items[i].end_ns - a->step_items.items[i].start_ns;
	for (size_t i = 0; i < a->step_count; i++) {
		const struct analysis_step *s = &a->steps[i];

		r->steps[i] = (struct compared_step){
			.name = compared_run_keep(r, s->name),
			.domain = s->domain ? compared_run_keep(r, s->domain) : NULL,
			.source = s->source,
			.count = s->count,
			.warmup = s->warmup,
			.series_count = s->item_count,
			.ns = r->ns + s->first_item,
			.breakdown_steps = s->breakdown.steps,
			.breakdown_ns = s->breakdown.total_ns,
			.queued_share = queued_share(a, s->pid),
		};
		if (!r->steps[i].name || (s->domain && !r->steps[i].domain) ||
		    (s->breakdown.steps && copy_classes(r, &s->breakdown, i)) ||
		    copy_lines(r, a, &s->breakdown, i))
			return -1;
		r->step_count++;
	}
	return 0;
}

static int copy_kernels(struct compared_run *r, const struct analysis *a)
{
	for (size_t i = 0; i < a->gpu.section_count; i++) {
		const struct gpu_section *s = &a->gpu.sections[i];

		for (size_t k = 0; k < s->kernel_group_count; k++) {
			const struct gpu_kernel_figures *f = &s->kernel_groups[k];
			const struct compared_item item = { .part = PART_KERNEL,
							    .step = STEP_OF_RUN,
							    .name = compared_run_keep(r, f->name),
							    .file = "",
							    .detail = "",
							    .ns = (double)f->total_ns,
							    .count = (double)f->count };

			if (compared_run_add(r, &item))
				return -1;
		}
	}
	return 0;
}

static const char *keep_layer(struct compared_run *r, const struct analysis_layer *l)
{
	struct buf b;

	buf_init(&b);
	buf_add_str(&b, l->root);
	if (l->parent != LAYER_NONE)
		buf_printf(&b, ".%s", l->name);
	return keep_buf(r, &b);
}

static int copy_layers(struct compared_run *r, const struct analysis *a)
{
	for (size_t i = 0; i < a->layers.count; i++) {
		const struct analysis_layer *l = &a->layers.items[i];
		struct compared_item item = { .part = PART_CPU_LAYER,
					      .step = STEP_OF_RUN,
					      .name = keep_layer(r, l),
					      .file = "",
					      .detail = "",
					      .ns = (double)l->sum.self_cpu_ns,
					      .count = (double)l->sum.calls };

		if (compared_run_add(r, &item))
			return -1;
		item.part = PART_GPU_LAYER;
		item.ns = (double)l->sum.self_gpu_ns;
		if (l->sum.self_gpu_ns && compared_run_add(r, &item))
			return -1;
	}
	return 0;
}

static int copy_functions(struct compared_run *r, const struct analysis *a)
{
	r->functions_in_steps = a->in_steps.known;
	for (size_t i = 0; i < a->in_steps.count; i++) {
		const struct step_function *f = &a->in_steps.items[i];
		const struct compared_item item = { .part = PART_STEP_FUNCTION,
						    .step = 0,
						    .name = compared_run_keep(r, f->name),
						    .file = keep_path(r, f->file, a->run.root),
						    .detail = "",
						    .line = f->line,
						    .ns = (double)f->self_ns };

		if (compared_run_add(r, &item))
			return -1;
	}
	for (size_t i = 0; i < a->working_count; i++) {
		const struct analysis_function *f = &a->functions[i];
		const struct compared_item item = { .part = PART_RUN_FUNCTION,
						    .step = STEP_OF_RUN,
						    .name = compared_run_keep(r, f->name),
						    .file = keep_path(r, f->file, a->run.root),
						    .detail = "",
						    .line = f->line,
						    .ns = (double)f->self_ns,
						    .count = (double)f->calls };

		if (compared_run_add(r, &item))
			return -1;
	}
	return 0;
}

static int copy_findings(struct compared_run *r, const struct analysis *a)
{
	r->findings = calloc(a->findings.count + 1, sizeof(*r->findings));
	if (!r->findings)
		return -1;
	for (size_t i = 0; i < a->findings.count; i++) {
		const struct analysis_finding *f = &a->findings.items[i];
		struct compared_finding *to = &r->findings[i];

		*to = (struct compared_finding){
			.id = compared_run_keep(r, f->id),
			.title = compared_run_keep(r, f->title),
			.function = f->where.name ? compared_run_keep(r, f->where.name) : NULL,
			.file = keep_path(r, f->where.name ? f->where.file : NULL, a->run.root),
			.line = f->where.line,
			.severity = f->severity,
			.confidence = f->confidence,
			.saving_ns = f->saving_ns,
		};
		if (!to->id || !to->title || !to->file || (f->where.name && !to->function))
			return -1;
		r->finding_count++;
	}
	return 0;
}

int compared_run_init(struct compared_run *r, const struct analysis *a, const char *path,
		      struct err *err)
{
	*r = (struct compared_run){ .partial = a->trust.partial };
	arena_init(&r->texts);
	r->path = compared_run_keep(r, path);
	if (!r->path || copy_facts(r, a) || copy_steps(r, a) || copy_kernels(r, a) ||
	    step_kernels_add(r, a) || copy_layers(r, a) || copy_functions(r, a) ||
	    copy_findings(r, a))
		return err_set(err, "out of memory");
	return 0;
}

void compared_run_release(struct compared_run *r)
{
	free(r->steps);
	free(r->items);
	free(r->findings);
	free(r->facts);
	free(r->ns);
	arena_release(&r->texts);
	*r = (struct compared_run){ 0 };
}
