#include <math.h>

#include "analyze/classes/code_kind.h"
#include "rules/findings/host_code.h"

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
static void suggest_allocator(struct finding_builder *d, const char *name, double faults, double ms)
{
	finding_suggest(d,
			"Let malloc keep the memory that %s frees instead of returning it to the "
			"system: start the program with MALLOC_MMAP_MAX_=0 and "
			"MALLOC_TRIM_THRESHOLD_=4294967296 (glibc); %.0f faults %s take %s",
			name, faults, finding_a_step(d), finding_ms(d, ms));
	finding_suggest(d, "Or preload an allocator that keeps memory: jemalloc with "
			   "MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1, or tcmalloc");
}

static void suggest_buffers(struct finding_builder *d, const char *name)
{
	finding_suggest(
		d,
		"Allocate the large buffers of %s once and reuse them (out=, copy_()): new memory "
		"is mapped page by page at first use",
		name);
}

/* What is mapped in each step is unmapped in it, too, which takes no longer. */
static double unmapping_ms(const struct finding_builder *d, double faults_ms)
{
	double ms = 0;

	for (size_t i = 0; i < d->parts->cause_count; i++)
		if (host_may_unmap(d, &d->parts->causes[i]))
			ms += finding_cause_ms(d, &d->parts->causes[i]);
	return fmin(ms, faults_ms);
}

static bool evaluate(struct finding_builder *d)
{
	const struct analysis_memory *memory = &d->a->memory;
	const struct time_cause *c = finding_cause(d, TIME_PAGE_FAULTS);
	double minor = fmax(d->m->minor_faults_per_step, 0);
	double major = fmax(d->m->major_faults_per_step, 0), ms = d->m->page_faults_time;
	const char *name = finding_place_name(d, c ? &c->where : NULL);
	bool huge = d->step->memory.huge_pages;
	double unmap_ms = unmapping_ms(d, ms);

	/* A model's results: less than a tenth is the allocator's way, and no fault of the program.
	 */
	if (is_of_operators(c) && finding_share(d, ms) <= 0.10)
		return false;
	finding_where(d, c ? &c->where : NULL);
	finding_evidence(d, FROM_SERIES, finding_strength(finding_share(d, ms), 0.05),
			 "%.0f page faults %s, %.0f of them from disk%s: about %s (%s) of the "
			 "thread's time",
			 minor + major, finding_a_step(d), major,
			 huge ? ", many of huge pages" : "", finding_ms(d, ms),
			 finding_percent(d, ms));
	/* The kernel told where a part of them was; else it is where the host writes most. */
	if (c && memory->seen_minor + memory->seen_major)
		finding_evidence(d, FROM_NATIVE, finding_strength(finding_cause_ms(d, c), ms / 4),
				 "most page faults with a known location, %s %s, are in %s",
				 finding_ms(d, finding_cause_ms(d, c)), finding_of_step(d), name);
	else if (c)
		finding_evidence(d, FROM_TIMES,
				 finding_strength(finding_share(d, finding_cause_ms(d, c)), 0.10),
				 "the host is mostly in %s during this time", name);
	finding_evidence_idle(d);
	finding_claim(d, TIME_PAGE_FAULTS, ms);
	if (unmap_ms > 0)
		finding_evidence(d, FROM_TIMES, 0,
				 "memory that is mapped in a step is unmapped again: up to %s more "
				 "on lines that may do so",
				 finding_ms(d, unmap_ms));
	finding_saving(d, ms, ms + unmap_ms);
	if (!is_of_operators(c))
		suggest_buffers(d, name);
	suggest_allocator(d, name, minor + major, ms);
	if (huge)
		finding_suggest(d,
				"Allocate less memory in %s: a huge page is zeroed as a whole (2 "
				"MB, 0.1 ms and more), even if only a small part is used",
				name);
	else
		finding_suggest(d,
				"Use huge pages for the memory of %s (THP_MEM_ALLOC_ENABLE=1 for "
				"torch, madvise): one fault instead of 512",
				name);
	return true;
}

const struct rule rule_page_faults = {
	.id = "page-faults",
	.title = "Steps use newly mapped memory each time",
	.condition = "page_faults_time / total_time > 0.05",
	.evaluate = evaluate,
};
