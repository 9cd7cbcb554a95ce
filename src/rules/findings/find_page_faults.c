#include <math.h>

#include "rules/draft.h"

static bool look(struct draft *d)
{
	const struct analysis_memory *memory = &d->a->memory;
	const struct time_cause *c = draft_cause(d, TIME_PAGE_FAULTS);
	double minor = fmax(d->m->minor_faults_per_step, 0);
	double major = fmax(d->m->major_faults_per_step, 0), ms = d->m->page_faults_time;
	const char *name = draft_name(d, c ? &c->where : NULL);
	bool huge = d->step->memory.huge_pages;

	draft_where(d, c ? &c->where : NULL);
	draft_evidence(
		d, FROM_SERIES, draft_strength(draft_share(d, ms), 0.05),
		"%.0f page faults a step, %.0f of them from disk%s: about %s (%s) of what its "
		"thread does",
		minor + major, major, huge ? ", many of huge pages" : "", draft_ms(d, ms),
		draft_percent(d, ms));
	/* The kernel told where a part of them was; else it is where the host writes most. */
	if (c && memory->seen_minor + memory->seen_major)
		draft_evidence(
			d, FROM_NATIVE, draft_strength(draft_cause_ms(d, c), ms / 4),
			"most of those that were seen where they happened, %s of a step, are "
			"in %s",
			draft_ms(d, draft_cause_ms(d, c)), name);
	else if (c)
		draft_evidence(d, FROM_TIMES,
			       draft_strength(draft_share(d, draft_cause_ms(d, c)), 0.10),
			       "the host is mostly in %s meanwhile", name);
	draft_evidence_idle(d);
	draft_claim(d, TIME_PAGE_FAULTS, ms);
	draft_saving(d, ms, ms / 2, ms);
	draft_suggest(d,
		      "Allocate the large buffers of %s once and fill them again (out=, copy_()): "
		      "fresh memory is mapped page by page at its first use",
		      name);
	draft_suggest(d,
		      "Let the allocator keep memory: MALLOC_TOP_PAD_ and MALLOC_MMAP_THRESHOLD_, "
		      "or jemalloc with a long decay; %.0f faults a step",
		      minor + major);
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
