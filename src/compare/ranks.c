#include "compare/ranks.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"

#define NUMBER_MAX 99999999u

void ranks_init(struct ranks *r)
{
	memset(r, 0, sizeof(*r));
}

void ranks_release(struct ranks *r)
{
	for (size_t i = 0; i < r->count; i++) {
		buf_release(&r->items[i].markdown);
		buf_release(&r->items[i].json);
		arena_release(&r->items[i].texts);
	}
	free(r->items);
	for (size_t i = 0; i < r->notes.count; i++)
		free(r->notes.items[i]);
	free(r->notes.items);
	memset(r, 0, sizeof(*r));
}

/* Digits at a place; false: there are none, or too many. */
static bool number_at(const char *text, uint32_t *number)
{
	uint32_t value = 0;

	if (*text < '0' || *text > '9')
		return false;
	for (; *text >= '0' && *text <= '9'; text++) {
		value = 10 * value + (uint32_t)(*text - '0');
		if (value > NUMBER_MAX)
			return false;
	}
	*number = value;
	return true;
}

bool rank_of_name(const char *name, uint32_t *number)
{
	for (const char *at = name; (at = strcasestr(at, "rank")); at += 4) {
		const char *digits = at + 4;

		digits += strspn(digits, "_-.=[ ");
		if (number_at(digits, number))
			return true;
	}
	return false;
}

bool rank_of_trace(const struct trace *t, const char *name, uint32_t *number)
{
	const char *said = trace_info(t, "import.rank", 0);

	return (said && number_at(said, number)) || rank_of_name(name, number);
}

static const char *keep(struct rank *r, const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = arena_alloc(&r->texts, bytes);

	return copy ? memcpy(copy, text, bytes) : NULL;
}

/* NCCL's and RCCL's kernels: other ranks take part in them, and they wait for those. */
static bool is_collective(const struct gpu_kernel_figures *k)
{
	return strcasestr(k->full_name, "nccl") || strcasestr(k->full_name, "rccl");
}

static void take_gpu(struct rank *r, const struct analysis *a)
{
	const struct gpu_section *s = a->gpu.section_count ? &a->gpu.sections[0] : NULL;

	if (!s)
		return;
	r->span_ns = s->last_ns - s->first_ns;
	r->busy_ns = s->busy_ns;
	r->idle_ns = s->idle_ns;
	r->kernels = s->kernel_sum.count;
	r->kernel_ns = s->kernel_sum.total_ns;
	for (size_t i = 0; i < s->kernel_count; i++)
		if (is_collective(&s->kernels[i]))
			r->collective_ns += s->kernels[i].total_ns;
}

static int take_steps(struct rank *r, const struct analysis *a)
{
	r->steps = arena_alloc(&r->texts, (a->step_count + 1) * sizeof(*r->steps));
	if (!r->steps)
		return -1;
	for (size_t i = 0; i < a->step_count; i++) {
		const struct analysis_step *s = &a->steps[i];

		r->steps[i] = (struct rank_step){
			.name = keep(r, s->name),
			.count = s->count,
			.mean_ns = s->mean_ns,
			.p50_ns = s->p50_ns,
			.p95_ns = s->p95_ns,
		};
		if (!r->steps[i].name)
			return -1;
		r->step_count++;
	}
	return 0;
}

static int take_all(struct rank *r, const struct analysis *a, const char *name,
		    enum report_detail detail)
{
	const struct analysis_findings *f = &a->findings;

	r->path = keep(r, name);
	r->bound = keep(r, a->verdict.bound ? a->verdict.bound : "unknown");
	r->finding = f->sure_count ? keep(r, f->items[0].title) : NULL;
	r->wall_ns = a->run.wall_ns;
	r->partial = a->trust.partial;
	take_gpu(r, a);
	if (!r->path || !r->bound || (f->sure_count && !r->finding) || take_steps(r, a))
		return -1;
	report_markdown.render(&r->markdown, a, detail);
	report_json.render(&r->json, a, detail);
	return r->markdown.failed || r->json.failed ? -1 : 0;
}

int ranks_add(struct ranks *r, const struct analysis *a, const char *name, uint32_t otherwise,
	      enum report_detail detail, struct err *err)
{
	struct rank *grown = array_grow(r->items, &r->cap, r->count + 1, sizeof(*grown)), *added;

	if (!grown)
		return err_set(err, "out of memory");
	r->items = grown;
	added = &grown[r->count++];
	memset(added, 0, sizeof(*added));
	buf_init(&added->markdown);
	buf_init(&added->json);
	added->number = otherwise;
	added->guessed = !rank_of_trace(a->trace, name, &added->number);
	if (!take_all(added, a, name, detail))
		return 0;
	buf_release(&added->markdown);
	buf_release(&added->json);
	arena_release(&added->texts);
	r->count--;
	return err_set(err, "out of memory");
}

static int by_number(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->path, y->path);
}

static const struct rank_step *step_named(const struct rank *r, const char *name)
{
	for (size_t i = 0; name && i < r->step_count; i++)
		if (r->steps[i].count && !strcmp(r->steps[i].name, name))
			return &r->steps[i];
	return NULL;
}

const struct rank_step *rank_step_of(const struct ranks *r, const struct rank *rank)
{
	return step_named(rank, r->step);
}

/* The most important one of the first rank that all others have, too. */
static const char *common_step(const struct ranks *r)
{
	for (size_t i = 0; i < r->items[0].step_count; i++) {
		const char *name = r->items[0].steps[i].name;
		size_t have = 0;

		while (have < r->count && step_named(&r->items[have], name))
			have++;
		if (have == r->count)
			return name;
	}
	return NULL;
}

static void spread_add(struct rank_spread *s, size_t rank, double ns, size_t *count)
{
	if (!*count || ns > s->most_ns) {
		s->most_ns = ns;
		s->slowest = rank;
	}
	if (!*count || ns < s->least_ns) {
		s->least_ns = ns;
		s->fastest = rank;
	}
	++*count;
	s->mean_ns += (ns - s->mean_ns) / (double)*count;
	s->known = *count > 1;
}

double rank_imbalance(const struct rank_spread *s)
{
	return s->known && s->mean_ns > 0 ? s->most_ns / s->mean_ns - 1 : 0;
}

void ranks_compare(struct ranks *r)
{
	size_t steps = 0, gpus = 0, works = 0, guessed = 0, same = 0;

	if (!r->count)
		return;
	qsort(r->items, r->count, sizeof(*r->items), by_number);
	r->step = common_step(r);
	for (size_t i = 0; i < r->count; i++) {
		const struct rank *rank = &r->items[i];
		const struct rank_step *step = rank_step_of(r, rank);
		int64_t own_ns = rank->busy_ns - rank->collective_ns;

		guessed += rank->guessed;
		same += i && rank->number == r->items[i - 1].number;
		if (step)
			spread_add(&r->step_time, i, step->mean_ns, &steps);
		if (!rank->span_ns)
			continue;
		spread_add(&r->gpu_busy, i, (double)rank->busy_ns, &gpus);
		spread_add(&r->own_work, i, own_ns > 0 ? (double)own_ns : 0, &works);
	}
	if (!r->step)
		notes_add(&r->notes,
			  "The ranks have no kind of step in common: only GPU times are compared");
	if (guessed)
		notes_add(&r->notes,
			  "the rank of %zu trace%s is unknown: numbered in order of the names",
			  guessed, notes_plural(guessed));
	if (same)
		notes_add(&r->notes, "Several traces are of one rank: %zu trace%s more than ranks",
			  same, notes_plural(same));
	if (gpus && gpus < r->count)
		notes_add(&r->notes, "%zu of %zu ranks used no GPU", r->count - gpus, r->count);
}
