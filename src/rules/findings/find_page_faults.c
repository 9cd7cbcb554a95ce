#include <math.h>

#include "rules/findings/host_code.h"

/*
 * The line with most of the faults that were seen where they happened, of those that still had some
 * when the steps ran: imports have the most of all.  NULL: none was seen.  *seen: of all such
 * lines.
 */
static const struct memory_line *faulting_line(const struct draft *d, double *seen)
{
	const struct analysis_memory *m = &d->a->memory;
	const struct memory_line *most = NULL;

	*seen = 0;
	for (size_t i = 0; i < m->line_count; i++) {
		if (m->lines[i].last_ns < d->step->begin_ns)
			continue;
		*seen += (double)(m->lines[i].minor + m->lines[i].major);
		if (!most && m->lines[i].place.name)
			most = &m->lines[i];
	}
	return most;
}

static bool look(struct draft *d)
{
	double seen;
	const struct memory_line *line = faulting_line(d, &seen);
	double minor = fmax(d->m->minor_faults_per_step, 0);
	double major = fmax(d->m->major_faults_per_step, 0), ms = d->m->fault_time;
	/*
	 * Where the kernel does not tell which code they are of, it is where the host writes most:
	 * its own code, or a copy into memory of the host.
	 */
	const struct time_cause *copy = draft_cause(d, TIME_D2H), *c = host_cause(d);
	const char *name;

	if (copy && (!c || copy->ns > c->ns))
		c = copy;
	name = draft_name(d, line ? &line->place : c ? &c->where : NULL);
	draft_where(d, line ? &line->place : c ? &c->where : NULL);
	draft_evidence(d, FROM_SERIES, draft_strength(draft_share(d, ms), 0.05),
		       "%.0f page faults a step, %.0f of them from disk: about %s (%s)",
		       minor + major, major, draft_ms(d, ms), draft_percent(d, ms));
	if (line) {
		double share = (double)(line->minor + line->major) / seen;

		draft_evidence(d, FROM_NATIVE, draft_strength(share, 0.25),
			       "%.0f %% of the faults of lines that the steps run are in %s",
			       100 * share, name);
	} else if (c) {
		draft_evidence(d, FROM_TIMES,
			       draft_strength(draft_share(d, draft_cause_ms(d, c)), 0.10),
			       "the host is mostly in %s meanwhile, %s a step", name,
			       draft_ms(d, draft_cause_ms(d, c)));
	}
	draft_evidence_idle(d);
	draft_saving(d, ms, ms / 2, 2 * ms);
	draft_suggest(d,
		      "Allocate the large buffers of %s once and fill them again (out=, copy_()): "
		      "fresh memory is mapped page by page at its first use",
		      name);
	draft_suggest(d,
		      "Let the allocator keep memory: MALLOC_TOP_PAD_ and MALLOC_MMAP_THRESHOLD_, "
		      "or jemalloc with a long decay; %.0f faults a step",
		      minor + major);
	draft_suggest(d,
		      "Use huge pages for what %s touches (THP_MEM_ALLOC_ENABLE=1 for torch, "
		      "madvise): one fault instead of 512",
		      name);
	return true;
}

const struct rule rule_page_faults = {
	.id = "page-faults",
	.title = "Steps touch memory that is mapped anew each time",
	.condition = "fault_time / total_time > 0.05",
	.look = look,
};
