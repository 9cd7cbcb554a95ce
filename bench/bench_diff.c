/* links: is_compare is_rules is_report is_analyze is_timeline is_format is_base */
/*
 * How often `inferscope diff` is wrong: false alarms between runs of the same program, and planted
 * regressions that it detects.
 *
 *   bench_diff                                     runs that are made up (seeded)
 *   bench_diff LABEL TRACE... [vs PCT TRACE...]... [-- LABEL ...]
 *                                                  traces of one program, which differ by chance
 *                                                  alone; of it with a step that takes PCT more
 *
 * For each number of traces per side: all pairs, or 5000 draws of different runs.  A regression is
 * planted by making the steps of one side longer, so that noise is that of the runs; `vs` has
 * those of a program that really does more.  Prints "name value unit" lines (bench/README.md).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "compare/step_test.h"

#define DRAWS 5000u
#define SPREAD 0.02 /* the default of --run-spread */
#define NORMAL_95 1.96

static const double planted[] = { 0, 0.03, 0.05, 0.10, 0.20 };
static const size_t sides[] = { 1, 3, 5 };

#define PLANTED (sizeof(planted) / sizeof(*planted))

/* A run without what it costs to measure it again: a longer step only moves its level. */
struct run {
	struct run_level level;
	double mean, error; /* of its steps, were they independent */
};

struct runs {
	struct run *items;
	size_t count;
};

static uint64_t state = 20261119;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) * 0x1p-53;
}

static double normal(void)
{
	double r = sqrt(-2 * log(1 - uniform()));

	return r * cos(2 * M_PI * uniform());
}

static void die(const char *what)
{
	fprintf(stderr, "bench_diff: %s\n", what);
	exit(1);
}

static void add_run(struct runs *r, const struct step_series *s)
{
	struct run *run;
	double sum = 0, squares = 0;

	r->items = realloc(r->items, (r->count + 1) * sizeof(*r->items));
	if (!r->items)
		die("out of memory");
	run = &r->items[r->count++];
	if (run_level_measure(&run->level, s, STATISTIC_MEDIAN))
		die("out of memory");
	for (size_t i = 0; i < s->count; i++) {
		double x = log((double)s->ns[i]);

		sum += x;
		squares += x * x;
	}
	run->mean = sum / (double)s->count;
	run->error = sqrt((squares / (double)s->count - run->mean * run->mean) / (double)s->count);
}

/* Runs of one program with a spread between them, slow noise, correlated steps and outliers. */
static void make_up(struct runs *r, size_t runs, size_t steps, double spread)
{
	int64_t *ns = malloc(steps * sizeof(*ns));

	if (!ns)
		die("out of memory");
	for (size_t i = 0; i < runs; i++) {
		const struct step_series series = { ns, steps, 0 };
		double level = log(5e6) + spread * normal(), fast = 0, slow = 0;

		for (size_t k = 0; k < steps; k++) {
			double x;

			fast = 0.9 * fast + 0.02 * normal();
			slow = 0.999 * slow + 0.0005 * normal();
			x = level + fast + slow + 0.01 * normal();
			if (uniform() < 0.02)
				x += fabs(normal());
			ns[k] = (int64_t)exp(x);
		}
		add_run(r, &series);
	}
	free(ns);
}

static void read_trace(struct runs *r, const char *path)
{
	struct trace *t;
	struct analysis *a;
	struct err err;
	double queued = 0, ran = 0;

	if (trace_open(&t, path, &err) || analysis_new(&a, t, &err))
		die(err.text);
	for (size_t i = 0; i < a->thread_count; i++) {
		queued += (double)a->threads[i].queued_ns;
		ran += (double)a->threads[i].on_cpu_ns;
	}
	if (a->steps[0].item_count) {
		const struct step_item *items = a->step_items.items + a->steps[0].first_item;
		size_t n = a->steps[0].item_count;
		int64_t *ns = malloc(n * sizeof(*ns));
		const struct step_series s = { ns, n, queued > 0 ? queued / (queued + ran) : 0 };

		if (!ns)
			die("out of memory");
		for (size_t k = 0; k < n; k++)
			ns[k] = items[k].end_ns - items[k].start_ns;
		add_run(r, &s);
		free(ns);
	}
	analysis_free(a);
	trace_close(t);
}

/* `n` of the runs behind the first `from`, each once, to the front of those. */
static void draw(struct run *items, size_t from, size_t count, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t with = from + i + (size_t)(uniform() * (double)(count - from - i));
		struct run chosen = items[with];

		items[with] = items[from + i];
		items[from + i] = chosen;
	}
}

struct score {
	size_t comparisons, slower, faster, naive;
};

static void compare(struct score *s, const struct run *before, const struct run *after, size_t n,
		    double longer)
{
	struct run_level first[8], second[8];
	struct step_change change;

	for (size_t i = 0; i < n; i++) {
		first[i] = before[i].level;
		second[i] = after[i].level;
		second[i].level += log1p(longer);
	}
	if (step_change_test(&change, first, n, second, n, SPREAD))
		die("out of memory");
	s->comparisons++;
	s->slower += change.significant && change.ratio > 0;
	s->faster += change.significant && change.ratio < 0;
	s->naive += fabs(after->mean + log1p(longer) - before->mean) >
		    NORMAL_95 * hypot(before->error, after->error);
}

/* Sides of n traces: of one set of runs, or of two. */
static struct score score_of(const struct runs *before, const struct runs *after, size_t n,
			     double longer)
{
	struct score s = { 0 };

	if (n == 1) {
		for (size_t i = 0; i < before->count; i++)
			for (size_t k = after == before ? i + 1 : 0; k < after->count; k++)
				compare(&s, &before->items[i], &after->items[k], 1, longer);
		return s;
	}
	for (size_t i = 0; i < DRAWS; i++) {
		draw(before->items, 0, before->count, after == before ? 2 * n : n);
		if (after != before)
			draw(after->items, 0, after->count, n);
		compare(&s, before->items, after->items + (after == before ? n : 0), n, longer);
	}
	return s;
}

static double percent(size_t part, size_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

static void print_spread(const char *label, const struct runs *r)
{
	double mean = 0, sum = 0;

	for (size_t i = 0; i < r->count; i++)
		mean += r->items[i].level.level / (double)r->count;
	for (size_t i = 0; i < r->count; i++)
		sum += pow(r->items[i].level.level - mean, 2);
	printf("diff.%s.runs %zu runs\n", label, r->count);
	printf("diff.%s.spread %.2f %%\n", label, 100 * sqrt(sum / (double)(r->count - 1)));
}

static void study(const char *label, const struct runs *r)
{
	print_spread(label, r);
	for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
		size_t n = sides[i];

		if (r->count < 2 * n + 2)
			continue;
		for (size_t k = 0; k < PLANTED; k++) {
			struct score s = score_of(r, r, n, planted[k]);

			if (planted[k] > 0) {
				printf("diff.%s.%zu.detected_%.0f %.1f %%\n", label, n,
				       100 * planted[k], percent(s.slower, s.comparisons));
				continue;
			}
			printf("diff.%s.%zu.false_alarms %.1f %% <= 5\n", label, n,
			       percent(s.slower + s.faster, s.comparisons));
			if (n == 1)
				printf("diff.%s.%zu.steps_as_independent %.1f %%\n", label, n,
				       percent(s.naive, s.comparisons));
		}
	}
}

static void study_real(const char *label, const struct runs *before, const struct runs *after,
		       const char *longer)
{
	for (size_t i = 0; i < sizeof(sides) / sizeof(*sides); i++) {
		size_t n = sides[i];
		struct score s;

		if (before->count < 2 * n || after->count < n)
			continue;
		s = score_of(before, after, n, 0);
		printf("diff.%s.%zu.detected_real_%s %.1f %%\n", label, n, longer,
		       percent(s.slower, s.comparisons));
	}
}

static void read_all(struct runs *r, char ***words)
{
	for (; **words && strcmp(**words, "vs") != 0 && strcmp(**words, "--") != 0; ++*words)
		read_trace(r, **words);
	if (r->count < 4)
		die("at least four traces with steps are needed");
}

static void study_traces(char **words)
{
	while (*words) {
		const char *label = *words++;
		struct runs before = { 0 };

		read_all(&before, &words);
		study(label, &before);
		while (*words && !strcmp(*words, "vs") && words[1]) {
			const char *longer = words[1];
			struct runs after = { 0 };

			words += 2;
			read_all(&after, &words);
			study_real(label, &before, &after, longer);
			free(after.items);
		}
		free(before.items);
		if (*words)
			words++;
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *label;
		size_t steps;
		double spread;
	} made_up[] = {
		{ "quiet_50_steps", 50, 0.005 },       { "quiet_1000_steps", 1000, 0.005 },
		{ "spread_2_50_steps", 50, 0.02 },     { "spread_2_1000_steps", 1000, 0.02 },
		{ "spread_3_1000_steps", 1000, 0.03 },
	};

	if (argc > 1) {
		study_traces(argv + 1);
		return 0;
	}
	for (size_t i = 0; i < sizeof(made_up) / sizeof(*made_up); i++) {
		struct runs r = { 0 };

		make_up(&r, 200, made_up[i].steps, made_up[i].spread);
		study(made_up[i].label, &r);
		free(r.items);
	}
	return 0;
}
