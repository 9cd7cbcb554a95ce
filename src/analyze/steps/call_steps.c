#include "analyze/steps/call_steps.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"

/* A pause that is longer than so many usual ones, and than a part of a call, ends a loop. */
#define LONG_TIMES 5
#define LONG_PART 0.5
/*
 * Unless such pauses are a part of the loop: of a fifth of all (batches that come in pairs), or of
 * more than a few, or of no more time than the thread waited for a CPU, if the loop is at work for
 * most of its time (a machine that is busy).
 */
#define MANY_PAUSES 0.2
#define SOME_PAUSES 0.02
#define MOST_TIME 0.5

static int by_series(const void *a, const void *b)
{
	const struct scope *x = ((const struct step_scope *)a)->scope;
	const struct scope *y = ((const struct step_scope *)b)->scope;
	int order = compare_texts(x->name, y->name);

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (order)
		return order;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x < y ? -1 : x > y; /* they lie in one array */
}

static bool same_series(const struct scope *x, const struct scope *y)
{
	return x->thread == y->thread && !compare_texts(x->name, y->name);
}

/* Sorted; of a series that lasts so long. */
static bool has_long_rests(const int64_t *rests, size_t m, int64_t longest_ns, double series_ns,
			   double queued_share)
{
	double long_ns = 0;
	size_t n = 0;

	for (; n < m && rests[m - 1 - n] > longest_ns; n++)
		long_ns += (double)rests[m - 1 - n];
	return (double)n >= MANY_PAUSES * (double)m ||
	       (((double)n > SOME_PAUSES * (double)m || long_ns <= queued_share * series_ns) &&
		long_ns < (1 - MOST_TIME) * series_ns);
}

/* Up to the next of them, in order of time; the usual one, which is also its limit. */
static int64_t usual_rest(const struct step_scope *s, size_t n, double queued_share, int64_t *room,
			  int64_t *longest_ns)
{
	int64_t rest_ns, call_ns;
	size_t m = 0;

	for (size_t i = 0; i < n; i++)
		room[i] = s[i].scope->end_ns - s[i].scope->start_ns;
	stats_sort(room, n);
	call_ns = stats_percentile(room, n, 0.5);
	for (size_t i = 0; i + 1 < n; i++)
		room[m++] = s[i + 1].scope->start_ns - s[i].scope->end_ns;
	if (!m)
		return *longest_ns = 0;
	stats_sort(room, m);
	rest_ns = stats_percentile(room, m, 0.5);
	*longest_ns = (int64_t)(LONG_TIMES * (double)rest_ns + LONG_PART * (double)call_ns);
	if (has_long_rests(room, m, *longest_ns,
			   (double)s[n - 1].scope->end_ns - (double)s[0].scope->start_ns,
			   queued_share))
		*longest_ns = room[m - 1];
	return rest_ns > 0 ? rest_ns : 0;
}

/* Of the time that the thread lived; 0: not known. */
static double queued_share_of(const struct analysis *a, uint32_t thread)
{
	const struct analysis_thread *t = thread < a->thread_count ? &a->threads[thread] : NULL;

	return t && t->timed && t->end_ns > t->start_ns
		       ? (double)t->queued_ns / ((double)t->end_ns - (double)t->start_ns)
		       : 0;
}

static void add_series(const struct analysis *a, const struct step_scope *s, size_t n,
		       size_t prefix, int64_t *room, struct found_steps *out)
{
	int64_t longest_ns, rest_ns = usual_rest(s, n, queued_share_of(a, s[0].scope->thread), room,
						 &longest_ns);

	for (size_t i = 0; i < n; i++) {
		struct scope step = *s[i].scope;
		int64_t next_ns = i + 1 < n ? s[i + 1].scope->start_ns : INT64_MAX;

		step.name += prefix;
		step.parent = SCOPE_NONE;
		step.depth = 0;
		step.args = step.end_args = NULL;
		step.args_bytes = step.end_args_bytes = 0;
		if (next_ns >= step.end_ns && next_ns <= step.end_ns + longest_ns)
			step.end_ns = next_ns;
		else if (step.end_ns + rest_ns < next_ns)
			step.end_ns += rest_ns;
		out->items[out->count++] = step;
	}
}

int call_steps_find(const struct analysis *a, struct step_scope *scopes, size_t n, size_t prefix,
		    struct found_steps *out)
{
	int64_t *room = calloc(n + 1, sizeof(*room));
	size_t ended = 0;

	memset(out, 0, sizeof(*out));
	out->items = calloc(n + 1, sizeof(*out->items));
	out->by_layer = true;
	if (!room || !out->items) {
		free(room);
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		if (scopes[i].scope->ended)
			scopes[ended++] = scopes[i];
	}
	n = ended;
	qsort(scopes, n, sizeof(*scopes), by_series);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && same_series(scopes[i].scope, scopes[next].scope);)
			next++;
		add_series(a, scopes + i, next - i, prefix, room, out);
	}
	free(room);
	return 0;
}
