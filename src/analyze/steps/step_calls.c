#include "analyze/steps/step_calls.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/classes/code_kind.h"
#include "analyze/figures/pair_totals.h"
#include "analyze/figures/stats.h"
#include "base/array.h"

#define REPEATS 3       /* fewer are no series */
#define MANY 10         /* of a loop: then the ones inside it are its parts */
#define LEAST_NS 100000 /* a step: what is shorter is a part of something */
#define MATTERS 0.1     /* of the process' work */
#define WAITING 0.9     /* of a library's call: then it is a wait for what others do */
#define NOBODY UINT32_MAX
#define NOT_WHOLE \
	(SPAN_RECURSIVE | SPAN_REPAIRED | SPAN_OPEN_START | SPAN_OPEN_END | SPAN_GAP | SPAN_PAUSED)

/* Calls of one function by one of the user's, in one process. */
struct calls_by {
	uint32_t process, caller, function;
	uint64_t calls;
	int64_t total_ns, waited_ns;
};

struct frame {
	uint32_t function;
	uint32_t caller; /* the user's function around it; NOBODY */
	bool known;      /* its entry was seen */
	int64_t waited_ns;
};

struct totals {
	struct timeline *timeline;
	const struct trace *trace;
	uint8_t *kinds; /* by function: enum code_kind + 1 */
	bool *resumed, *throttled;
	size_t function_count;
	struct frame *open; /* of the thread that is walked, by depth */
	size_t open_cap;
	struct pair_totals by; /* (process, caller and function) */
	struct calls_by *items;
	size_t count, cap;
	struct pair_totals entries; /* (process, function): how often it was called */
	struct pair_totals busy;    /* (process, 0): what its threads did besides waiting */
	bool failed;
};

/* Where it stands in `items`, plus one. */
struct slot {
	size_t at;
};

struct entries {
	uint64_t calls;
};

struct busy {
	int64_t ns;
};

static enum code_kind kind_of(struct totals *s, uint32_t function)
{
	if (function >= s->function_count)
		return CODE_STANDARD;
	if (!s->kinds[function]) {
		const struct place *f = timeline_function(s->timeline, function);

		s->kinds[function] = (uint8_t)(code_kind(f->name, f->file) + 1);
	}
	return (enum code_kind)(s->kinds[function] - 1);
}

static void visit_enter(void *ctx, size_t thread, uint32_t depth, uint32_t function,
			int64_t time_ns)
{
	struct totals *s = ctx;
	struct frame *open = array_grow(s->open, &s->open_cap, (size_t)depth + 1, sizeof(*open));
	const struct frame *around;

	(void)thread;
	(void)time_ns;
	if (!open) {
		s->failed = true;
		return;
	}
	s->open = open;
	around = depth ? &open[depth - 1] : NULL;
	open[depth] = (struct frame){ .function = function, .caller = NOBODY, .known = true };
	if (around && around->function != UINT32_MAX && kind_of(s, around->function) == CODE_USER)
		open[depth].caller = around->function;
	else if (around)
		open[depth].caller = around->caller;
}

static struct calls_by *calls_of(struct totals *s, uint32_t process, uint32_t caller,
				 uint32_t function)
{
	struct slot *slot = pair_totals_at(&s->by, process, (uint64_t)caller << 32 | function);
	struct calls_by *grown;

	if (!slot)
		return NULL;
	if (slot->at)
		return &s->items[slot->at - 1];
	grown = array_grow(s->items, &s->cap, s->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	s->items = grown;
	grown[s->count] = (struct calls_by){ process, caller, function, 0, 0, 0 };
	slot->at = ++s->count;
	return &grown[s->count - 1];
}

/* What the user's code calls, or code of the user's that a library does. */
static bool is_of_interest(struct totals *s, const struct span *span)
{
	const struct frame *around = span->depth ? &s->open[span->depth - 1] : NULL;
	enum code_kind kind = kind_of(s, span->function);

	if (kind == CODE_OWN || kind == CODE_IMPORTS || kind == CODE_WAITS || kind == CODE_LOADS ||
	    kind == CODE_COMPILES)
		return false;
	if (kind == CODE_USER)
		return strcmp(timeline_function(s->timeline, span->function)->name, "<module>") !=
		       0;
	return around && around->function != UINT32_MAX &&
	       kind_of(s, around->function) == CODE_USER;
}

/* A thread that reads from a socket waits for what another process sends. */
static bool is_wait(struct totals *s, uint32_t function)
{
	static const char reads[] = "SocketIO.readinto";
	const struct place *f = timeline_function(s->timeline, function);

	return kind_of(s, function) == CODE_WAITS || !strcmp(f->name, reads);
}

/* What a frame waited is a part of what the one around it did; the outermost says what was work. */
static void add_waiting(struct totals *s, const struct span *span, uint32_t process)
{
	int64_t all_ns = span->end_ns - span->start_ns, ns = 0;
	struct busy *b;

	if (is_wait(s, span->function))
		ns = all_ns;
	else if (span->depth < s->open_cap && s->open[span->depth].function == span->function)
		ns = s->open[span->depth].waited_ns;
	if (span->depth && span->depth <= s->open_cap) {
		s->open[span->depth - 1].waited_ns =
			stats_add(s->open[span->depth - 1].waited_ns, ns);
		return;
	}
	b = pair_totals_at(&s->busy, process, 0);
	s->failed |= !b;
	if (b && ns < all_ns)
		b->ns = stats_add(b->ns, all_ns - ns);
}

static void visit_function(void *ctx, const struct span *span)
{
	struct totals *s = ctx;
	uint32_t process = trace_thread(s->trace, span->thread)->process;
	const struct frame *own = span->depth < s->open_cap ? &s->open[span->depth] : NULL;
	struct calls_by *c;
	struct entries *e;

	if (span->function >= s->function_count)
		return;
	add_waiting(s, span, process);
	if (!(span->flags & SPAN_CALL)) {
		s->resumed[span->function] |= !(span->flags & (SPAN_OPEN_START | SPAN_PAUSED));
		return;
	}
	if (kind_of(s, span->function) == CODE_USER) {
		e = pair_totals_at(&s->entries, process, span->function);
		s->failed |= !e;
		if (e)
			e->calls++;
	}
	if (!own || !own->known || own->function != span->function || span->flags & NOT_WHOLE ||
	    !is_of_interest(s, span))
		return;
	c = calls_of(s, process, own->caller, span->function);
	s->failed |= !c;
	if (!c)
		return;
	c->calls++;
	c->total_ns += span->end_ns - span->start_ns;
	c->waited_ns += own->waited_ns;
}

static void visit_throttled(void *ctx, const struct throttled *l)
{
	struct totals *s = ctx;

	if (l->function < s->function_count)
		s->throttled[l->function] = true;
}

/* What a process did, at most from its first moment to its last: a server may wait for days. */
static double work_ns(struct totals *s, uint32_t process)
{
	const struct busy *b = pair_totals_at(&s->busy, process, 0);
	int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
	double wall_ns;

	for (size_t i = 0; i < trace_thread_count(s->trace); i++) {
		const struct thread_counts *c = timeline_thread(s->timeline, i);

		if (trace_thread(s->trace, i)->process != process)
			continue;
		start_ns = c->start_ns < start_ns ? c->start_ns : start_ns;
		end_ns = c->end_ns > end_ns ? c->end_ns : end_ns;
	}
	wall_ns = end_ns > start_ns ? (double)end_ns - (double)start_ns : 0;
	return b && (double)b->ns < wall_ns ? (double)b->ns : wall_ns;
}

static bool qualifies(struct totals *s, const struct calls_by *c, uint64_t least)
{
	const struct entries *callers =
		c->caller == NOBODY ? NULL : pair_totals_at(&s->entries, c->process, c->caller);

	if (c->calls < least || s->resumed[c->function] || s->throttled[c->function] ||
	    (double)c->total_ns < (double)LEAST_NS * (double)c->calls ||
	    (double)c->total_ns < MATTERS * work_ns(s, c->process))
		return false;
	/* Nothing joins the pieces of a coroutine: where a step in it ends is not known. */
	if (c->caller != NOBODY && s->resumed[c->caller])
		return false;
	if (kind_of(s, c->function) != CODE_USER &&
	    (double)c->waited_ns > WAITING * (double)c->total_ns)
		return false;
	return c->caller == NOBODY || (callers && c->calls > 2 * callers->calls);
}

static void choose(struct totals *s, struct step_calls *out)
{
	static const uint64_t least[] = { MANY, REPEATS };

	for (size_t pass = 0; pass < 2 && !out->any; pass++) {
		for (size_t i = 0; i < s->count; i++) {
			if (!qualifies(s, &s->items[i], least[pass]))
				continue;
			out->chosen[s->items[i].function] = true;
			out->any = true;
		}
	}
}

int step_calls_choose(struct step_calls *c, struct timeline *tl, const struct trace *t)
{
	size_t n = timeline_function_count(tl);
	struct totals s = { .timeline = tl,
			    .trace = t,
			    .kinds = calloc(n + 1, 1),
			    .resumed = calloc(n + 1, sizeof(bool)),
			    .throttled = calloc(n + 1, sizeof(bool)),
			    .function_count = n };
	const struct timeline_visitor visitor = { .ctx = &s,
						  .enter = visit_enter,
						  .function = visit_function,
						  .throttled = visit_throttled };
	struct err err;

	*c = (struct step_calls){ .chosen = calloc(n + 1, sizeof(bool)), .count = n };
	pair_totals_init(&s.by, sizeof(struct slot));
	pair_totals_init(&s.entries, sizeof(struct entries));
	pair_totals_init(&s.busy, sizeof(struct busy));
	s.failed = !s.kinds || !s.resumed || !s.throttled || !c->chosen;
	for (size_t i = 0; !s.failed && i < trace_thread_count(t); i++) {
		for (size_t k = 0; k < s.open_cap; k++) /* nothing of another thread's */
			s.open[k] = (struct frame){ UINT32_MAX, NOBODY, false, 0 };
		s.failed |= timeline_walk_again(tl, i, &visitor, &err) != 0;
	}
	if (!s.failed)
		choose(&s, c);
	pair_totals_release(&s.by);
	pair_totals_release(&s.entries);
	pair_totals_release(&s.busy);
	free(s.kinds);
	free(s.resumed);
	free(s.throttled);
	free(s.open);
	free(s.items);
	return s.failed ? -1 : 0;
}

void step_calls_release(struct step_calls *c)
{
	free(c->chosen);
	memset(c, 0, sizeof(*c));
}
