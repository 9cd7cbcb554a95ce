#include "analyze/memory/memory_steps.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_busy.h"
#include "base/array.h"
#include "format/series.h"

/* CUDA_MEMORY_CALLS: it is another call. */
static enum cuda_memory_call kind_of(enum cuda_call what)
{
	switch (what) {
	case CUDA_CALL_ALLOC:
		return CUDA_MEMORY_ALLOC;
	case CUDA_CALL_FREE:
		return CUDA_MEMORY_FREE;
	case CUDA_CALL_HOST_ALLOC:
		return CUDA_MEMORY_HOST_ALLOC;
	case CUDA_CALL_HOST_FREE:
		return CUDA_MEMORY_HOST_FREE;
	default:
		return CUDA_MEMORY_CALLS;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct cuda_memory_event *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

int cuda_memory_calls_init(struct cuda_memory_calls *c, const struct gpu_timeline *g)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < gpu_call_count(g); i++) {
		const struct gpu_call *call = gpu_call(g, i);
		const struct gpu_api *api = gpu_call_api(g, call);
		enum cuda_memory_call what = kind_of(api->what);
		struct cuda_memory_event *grown;

		if (what == CUDA_MEMORY_CALLS)
			continue;
		grown = array_grow(c->items, &c->cap, c->count + 1, sizeof(*grown));
		if (!grown)
			return -1;
		c->items = grown;
		grown[c->count++] = (struct cuda_memory_event){
			.process = api->process,
			.what = what,
			.start_ns = call->start_ns,
			.length_ns = gpu_length(call->start_ns, call->end_ns),
			.bytes = api->bytes,
		};
	}
	if (c->count)
		qsort(c->items, c->count, sizeof(*c->items), by_time);
	return 0;
}

void cuda_memory_calls_release(struct cuda_memory_calls *c)
{
	free(c->items);
	memset(c, 0, sizeof(*c));
}

static size_t first_of(const struct cuda_memory_calls *c, uint32_t process)
{
	size_t at = 0;

	BISECT(at, c->count, c->items[at].process < process);
	return at;
}

void cuda_memory_calls_sum(const struct cuda_memory_calls *c, uint32_t process,
			   const struct series_span *spans, size_t n, struct cuda_memory *out)
{
	size_t at = 0;

	*out = (struct cuda_memory){ .known = true };
	for (size_t i = first_of(c, process); i < c->count; i++) {
		const struct cuda_memory_event *e = &c->items[i];
		struct cuda_memory_sum *sum = &out->calls[e->what];

		if (e->process != process)
			break;
		while (at < n && spans[at].end_ns <= e->start_ns)
			at++;
		if (at == n)
			break;
		if (spans[at].start_ns > e->start_ns)
			continue;
		sum->count++;
		sum->bytes += e->bytes;
		sum->ns = stats_add(sum->ns, e->length_ns);
	}
}

/*
 * The kernel adds up the resident memory of a process now and then: each thread may have so
 * many pages of its own account.
 */
#define RSS_ERROR_BYTES (64 * 4096.0)

/*
 * A fault maps a page of 4096 bytes, or up to 16 of a file; more than that is a huge page.  Seen
 * once it may be a buffer that is kept, seen again it is mapped anew.
 */
#define SMALL_FAULT_BYTES (16 * 4096.0)
#define HUGE_TIMES 2u

/* The steps of a series: of each when it lasted, and room for as many intervals. */
struct spans {
	struct series_span *steps; /* in order of their begin */
	struct series_span *room;
	size_t count;
};

static int spans_init(struct spans *s, const struct step_scope *series, size_t n, size_t skip)
{
	*s = (struct spans){
		.steps = calloc(n + 1, sizeof(*s->steps)),
		.room = calloc(n + 1, sizeof(*s->room)),
	};
	if (!s->steps || !s->room)
		return -1;
	for (size_t i = 0; i < n; i++) {
		const struct scope *scope = series[i].scope;

		if (!scope->ended || (skip && skip--))
			continue;
		s->steps[s->count++] = (struct series_span){
			scope->start_ns,
			scope->end_ns > scope->start_ns ? scope->end_ns : scope->start_ns,
		};
	}
	return 0;
}

static void spans_release(struct spans *s)
{
	free(s->steps);
	free(s->room);
}

/* Puts a step behind intervals that do not touch; returns how many they are then. */
static size_t join(struct series_span *intervals, size_t n, const struct series_span *step)
{
	struct series_span *last = n ? &intervals[n - 1] : NULL;

	if (!last || step->start_ns > last->end_ns) {
		intervals[n] = *step;
		return n + 1;
	}
	if (step->end_ns > last->end_ns)
		last->end_ns = step->end_ns;
	return n;
}

static bool seen(const struct series *s, const struct series_span *step)
{
	return step->start_ns >= series_first_ns(s) && step->end_ns <= series_last_ns(s);
}

/* Between the first reading and the last; what was before and is behind them is unknown. */
static void measure_total(const struct series *s, const struct spans *spans,
			  struct memory_per_step *out)
{
	size_t steps = 0, n = 0;
	struct series_rise rise;

	*out = (struct memory_per_step){ 0 };
	for (size_t i = 0; s && i < spans->count; i++) {
		if (!seen(s, &spans->steps[i]))
			continue;
		n = join(spans->room, n, &spans->steps[i]);
		steps++;
	}
	if (!steps)
		return;
	series_rise(s, spans->room, n, &rise);
	*out = (struct memory_per_step){
		.known = true,
		.mean = rise.sum / (double)steps,
		.least = rise.least / (double)steps,
		.most = rise.most / (double)steps,
	};
}

static int64_t most_threads(const struct series *s)
{
	int64_t most = 0;

	for (size_t i = 0; s && i < s->count; i++)
		if (s->values[i].value > most)
			most = s->values[i].value;
	return most;
}

double memory_rss_error(const struct series_table *st, uint32_t process)
{
	const struct series *s = series_find(st, process, SERIES_THREADS, 0);
	int64_t most = most_threads(s);

	return RSS_ERROR_BYTES * (double)(most > 1 ? most : 1);
}

/* As many values as there is something new in. */
static size_t value_count(const struct series *s, size_t units, int64_t start_ns, int64_t end_ns)
{
	size_t n = series_readings(s, start_ns, end_ns);

	if (n > units)
		n = units;
	return n < TREND_VALUES_MAX ? n : TREND_VALUES_MAX;
}

/* A value is the least of as many steps as make one: what is given back in between is no growth. */
static void measure_trend(const struct series *rss, const struct series_span *steps, size_t n,
			  int64_t end_ns, double error, struct trend *out)
{
	double x[TREND_VALUES_MAX], y[TREND_VALUES_MAX];
	size_t values = value_count(rss, n, steps[0].start_ns, end_ns);

	for (size_t i = 0; i < values; i++) {
		size_t first = n * i / values, next = n * (i + 1) / values;

		x[i] = (double)(first + next - 1) / 2;
		y[i] = series_least(rss, steps[first].start_ns,
				    next < n ? steps[next].start_ns : end_ns);
	}
	trend_judge(out, x, y, values, error);
}

static bool maps_huge_pages(const struct series *rss, const struct series *faults, double error,
			    int64_t start_ns, int64_t end_ns)
{
	unsigned times = 0;

	for (size_t i = 1; faults && i < rss->count; i++) {
		const struct series_value *a = &rss->values[i - 1], *b = &rss->values[i];
		double rise = (double)b->value - (double)a->value - error;

		if (a->time_ns < start_ns || b->time_ns > end_ns)
			continue;
		times += rise > SMALL_FAULT_BYTES * (series_at(faults, b->time_ns) -
						     series_at(faults, a->time_ns)) &&
			 rise > 0;
	}
	return times >= HUGE_TIMES;
}

/* What is taken and given back within a step is in no two readings of resident memory. */
#define HUGE_PART 0.25 /* of anonymous memory, at some time during the steps */

static bool has_huge_pages(const struct memory_sources *m, uint32_t process, int64_t start_ns,
			   int64_t end_ns)
{
	const struct series *huge = series_find(m->series, process, SERIES_HUGE_ANON, 0);
	const struct series *anon = series_find(m->series, process, SERIES_ANON, 0);

	for (size_t i = 0; huge && anon && i < huge->count; i++) {
		const struct series_value *v = &huge->values[i];

		if (v->time_ns >= start_ns && v->time_ns <= end_ns && v->value > 0 &&
		    (double)v->value >= HUGE_PART * series_at(anon, v->time_ns))
			return true;
	}
	return false;
}

static void measure_rss(const struct series *rss, const struct series *faults, double error,
			const struct spans *spans, struct memory_step_figures *out)
{
	int64_t end_ns = INT64_MIN;
	size_t n = 0;

	for (size_t i = 0; rss && i < spans->count; i++) {
		if (!seen(rss, &spans->steps[i]))
			continue;
		spans->room[n++] = spans->steps[i];
		if (spans->steps[i].end_ns > end_ns)
			end_ns = spans->steps[i].end_ns;
	}
	out->steps = n;
	if (!n)
		return;
	out->rss_growth_bytes =
		(series_at(rss, end_ns) - series_at(rss, spans->room[0].start_ns)) / (double)n;
	measure_trend(rss, spans->room, n, end_ns, error, &out->rss);
	out->huge_pages = maps_huge_pages(rss, faults, error, spans->room[0].start_ns, end_ns);
}

static void measure_cuda(const struct memory_sources *m, uint32_t process,
			 const struct spans *spans, struct memory_step_figures *out)
{
	const struct gpu_section *section = gpu_section_find(m->gpu, process);
	size_t n = 0;

	for (size_t i = 0; section && i < spans->count; i++) {
		const struct series_span *s = &spans->steps[i];

		if (gpu_paused_between(section, s->start_ns, s->end_ns))
			continue;
		n = join(spans->room, n, s);
		out->cuda_steps++;
	}
	if (n)
		cuda_memory_calls_sum(m->calls, process, spans->room, n, &out->cuda);
}

/* Of all processes: what one waits for another may be at. */
static void measure_cores(const struct memory_sources *m, uint32_t process,
			  const struct spans *spans, struct memory_step_figures *out)
{
	double covered_ns = 0, cpu_us = 0;
	size_t n = 0;

	for (size_t i = 0; i < spans->count; i++)
		n = join(spans->room, n, &spans->steps[i]);
	for (size_t i = 0; i < n; i++)
		covered_ns += (double)(spans->room[i].end_ns - spans->room[i].start_ns);
	for (size_t i = 0; i < m->series->count; i++) {
		const struct series *s = &m->series->items[i];
		struct series_rise rise;

		if (s->kind == SERIES_THREADS)
			out->threads += (double)most_threads(s);
		if (s->kind != SERIES_CPU_USER && s->kind != SERIES_CPU_SYSTEM)
			continue;
		series_rise(s, spans->room, n, &rise);
		cpu_us += rise.sum;
	}
	if (covered_ns <= 0 || !series_find(m->series, process, SERIES_CPU_USER, 0))
		return;
	out->cores_known = true;
	out->cores = cpu_us * 1e3 / covered_ns;
}

static void measure(const struct memory_sources *m, uint32_t process, const struct spans *spans,
		    struct memory_step_figures *out)
{
	const struct {
		enum series_kind kind;
		struct memory_per_step *figure;
	} totals[] = {
		{ SERIES_MINOR_FAULTS, &out->minor_faults },
		{ SERIES_MAJOR_FAULTS, &out->major_faults },
		{ SERIES_READ, &out->read_bytes },
		{ SERIES_WRITTEN, &out->written_bytes },
		{ SERIES_CPU_SYSTEM, &out->kernel_us },
	};

	*out = (struct memory_step_figures){ 0 };
	measure_rss(series_find(m->series, process, SERIES_RSS, 0),
		    series_find(m->series, process, SERIES_MINOR_FAULTS, 0),
		    memory_rss_error(m->series, process), spans, out);
	if (spans->count)
		out->huge_pages |= has_huge_pages(m, process, spans->steps[0].start_ns,
						  spans->steps[spans->count - 1].end_ns);
	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
		measure_total(series_find(m->series, process, totals[i].kind, 0), spans,
			      totals[i].figure);
	measure_cores(m, process, spans, out);
	measure_cuda(m, process, spans, out);
}

int memory_steps_measure(const struct memory_sources *m, const struct step_scope *series, size_t n,
			 size_t skip, struct memory_step_figures *out)
{
	uint32_t process = series[0].scope->process;
	struct spans spans;
	int rc;

	*out = (struct memory_step_figures){ 0 };
	if (!m->series->count && !gpu_section_find(m->gpu, process))
		return 0; /* there may be millions of steps */
	rc = spans_init(&spans, series, n, skip);
	if (!rc)
		measure(m, process, &spans, out);
	spans_release(&spans);
	return rc;
}

void memory_steps_measure_run(const struct memory_sources *m, uint32_t process, int64_t start_ns,
			      int64_t end_ns, struct memory_step_figures *out)
{
	const struct series *rss = series_find(m->series, process, SERIES_RSS, 0);
	struct series_span span = { start_ns, end_ns }, room;

	if (rss && series_first_ns(rss) > start_ns)
		span.start_ns = series_first_ns(rss);
	if (rss && series_last_ns(rss) < end_ns)
		span.end_ns = series_last_ns(rss);
	measure(m, process, &(struct spans){ &span, &room, rss && span.start_ns <= span.end_ns },
		out);
}

void memory_trend_over_time(const struct series *s, double error, struct trend *out)
{
	double x[TREND_VALUES_MAX], y[TREND_VALUES_MAX];
	int64_t start_ns = s ? series_first_ns(s) : 0;
	int64_t length_ns = s ? series_last_ns(s) - start_ns : 0;
	size_t n = s ? value_count(s, SIZE_MAX, start_ns, start_ns + length_ns) : 0;

	for (size_t i = 0; i < n; i++) {
		double from = (double)length_ns * (double)i / (double)n;
		double to = (double)length_ns * (double)(i + 1) / (double)n;

		x[i] = (from + to) / 2e9;
		y[i] = series_least(s, start_ns + (int64_t)from, start_ns + (int64_t)to);
	}
	trend_judge(out, x, y, n, error);
}
