/*
 * Host and device on one clock, one process at a time.
 *
 * The device's times are said to be host times already.  Causality tells how far
 * that can be trusted: to the time of an activity we may add a correction c with
 *
 *   c >= call.start - activity.start     it cannot begin before its call did
 *   c <= wait.end - activity.end         it cannot end after a wait for it did
 *
 * Where 0 is such a correction throughout, times stay as they are.  Else one line
 * c(t) is fitted and applied to all activities of the process; no event is ever
 * moved by itself.
 *
 * A few ends are wrong whatever the clock: CUPTI 13.0 says of a copy right before a graph's
 * first launch that it lasts until the second.  Work of a stream runs in order, so what
 * ends after a wait for it had ended when the next of its stream began, and is cut there.
 *
 * What was imported is moved as a whole or not at all: that tool had a clock of its own to merge,
 * and its durations and gaps are its user's to compare.
 *
 * What counts as a wait for an activity:
 *   - its own call, if that is a copy to the host that is not asynchronous or goes
 *     to pageable memory: such a call returns when the copy is done
 *   - the first device synchronisation begun after its call returned, in a process
 *     with one context
 *   - the first synchronisation with its stream, likewise; where it is not known
 *     which stream a synchronisation is for, only in a process that uses but one
 */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "timeline/cuda_decode.h"
#include "timeline/gpu_tables.h"
#include "timeline/pair_map.h"

#define WINDOW_CELL_NS 500000000 /* windows are two cells wide and move by one */
#define WINDOW_CELLS_MAX 4096u
#define FIT_ROUNDS 3        /* each searches the tightest bounds along the line before */
#define OUTLIER_SHARE 1000u /* one violation in so many pairs is a wrong pair, no wrong clock */
#define PLAUSIBLE_NS 1e17   /* a correction beyond three years is none */
#define APART_PPM 50        /* two quartzes, and not the drift that is known already */

/* The activities of a process that have times. */
struct merge {
	struct gpu_timeline *g;
	struct gpu_activity *activities;
	size_t count;
	int64_t *until_ns; /* of each: when it had ended at the latest; INT64_MAX: not known */
	const struct gpu_wait *waits;
	size_t wait_count;
	bool one_context, one_stream;
	bool rigid; /* another tool's: its times keep their distances, whatever is wrong with them
		     */
	int64_t origin_ns; /* the line's 0 */
	struct gpu_clock *clock;
};

static int compare_waits(const void *a, const void *b)
{
	const struct gpu_wait *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->all != y->all)
		return x->all ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static bool same_group(const struct gpu_wait *x, const struct gpu_wait *y)
{
	return x->process == y->process && x->all == y->all && x->stream == y->stream;
}

/*
 * Sorted into groups that wait for the same, by start; the end of each becomes
 * the earliest of those not begun before it, since that one bounds as well.
 */
static void waits_prepare(struct gpu_timeline *g)
{
	struct gpu_wait *w = g->waits;

	if (!g->wait_count)
		return;
	qsort(w, g->wait_count, sizeof(*w), compare_waits);
	for (size_t i = g->wait_count - 1; i > 0; i--)
		if (same_group(&w[i - 1], &w[i]) && w[i].end_ns < w[i - 1].end_ns)
			w[i - 1].end_ns = w[i].end_ns;
}

/* The first wait that does not come before `key`. */
static size_t wait_find(const struct gpu_wait *w, size_t n, const struct gpu_wait *key)
{
	size_t at = 0;

	BISECT(at, n, compare_waits(&w[at], key) < 0);
	return at;
}

static int64_t wait_end(const struct merge *m, bool all, uint32_t stream, int64_t from_ns)
{
	const struct gpu_wait key = {
		.process = m->clock->process,
		.all = all,
		.stream = stream,
		.start_ns = from_ns,
	};
	size_t at = wait_find(m->waits, m->wait_count, &key);

	return at < m->wait_count && same_group(&m->waits[at], &key) ? m->waits[at].end_ns
								     : INT64_MAX;
}

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t until_of(const struct merge *m, const struct gpu_activity *a)
{
	const struct gpu_call *c = a->linked ? gpu_call(m->g, a->link) : NULL;
	const struct gpu_work *w = gpu_activity_work(m->g, a);
	int64_t until_ns = INT64_MAX;

	if (!c || !c->ended)
		return until_ns;
	if (w->kind == GPU_COPY && w->copy == GPU_COPY_DEVICE_TO_HOST && !w->graph &&
	    (!w->asynchronous || w->destination == GPU_MEMORY_PAGEABLE))
		until_ns = c->end_ns;
	if (!m->one_context || !m->wait_count)
		return until_ns;
	until_ns = earlier(until_ns, wait_end(m, true, STREAM_UNKNOWN, c->end_ns));
	until_ns = earlier(until_ns, wait_end(m, false, w->stream, c->end_ns));
	if (m->one_stream)
		until_ns = earlier(until_ns, wait_end(m, false, STREAM_UNKNOWN, c->end_ns));
	return until_ns;
}

static bool has_lower(const struct gpu_activity *a)
{
	return a->linked;
}

static int64_t lower_of(const struct merge *m, const struct gpu_activity *a)
{
	return gpu_call(m->g, a->link)->start_ns - a->start_ns;
}

static void bounds_find(struct merge *m)
{
	for (size_t i = 0; i < m->count; i++) {
		m->until_ns[i] = until_of(m, &m->activities[i]);
		m->clock->pairs_below += has_lower(&m->activities[i]);
		m->clock->pairs_above += m->until_ns[i] != INT64_MAX;
	}
}

static int64_t corrected(const struct merge *m, const struct clock_line *l, int64_t t_ns)
{
	return t_ns + llround(clock_line_at(l, (double)(t_ns - m->origin_ns)));
}

static uint64_t count_violations(const struct merge *m, const struct clock_line *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->count; i++) {
		const struct gpu_activity *a = &m->activities[i];

		n += (has_lower(a) &&
		      corrected(m, l, a->start_ns) < gpu_call(m->g, a->link)->start_ns) ||
		     (m->until_ns[i] != INT64_MAX && corrected(m, l, a->end_ns) > m->until_ns[i]);
	}
	return n;
}

/* What is left of the bounds along a line, into cells. */
static void bounds_collect(const struct merge *m, const struct clock_line *l,
			   struct clock_cells *cells)
{
	for (size_t i = 0; i < m->count; i++) {
		const struct gpu_activity *a = &m->activities[i];
		double start = (double)(a->start_ns - m->origin_ns);
		double end = (double)(a->end_ns - m->origin_ns);

		if (has_lower(a) && fabs((double)lower_of(m, a)) < PLAUSIBLE_NS)
			clock_cells_at_least(cells, start,
					     (double)lower_of(m, a) - clock_line_at(l, start));
		if (m->until_ns[i] != INT64_MAX &&
		    fabs((double)m->until_ns[i] - (double)a->end_ns) < PLAUSIBLE_NS)
			clock_cells_at_most(cells, end,
					    (double)(m->until_ns[i] - a->end_ns) -
						    clock_line_at(l, end));
	}
}

static double span_of(const struct merge *m)
{
	return (double)m->activities[m->count - 1].start_ns - (double)m->activities[0].start_ns;
}

static struct clock_line fit(const struct merge *m, struct clock_cells *cells, bool trusting)
{
	struct clock_line line = { 0, 0 };

	for (int i = 0; i < FIT_ROUNDS; i++) {
		struct clock_line more;

		clock_cells_init(cells, span_of(m), trusting);
		bounds_collect(m, &line, cells);
		more = clock_cells_fit(cells);
		line.offset_ns += more.offset_ns;
		line.slope += more.slope;
	}
	return line;
}

/* First as if every pair were right; if that does not explain them all, with some wrong ones. */
static int correct(struct merge *m)
{
	struct gpu_clock *clock = m->clock;
	struct clock_cells *cells = malloc(sizeof(*cells));
	struct clock_line best = { 0, 0 };

	if (!cells)
		return -1;
	for (int trusting = 1; trusting >= 0 && clock->violations_after; trusting--) {
		struct clock_line line = fit(m, cells, trusting);
		uint64_t violations;

		if (m->rigid)
			line.slope = 0;
		violations = count_violations(m, &line);

		/* A line that leaves half of them unexplained is not what happened to the clock. */
		if (violations < clock->violations_after &&
		    violations <= clock->violations_before / 2) {
			clock->violations_after = violations;
			clock->corrected = true;
			best = line;
		}
	}
	free(cells);
	for (size_t i = 0; i < m->count && clock->corrected; i++) {
		struct gpu_activity *a = &m->activities[i];

		a->start_ns = corrected(m, &best, a->start_ns);
		a->end_ns = corrected(m, &best, a->end_ns);
	}
	clock->offset_ns = best.offset_ns;
	clock->drift_ppm = best.slope * 1e6;
	return 0;
}

/* Few violations are wrong pairs; many mean that the times are wrong, and are the bound. */
static bool are_few(const struct gpu_clock *c)
{
	return c->violations_after * OUTLIER_SHARE <= c->pairs_below + c->pairs_above;
}

/* From the last to the first, so that of each stream the next activity is known. */
static int cut_ends(struct merge *m)
{
	struct pair_map next; /* (context, stream): position */
	int rc = 0;

	pair_map_init(&next);
	for (size_t i = m->count; i > 0 && !rc; i--) {
		struct gpu_activity *a = &m->activities[i - 1];
		const struct gpu_work *w = gpu_activity_work(m->g, a);
		size_t behind = pair_map_find(&next, w->context, w->stream);
		int64_t next_ns = behind == PAIR_NONE ? INT64_MAX : m->activities[behind].start_ns;

		rc = pair_map_put(&next, w->context, w->stream, i - 1);
		if (m->until_ns[i - 1] == INT64_MAX || a->end_ns <= m->until_ns[i - 1] ||
		    next_ns > m->until_ns[i - 1])
			continue;
		a->end_ns = next_ns;
		m->clock->cut++;
	}
	pair_map_release(&next);
	m->clock->violations_after -= m->clock->cut;
	return rc;
}

/* The tightest bounds of each cell of time; INT64_MIN and INT64_MAX where there are none. */
struct windows {
	size_t count;
	int64_t cell_ns;
	double slope; /* of the line that the bounds are taken along */
	int64_t low[WINDOW_CELLS_MAX], high[WINDOW_CELLS_MAX];
	bool used[WINDOW_CELLS_MAX]; /* there are activities whose times could be wrong */
};

static size_t window_cell(const struct windows *w, int64_t t_ns)
{
	int64_t at = t_ns / w->cell_ns;

	if (at < 0)
		return 0;
	return (size_t)at < w->count ? (size_t)at : w->count - 1;
}

static void windows_fill(const struct merge *m, struct windows *w)
{
	bool sift = are_few(m->clock);
	int64_t first_ns = m->activities[0].start_ns;
	int64_t span_ns = m->activities[m->count - 1].start_ns - first_ns;

	w->cell_ns = span_ns / WINDOW_CELLS_MAX + 1;
	if (w->cell_ns < WINDOW_CELL_NS)
		w->cell_ns = WINDOW_CELL_NS;
	w->count = (size_t)(span_ns / w->cell_ns) + 1;
	for (size_t i = 0; i < w->count; i++) {
		w->low[i] = INT64_MIN;
		w->high[i] = INT64_MAX;
		w->used[i] = false;
	}
	for (size_t i = 0; i < m->count; i++) {
		const struct gpu_activity *a = &m->activities[i];
		size_t at = window_cell(w, a->start_ns - first_ns);

		int64_t along_ns = llround(w->slope * (double)(a->start_ns - first_ns));

		w->used[at] = true;
		if (has_lower(a) && lower_of(m, a) - along_ns > w->low[at] &&
		    !(sift && lower_of(m, a) > 0))
			w->low[at] = lower_of(m, a) - along_ns;
		if (m->until_ns[i] != INT64_MAX &&
		    m->until_ns[i] - a->end_ns - along_ns < w->high[at] &&
		    !(sift && m->until_ns[i] < a->end_ns))
			w->high[at] = m->until_ns[i] - a->end_ns - along_ns;
	}
}

/* What a bound says of its neighbour's time: clocks that run apart make it wider. */
static int64_t carried(int64_t bound, const struct windows *w, int64_t none)
{
	int64_t apart = w->cell_ns / 1000000 * APART_PPM;

	if (bound == none)
		return none;
	return none == INT64_MIN ? bound - apart : bound + apart;
}

static void tighten(int64_t *bound, int64_t other, int64_t none)
{
	*bound = none == INT64_MIN ? later(*bound, other) : earlier(*bound, other);
}

/*
 * A queue that is never empty has no tight pair for seconds, and needs none where there are some
 * before or after.  Forth and back.
 */
static void bounds_carry(int64_t *bounds, const struct windows *w, int64_t none)
{
	for (size_t i = 1; i < w->count; i++)
		tighten(&bounds[i], carried(bounds[i - 1], w, none), none);
	for (size_t i = w->count; i > 1; i--)
		tighten(&bounds[i - 2], carried(bounds[i - 1], w, none), none);
}

static void errors_set(struct gpu_clock *c, const struct windows *w)
{
	for (size_t i = 0; i < w->count; i++) {
		size_t next = i + 1 < w->count ? i + 1 : i;
		int64_t low = w->low[i] > w->low[next] ? w->low[i] : w->low[next];
		int64_t high = earlier(w->high[i], w->high[next]);
		int64_t half;

		if (!w->used[i])
			continue;
		if (low == INT64_MIN || high == INT64_MAX) {
			c->error_ns = c->farthest_ns = -1;
			return;
		}
		half = llabs(high / 2 - low / 2);
		if (half > c->error_ns)
			c->error_ns = half;
		for (size_t edge = i; edge <= next + 1; edge++) {
			int64_t along_ns = llround(w->slope * (double)edge * (double)w->cell_ns);

			c->farthest_ns = later(c->farthest_ns, llabs(low + along_ns));
			c->farthest_ns = later(c->farthest_ns, llabs(high + along_ns));
		}
	}
}

/* A drift too small to break causality still makes bounds of different times appear close. */
static double remaining_slope(const struct merge *m, struct clock_cells *cells)
{
	const struct clock_line none = { 0, 0 };

	clock_cells_init(cells, span_of(m), !m->clock->violations_after);
	bounds_collect(m, &none, cells);
	return clock_cells_fit(cells).slope;
}

static int measure(struct merge *m)
{
	struct clock_cells *cells = malloc(sizeof(*cells));
	struct windows *w = malloc(sizeof(*w));
	int rc = cells && w ? 0 : -1;

	if (!rc) {
		w->slope = remaining_slope(m, cells);
		windows_fill(m, w);
		bounds_carry(w->low, w, INT64_MIN);
		bounds_carry(w->high, w, INT64_MAX);
		errors_set(m->clock, w);
	}
	free(w);
	free(cells);
	return rc;
}

/* The run of waits that belong to a process; they are sorted by it. */
static void waits_of(struct merge *m, uint32_t process)
{
	const struct gpu_wait first = { .process = process, .all = true, .start_ns = INT64_MIN };
	size_t at = wait_find(m->g->waits, m->g->wait_count, &first);

	if (at == m->g->wait_count)
		return;
	m->waits = m->g->waits + at;
	for (; at + m->wait_count < m->g->wait_count; m->wait_count++)
		if (m->waits[m->wait_count].process != process)
			break;
}

static void count_contexts(struct merge *m)
{
	const struct gpu_work *first = gpu_activity_work(m->g, &m->activities[0]);

	m->one_context = m->one_stream = true;
	for (size_t i = 1; i < m->count; i++) {
		const struct gpu_work *w = gpu_activity_work(m->g, &m->activities[i]);

		m->one_context &= w->context == first->context;
		m->one_stream &= w->stream == first->stream;
	}
}

static uint32_t process_at(const struct gpu_timeline *g, size_t i)
{
	return gpu_activity_work(g, gpu_activity(g, i))->process;
}

/* m: what all processes share, the rest is set here. */
static int merge_process(struct merge m, size_t first, size_t count)
{
	struct gpu_timeline *g = m.g;
	struct clock_line none = { 0, 0 };

	m.clock = array_grow(g->clocks, &g->clock_cap, g->clock_count + 1, sizeof(*m.clock));
	if (!m.clock)
		return -1;
	g->clocks = m.clock;
	m.clock = &g->clocks[g->clock_count++];
	*m.clock = (struct gpu_clock){ .process = process_at(g, first) };
	while (count && !gpu_activity(g, first)->timed) {
		first++;
		count--;
	}
	m.activities = g->lists.activities + first;
	m.count = count;
	if (!count) {
		m.clock->error_ns = m.clock->farthest_ns = -1;
		return 0;
	}
	m.origin_ns = m.activities[0].start_ns;
	waits_of(&m, m.clock->process);
	count_contexts(&m);
	bounds_find(&m);
	m.clock->violations_before = m.clock->violations_after = count_violations(&m, &none);
	if (m.clock->violations_before && correct(&m))
		return -1;
	if (m.clock->violations_after && !m.rigid && are_few(m.clock) && cut_ends(&m))
		return -1;
	return measure(&m);
}

int gpu_clock_merge(struct gpu_timeline *g)
{
	struct merge m = { .g = g, .rigid = trace_info(g->trace, "import.format", 0) != NULL };
	size_t n = gpu_activity_count(g), i = 0;
	int rc;

	m.until_ns = malloc((n + 1) * sizeof(*m.until_ns));
	rc = m.until_ns ? 0 : -1;
	waits_prepare(g);
	while (i < n && !rc) {
		size_t end = i + 1;

		while (end < n && process_at(g, end) == process_at(g, i))
			end++;
		rc = merge_process(m, i, end - i);
		i = end;
	}
	free(m.until_ns);
	free(g->waits);
	g->waits = NULL;
	g->wait_count = g->wait_cap = 0;
	return rc;
}
