#include "analyze/cpu/sample_totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"
#include "timeline/code_owner.h"
#include "timeline/line_tables.h"

#define STANDARD_ERRORS 1.96

/* A function that reads and then parses waits less; of fewer samples nothing is concluded. */
#define WAITS_SHARE 0.95
#define WAITS_SAMPLES 20u

static struct sample_sums *sums_of(struct sample_totals *c, uint32_t code, uint32_t *function)
{
	size_t old = c->function_cap;

	*function = timeline_function_of(c->timeline, code);
	if (*function == UINT32_MAX) {
		c->failed = true;
		return NULL;
	}
	if (*function >= old) {
		struct sample_sums *grown = array_grow(c->functions, &c->function_cap,
						       (size_t)*function + 1, sizeof(*grown));

		if (!grown) {
			c->failed = true;
			return NULL;
		}
		memset(grown + old, 0, (c->function_cap - old) * sizeof(*grown));
		c->functions = grown;
	}
	return &c->functions[*function];
}

/* 0: unknown. */
static uint32_t line_of(struct sample_totals *c, uint32_t stack, const struct trace_frame *f)
{
	uint32_t line = idmap_find(&c->line_of, stack);
	const struct trace_code *code;
	const struct trace_lines *lines;

	if (line != IDMAP_NONE)
		return line;
	code = trace_code(c->trace, f->code);
	lines = trace_lines(c->trace, f->code);
	line = code && lines ? line_table_find(lines->python_minor, lines->table, lines->bytes,
					       code->line, f->offset)
			     : 0;
	if (idmap_put(&c->line_of, stack, line))
		c->failed = true;
	return line;
}

static void count_line(struct sample_totals *c, uint32_t function, uint32_t line,
		       const struct timed_sample *s)
{
	size_t at = pair_map_find(&c->line_at, function, line);
	struct sample_line *grown;

	if (at == PAIR_NONE) {
		grown = array_grow(c->lines, &c->line_cap, c->line_count + 1, sizeof(*grown));
		if (grown)
			c->lines = grown;
		if (!grown || pair_map_put(&c->line_at, function, line, c->line_count)) {
			c->failed = true;
			return;
		}
		at = c->line_count++;
		grown[at] = (struct sample_line){ .function = function, .line = line };
	}
	c->lines[at].samples += s->sample->count;
	c->lines[at].self_ns = stats_add(c->lines[at].self_ns, s->end_ns - s->start_ns);
}

static bool is_throttled(const struct sample_totals *c, uint32_t function)
{
	return function < c->traced_count && c->traced[function].throttled;
}

/* In the trace the time of what is omitted is in the innermost function that is not. */
static void count_throttled(struct sample_totals *c, const struct trace_frame *frames, size_t count,
			    const struct timed_sample *s)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t function;
		struct sample_sums *t = sums_of(c, frames[i].code, &function);

		if (!t)
			return;
		if (is_throttled(c, function))
			continue;
		if (i)
			t->folded += s->sample->count;
		break;
	}
}

static bool is_asleep(const struct sample *s)
{
	enum sample_state state = sample_state(s);

	return state == SAMPLE_LOCK_WAIT || state == SAMPLE_IO_WAIT || state == SAMPLE_OFF_CPU ||
	       state == SAMPLE_SLEEP;
}

static void count_sample(struct sample_totals *c, const struct timed_sample *s)
{
	int64_t time_ns = s->end_ns - s->start_ns;
	size_t count;
	const struct trace_frame *frames = trace_stack(c->trace, s->sample->stack, &count);

	if (!count)
		return;
	c->visited++;
	c->samples += s->sample->count;
	c->all_ns = stats_add(c->all_ns, time_ns);
	c->thread_ns[s->thread] = stats_add(c->thread_ns[s->thread], time_ns);
	if (s->sample->flags & SAMPLE_LEAF_UNSTABLE)
		c->unstable += s->sample->count;
	for (size_t i = 0; i < count && !c->failed; i++) {
		uint32_t function;
		struct sample_sums *t = sums_of(c, frames[i].code, &function);
		uint32_t line;

		if (!t)
			return;
		if (!i) {
			/* sums_of() zeroes what it adds. */
			/* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign) */
			t->self_samples += s->sample->count;
			t->self_ns = stats_add(t->self_ns, time_ns);
			if (is_asleep(s->sample))
				t->waiting_ns = stats_add(t->waiting_ns, time_ns);
			if (s->sample->flags & SAMPLE_LEAF_UNSTABLE)
				t->doubtful_ns = stats_add(t->doubtful_ns, time_ns);
			if (is_throttled(c, function)) {
				c->throttled_ns = stats_add(c->throttled_ns, time_ns);
				count_throttled(c, frames, count, s);
				t = &c->functions[function]; /* they may have moved */
			}
			line = line_of(c, s->sample->stack, &frames[0]);
			if (line)
				count_line(c, function, line, s);
		}
		/* Recursion; zeroed, as above. */
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
		if (t->met == c->visited)
			continue;
		t->met = c->visited;
		t->samples += s->sample->count;
		t->total_ns = stats_add(t->total_ns, time_ns);
	}
}

/* The part of it that lies in the interval, with as many of its samples. */
static void count_within(void *ctx, const struct timed_sample *s)
{
	struct sample_totals *c = ctx;
	struct sample part = *s->sample;
	struct timed_sample inside = { s->thread, &part, s->start_ns, s->end_ns };
	double whole_ns = (double)(s->end_ns - s->start_ns);

	if (inside.start_ns < c->within.from_ns)
		inside.start_ns = c->within.from_ns;
	if (inside.end_ns > c->within.until_ns)
		inside.end_ns = c->within.until_ns;
	if (inside.start_ns >= inside.end_ns)
		return;
	part.count = (uint32_t)((double)part.count *
					((double)(inside.end_ns - inside.start_ns) / whole_ns) +
				0.5);
	count_sample(c, &inside);
}

static void count_all(void *ctx, const struct timed_sample *s)
{
	count_sample(ctx, s);
}

int sample_totals_take(struct sample_totals *c, const struct trace *t, struct timeline *tl,
		       const struct sample_interval *within, const struct analysis_function *traced,
		       size_t traced_count, struct err *err)
{
	const struct sample_visitor visitor = { .ctx = c,
						.sample = within ? count_within : count_all };

	memset(c, 0, sizeof(*c));
	c->trace = t;
	c->timeline = tl;
	if (within)
		c->within = *within;
	c->traced = traced;
	c->traced_count = traced_count;
	pair_map_init(&c->line_at);
	idmap_init(&c->line_of);
	c->thread_ns = calloc(trace_thread_count(t) + 1, sizeof(*c->thread_ns));
	if (!c->thread_ns)
		return err_set(err, "out of memory");
	if (sample_walk(&c->walk, t, &visitor, err))
		return -1;
	c->traced = NULL; /* it is about to change */
	c->traced_count = 0;
	return c->failed ? err_set(err, "out of memory") : 0;
}

void sample_totals_release(struct sample_totals *c)
{
	free(c->functions);
	free(c->lines);
	free(c->thread_ns);
	pair_map_release(&c->line_at);
	idmap_release(&c->line_of);
	memset(c, 0, sizeof(*c));
}

bool sample_sums_wait(const struct sample_sums *s, const char *name, const char *file)
{
	return s->self_samples >= WAITS_SAMPLES &&
	       (double)s->waiting_ns > WAITS_SHARE * (double)s->self_ns && !user_frame(name, file);
}

int64_t sample_error_ns(const struct sample_totals *c, uint64_t samples)
{
	double n = (double)samples, all = (double)c->samples;
	double one_ns = c->samples ? (double)c->all_ns / all : 0;
	double error = c->samples && n < all ? STANDARD_ERRORS * sqrt(n * (1 - n / all)) : 0;

	return (int64_t)((error > 1 ? error : 1) * one_ns);
}
