/*
 * Kernels by the steps that launched them: the call that started a kernel was made by the thread of
 * a step while it lasted.  Of steps that overlap on a thread the latest that began has it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "compare/compared_run.h"
#include "timeline/gpu.h"

#define KINDS 4u /* of steps, the most important ones */

struct kernel_sum {
	double ns, count;
};

static int by_thread_and_start(const void *a, const void *b)
{
	const struct step_item *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool is_in_a_step(const struct step_item *steps, size_t n, uint32_t thread, int64_t time_ns)
{
	size_t at = 0;

	BISECT(at, n,
	       steps[at].thread < thread ||
		       (steps[at].thread == thread && steps[at].start_ns <= time_ns));
	return at && steps[at - 1].thread == thread && steps[at - 1].end_ns >= time_ns;
}

static void sum_kernels(struct kernel_sum *sums, const struct gpu_timeline *g,
			const struct step_item *steps, size_t n)
{
	for (size_t i = 0; i < gpu_activity_count(g); i++) {
		const struct gpu_activity *a = gpu_activity(g, i);
		const struct gpu_work *w = gpu_activity_work(g, a);
		const struct gpu_call *call;

		if (w->kind != GPU_KERNEL || !a->linked || !a->timed ||
		    w->name >= gpu_kernel_name_count(g))
			continue;
		call = gpu_call(g, a->link);
		if (!is_in_a_step(steps, n, gpu_call_api(g, call)->thread, call->start_ns))
			continue;
		sums[w->name].ns += (double)(a->end_ns - a->start_ns);
		sums[w->name].count++;
	}
}

static int add_sums(struct compared_run *r, size_t kind, const struct kernel_sum *sums,
		    const struct gpu_timeline *g)
{
	for (size_t i = 0; i < gpu_kernel_name_count(g); i++) {
		const char *name = gpu_kernel_name(g, (uint32_t)i)->brief;
		const struct compared_item item = { .part = PART_KERNEL,
						    .step = kind,
						    .name = compared_run_keep(r, name),
						    .file = "",
						    .detail = "",
						    .ns = sums[i].ns,
						    .count = sums[i].count };

		if (sums[i].count > 0 && compared_run_add(r, &item))
			return -1;
	}
	return 0;
}

static int add_kind(struct compared_run *r, const struct analysis *a, size_t kind)
{
	const struct gpu_timeline *g = a->gpu.timeline;
	const struct analysis_step *s = &a->steps[kind];
	struct kernel_sum *sums = calloc(gpu_kernel_name_count(g) + 1, sizeof(*sums));
	struct step_item *steps = malloc((s->item_count + 1) * sizeof(*steps));
	int rc = -1;

	if (sums && steps) {
		memcpy(steps, a->step_items.items + s->first_item, s->item_count * sizeof(*steps));
		qsort(steps, s->item_count, sizeof(*steps), by_thread_and_start);
		sum_kernels(sums, g, steps, s->item_count);
		rc = add_sums(r, kind, sums, g);
	}
	free(sums);
	free(steps);
	return rc;
}

int step_kernels_add(struct compared_run *r, const struct analysis *a)
{
	if (!a->gpu.timeline || !gpu_activity_count(a->gpu.timeline))
		return 0;
	for (size_t kind = 0; kind < a->step_count && kind < KINDS; kind++)
		if (a->steps[kind].item_count && add_kind(r, a, kind))
			return -1;
	return 0;
}
