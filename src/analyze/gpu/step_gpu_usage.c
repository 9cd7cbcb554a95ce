#include "analyze/gpu/step_gpu_usage.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/figures/stats.h"
#include "analyze/gpu/device_limits.h"
#include "analyze/gpu/gpu_busy.h"
#include "analyze/gpu/gpu_top_lines.h"
#include "analyze/gpu/model_stack.h"
#include "base/array.h"

/*
 * cuBLAS, cuDNN and CUTLASS write into the names of their kernels which
 * instruction does the work, PyTorch what for.  What a name does not say is not guessed at.
 */

struct mark {
	const char *text;
	enum kernel_math math;
};

/*
 * The first that occurs counts.  Instruction shapes (s1688, h16816, ...) are of the MMA
 * instructions; simt and ffma are CUTLASS' and xmma's words for the general units; nvjet
 * kernels exist for tensor cores alone.
 */
static const struct mark marks[] = {
	{ "_simt_", MATH_PLAIN },
	{ "_ffma_", MATH_PLAIN },
	{ "tensorop", MATH_TENSOR },
	{ "tensor16x8", MATH_TENSOR },
	{ "wgmma", MATH_TENSOR },
	{ "gmma", MATH_TENSOR },
	{ "hmma", MATH_TENSOR },
	{ "imma", MATH_TENSOR },
	{ "nvjet_", MATH_TENSOR },
	{ "s884", MATH_TENSOR },
	{ "h884", MATH_TENSOR },
	{ "s1688", MATH_TENSOR },
	{ "h1688", MATH_TENSOR },
	{ "s16816", MATH_TENSOR },
	{ "h16816", MATH_TENSOR },
	{ "i8816", MATH_TENSOR },
	{ "i16832", MATH_TENSOR },
	{ "tf32f32_tf32f32", MATH_TENSOR },
	{ "f32f32_tf32f32", MATH_TENSOR },
	{ "bf16_s", MATH_TENSOR },
	/* volta_sgemm_128x64_tn, ampere_sgemm_32x32_sliced1x4_nn, maxwell_scudnn_128x64 */
	{ "_sgemm_", MATH_PLAIN },
	{ "_dgemm_", MATH_PLAIN },
	{ "_scudnn_", MATH_PLAIN },
	{ "implicit_convolve_sgemm", MATH_PLAIN },
	{ "gemmSN_", MATH_PLAIN },
	{ "gemmk1_kernel", MATH_PLAIN },
	/* PyTorch's torch.cat(), copy_() and contiguous(); names of other libraries show it too.
	 */
	{ "CatArrayBatchedCopy", MATH_NONE },
	{ "direct_copy_kernel", MATH_NONE },
	{ "transpose_readWrite", MATH_NONE },
	{ "batch_transpose", MATH_NONE },
};

enum kernel_math kernel_math(const char *full_name)
{
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (strstr(full_name, marks[i].text))
			return marks[i].math;
	return MATH_OTHER;
}

/* What cuBLAS calls a product of a matrix and a vector. */
#define VECTOR_KERNEL "gemv"
#define TILE_LEAST 8u /* no tile is smaller, and its sides are multiples of that */
#define TILE_MOST 512u

unsigned kernel_tile_rows(const char *full_name)
{
	if (strstr(full_name, VECTOR_KERNEL))
		return 1;
	for (const char *at = full_name; *at; at++) {
		char *end;
		unsigned long wide, high;

		if (*at < '1' || *at > '9' || (at > full_name && at[-1] >= '0' && at[-1] <= '9'))
			continue;
		wide = strtoul(at, &end, 10);
		if (*end != 'x' || end[1] < '1' || end[1] > '9')
			continue;
		high = strtoul(end + 1, NULL, 10);
		if (wide >= TILE_LEAST && high >= TILE_LEAST && wide <= TILE_MOST &&
		    high <= TILE_MOST && wide % TILE_LEAST == 0 && high % TILE_LEAST == 0)
			return (unsigned)(wide < high ? wide : high);
	}
	return 0;
}

void wait_lengths_add(struct wait_lengths *w, int64_t ns)
{
	int power;

	if (ns < 1)
		return;
	power = 63 - __builtin_clzll((unsigned long long)ns);
	w->count[power]++;
	w->ns[power] = stats_add(w->ns[power], ns);
}

double wait_lengths_longest(const struct wait_lengths *w, double n)
{
	double longest = 0, all = 0;

	for (int power = WAIT_LENGTHS; power--;) {
		double count = (double)w->count[power], ns = (double)w->ns[power];

		all += ns;
		if (count <= n)
			longest += ns;
		else
			longest += ns / count * n;
		n = count < n ? n - count : 0;
	}
	return all > 0 ? longest / all : 0;
}

/* Host and device may disagree by a few microseconds about when a wait was over. */
#define WAIT_TOLERANCE_NS 10000

/* An interval that at least one step covers; before_ns: the length of all those before it. */
struct interval {
	int64_t start_ns, end_ns, before_ns;
};

struct user {
	struct step_gpu_usage *out;
	const struct gpu_timeline *gpu;
	uint32_t process;
	struct interval *intervals; /* in order of time */
	size_t interval_count;
	size_t recent; /* the interval that was asked for last */
	struct gpu_top_lines tops;
	enum kernel_math *math; /* by the number of a kernel's name */
	struct kernel_loads loads;
	unsigned *tile_rows; /* likewise; 0: no matrix kernel, or unknown */
	/* Rows from which on a product takes the arithmetic longer than the memory; 0: unknown. */
	double balanced_rows;
};

/* The last interval that does not begin after a time; NULL: none. */
static const struct interval *interval_at(struct user *u, int64_t time_ns)
{
	const struct interval *recent = &u->intervals[u->recent];
	size_t at = 0;

	/* One step has much work: most is found without a search. */
	if (recent->start_ns <= time_ns &&
	    (u->recent + 1 == u->interval_count || time_ns < recent[1].start_ns))
		return recent;
	BISECT(at, u->interval_count, u->intervals[at].start_ns <= time_ns);
	if (!at)
		return NULL;
	u->recent = at - 1;
	return &u->intervals[u->recent];
}

static bool is_inside(struct user *u, int64_t time_ns)
{
	const struct interval *s = interval_at(u, time_ns);

	return s && time_ns < s->end_ns;
}

static int64_t covered_before(struct user *u, int64_t time_ns)
{
	const struct interval *s = interval_at(u, time_ns);

	if (!s)
		return 0;
	return stats_add(s->before_ns,
			 gpu_length(s->start_ns, time_ns < s->end_ns ? time_ns : s->end_ns));
}

/* How much of the time between two moments lies in steps. */
static int64_t inside(struct user *u, int64_t start_ns, int64_t end_ns)
{
	return end_ns > start_ns ? covered_before(u, end_ns) - covered_before(u, start_ns) : 0;
}

/* Steps in order of their begin. */
static int cover(struct user *u, const struct step_item *steps, size_t n)
{
	struct interval *last = NULL;

	u->intervals = calloc(n + 1, sizeof(*u->intervals));
	if (!u->intervals)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct step_item *w = &steps[i];

		if (w->end_ns <= w->start_ns)
			continue;
		u->out->steps++;
		if (last && w->start_ns <= last->end_ns) {
			if (w->end_ns > last->end_ns)
				last->end_ns = w->end_ns;
			continue;
		}
		last = &u->intervals[u->interval_count++];
		*last = (struct interval){ w->start_ns, w->end_ns, 0 };
	}
	for (size_t i = 0; i < u->interval_count; i++) {
		struct interval *s = &u->intervals[i];

		s->before_ns = u->out->covered_ns;
		u->out->covered_ns =
			stats_add(u->out->covered_ns, gpu_length(s->start_ns, s->end_ns));
	}
	return 0;
}

static void add(struct gpu_usage_sum *s, int64_t ns, uint64_t bytes)
{
	s->count++;
	s->bytes += bytes;
	s->ns = stats_add(s->ns, ns);
}

static void use_move(struct user *u, int64_t ns, uint32_t stack)
{
	u->out->moved_ns = stats_add(u->out->moved_ns, ns);
	gpu_top_lines_add(&u->tops, GPU_LINE_MOVED, stack, ns, 0);
}

static void use_kernel(struct user *u, const struct gpu_work *w, int64_t ns, uint32_t stack)
{
	struct step_gpu_usage *out = u->out;
	uint64_t blocks = (uint64_t)w->grid[0] * w->grid[1];

	/* A file may say anything; what does not fit is many. */
	if (__builtin_mul_overflow(blocks, (uint64_t)w->grid[2], &blocks))
		blocks = UINT64_MAX;
	add(&out->kernels, ns, 0);
	kernel_loads_add(&u->loads, w, ns);
	if (blocks && blocks < out->multiprocessors) {
		double fill = (double)blocks / (double)out->multiprocessors;
		double rows = u->tile_rows[w->name];

		/* Few blocks that cover a whole matrix have all rows of the other one in a tile. */
		if (rows > 0 && u->balanced_rows > 0 && rows / u->balanced_rows < fill)
			fill = rows / u->balanced_rows;
		add(&out->few_blocks, ns, 0);
		out->few_blocks_idle_ns += (double)ns * (1 - fill);
	}
	switch (u->math[w->name]) {
	case MATH_TENSOR:
		out->matrix_tensor_ns = stats_add(out->matrix_tensor_ns, ns);
		break;
	case MATH_PLAIN:
		out->matrix_plain_ns = stats_add(out->matrix_plain_ns, ns);
		gpu_top_lines_add(&u->tops, GPU_LINE_PLAIN_MATH, stack, ns, 0);
		break;
	case MATH_NONE:
		use_move(u, ns, stack);
		break;
	case MATH_OTHER:
		break;
	}
}

static void use_copy(struct user *u, const struct gpu_activity *a, int64_t ns, uint32_t stack)
{
	const struct gpu_work *w = gpu_activity_work(u->gpu, a);
	bool up = w->copy == GPU_COPY_HOST_TO_DEVICE;
	struct gpu_usage_copies *c = up ? &u->out->h2d : &u->out->d2h;
	enum gpu_memory host = up ? w->source : w->destination;
	int64_t call_ns = 0;

	add(&c->all, ns, w->bytes);
	if (host == GPU_MEMORY_PAGEABLE)
		add(&c->pageable, ns, w->bytes);
	if (w->bytes >= GPU_USAGE_LARGE_COPY)
		add(&c->large, ns, w->bytes);
	if (w->bytes >= GPU_USAGE_LARGE_COPY && host == GPU_MEMORY_PINNED)
		add(&c->large_pinned, ns, w->bytes);
	if (a->linked) {
		const struct gpu_call *call = gpu_call(u->gpu, a->link);

		/* A launch of a graph is not the copy's own call. */
		if (gpu_call_api(u->gpu, call)->what == CUDA_CALL_COPY)
			call_ns = gpu_length(call->start_ns, call->end_ns);
	}
	c->call_ns = stats_add(c->call_ns, call_ns);
	if (!up)
		wait_lengths_add(&u->out->wait_lengths, call_ns - ns);
	gpu_top_lines_add(&u->tops, up ? GPU_LINE_H2D : GPU_LINE_D2H, stack,
			  ns > call_ns ? ns : call_ns, w->bytes);
}

static bool crosses_the_bus(const struct gpu_work *w)
{
	return w->kind == GPU_COPY &&
	       (w->copy == GPU_COPY_HOST_TO_DEVICE || w->copy == GPU_COPY_DEVICE_TO_HOST);
}

static void use_activity(struct user *u, const struct gpu_activity *a)
{
	int64_t ns = gpu_length(a->start_ns, a->end_ns);
	uint32_t stack = gpu_activity_stack(u->gpu, a);
	const struct gpu_work *w = gpu_activity_work(u->gpu, a);
	const struct gpu_call *call = a->linked ? gpu_call(u->gpu, a->link) : NULL;
	bool replay = call && gpu_call_api(u->gpu, call)->what == CUDA_CALL_GRAPH_LAUNCH;

	if (w->kind == GPU_KERNEL)
		use_kernel(u, w, ns, stack);
	else if (w->kind == GPU_GRAPH)
		add(&u->out->whole_graphs, ns, 0);
	else if (crosses_the_bus(w))
		use_copy(u, a, ns, stack);
	else if (w->kind == GPU_COPY)
		use_move(u, ns, stack);
	if (crosses_the_bus(w))
		return;
	gpu_top_lines_add(&u->tops, GPU_LINE_LAUNCH, stack, ns, 0);
	gpu_top_lines_add(&u->tops, GPU_LINE_MODEL, replay ? call->stack : stack, ns, 0);
}

/* A copy to the host that returns only when it is done waits for all before it as well. */
static bool waits_for_device(const struct gpu_timeline *g, const struct gpu_call *c)
{
	enum cuda_call what = gpu_call_api(g, c)->what;

	if (what != CUDA_CALL_COPY || !gpu_call_activities(g, c))
		return gpu_call_waits(what);
	return gpu_activity_work(g, gpu_activity(g, gpu_call_activity(g, c, 0)))->copy ==
	       GPU_COPY_DEVICE_TO_HOST;
}

/*
 * The call that kept the launching thread waiting for the device at the moment when that
 * went idle.
 */
static const struct gpu_call *waited(const struct user *u, size_t launch, int64_t idle_ns)
{
	uint32_t thread = gpu_call_api(u->gpu, gpu_call(u->gpu, launch))->thread;

	while (launch--) {
		const struct gpu_call *c = gpu_call(u->gpu, launch);

		if (gpu_call_api(u->gpu, c)->thread != thread ||
		    c->end_ns < idle_ns - WAIT_TOLERANCE_NS)
			return NULL;
		if (c->start_ns <= idle_ns && waits_for_device(u->gpu, c))
			return c;
	}
	return NULL;
}

static void add_gap(struct user *u, struct gpu_usage_gaps *gaps, enum gpu_line_role role,
		    uint32_t stack, int64_t ns)
{
	gaps->count++;
	gaps->ns = stats_add(gaps->ns, ns);
	if (role != GPU_LINE_ROLES)
		gpu_top_lines_add(&u->tops, role, stack, ns, 0);
}

/* The device had nothing to do from idle_ns until `a` began. */
static void use_gap(struct user *u, int64_t idle_ns, const struct gpu_activity *a)
{
	int64_t ns = inside(u, idle_ns, a->start_ns);
	const struct gpu_call *launch, *wait;

	if (!ns || !a->linked)
		return;
	launch = gpu_call(u->gpu, a->link);
	if (launch->start_ns < idle_ns) {
		add_gap(u, &u->out->latency, GPU_LINE_ROLES, 0, ns);
		return;
	}
	wait = waited(u, a->link, idle_ns);
	if (wait) {
		add_gap(u, &u->out->after_wait, GPU_LINE_AFTER_WAIT, wait->stack, ns);
	} else if (a->start_ns - idle_ns <= GPU_USAGE_SHORT_GAP_NS) {
		add_gap(u, &u->out->short_late, GPU_LINE_SHORT_LATE, launch->stack, ns);
	} else {
		add_gap(u, &u->out->long_late, GPU_LINE_LONG_LATE, launch->stack, ns);
	}
}

/* Stretches without rest, one after the other: of all work, and of all but the bus'. */
struct run {
	int64_t start_ns, end_ns;
	bool any;
};

/* Returns how much of an interval that is over lies in steps. */
static int64_t run_on(struct user *u, struct run *r, const struct gpu_activity *a)
{
	int64_t ns = 0;

	if (r->any && a->start_ns <= r->end_ns) {
		if (a->end_ns > r->end_ns)
			r->end_ns = a->end_ns;
		return 0;
	}
	if (r->any)
		ns = inside(u, r->start_ns, r->end_ns);
	*r = (struct run){ a->start_ns, a->end_ns, true };
	return ns;
}

static void use_activities(struct user *u)
{
	struct run all = { 0 }, work = { 0 };
	int64_t busy_ns = 0, work_ns = 0;

	for (size_t i = 0; i < gpu_activity_count(u->gpu); i++) {
		const struct gpu_activity *a = gpu_activity(u->gpu, i);
		const struct gpu_work *w = gpu_activity_work(u->gpu, a);

		if (w->process != u->process || !a->timed)
			continue;
		if (all.any && a->start_ns > all.end_ns)
			use_gap(u, all.end_ns, a);
		busy_ns = stats_add(busy_ns, run_on(u, &all, a));
		if (!crosses_the_bus(w))
			work_ns = stats_add(work_ns, run_on(u, &work, a));
		if (is_inside(u, a->start_ns))
			use_activity(u, a);
	}
	if (all.any)
		busy_ns = stats_add(busy_ns, inside(u, all.start_ns, all.end_ns));
	if (work.any)
		work_ns = stats_add(work_ns, inside(u, work.start_ns, work.end_ns));
	u->out->busy_ns = busy_ns;
	u->out->copy_alone_ns = busy_ns - work_ns;
}

static bool is_for_memory(enum cuda_call what)
{
	return what == CUDA_CALL_ALLOC || what == CUDA_CALL_FREE || what == CUDA_CALL_HOST_ALLOC ||
	       what == CUDA_CALL_HOST_FREE;
}

static bool frees(enum cuda_call what)
{
	return what == CUDA_CALL_FREE || what == CUDA_CALL_HOST_FREE;
}

static void use_calls(struct user *u)
{
	struct step_gpu_usage *out = u->out;

	for (size_t i = 0; i < gpu_call_count(u->gpu); i++) {
		const struct gpu_call *c = gpu_call(u->gpu, i);
		const struct gpu_api *api = gpu_call_api(u->gpu, c);
		int64_t ns = gpu_length(c->start_ns, c->end_ns);

		if (api->process != u->process || !is_inside(u, c->start_ns))
			continue;
		if (api->what < sizeof(out->calls) / sizeof(*out->calls))
			add(&out->calls[api->what], ns, api->bytes);
		if (gpu_call_waits(api->what)) {
			add(&out->waits, ns, 0);
			wait_lengths_add(&out->wait_lengths, ns);
			gpu_top_lines_add(&u->tops, GPU_LINE_MODEL_WAIT, c->stack, ns, 0);
		}
		if (is_for_memory(api->what))
			gpu_top_lines_add(&u->tops,
					  frees(api->what) ? GPU_LINE_FREE : GPU_LINE_ALLOC,
					  c->stack, ns, api->bytes);
	}
}

double step_gpu_usage_model_calls(const struct analysis *a)
{
	double calls = (double)a->use.calls[CUDA_CALL_GRAPH_LAUNCH].count;

	for (size_t i = 0; i < a->layers.count; i++) {
		const struct analysis_layer *l = &a->layers.items[i];

		if (l->parent == LAYER_NONE && l->pid == a->steps[0].pid &&
		    (double)l->sum.calls > calls)
			calls = (double)l->sum.calls;
	}
	return calls;
}

static void take_tops(struct user *u, const struct analysis *a)
{
	struct gpu_top_line tops[GPU_LINE_ROLES];
	struct step_gpu_usage *out = u->out;

	gpu_top_lines_find(&u->tops, u->gpu, tops);
	out->h2d.top = tops[GPU_LINE_H2D];
	out->d2h.top = tops[GPU_LINE_D2H];
	out->plain_top = tops[GPU_LINE_PLAIN_MATH];
	out->moved_top = tops[GPU_LINE_MOVED];
	out->launch_top = tops[GPU_LINE_LAUNCH];
	out->model_top = tops[GPU_LINE_MODEL];
	out->model_top.where =
		model_stack_loop(a, u->gpu, out->model_top.stack, &out->model_top.where,
				 step_gpu_usage_model_calls(a));
	out->model_waits = tops[GPU_LINE_MODEL_WAIT];
	out->alloc_top = tops[GPU_LINE_ALLOC];
	out->free_top = tops[GPU_LINE_FREE];
	out->after_wait.top = tops[GPU_LINE_AFTER_WAIT];
	out->short_late.top = tops[GPU_LINE_SHORT_LATE];
	out->late_inside = tops[GPU_LINE_LATE_INSIDE];
	out->long_late.top = tops[GPU_LINE_LONG_LATE];
}

/* Steps know the pid of their process; sections know both. */
static const struct gpu_section *section_of(const struct analysis *a, uint32_t pid)
{
	for (size_t i = 0; i < a->gpu.section_count; i++)
		if (a->gpu.sections[i].pid == pid)
			return &a->gpu.sections[i];
	return NULL;
}

/* Kernels are few, what they did is not. */
static int name_math(struct user *u)
{
	size_t n = gpu_kernel_name_count(u->gpu);

	u->math = calloc(n + 1, sizeof(*u->math));
	u->tile_rows = calloc(n + 1, sizeof(*u->tile_rows));
	for (size_t i = 0; u->math && u->tile_rows && i < n; i++) {
		const char *name = gpu_kernel_name(u->gpu, (uint32_t)i)->full;

		u->math[i] = kernel_math(name);
		if (u->math[i] == MATH_TENSOR || strstr(name, VECTOR_KERNEL))
			u->tile_rows[i] = kernel_tile_rows(name);
	}
	return u->math && u->tile_rows ? 0 : -1;
}

/*
 * A product reads each weight once, of two bytes, and computes two operations with it for each
 * row: below so many rows the memory is what it waits for.
 */
static double balanced_rows(const struct step_gpu_usage *use)
{
	return use->bytes_per_s > 0 ? use->tensor_per_s / use->bytes_per_s : 0;
}

static void take_device(struct step_gpu_usage *use, const struct gpu_device *d)
{
	const struct multiprocessor_limits *l = device_limits(d->capability);

	use->multiprocessors = d->multiprocessors;
	use->capability = d->capability;
	use->bytes_per_s = 1e3 * (double)d->bandwidth_kb_s;
	if (l)
		use->tensor_per_s =
			1e3 * (double)d->clock_khz * d->multiprocessors * l->tensor_half;
}

int step_gpu_usage_collect(struct analysis *a, const struct step_items *items)
{
	const struct analysis_step *step = &a->steps[0];
	const struct gpu_section *section = section_of(a, step->pid);
	struct user u = { .out = &a->use, .gpu = a->gpu.timeline };
	int rc = -1;

	memset(&a->use, 0, sizeof(a->use));
	gpu_top_lines_init(&u.tops);
	if (step->item_count)
		a->use.thread = items->items[step->first_item].thread;
	if (kernel_loads_init(&u.loads, u.gpu) || name_math(&u) ||
	    (step->item_count && cover(&u, items->items + step->first_item, step->item_count)))
		goto out;
	if (section && u.interval_count) {
		u.process = section->process;
		a->use.gpu = true;
		if (section->device_count) {
			take_device(&a->use, &section->devices[0]);
			u.loads.device = &section->devices[0];
			u.balanced_rows = balanced_rows(&a->use);
		}
		use_activities(&u);
		a->use.load_count = kernel_loads_top(&u.loads, u.gpu, a->use.loads);
		use_calls(&u);
		take_tops(&u, a);
	}
	rc = u.tops.failed ? -1 : 0;
out:
	gpu_top_lines_release(&u.tops);
	free(u.intervals);
	free(u.math);
	free(u.tile_rows);
	kernel_loads_release(&u.loads);
	return rc;
}
