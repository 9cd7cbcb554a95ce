/* Which candidate leads, which are shown, and why. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/classes/code_kind.h"
#include "analyze/figures/stats.h"
#include "analyze/steps/step_candidates.h"
#include "analyze/steps/step_figures.h"
#include "base/buf.h"

#define OUTER_COUNT 5    /* of a loop around steps: fewer are too few to be the steps */
#define MATTERS 0.1      /* of the time: less is no step's */
#define INSIDE 0.9       /* of a candidate's scopes: then it lies inside another */
#define LEVEL_TIMES 2    /* so many times in each outer step, and it is a level of its own; */
#define ONCE_WITHIN 0.02 /* ... or once in each */

static const struct {
	double points; /* marks are certain; the less a generator knows, the fewer */
	const char *found_by, *is;
} generators[] = {
	[BY_MARKS] = { 100, "marks", "scopes and NVTX ranges that the program marks" },
	[BY_REQUESTS] = { 90, "requests",
			  "requests, from the start of the server's handler until it returns" },
	[BY_MODELS] = { 70, "models",
			"units that repeat around the calls of models; a step lasts until the next "
			"one begins or, if a library calls the function, until it returns" },
	[BY_RUNS] = { 70, "model calls",
		      "units that repeat around the calls of models; a step lasts until the next "
		      "one begins or, if a library calls the function, until it returns" },
	[BY_WORK_ITEMS] = { 60, "work items", "work items of a pool or queue, from start to end" },
	[BY_LIBRARY_CALLS] = { 65, "library calls",
			       "calls of a library function that runs models; each lasts until the "
			       "next one begins" },
	[BY_MODEL_CALLS] = { 62, "model calls",
			     "the outermost calls of a model; each lasts until the next one "
			     "begins" },
	[BY_WAITS] = { 50, "GPU waits", "units that repeat around the waits for the GPU" },
	[BY_LAUNCHES] = { 45, "GPU launches", "units that repeat around launches of GPU work" },
	[BY_CALLS] = { 40, "calls",
		       "the iterations of the loop that takes most of the time; the program calls "
		       "no known model" },
	[BY_NATIVE_CALLS] = { 35, "native calls",
			      "calls of a native function by the program's own code; each lasts "
			      "until the next one begins" },
	[BY_RANGES_INSIDE_CALLS] = { 10, "ranges inside calls",
				     "NVTX ranges that native code begins and ends" },
};

#define WITHOUT_BURSTS 35 /* of library and model calls: loops around them are known as well */
#define PARTIAL_POINTS -500
#define TIME_POINTS 9.9       /* for all of the time that the longest of its kind takes */
#define SUPPLIER_POINTS -1000 /* what supplies others never leads before them */

static bool is_supplier(const struct step_candidate *c)
{
	return c->role == ROLE_LOADS || c->role == ROLE_POOLED;
}

static double points_of(const struct step_candidate *c)
{
	if (!c->bursts && (c->by == BY_LIBRARY_CALLS || c->by == BY_MODEL_CALLS))
		return WITHOUT_BURSTS;
	return generators[c->by].points;
}

static int by_tier(const struct step_candidate *x, const struct step_candidate *y)
{
	double a = points_of(x), b = points_of(y);

	if (is_supplier(x) != is_supplier(y) && x->by != BY_MARKS && y->by != BY_MARKS)
		return is_supplier(x) ? 1 : -1;
	if (x->minor != y->minor)
		return x->minor ? 1 : -1;
	if (x->partial != y->partial)
		return x->partial ? 1 : -1;
	if (a != b)
		return a > b ? -1 : 1;
	if (is_supplier(x) != is_supplier(y))
		return is_supplier(x) ? 1 : -1;
	if ((x->role == ROLE_OWNS) != (y->role == ROLE_OWNS))
		return x->role == ROLE_OWNS ? -1 : 1;
	return 0;
}

static int most_important_first(const void *a, const void *b)
{
	const struct step_candidate *p = a, *q = b;
	const struct analysis_step *x = &p->step, *y = &q->step;
	int order = by_tier(p, q);

	if (order)
		return order;
	if (x->has_steps != y->has_steps)
		return x->has_steps ? 1 : -1;
	if (x->depth != y->depth && x->source != STEP_LOOP)
		return x->depth < y->depth ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if ((x->count > 1) != (y->count > 1)) /* what is done once is no step beside what repeats */
		return x->count > 1 ? -1 : 1;
	if (step_figures_steady_ns(x) != step_figures_steady_ns(y))
		return step_figures_steady_ns(x) > step_figures_steady_ns(y) ? -1 : 1;
	order = strcmp(x->name, y->name);
	if (!order)
		order = compare_texts(x->domain, y->domain);
	return order ? order : x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void bring_to_front(struct step_candidates *c, size_t i)
{
	struct step_candidate first = c->items[i];

	memmove(&c->items[1], &c->items[0], i * sizeof(*c->items));
	c->items[0] = first;
}

static bool is_around(const struct step_candidate *outer, const struct step_candidate *inner)
{
	return outer->step.has_steps && outer->step.pid == inner->step.pid &&
	       outer->step.depth < inner->step.depth && !by_tier(outer, inner);
}

/* What repeats inside a library's pipeline is no step of the user's: the next one around it is. */
static void prefer_users(struct step_candidates *c)
{
	size_t best = 0;

	if (!c->count || !c->items[0].step.piped)
		return;
	for (size_t i = 1; i < c->count; i++) {
		const struct analysis_step *s = &c->items[i].step;

		if (is_around(&c->items[i], &c->items[0]) && !s->piped &&
		    s->total_ns >= c->items[0].step.total_ns &&
		    (!best || s->depth > c->items[best].step.depth))
			best = i;
	}
	if (best)
		bring_to_front(c, best);
}

/*
 * Of loops inside loops the innermost is the step, unless a tenth or more of the time of the
 * one around it is outside of it: what happens there belongs to a step as well.
 */
static void prefer_outer(struct step_candidates *c)
{
	for (size_t i = 1; i < c->count; i++) {
		const struct analysis_step *outer = &c->items[i].step, *inner = &c->items[0].step;

		if (!is_around(&c->items[i], &c->items[0]) || outer->count < OUTER_COUNT ||
		    (1 - MATTERS) * (double)outer->total_ns <= (double)inner->total_ns)
			continue;
		bring_to_front(c, i);
		return;
	}
}

/*
 * What is over before something else repeats more often is set-up (weights that are loaded,
 * warm-up), even where it takes longer, unless the other takes next to no time.
 */
static void prefer_later(struct step_candidates *c)
{
	for (size_t i = 1; i < c->count; i++) {
		const struct analysis_step *later = &c->items[i].step, *first = &c->items[0].step;

		if (!by_tier(&c->items[i], &c->items[0]) && later->pid == first->pid &&
		    later->source == first->source && later->has_steps == first->has_steps &&
		    (later->depth == first->depth || later->source == STEP_LOOP) &&
		    later->begin_ns >= first->until_ns && later->count > first->count &&
		    step_figures_steady_ns(later) >= MATTERS * step_figures_steady_ns(first))
			bring_to_front(c, i);
	}
}

struct span_ns {
	int64_t start_ns, end_ns;
};

static int by_start(const void *a, const void *b)
{
	const struct span_ns *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static struct span_ns *spans_of(const struct step_candidate *c, size_t *n)
{
	struct span_ns *spans = calloc(c->scope_count + 1, sizeof(*spans));

	*n = 0;
	for (size_t i = 0; spans && i < c->scope_count; i++) {
		const struct scope *s = c->scopes[i].scope;

		if (s->ended)
			spans[(*n)++] = (struct span_ns){ s->start_ns, s->end_ns };
	}
	if (spans)
		qsort(spans, *n, sizeof(*spans), by_start);
	return spans;
}

/*
 * Do the scopes of one lie, or if `begins` begin, inside those of the other, and how many in each?
 * -1: no memory.
 */
static int encloses_as(const struct step_candidate *outer, const struct step_candidate *inner,
		       bool begins, double *each)
{
	size_t n, m, k = 0, inside = 0;
	struct span_ns *o = spans_of(outer, &n), *s = spans_of(inner, &m);
	int64_t open_until_ns = INT64_MIN;

	for (size_t i = 0; o && s && i < m; i++) {
		for (; k < n && o[k].start_ns <= s[i].start_ns; k++) {
			if (o[k].end_ns > open_until_ns)
				open_until_ns = o[k].end_ns;
		}
		inside += (begins ? s[i].start_ns : s[i].end_ns) <= open_until_ns;
	}
	free(o);
	free(s);
	if (!o || !s)
		return -1;
	*each = n ? (double)m / (double)n : 0;
	return (double)inside >= INSIDE * (double)m;
}

static int encloses(const struct step_candidate *outer, const struct step_candidate *inner,
		    double *each)
{
	return encloses_as(outer, inner, false, each);
}

/* Pieces of work that one iteration of a loop hands out are its parts. */
static int prefer_loops_around_work(struct step_candidates *c)
{
	for (size_t i = 1; i < c->count && c->items[0].by == BY_WORK_ITEMS; i++) {
		double each;
		int around;

		if (c->items[i].by != BY_CALLS || c->items[i].step.count < OUTER_COUNT)
			continue;
		around = encloses(&c->items[i], &c->items[0], &each);
		if (around < 0)
			return -1;
		if (around && each >= LEVEL_TIMES)
			bring_to_front(c, i);
	}
	return 0;
}

/*
 * The loop whose iterations are the calls of a library's function, one each; 0: there is none.  A
 * call lasts until the next one begins, so that it may end behind its iteration.
 */
static int find_loop_of(const struct step_candidates *c, const struct step_candidate *calls,
			size_t *found)
{
	*found = 0;
	for (size_t i = 1; i < c->count; i++) {
		const struct step_candidate *loop = &c->items[i];
		double each;
		int around;

		if (by_tier(loop, &c->items[0]) || loop->step.pid != calls->step.pid ||
		    loop->step.count > calls->step.count + 1 ||
		    (double)loop->step.count < INSIDE * (double)calls->step.count)
			continue;
		around = encloses_as(loop, calls, true, &each);
		if (around < 0)
			return -1;
		if (around && (!*found || loop->step.depth > c->items[*found].step.depth))
			*found = i;
	}
	return 0;
}

/*
 * What a library's function repeats is its own affair (tokens of an answer): the user waits for its
 * calls.
 */
static int prefer_around_library_calls(struct step_candidates *c)
{
	size_t loop = 0;

	if (!c->count || (c->items[0].by != BY_MODELS && c->items[0].by != BY_RUNS))
		return 0;
	for (size_t i = 1; i < c->count; i++) {
		const struct step_candidate *calls = &c->items[i];
		double each;
		int around;

		if (calls->by != BY_LIBRARY_CALLS || calls->minor ||
		    calls->step.pid != c->items[0].step.pid || calls->step.count < OUTER_COUNT)
			continue;
		around = encloses(calls, &c->items[0], &each);
		if (around < 0 || (around && each >= LEVEL_TIMES && find_loop_of(c, calls, &loop)))
			return -1;
		if (!around || each < LEVEL_TIMES || !loop)
			continue;
		bring_to_front(c, loop);
		return 0;
	}
	return 0;
}

/*
 * An iteration begins with the first thing that it does.  Where that is a call of a framework's
 * native code, as often as the function that leads, but earlier, the time between the two is the
 * loop's as well.
 */
static void prefer_begin_of_loop(struct step_candidates *c)
{
	const struct analysis_step *first = &c->items[0].step;

	for (size_t i = 1; i < c->count && c->items[0].by == BY_CALLS; i++) {
		const struct analysis_step *s = &c->items[i].step;

		if (c->items[i].by != BY_NATIVE_CALLS || c->items[i].minor ||
		    !framework_package(s->name) || s->pid != first->pid ||
		    s->count < first->count || s->count > first->count + 1 ||
		    s->first_ns >= first->first_ns || s->total_ns < first->total_ns)
			continue;
		bring_to_front(c, i);
		return;
	}
}

/* How long the part of a name is that says what is called, without the place: "infer in main". */
static size_t called_length(const char *name)
{
	const char *in = strstr(name, " in ");

	return in ? (size_t)(in - name) : strlen(name);
}

static bool is_asked(const struct analysis_step *s, const char *asked, bool whole)
{
	if (whole)
		return !strcmp(s->name, asked);
	return strlen(asked) == called_length(s->name) && !strncmp(s->name, asked, strlen(asked));
}

static int refuse(const struct step_candidates *c, const char *asked, struct err *err)
{
	struct buf names;
	size_t told = 0;

	buf_init(&names);
	for (size_t i = 0; i < c->count; i++) {
		bool again = false;

		for (size_t k = 0; k < i && !again; k++)
			again = !strcmp(c->items[k].step.name, c->items[i].step.name);
		if (again || told == 20)
			continue;
		buf_printf(&names, "%s'%s'", told++ ? ", " : "", c->items[i].step.name);
	}
	if (names.failed)
		err_set(err, "out of memory");
	else if (told)
		err_set(err, "--step: there is no step '%s' in this trace; there are: %s", asked,
			buf_string(&names));
	else
		err_set(err, "--step: there is no step '%s' in this trace, and no other", asked);
	buf_release(&names);
	return -1;
}

static int obey(struct step_candidates *c, const char *asked, struct err *err)
{
	for (int whole = 1; whole >= 0; whole--) {
		for (size_t i = 0; i < c->count; i++) {
			if (!is_asked(&c->items[i].step, asked, whole))
				continue;
			bring_to_front(c, i);
			return 0;
		}
	}
	return refuse(c, asked, err);
}

static bool is_shown(const struct step_candidate *c, const struct step_candidate *first)
{
	if (c == first || c->inside_leader)
		return true;
	return c->by == first->by && is_supplier(c) <= is_supplier(first) &&
	       c->partial <= first->partial && c->minor <= first->minor;
}

/* Levels inside the leading steps: tokens of a request, graph launches of a token. */
static int find_levels(struct step_candidates *c)
{
	for (size_t i = 1; i < c->count; i++) {
		double each;
		int inside;

		if (c->items[i].by == c->items[0].by || c->items[0].by == BY_MARKS ||
		    c->items[i].partial || c->items[i].minor || c->items[i].by == BY_CALLS)
			continue;
		inside = encloses(&c->items[0], &c->items[i], &each);
		if (inside < 0)
			return -1;
		/* What is only seen in some of them is no level. */
		c->items[i].inside_leader =
			inside && (each >= LEVEL_TIMES || fabs(each - 1) <= ONCE_WITHIN);
	}
	return 0;
}

static const char *why_leads(const struct step_candidates *c, const char *asked)
{
	const struct step_candidate *first = &c->items[0];

	if (asked)
		return "leads: --step names it";
	if (is_supplier(first))
		return "leads: it is in a worker process, but nothing repeats in the main process";
	if (c->count == 1)
		return "leads: the only candidate";
	return "leads: the most points and, among equals, the most time";
}

static const char *why_not(const struct step_candidate *c, const struct step_candidate *first)
{
	if (c->inside_leader)
		return "shown below: it repeats inside the leading steps";
	if (is_supplier(c) && !is_supplier(first))
		return "not shown: it is in a worker process of the leading one";
	if (c->minor)
		return "not shown: it takes next to nothing of its process's work";
	if (c->partial && !first->partial)
		return "not shown: calls were recorded only part of the time, so its count is "
		       "unknown";
	if (c->by != first->by && points_of(c) < points_of(first))
		return "not shown: the leading candidate has better evidence";
	if (c->by != first->by)
		return "not shown: --step names another one";
	if (c->step.count == 1 && first->step.count > 1)
		return "shown below: it happens once";
	if (c->step.has_steps && !first->step.has_steps)
		return "shown below: a loop around others, with little time outside of these";
	if (c->step.depth > first->step.depth)
		return "shown below: it is nested deeper";
	if (first->role == ROLE_OWNS && c->role != ROLE_OWNS)
		return "shown below: another process owns the GPU";
	if (c->step.until_ns <= first->step.begin_ns && c->step.count < first->step.count)
		return "shown below: it ends before the leading steps begin";
	return "shown below: less time";
}

static double score(const struct step_candidate *c, double longest_ns)
{
	double points = points_of(c);

	if (longest_ns > 0)
		points += TIME_POINTS * step_figures_steady_ns(&c->step) / longest_ns;
	points += c->partial || c->minor ? PARTIAL_POINTS : 0;
	return is_supplier(c) ? points + SUPPLIER_POINTS : points;
}

static int describe_candidates(const struct step_candidates *c, struct analysis *a,
			       const char *asked)
{
	double longest_ns[STEP_GENERATORS] = { 0 };
	bool leaderless = c->count && c->items[0].minor && !asked;

	a->candidates = calloc(c->count + 1, sizeof(*a->candidates));
	if (!a->candidates)
		return -1;
	for (size_t i = 0; i < c->count; i++) {
		double ns = step_figures_steady_ns(&c->items[i].step);

		if (ns > longest_ns[c->items[i].by])
			longest_ns[c->items[i].by] = ns;
	}
	for (size_t i = 0; i < c->count; i++) {
		const struct step_candidate *s = &c->items[i];

		a->candidates[i] = (struct analysis_candidate){
			.name = s->step.name,
			.domain = s->step.domain,
			.found_by = generators[s->by].found_by,
			.because = i || leaderless ? why_not(s, &c->items[0]) : why_leads(c, asked),
			.pid = s->step.pid,
			.count = s->step.count,
			.mean_ns = s->step.mean_ns,
			.score = score(s, longest_ns[s->by]),
			.outcome = leaderless                  ? CANDIDATE_LOST
				   : !i                        ? CANDIDATE_LEADS
				   : is_shown(s, &c->items[0]) ? CANDIDATE_SHOWN
							       : CANDIDATE_LOST,
		};
	}
	a->candidate_count = c->count;
	if (c->count && !leaderless)
		a->steps_are = generators[c->items[0].by].is;
	return 0;
}

/* Those that are shown first; the order stays. */
static size_t part(struct step_candidates *c)
{
	struct step_candidate first = c->items[0];
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		struct step_candidate s = c->items[i];

		if (i && !is_shown(&s, &first))
			continue;
		memmove(&c->items[n + 1], &c->items[n], (i - n) * sizeof(s));
		c->items[n++] = s;
	}
	return n;
}

int step_choice_make(struct step_candidates *c, struct analysis *a, const char *asked,
		     size_t *shown, struct err *err)
{
	*shown = 0;
	err_set(err, "out of memory");
	if (c->count) {
		qsort(c->items, c->count, sizeof(*c->items), most_important_first);
		prefer_later(c);
		prefer_users(c);
		prefer_outer(c);
		if (prefer_loops_around_work(c) || prefer_around_library_calls(c))
			return -1;
		prefer_begin_of_loop(c);
	}
	if (asked && obey(c, asked, err))
		return -1;
	if (!c->count)
		return 0;
	if (find_levels(c))
		return -1;
	*shown = c->items[0].minor && !asked ? 0 : part(c);
	return describe_candidates(c, a, asked);
}
