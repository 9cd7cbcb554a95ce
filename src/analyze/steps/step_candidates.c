#include "analyze/steps/step_candidates.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "analyze/steps/step_figures.h"
#include "base/array.h"

struct find_pauses {
	struct track *pauses;
	bool failed;
};

static void take_pause(void *ctx, const struct pause *p)
{
	struct find_pauses *f = ctx;
	const struct piece piece = { p->start_ns, p->end_ns, 0, 0 };

	f->failed |= track_add(&f->pauses[p->thread], &piece) != 0;
}

int step_candidates_find_pauses(struct step_candidates *c, struct timeline *tl,
				const struct trace *t)
{
	struct find_pauses f = { 0 };
	const struct timeline_visitor visitor = { .ctx = &f, .pause = take_pause };
	struct err err;

	c->thread_count = trace_thread_count(t);
	for (size_t i = 0; i < c->thread_count; i++)
		c->bursts |= timeline_thread(tl, i)->pauses > 0;
	if (!c->bursts)
		return 0;
	f.pauses = c->pauses = calloc(c->thread_count + 1, sizeof(*c->pauses));
	if (!c->pauses)
		return -1;
	for (size_t i = 0; i < c->thread_count; i++) {
		if (timeline_thread(tl, i)->pauses && timeline_walk_again(tl, i, &visitor, &err))
			return -1;
	}
	return f.failed ? -1 : 0;
}

void step_candidates_release(struct step_candidates *c)
{
	for (size_t i = 0; c->pauses && i < c->thread_count; i++)
		track_release(&c->pauses[i]);
	free(c->pauses);
	for (int i = 0; i < STEP_GENERATORS; i++) {
		free(c->scopes[i]);
		found_steps_release(&c->found[i]);
	}
	free(c->items);
	step_roles_release(&c->roles);
	memset(c, 0, sizeof(*c));
}

static uint32_t pid_of(const struct trace *t, uint32_t process)
{
	size_t at = process_position(t, process);

	return at < trace_process_count(t) ? trace_process(t, at)->pid : 0;
}

static int by_name_and_time(const void *a, const void *b)
{
	const struct scope *x = ((const struct step_scope *)a)->scope;
	const struct scope *y = ((const struct step_scope *)b)->scope;
	int order = compare_texts(x->name, y->name);

	if (order)
		return order;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x < y ? -1 : x > y; /* they lie in one array */
}

static bool same_series(const struct scope *x, const struct scope *y, bool across)
{
	return across ? !compare_texts(x->name, y->name) : step_scopes_same_series(x, y);
}

/* Room for the figures of series of up to n scopes. */
struct workbench {
	int64_t *durations, *scratch;
};

/* Of a thread's time; then what was seen of its calls is taken for all. */
#define PAUSED_MOST 0.02

static bool is_by_calls(enum step_generator by)
{
	return by >= BY_MODELS && by <= BY_CALLS;
}

static bool was_paused(const struct step_candidates *c, uint32_t thread,
		       const struct analysis_step *s)
{
	int64_t ns;

	if (!c->pauses)
		return false;
	ns = track_overlap_ns(&c->pauses[thread], s->begin_ns, s->until_ns);
	return (double)ns > PAUSED_MOST * ((double)s->until_ns - (double)s->begin_ns);
}

/* Of the CPU time of its process' threads, imports and all. */
#define MINOR_MOST 0.01

/*
 * Pools and libraries run small things beside the program's work, too.  What waits uses no CPU, so
 * that steps of an idle program are not compared with the time that it is idle.
 */
static bool is_minor(const struct analysis_step *s, enum step_generator by, uint32_t process,
		     const struct trace *t)
{
	double on_cpu_ns = 0;

	if (by != BY_WORK_ITEMS && by != BY_LIBRARY_CALLS && by != BY_MODEL_CALLS &&
	    by != BY_NATIVE_CALLS)
		return false;
	for (size_t i = 0; i < trace_thread_count(t); i++)
		if (trace_thread(t, i)->process == process && trace_thread(t, i)->timed)
			on_cpu_ns += (double)trace_thread(t, i)->on_cpu_ns;
	return (double)s->total_ns < MINOR_MOST * on_cpu_ns;
}

static int add_series(struct step_candidates *c, enum step_generator by,
		      const struct step_scope *scopes, size_t n, const struct workbench *w,
		      const struct trace *t)
{
	struct step_candidate *grown = array_grow(c->items, &c->cap, c->count + 1, sizeof(*grown));
	const struct scope *first = scopes[0].scope;

	if (!grown)
		return -1;
	c->items = grown;
	grown += c->count;
	*grown = (struct step_candidate){ .scopes = scopes,
					  .scope_count = n,
					  .by = by,
					  .role = step_role_of(&c->roles, first->process) };
	if (!step_figures_measure(&grown->step, scopes, n, w->durations, w->scratch))
		return 0;
	grown->step.pid = pid_of(t, first->process);
	grown->step.processes = 1;
	grown->bursts = c->bursts;
	grown->minor = is_minor(&grown->step, by, first->process, t);
	grown->partial = is_by_calls(by) && was_paused(c, first->thread, &grown->step);
	c->count++;
	return 0;
}

/* How many processes they are of: a step of several has no one place where it happens. */
static size_t count_processes(const struct step_candidate *s, const struct trace *t, uint8_t *seen)
{
	size_t n = 0;

	memset(seen, 0, trace_process_count(t));
	for (size_t i = 0; i < s->scope_count; i++) {
		size_t at = process_position(t, s->scopes[i].scope->process);

		if (at < trace_process_count(t) && !seen[at]) {
			seen[at] = 1;
			n++;
		}
	}
	return n;
}

static int add_all(struct step_candidates *c, enum step_generator by, struct step_scope *scopes,
		   size_t n, bool across, const struct trace *t)
{
	struct workbench w = { calloc(n + 1, sizeof(*w.durations)),
			       calloc(n + 1, sizeof(*w.scratch)) };
	uint8_t *seen = calloc(trace_process_count(t) + 1, 1);
	size_t first = c->count;
	int rc = w.durations && w.scratch && seen ? 0 : -1;

	if (across)
		qsort(scopes, n, sizeof(*scopes), by_name_and_time);
	else
		step_scopes_sort(scopes, n);
	for (size_t i = 0, next; !rc && i < n; i = next) {
		for (next = i + 1;
		     next < n && same_series(scopes[i].scope, scopes[next].scope, across);)
			next++;
		rc = add_series(c, by, scopes + i, next - i, &w, t);
	}
	for (size_t i = first; !rc && across && i < c->count; i++)
		c->items[i].step.processes = count_processes(&c->items[i], t, seen);
	free(w.durations);
	free(w.scratch);
	free(seen);
	return rc;
}

static void take_kind(struct analysis_step *s, const struct found_steps *found)
{
	s->source = found->by_layer ? STEP_MODULE : STEP_LOOP;
	for (size_t k = 0; k < found->kind_count; k++) {
		if (found->kinds[k].name != s->name)
			continue;
		s->has_steps = found->kinds[k].has_steps;
		s->piped = found->kinds[k].piped;
		s->call_of = found->kinds[k].call_of;
		s->loop_of = found->kinds[k].loop_of;
	}
}

int step_candidates_add(struct step_candidates *c, enum step_generator by,
			struct step_scope *scopes, size_t n, bool across, const struct trace *t)
{
	free(c->scopes[by]);
	c->scopes[by] = scopes;
	c->asked[by] = true;
	return add_all(c, by, scopes, n, across, t);
}

/* Those in the workers of a pool last: they are one series, whichever worker took a task. */
static size_t part_pooled(const struct step_candidates *c, const struct found_steps *found,
			  struct step_scope *scopes)
{
	size_t n = 0, end = found->count;

	for (size_t i = 0; i < found->count; i++) {
		bool pooled = step_role_of(&c->roles, found->items[i].process) == ROLE_POOLED;

		scopes[pooled ? --end : n++].scope = &found->items[i];
	}
	return n;
}

int step_candidates_add_found(struct step_candidates *c, enum step_generator by,
			      struct found_steps *found, const struct trace *t)
{
	struct step_scope *scopes = calloc(found->count + 1, sizeof(*scopes));
	size_t first = c->count, alone;

	found_steps_release(&c->found[by]);
	c->found[by] = *found;
	memset(found, 0, sizeof(*found));
	found = &c->found[by];
	if (!scopes)
		return -1;
	alone = part_pooled(c, found, scopes);
	free(c->scopes[by]);
	c->scopes[by] = scopes;
	c->asked[by] = true;
	if (add_all(c, by, scopes, alone, false, t) ||
	    add_all(c, by, scopes + alone, found->count - alone, true, t))
		return -1;
	for (size_t i = first; i < c->count; i++)
		take_kind(&c->items[i].step, found);
	return 0;
}

bool step_candidates_have_leader(const struct step_candidates *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct step_candidate *s = &c->items[i];

		if (s->by == BY_MARKS)
			return true;
		if (s->role == ROLE_LOADS || s->role == ROLE_POOLED || s->partial || s->minor ||
		    s->step.count < STEP_REPEATS)
			continue;
		/* The loops around the latter say more, if all of their calls are known. */
		if (s->by == BY_WORK_ITEMS ||
		    ((s->by == BY_LIBRARY_CALLS || s->by == BY_MODEL_CALLS) && !c->bursts))
			continue;
		return true;
	}
	return false;
}
