#include "report/viewdata/view_findings.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/viewdata/view_tree.h"

#define FINDINGS_MAX 64u       /* bits of a mask */
#define KINDS (VIEW_RANKS / 2) /* each in a step or not */
#define ANY UINT32_MAX

struct view_wanted {
	const char *id;
	struct {
		enum view_kind kind;
		uint32_t what;
		bool anywhere; /* whatever its place */
	} kinds[KINDS];
	unsigned count;
};

static const struct view_wanted wanted[] = {
	{ "sync-per-step", { { VIEW_SYNC, ANY, false }, { VIEW_IDLE, ANY, false } }, 2 },
	{ "readback",
	  { { VIEW_COPY, GPU_COPY_DEVICE_TO_HOST, false }, { VIEW_SYNC, ANY, false } },
	  2 },
	{ "pageable-copy",
	  { { VIEW_COPY, GPU_COPY_HOST_TO_DEVICE, false }, { VIEW_CALL, CUDA_CALL_COPY, false } },
	  2 },
	{ "no-overlap",
	  { { VIEW_COPY, GPU_COPY_HOST_TO_DEVICE, false }, { VIEW_COPY, ANY, true } },
	  2 },
	{ "pcie-saturated", { { VIEW_COPY, ANY, false }, { VIEW_COPY, ANY, true } }, 2 },
	{ "transfer-overhead", { { VIEW_COPY, ANY, false }, { VIEW_COPY, ANY, true } }, 2 },
	{ "launch-bound",
	  { { VIEW_IDLE, ANY, false }, { VIEW_CALL, CUDA_CALL_LAUNCH, false } },
	  2 },
	{ "gil-contention", { { VIEW_WAIT, SAMPLE_GIL_WAIT, true } }, 1 },
	{ "lock-contention", { { VIEW_WAIT, SAMPLE_LOCK_WAIT, true } }, 1 },
	{ "io-wait", { { VIEW_WAIT, SAMPLE_IO_WAIT, true }, { VIEW_FRAME, ANY, false } }, 2 },
	{ "input-starvation",
	  { { VIEW_COMPILE, TIME_IO_WAIT, true },
	    { VIEW_IDLE, ANY, false },
	    { VIEW_WAIT, ANY, false } },
	  3 },
	{ "alloc-churn",
	  { { VIEW_CALL, CUDA_CALL_ALLOC, false },
	    { VIEW_CALL, CUDA_CALL_FREE, false },
	    { VIEW_CALL, CUDA_CALL_ALLOC, true },
	    { VIEW_FRAME, ANY, false } },
	  4 },
	{ "gc-pause", { { VIEW_GC, ANY, true } }, 1 },
	{ "jit-compile", { { VIEW_COMPILE, TIME_COMPILE, true }, { VIEW_FRAME, ANY, false } }, 2 },
	{ "gpu-bound", { { VIEW_KERNEL, ANY, false }, { VIEW_GRAPH, ANY, false } }, 2 },
	{ "no-tensor-cores", { { VIEW_KERNEL, ANY, false } }, 1 },
	{ "small-batch", { { VIEW_KERNEL, ANY, false } }, 1 },
	{ "page-faults",
	  { { VIEW_IDLE, ANY, false }, { VIEW_FRAME, ANY, false }, { VIEW_SAMPLED, ANY, false } },
	  3 },
	{ "memory-pressure", { { VIEW_STEP, ANY, true } }, 1 },
};

/* Python code that the device, or the user, waits for; custom rules too. */
static const struct view_wanted otherwise = {
	NULL,
	{ { VIEW_IDLE, ANY, false }, { VIEW_FRAME, ANY, false }, { VIEW_SAMPLED, ANY, false } },
	3,
};

static const struct view_wanted *wanted_of(const char *id)
{
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!strcmp(wanted[i].id, id))
			return &wanted[i];
	return &otherwise;
}

static bool same_line(const struct view_names *n, uint32_t place, uint32_t other)
{
	const struct view_place *x, *y;

	if (!place || !other)
		return false;
	x = &n->places[place - 1];
	y = &n->places[other - 1];
	if (x->file != y->file)
		return false;
	return x->line == y->line || x->function == y->function;
}

static bool is_at(const struct view_findings *f, const struct view_label *label, uint32_t place)
{
	const uint32_t *frames;
	size_t count;

	if (same_line(f->names, label->place, place))
		return true;
	frames = view_stack_frames(f->names, label->stack, &count);
	for (size_t i = 0; i < count; i++)
		if (frames[i] &&
		    f->names->places[frames[i] - 1].line == f->names->places[place - 1].line &&
		    same_line(f->names, frames[i], place))
			return true;
	return false;
}

/* UINT32_MAX: none. */
static uint32_t rank_of(const struct view_findings *f, const struct view_finding *of,
			const struct view_label *label)
{
	for (uint32_t i = 0; i < of->wanted->count; i++) {
		if (of->wanted->kinds[i].kind != (enum view_kind)label->kind ||
		    (of->wanted->kinds[i].what != ANY && of->wanted->kinds[i].what != label->what))
			continue;
		if (of->wanted->kinds[i].anywhere || !of->place || is_at(f, label, of->place))
			return i;
	}
	return UINT32_MAX;
}

static bool in_a_step(const struct view_findings *f, const struct view_item *item)
{
	size_t at = 0, count = f->step_count;

	BISECT(at, count, f->steps[at].end_ns <= item->start_ns);
	return at < f->step_count && f->steps[at].start_ns < item->end_ns;
}

static bool is_better(const struct view_occurrence *x, const struct view_occurrence *y)
{
	int64_t x_ns = x->end_ns - x->start_ns, y_ns = y->end_ns - y->start_ns;

	if (x->rank != y->rank)
		return x->rank < y->rank;
	if (x_ns != y_ns)
		return x_ns > y_ns;
	return x->start_ns < y->start_ns;
}

static void offer(struct view_finding *of, const struct view_occurrence *new)
{
	size_t worst = 0;

	of->seen_of[new->rank]++;
	if (of->count < VIEW_OCCURRENCES) {
		of->items[of->count++] = *new;
		return;
	}
	for (size_t i = 1; i < of->count; i++)
		if (is_better(&of->items[worst], &of->items[i]))
			worst = i;
	if (is_better(new, &of->items[worst]))
		of->items[worst] = *new;
}

/* Labels come while items do: what they say is asked once for each. */
static uint64_t mask_of(struct view_findings *f, uint32_t label)
{
	uint64_t mask = 0;

	if (label >= f->label_cap) {
		size_t cap = f->label_cap, known_cap = cap;
		uint64_t *masks = array_grow(f->masks, &cap, label + 1, sizeof(*masks));
		bool *known =
			masks ? array_grow(f->known, &known_cap, label + 1, sizeof(*known)) : NULL;

		if (masks)
			f->masks = masks;
		if (!known) {
			f->failed = true;
			return 0;
		}
		f->known = known;
		memset(known + f->label_cap, 0, (cap - f->label_cap) * sizeof(*known));
		f->label_cap = cap;
	}
	/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Branch): the array is that long */
	if (f->known[label])
		return f->masks[label]; /* NOLINT(clang-analyzer-core.uninitialized.UndefReturn) */
	for (size_t i = 0; i < f->count; i++)
		if (rank_of(f, &f->items[i], &f->names->labels[label]) != UINT32_MAX)
			mask |= (uint64_t)1 << i;
	f->masks[label] = mask;
	f->known[label] = true;
	return mask;
}

static void added(void *ctx, uint32_t row, const struct view_item *item)
{
	struct view_findings *f = ctx;
	uint64_t mask = f->count ? mask_of(f, item->label) : 0;
	bool in_step;

	if (!mask || item->end_ns <= item->start_ns)
		return;
	in_step = in_a_step(f, item);
	for (size_t i = 0; i < f->count; i++) {
		const struct view_label *label = &f->names->labels[item->label];

		if (mask >> i & 1)
			offer(&f->items[i],
			      &(struct view_occurrence){ item->start_ns, item->end_ns, row,
							 2 * rank_of(f, &f->items[i], label) +
								 !in_step });
	}
}

static int by_end(const void *a, const void *b)
{
	const struct view_interval *x = a, *y = b;

	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static int collect_steps(struct view_findings *f)
{
	const struct step_items *all = &f->analysis->step_items;

	f->steps = calloc(all->count + 1, sizeof(*f->steps));
	if (!f->steps)
		return -1;
	for (size_t i = 0; i < all->count; i++)
		if (!all->items[i].kind)
			f->steps[f->step_count++] = (struct view_interval){
				all->items[i].start_ns,
				all->items[i].end_ns,
			};
	qsort(f->steps, f->step_count, sizeof(*f->steps), by_end);
	return 0;
}

int view_findings_init(struct view_findings *f, const struct analysis *a, struct view_names *names,
		       struct view_rows *rows)
{
	size_t n = a->findings.count < FINDINGS_MAX ? a->findings.count : FINDINGS_MAX;

	memset(f, 0, sizeof(*f));
	f->analysis = a;
	f->names = names;
	f->rows = rows;
	f->items = calloc(n + 1, sizeof(*f->items));
	if (!f->items || collect_steps(f))
		return -1;
	for (f->count = 0; f->count < n; f->count++) {
		const struct analysis_finding *from = &a->findings.items[f->count];

		f->items[f->count].finding = from;
		f->items[f->count].wanted = wanted_of(from->id);
		f->items[f->count].place =
			view_place(names, from->where.name, from->where.file, from->where.line);
	}
	rows->listener = (struct view_listener){ f, added };
	return 0;
}

void view_findings_release(struct view_findings *f)
{
	free(f->items);
	free(f->masks);
	free(f->known);
	free(f->steps);
	memset(f, 0, sizeof(*f));
}

static int by_time(const void *a, const void *b)
{
	const struct view_occurrence *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Of the best rank only: what is less like the finding would hide what is more. */
static void keep_best(struct view_finding *of)
{
	uint32_t best = UINT32_MAX;
	size_t n = 0;

	for (size_t i = 0; i < of->count; i++)
		if (of->items[i].rank < best)
			best = of->items[i].rank;
	for (size_t i = 0; i < of->count; i++)
		if (of->items[i].rank == best)
			of->items[n++] = of->items[i];
	of->count = n;
	of->seen = n ? of->seen_of[best] : 0;
	qsort(of->items, n, sizeof(*of->items), by_time);
}

/* Examples are what is typical: from the median on to both ends. */
static void order_examples(struct view_finding *of)
{
	uint8_t by_length[VIEW_OCCURRENCES];
	size_t low = of->count / 2, high = low, n = 0;

	for (size_t i = 0; i < of->count; i++) {
		size_t at = i;

		for (; at &&
		       of->items[by_length[at - 1]].end_ns - of->items[by_length[at - 1]].start_ns >
			       of->items[i].end_ns - of->items[i].start_ns;
		     at--)
			by_length[at] = by_length[at - 1];
		by_length[at] = (uint8_t)i;
	}
	while (n < of->count) {
		if (high < of->count)
			of->examples[n++] = by_length[high++];
		if (low > 0 && n < of->count)
			of->examples[n++] = by_length[--low];
	}
}

void view_findings_finish(struct view_findings *f, uint32_t steps_row)
{
	for (size_t i = 0; i < f->count; i++) {
		struct view_finding *of = &f->items[i];
		bool none = !of->count;

		for (size_t k = 0; none && k < f->step_count; k++)
			offer(of, &(struct view_occurrence){ f->steps[k].start_ns,
							     f->steps[k].end_ns, steps_row, 0 });
	}
	for (size_t i = 0; i < f->count; i++)
		keep_best(&f->items[i]);
	for (size_t i = 0; i < f->count; i++)
		order_examples(&f->items[i]);
}
