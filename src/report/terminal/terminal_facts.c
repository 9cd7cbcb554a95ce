/*
 * A line on each thing beside the steps that there is something to say about.  What took
 * less than a hundredth of the time is not worth one; where the screen is full, the
 * least important go first.  Of lists those items are shown that fit.
 */
#include <inttypes.h>
#include <string.h>

#include "analyze/cpu/torch_figures.h"
#include "base/buf.h"
#include "report/memory_text.h"
#include "report/plain_text.h"
#include "report/terminal/terminal_text.h"

/* What PyTorch did besides calling modules, in a line each. */

/* Nothing where there is nothing to say. */
static void terminal_loading(struct buf *out, const struct analysis_torch *t)
{
	char f[2][TEXT_FIGURE];

	if (!t->waits.count && !t->loads.count)
		return;
	if (t->waits.count) {
		buf_printf(out, "waited %s for ", text_duration(f[0], (double)t->waits.total_ns));
		if (t->workers)
			buf_printf(out, "%zu ", t->workers);
		buf_printf(out, "DataLoader worker%s; ", t->workers == 1 ? "" : "s");
	}
	buf_printf(out, "%s batch%s loaded in %s", text_count(f[0], t->loads.count),
		   t->loads.count == 1 ? "" : "es", text_duration(f[1], (double)t->loads.total_ns));
}

static void terminal_compilation(struct buf *out, const struct analysis_torch *t)
{
	char f[2][TEXT_FIGURE];

	if (!t->compiled_count)
		return;
	buf_printf(out, "%s for %s compilation%s",
		   text_duration(f[0], (double)t->compilations.total_ns),
		   text_count(f[1], t->compilations.count), t->compilations.count == 1 ? "" : "s");
	if (t->recompilations)
		buf_printf(out, ", %s of them recompilations", text_count(f[0], t->recompilations));
	buf_printf(out, "; most: %s %s",
		   *t->compiled->function ? t->compiled->function : "(unknown)",
		   text_duration(f[1], (double)t->compiled->sum.total_ns));
}

#define NAMES 3u /* in a line */
#define COPIES 2u
#define IDLE_LINES 2u
#define WAITER_MOST 40u /* columns: the lock's holder follows, and is more important */
#define BREAK 30u       /* columns that breaking a line between words may leave empty */
#define SENTENCE 5u     /* lines: figures stand at its end as well */

static const struct gpu_section *first_gpu(const struct analysis *a)
{
	return a->gpu.section_count ? &a->gpu.sections[0] : NULL;
}

/* Too little time to be worth a line. */
static bool is_little(const struct analysis *a, int64_t ns)
{
	return ns < a->run.wall_ns / 100;
}

static void write_gpu(struct buf *out, const struct analysis *a, size_t columns)
{
	const struct gpu_section *g = first_gpu(a);
	char f[3][TEXT_FIGURE];
	double recorded_ns;
	size_t others;

	(void)columns;
	if (!g)
		return;
	others = a->gpu.section_count - 1;
	recorded_ns = (double)g->busy_ns + (double)g->idle_ns;
	buf_printf(out, "busy %s of %s, %s kernel%s",
		   text_share(f[0], (double)g->busy_ns, recorded_ns),
		   text_duration(f[1], recorded_ns), text_count(f[2], g->kernel_sum.count),
		   g->kernel_sum.count == 1 ? "" : "s");
	if (g->device_count)
		buf_printf(out, ", %s", g->devices[0].name);
	if (others)
		buf_printf(out, "; %zu more process%s", others, others == 1 ? "" : "es");
}

/* In what the text before it leaves of the line. */
static void add_place(struct buf *out, const struct place *p, const char *root, size_t columns)
{
	size_t taken = text_width(buf_string(out));

	terminal_place(out, p, root, taken < columns ? columns - taken : 0);
}

/* Another item, where it fits; false: it does not.  The first one is there in any case. */
static bool add_item(struct buf *out, const char *separator, struct buf *item, size_t columns)
{
	size_t taken = text_width(buf_string(out));

	out->failed |= item->failed;
	if (taken && taken + strlen(separator) + text_width(buf_string(item)) > columns)
		return false;
	if (taken)
		buf_add_str(out, separator);
	buf_add_str(out, buf_string(item));
	buf_clear(item);
	return true;
}

/* Why it was idle most. */
static void write_idle(struct buf *out, const struct analysis *a, size_t columns)
{
	const struct gpu_section *g = first_gpu(a);
	const struct idle_cause *c;
	struct buf item;
	char f[TEXT_FIGURE];

	if (!g || !g->blame.count)
		return;
	c = g->blame.items;
	if (g->blame.steps && c->in_steps_ns)
		buf_printf(out, "%s of a step: ",
			   text_duration(f, (double)c->in_steps_ns / (double)g->blame.steps));
	else
		buf_printf(out, "%s of it: ", text_share(f, (double)c->ns, (double)g->idle_ns));
	buf_add_str(out, c->latency ? "launch latency" : time_class_title(c->what));
	if (c->where.name) {
		buf_add_str(out, ", ");
		add_place(out, &c->where, a->run.root, IDLE_LINES * columns - BREAK);
	}
	if (!c->waited_for.name)
		return;
	buf_init(&item);
	buf_add_str(&item, c->waited_for.name);
	add_item(out, ", waited for ", &item, IDLE_LINES * columns - BREAK);
	buf_release(&item);
}

static void write_kernels(struct buf *out, const struct analysis *a, size_t columns)
{
	const struct gpu_section *g = first_gpu(a);
	char f[TEXT_FIGURE];
	struct buf item;

	buf_init(&item);
	for (size_t i = 0; g && i < g->kernel_group_count && i < NAMES; i++) {
		buf_printf(&item, "%s %s",
			   text_share(f, (double)g->kernel_groups[i].total_ns,
				      (double)g->kernel_sum.total_ns),
			   g->kernel_groups[i].name);
		if (!add_item(out, ", ", &item, columns))
			break;
	}
	buf_release(&item);
}

static void write_copies(struct buf *out, const struct analysis *a, size_t columns)
{
	const struct gpu_section *g = first_gpu(a);
	char f[2][TEXT_FIGURE];
	struct buf item;

	buf_init(&item);
	for (size_t i = 0; g && i < g->copy_count && i < COPIES; i++) {
		const struct gpu_copy_figures *c = &g->copies[i];

		buf_printf(&item, "%s %s to %s %s in %s", c->kind, c->source, c->destination,
			   text_bytes(f[0], c->bytes), text_duration(f[1], (double)c->total_ns));
		if (!add_item(out, "; ", &item, columns))
			break;
	}
	buf_release(&item);
}

static void write_line(struct buf *out, const struct analysis *a, size_t columns)
{
	const struct gpu_section *g = first_gpu(a);
	char f[2][TEXT_FIGURE];

	if (!g || !g->line_count)
		return;
	buf_printf(out, "%s of GPU work in %s launch%s by ",
		   text_duration(f[0], (double)g->lines->gpu_ns), text_count(f[1], g->lines->calls),
		   g->lines->calls == 1 ? "" : "es");
	add_place(out, &(struct place){ g->lines->function, g->lines->file, g->lines->line },
		  a->run.root, columns);
}

static void write_waiting(struct buf *out, const struct analysis *a, size_t columns)
{
	char f[TEXT_FIGURE];
	struct buf item;

	buf_init(&item);
	for (size_t i = a->working_count; i < a->function_count && i < a->working_count + NAMES;
	     i++) {
		if (is_little(a, a->functions[i].self_ns))
			break;
		buf_printf(&item, "%s %s", a->functions[i].name,
			   text_duration(f, (double)a->functions[i].self_ns));
		if (!add_item(out, ", ", &item, columns))
			break;
	}
	buf_release(&item);
}

/* The worst pair of those who waited and those who had it. */
static void write_contention(struct buf *out, const struct analysis *a,
			     const struct analysis_waits *w)
{
	char f[2][TEXT_FIGURE];

	if (!w->count || is_little(a, w->total_ns))
		return;
	buf_printf(out, "threads waited %s; most, %s, in ",
		   text_duration(f[0], (double)w->total_ns),
		   text_duration(f[1], (double)w->items->ns));
	text_add_clipped(out, w->items->waiter.name ? w->items->waiter.name : "(unknown)",
			 WAITER_MOST);
	if (w->items->holder.name)
		buf_printf(out, " while %s held it", w->items->holder.name);
}

/* From so much longer than typical steps on it is worth a line. */
#define SLOW_RATIO 1.5

/* What the slowest steps did that typical ones did not: the largest difference. */
static void write_slow(struct buf *out, const struct analysis *a, size_t columns)
{
	const struct slow_steps *s = a->step_count ? &a->steps[0].breakdown.slow : NULL;
	const struct time_cause *c;
	char f[3][TEXT_FIGURE];

	(void)columns;
	if (!s || !s->steps || !s->cause_count || s->mean_ns < SLOW_RATIO * s->typical_mean_ns)
		return;
	c = &s->causes[0].cause;
	if (s->steps == 1)
		buf_add_str(out, "the slowest step takes ");
	else
		buf_printf(out, "the slowest %zu steps take ", s->steps);
	buf_printf(out, "%s, typical ones %s", text_duration(f[0], s->mean_ns),
		   text_duration(f[1], s->typical_mean_ns));
	if (c->what == TIME_UNATTRIBUTED)
		return;
	buf_printf(out, "; %s of it is %s", text_duration(f[2], s->causes[0].more_ns),
		   time_class_title(c->what));
	if (c->where.name)
		buf_printf(out, " in %s %s:%u", c->where.name,
			   c->where.file ? text_file_name(c->where.file) : "", c->where.line);
	if (c->waited_for.name)
		buf_printf(out, ", for %s", c->waited_for.name);
}

static void write_gil(struct buf *out, const struct analysis *a, size_t columns)
{
	(void)columns;
	write_contention(out, a, &a->gil);
}

static void write_locks(struct buf *out, const struct analysis *a, size_t columns)
{
	(void)columns;
	write_contention(out, a, &a->locks);
}

static void write_loaders(struct buf *out, const struct analysis *a, size_t columns)
{
	(void)columns;
	terminal_loading(out, &a->torch);
}

static void write_compiler(struct buf *out, const struct analysis *a, size_t columns)
{
	(void)columns;
	terminal_compilation(out, &a->torch);
}

/* Many libraries come without names, and names of C++ may be longer than the line: then the library
 * itself is what can be said. */
static void write_native(struct buf *out, const struct analysis *a, size_t columns)
{
	char f[TEXT_FIGURE];
	struct buf item;

	buf_init(&item);
	for (size_t i = 0; i < a->native.library_count; i++) {
		const struct analysis_native_row *r = &a->native.libraries[i];
		size_t taken = text_width(buf_string(out)), whole;

		buf_printf(&item, "%s%s %s", i ? "" : "of all CPU time: ",
			   text_share(f, (double)r->samples, (double)a->native.samples),
			   r->library ? text_file_name(r->library) : "(unknown)");
		whole = item.len;
		if (r->symbol)
			buf_printf(&item, " (mostly %s)", r->symbol);
		if (taken + text_width(buf_string(&item)) + (taken ? 2 : 0) > columns)
			item.len = whole;
		if (!add_item(out, ", ", &item, columns))
			break;
	}
	buf_release(&item);
}

/* What may be wrong, the worst of it: else there is nothing to say here. */
static void write_warning(struct buf *out, const struct analysis *a, bool memory)
{
	const struct memory_warning *w = a->memory.warnings;

	if (a->memory.warning_count && memory_concern_is_memory(w->what) == memory)
		memory_text_warning(out, a, w);
}

static void write_memory(struct buf *out, const struct analysis *a, size_t columns)
{
	(void)columns;
	write_warning(out, a, true);
}

static void write_limits(struct buf *out, const struct analysis *a, size_t columns)
{
	(void)columns;
	write_warning(out, a, false);
}

static void write_gc(struct buf *out, const struct analysis *a, size_t columns)
{
	char f[3][TEXT_FIGURE];

	(void)columns;

	if (a->gc.count)
		buf_printf(out, "%" PRIu64 " collection%s, %s (%s of the wall time), longest %s",
			   a->gc.count, a->gc.count == 1 ? "" : "s",
			   text_duration(f[0], (double)a->gc.total_ns),
			   text_share(f[1], (double)a->gc.total_ns, (double)a->run.wall_ns),
			   text_duration(f[2], (double)a->gc.longest_ns));
}

/* A run without steps is judged by a part of it: where that is the smaller one, what became of the
 * rest is what its owner waits for. */
static void write_rest(struct buf *out, const struct analysis *a, size_t columns)
{
	const struct step_functions *s = &a->in_steps;
	int64_t judged_ns = s->until_ns - s->from_ns, rest_ns = a->run.wall_ns - judged_ns;
	char f[3][TEXT_FIGURE];

	(void)columns;
	if (!a->step_count || a->steps[0].source != STEP_WHOLE_RUN || judged_ns <= 0 ||
	    rest_ns <= judged_ns)
		return;
	buf_printf(out, "%s of %s before and after that", text_duration(f[0], (double)rest_ns),
		   text_duration(f[1], (double)a->run.wall_ns));
	if (s->importing_ns > 0)
		buf_printf(out, ", %s of it importing modules",
			   text_duration(f[2], (double)s->importing_ns));
}

/* In the order in which they are shown; the greater the weight, the longer it stays. */
static const struct {
	const char *label;
	void (*say)(struct buf *out, const struct analysis *a, size_t columns);
	unsigned weight;
	size_t lines; /* at most; 1: of a list of names what fits */
} facts[] = {
	{ "rest", write_rest, 16, 2 },
	{ "slow", write_slow, 15, 3 },
	{ "gpu", write_gpu, 15, 2 },
	{ "idle", write_idle, 14, IDLE_LINES },
	{ "kernels", write_kernels, 6, 1 },
	{ "copies", write_copies, 4, 2 },
	{ "line", write_line, 3, 1 },
	{ "waiting", write_waiting, 1, 2 },
	{ "gil", write_gil, 11, 3 },
	{ "locks", write_locks, 10, 3 },
	{ "loading", write_loaders, 13, 2 },
	{ "compile", write_compiler, 12, 3 },
	{ "native", write_native, 2, 1 },
	{ "memory", write_memory, 9, SENTENCE },
	{ "limits", write_limits, 8, SENTENCE },
	{ "gc", write_gc, 5, 2 },
};

#define FACTS (sizeof(facts) / sizeof(*facts))

/* Of those with something to say. */
static size_t least_important(const struct buf texts[FACTS])
{
	size_t least = FACTS;

	for (size_t i = 0; i < FACTS; i++)
		if (texts[i].len && (least == FACTS || facts[i].weight < facts[least].weight))
			least = i;
	return least;
}

/* That a fact takes. */
static size_t lines_of(size_t fact, struct buf *text, size_t columns)
{
	size_t lines = text->len ? text_wrapped_lines(buf_string(text), columns) : 0;

	return lines < facts[fact].lines ? lines : facts[fact].lines;
}

void terminal_facts(struct terminal *s, const struct analysis *a, size_t limit)
{
	size_t columns = s->width - LABEL, lines = 0;
	struct buf texts[FACTS];

	for (size_t i = 0; i < FACTS; i++) {
		buf_init(&texts[i]);
		facts[i].say(&texts[i], a, columns);
		lines += lines_of(i, &texts[i], columns);
		s->out.failed |= texts[i].failed;
	}
	while (lines > limit) {
		size_t least = least_important(texts);

		lines -= lines_of(least, &texts[least], columns);
		buf_clear(&texts[least]);
	}
	for (size_t i = 0; i < FACTS; i++) {
		if (texts[i].len)
			terminal_wrapped(s, facts[i].label, buf_string(&texts[i]), facts[i].lines,
					 NULL);
		buf_release(&texts[i]);
	}
}
