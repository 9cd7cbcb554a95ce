/* The order in which generators of candidates are asked, and what becomes of those chosen. */
#include "analyze/steps/steps.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/gpu/gpu_busy.h"
#include "analyze/steps/call_steps.h"
#include "analyze/steps/step_candidates.h"
#include "analyze/steps/step_figures.h"
#include "base/array.h"
#include "format/request_scopes.h"
#include "format/torch_scopes.h"
#include "timeline/timeline.h"

#define FEW_STEPS 5
#define MATTERS 0.1 /* of the time: less is no step's */

const char *step_source_name(enum step_source s)
{
	static const char *const names[] = {
		[STEP_SCOPE] = "scope",         [STEP_NVTX] = "nvtx",
		[STEP_LOOP] = "loop",           [STEP_MODULE] = "module",
		[STEP_WHOLE_RUN] = "whole-run", [STEP_REQUEST] = "request",
	};

	return names[s];
}

/* Those of which all is known, without warm-up. */
static int add_items(struct analysis_step *s, const struct step_scope *scopes, size_t n,
		     const struct gpu_steps *gpu, struct step_items *items)
{
	const struct gpu_section *section = gpu_section_find(gpu->gpu, scopes[0].scope->process);
	size_t skip = s->warmup;

	s->first_item = items->count;
	for (size_t i = 0; i < n; i++) {
		const struct scope *scope = scopes[i].scope;

		if (!scope->ended)
			continue;
		if (skip) {
			skip--;
			continue;
		}
		if (section && gpu_paused_between(section, scope->start_ns, scope->end_ns))
			continue;
		s->breakdown.shared |= gpu_steps_interleaved(gpu, scope);
		if (step_items_add(items, scope->start_ns, scope->end_ns, scope->thread))
			return -1;
	}
	s->item_count = items->count - s->first_item;
	return 0;
}

static bool begins_with(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/*
 * Scopes that the agent records about a framework are parts of steps, not steps; requests have a
 * generator of their own.
 */
static bool is_of_the_agent(const struct scope *scope)
{
	return !scope->nvtx &&
	       (begins_with(scope->name, TORCH_SCOPES) ||
		begins_with(scope->name, REQUEST_SCOPES) || begins_with(scope->name, WORK_SCOPES) ||
		begins_with(scope->name, CALL_SCOPES) || begins_with(scope->name, MODEL_SCOPES) ||
		begins_with(scope->name, NATIVE_SCOPES));
}

/* Libraries that annotate themselves, by the domain that they give to NVTX. */
static const char *const library_domains[] = {
	"TSL",      "XLA",    "CUB",      "CCCL",     "Thrust",  "NCCL",
	"cuDNN",    "cuBLAS", "cuBLASLt", "cuSPARSE", "cuFFT",   "cuSOLVER",
	"TensorRT", "DALI",   "nvJPEG",   "RAPIDS",   "libcudf", "librmm",
};

/* XLA puts what it knows behind the name: "XlaModule:#hlo_module=jit_f,program_id=1#". */
static bool has_xla_arguments(const char *name)
{
	const char *args = strchr(name, '#');

	return args && strchr(args, '=') && name[strlen(name) - 1] == '#';
}

static bool is_known_librarys(const struct scope *s)
{
	if (!s->nvtx)
		return false;
	for (size_t i = 0;
	     s->nvtx->domain && i < sizeof(library_domains) / sizeof(library_domains[0]); i++) {
		if (!strcmp(s->nvtx->domain, library_domains[i]))
			return true;
	}
	return *s->name && has_xla_arguments(s->name);
}

/*
 * Ranges that a library opens inside of a call to it (CUB's in torch.nonzero(), NCCL's) are
 * parts of steps: native code begins and ends them, and no function runs meanwhile.  Those of a
 * program are around functions, or begin and end in those of NVTX's binding; one that is seen to
 * be so is enough, since short functions may be throttled later.
 */
static bool is_librarys(const struct step_scope *scopes, size_t n)
{
	bool inside = false;

	if (is_known_librarys(scopes[0].scope))
		return true;
	for (size_t i = 0; i < n; i++) {
		if (!scopes[i].scope->nvtx || scopes[i].scope->reach == SCOPE_AROUND_CALLS)
			return false;
		inside |= scopes[i].scope->reach == SCOPE_INSIDE_CALL;
	}
	return inside;
}

/* Keeps those of the program, or those that a library opens but that may be the program's. */
static size_t keep_scopes(struct step_scope *scopes, size_t n, bool librarys)
{
	size_t kept = 0;

	for (size_t i = 0, next; i < n; i = next) {
		bool drop;

		for (next = i + 1;
		     next < n && step_scopes_same_series(scopes[i].scope, scopes[next].scope);)
			next++;
		drop = librarys ? is_known_librarys(scopes[i].scope)
				: is_librarys(scopes + i, next - i);
		if (drop)
			continue;
		memmove(scopes + kept, scopes + i, (next - i) * sizeof(*scopes));
		kept += next - i;
	}
	return kept;
}

/* Everything that the generators work on. */
struct collection {
	struct analysis *analysis;
	struct timeline *timeline;
	struct step_finder *models; /* that followed the first walk */
	const struct step_sources *from;
	const struct trace *trace;
	struct step_candidates candidates;
};

static int add_marks(struct collection *c, enum step_generator by)
{
	size_t all = timeline_scope_count(c->timeline), n = 0;
	struct step_scope *scopes = calloc(all + 1, sizeof(*scopes));

	for (size_t i = 0; scopes && i < all; i++) {
		if (!is_of_the_agent(timeline_scope(c->timeline, i)))
			scopes[n++].scope = timeline_scope(c->timeline, i);
	}
	if (!scopes)
		return -1;
	step_scopes_sort(scopes, n);
	n = keep_scopes(scopes, n, by == BY_RANGES_INSIDE_CALLS);
	return step_candidates_add(&c->candidates, by, scopes, n, false, c->trace);
}

/* A framework inside a server handles the same request: the outermost counts. */
static bool lies_in_another(const struct timeline *tl, const struct scope *s, const char *start)
{
	for (size_t at = s->parent; at != SCOPE_NONE; at = timeline_scope(tl, at)->parent) {
		const struct scope *around = timeline_scope(tl, at);

		if (!around->nvtx && begins_with(around->name, start))
			return true;
	}
	return false;
}

/* Processes that serve the same share one series, unless each has a GPU of its own. */
static int add_served(struct collection *c, enum step_generator by, const char *start)
{
	size_t all = timeline_scope_count(c->timeline), n = 0;
	size_t first = c->candidates.count;
	struct step_scope *scopes = calloc(all + 1, sizeof(*scopes));

	for (size_t i = 0; scopes && i < all; i++) {
		const struct scope *s = timeline_scope(c->timeline, i);

		if (!s->nvtx && begins_with(s->name, start) &&
		    !lies_in_another(c->timeline, s, start))
			scopes[n++].scope = s;
	}
	if (scopes && by == BY_REQUESTS)
		batching_sleeps_in_requests(c->from->sleeps, scopes, n);
	if (!scopes || step_candidates_add(&c->candidates, by, scopes, n,
					   !c->analysis->gpu.section_count, c->trace))
		return -1;
	for (size_t i = first; i < c->candidates.count; i++)
		c->candidates.items[i].step.source = STEP_REQUEST;
	return 0;
}

static int add_calls(struct collection *c, enum step_generator by, const char *start)
{
	size_t all = timeline_scope_count(c->timeline), n = 0;
	struct step_scope *scopes = calloc(all + 1, sizeof(*scopes));
	struct found_steps found = { 0 };
	int rc = -1;

	for (size_t i = 0; scopes && i < all; i++) {
		const struct scope *s = timeline_scope(c->timeline, i);

		if (!s->nvtx && begins_with(s->name, start) &&
		    !lies_in_another(c->timeline, s, start))
			scopes[n++].scope = s;
	}
	if (scopes && !call_steps_find(c->analysis, scopes, n, strlen(start), &found))
		rc = step_candidates_add_found(&c->candidates, by, &found, c->trace);
	found_steps_release(&found);
	free(scopes);
	return rc;
}

static int add_found(struct collection *c, enum step_generator by, struct step_finder *f)
{
	struct found_steps found;

	if (step_finder_find(f, &c->analysis->step_names, &found)) {
		found_steps_release(&found);
		return -1;
	}
	batching_sleeps_extend_steps(c->from->sleeps, &found);
	return step_candidates_add_found(&c->candidates, by, &found, c->trace);
}

/* By another walk over all calls. */
static int add_walked(struct collection *c, enum step_generator by, enum step_lead lead)
{
	bool needs_gpu = lead == LEAD_WAITS || lead == LEAD_LAUNCHES;
	struct step_finder f;
	int rc;

	if (needs_gpu && !c->analysis->gpu.section_count)
		return 0;
	step_finder_init(&f, c->trace);
	rc = step_finder_walk(&f, c->timeline, lead, needs_gpu ? &c->analysis->gpu : NULL);
	if (!rc)
		rc = add_found(c, by, &f);
	step_finder_release(&f);
	return rc;
}

/*
 * Marks of the program settle it.  Else all that is cheap to know is asked, and what takes another
 * walk only while there is no leader, or to find the one that the user names.
 */
static int generate(struct collection *c, const char *asked)
{
	static const struct {
		enum step_generator by;
		enum step_lead lead;
	} walks[] = {
		{ BY_RUNS, LEAD_RUNS },
		{ BY_WAITS, LEAD_WAITS },
		{ BY_LAUNCHES, LEAD_LAUNCHES },
		{ BY_CALLS, LEAD_CALLS },
	};

	if (add_marks(c, BY_MARKS))
		return -1;
	if (c->candidates.count && !asked)
		return 0;
	if (add_served(c, BY_REQUESTS, REQUEST_SCOPES) ||
	    add_served(c, BY_WORK_ITEMS, WORK_SCOPES) ||
	    add_calls(c, BY_LIBRARY_CALLS, CALL_SCOPES) ||
	    add_calls(c, BY_MODEL_CALLS, MODEL_SCOPES) || add_found(c, BY_MODELS, c->models))
		return -1;
	for (size_t i = 0; i < sizeof(walks) / sizeof(walks[0]); i++) {
		if ((asked || !step_candidates_have_leader(&c->candidates)) &&
		    add_walked(c, walks[i].by, walks[i].lead))
			return -1;
	}
	if (add_calls(c, BY_NATIVE_CALLS, NATIVE_SCOPES))
		return -1;
	/* Better than nothing: a program may call NVTX around native code, without a binding. */
	return asked || !c->candidates.count ? add_marks(c, BY_RANGES_INSIDE_CALLS) : 0;
}

static int measure(struct analysis_step *s, const struct step_candidate *c,
		   const struct step_sources *from, struct step_items *items)
{
	size_t n = c->scope_count;

	*s = c->step;
	if (step_figures_service(s, c->scopes, n) ||
	    gpu_steps_measure(from->gpu, c->scopes, n, s->warmup, &s->gpu) ||
	    memory_steps_measure(from->memory, c->scopes, n, s->warmup, &s->memory))
		return -1;
	return add_items(s, c->scopes, n, from->gpu, items);
}

static int measure_shown(struct collection *c, size_t shown, struct step_items *items)
{
	struct analysis *a = c->analysis;

	a->steps = calloc(shown + 1, sizeof(*a->steps));
	if (!a->steps)
		return -1;
	for (; a->step_count < shown; a->step_count++) {
		if (measure(&a->steps[a->step_count], &c->candidates.items[a->step_count], c->from,
			    items))
			return -1;
	}
	return 0;
}

/*
 * Found in calls that were recorded only part of the time, while samples saw models at work
 * for far longer?  They are few, or all of them lie in one part of that time.
 */
static bool are_too_few(const struct analysis *a, const struct model_interval *interval)
{
	const struct analysis_step *s = &a->steps[0];
	double length_ns = (double)interval->end_ns - (double)interval->begin_ns;
	double reach_ns = (double)s->until_ns - (double)s->begin_ns;

	return interval->parts && (double)s->total_ns < MATTERS * length_ns &&
	       (s->count < FEW_STEPS || reach_ns < length_ns / 2);
}

/*
 * What is judged where nothing repeats, or too little of it was seen to do so.  refused: why what
 * leads is not what the run is about; NULL: samples decide.
 */
static int judge_run(struct analysis *a, const char *refused, struct timeline *tl,
		     const struct step_sources *from, const struct trace *t,
		     struct step_items *items, struct err *err)
{
	struct model_interval interval = { 0 };

	if (!a->gpu.section_count && model_interval_find(&interval, t, tl, err))
		return -1;
	/* No figures rather than wrong ones. */
	if (a->step_count && !refused && !are_too_few(a, &interval))
		return 0;
	items->count = 0;
	for (size_t i = 0; i < a->candidate_count; i++) {
		a->candidates[i].outcome = CANDIDATE_LOST;
		a->candidates[i].because = refused ? refused
						   : "not shown: calls were recorded only part of "
						     "the time, and too few of its calls";
	}
	a->steps_are = NULL;
	free(a->steps);
	a->steps = NULL;
	a->step_count = 0;
	return whole_run_collect(a, &interval, from, t, items);
}

static bool is_by_calls(enum step_generator by)
{
	return by >= BY_MODELS && by <= BY_CALLS;
}

int steps_collect(struct analysis *a, struct timeline *tl, struct step_finder *finder,
		  const struct step_sources *from, const struct trace *t, const char *asked,
		  struct step_items *items, struct err *err)
{
	struct collection c = {
		.analysis = a, .timeline = tl, .models = finder, .from = from, .trace = t
	};
	const struct step_candidate *first;
	size_t shown = 0;
	int rc = -1;

	arena_init(&a->step_names);
	if (step_candidates_find_pauses(&c.candidates, tl, t) ||
	    step_roles_find(&c.candidates.roles, t, tl, &a->gpu, err))
		goto out;
	err_set(err, "out of memory");
	if (generate(&c, asked) || step_choice_make(&c.candidates, a, asked, &shown, err) ||
	    measure_shown(&c, shown, items))
		goto out;
	rc = 0;
	first = c.candidates.items;
	if (!a->step_count)
		rc = judge_run(a, NULL, tl, from, t, items, err);
	else if (!asked && first->role == ROLE_LOADS && first->by != BY_MARKS)
		rc = judge_run(a, "not shown: it is in a DataLoader's worker", tl, from, t, items,
			       err);
	else if (!asked && c.candidates.bursts && is_by_calls(first->by))
		rc = judge_run(a,
			       first->partial ? "not shown: calls were recorded only part of the "
						"time, so its count is unknown"
					      : NULL,
			       tl, from, t, items, err);
out:
	step_candidates_release(&c.candidates);
	return rc;
}
