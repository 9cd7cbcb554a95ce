#include <math.h>

#include "analyze/code_kind.h"
#include "rules/draft.h"

/* What a framework's operators return is not the program's to allocate: activations. */
static bool is_of_operators(const struct time_cause *c)
{
	enum code_kind kind;

	if (!c || !c->inner.name || !c->inner.file)
		return false;
	kind = code_kind(c->inner.name, c->inner.file);
	return kind == CODE_FRAMEWORK || kind == CODE_MODULE;
}

/*
 * glibc gives large blocks back to the system when they are freed: those above 32 MB, which are
 * mapped one by one, and the end of the heap.  The next step's are fresh pages again.
 */
static void suggest_allocator(struct draft *d, const char *name, double faults, double ms)
{
	draft_suggest(d,
		      "Let malloc keep what %s frees instead of giving it back to the system: "
		      "start the program with MALLOC_MMAP_MAX_=0 and "
		      "MALLOC_TRIM_THRESHOLD_=4294967296 (glibc); %.0f faults %s are %s",
		      name, faults, draft_a_step(d), draft_ms(d, ms));
	draft_suggest(d, "Or preload an allocator that keeps memory: jemalloc with "
			 "MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1, or tcmalloc");
}

static void suggest_buffers(struct draft *d, const char *name)
{
	draft_suggest(d,
		      "Allocate the large buffers of %s once and fill them again (out=, copy_()): "
		      "fresh memory is mapped page by page at its first use",
		      name);
}

static bool look(struct draft *d)
{
	const struct analysis_memory *memory = &d->a->memory;
	const struct time_cause *c = draft_cause(d, TIME_PAGE_FAULTS);
	double minor = fmax(d->m->minor_faults_per_step, 0);
	double major = fmax(d->m->major_faults_per_step, 0), ms = d->m->page_faults_time;
	const char *name = draft_name(d, c ? &c->where : NULL);
	bool huge = d->step->memory.huge_pages;

	draft_where(d, c ? &c->where : NULL);
	draft_evidence(d, FROM_SERIES, draft_strength(draft_share(d, ms), 0.05),
		       "%.0f page faults %s, %.0f of them from disk%s: about %s (%s) of what its "
		       "thread does",
		       minor + major, draft_a_step(d), major, huge ? ", many of huge pages" : "",
		       draft_ms(d, ms), draft_percent(d, ms));
	/* The kernel told where a part of them was; else it is where the host writes most. */
	if (c && memory->seen_minor + memory->seen_major)
		draft_evidence(d, FROM_NATIVE, draft_strength(draft_cause_ms(d, c), ms / 4),
			       "most of those that were seen where they happened, %s %s, are in %s",
			       draft_ms(d, draft_cause_ms(d, c)), draft_of_step(d), name);
	else if (c)
		draft_evidence(d, FROM_TIMES,
			       draft_strength(draft_share(d, draft_cause_ms(d, c)), 0.10),
			       "the host is mostly in %s meanwhile", name);
	draft_evidence_idle(d);
	draft_claim(d, TIME_PAGE_FAULTS, ms);
	draft_saving(d, ms, ms / 2, ms);
	if (!is_of_operators(c))
		suggest_buffers(d, name);
	suggest_allocator(d, name, minor + major, ms);
	if (huge)
		draft_suggest(d,
			      "Ask %s for less memory: a huge page is zeroed as a whole (2 MB, "
			      "0.1 ms and more), however little of it is used",
			      name);
	else
		draft_suggest(d,
			      "Use huge pages for what %s touches (THP_MEM_ALLOC_ENABLE=1 for "
			      "torch, madvise): one fault instead of 512",
			      name);
	return true;
}

const struct rule rule_page_faults = {
	.id = "page-faults",
	.title = "Steps touch memory that is mapped anew each time",
	.condition = "page_faults_time / total_time > 0.05",
	.look = look,
};
