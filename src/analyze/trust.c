#include "analyze/trust.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats.h"
#include "base/array.h"
#include "base/buf.h"

struct notes {
	struct analysis_trust *trust;
	size_t cap;
	bool failed;
};

__attribute__((format(printf, 2, 3))) static void add_note(struct notes *n, const char *fmt, ...)
{
	struct analysis_trust *trust = n->trust;
	char **grown = array_grow(trust->notes, &n->cap, trust->note_count + 1, sizeof(*grown));
	char *text = NULL;
	va_list ap;

	if (!grown) {
		n->failed = true;
		return;
	}
	trust->notes = grown;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		n->failed = true;
	else
		grown[trust->note_count++] = text;
	va_end(ap);
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void count_threads(struct analysis_trust *trust, const struct timeline *tl, size_t threads)
{
	for (size_t i = 0; i < threads; i++) {
		const struct thread_tally *tally = timeline_thread(tl, i);

		trust->events += tally->events;
		trust->dropped += tally->lost;
		trust->gaps += tally->gaps;
		trust->gap_ns = stats_add(trust->gap_ns, tally->gap_ns);
		trust->repaired += tally->repaired;
		trust->open_start += tally->open_start;
		trust->open_end += tally->open_end;
		trust->backwards += tally->backwards;
	}
	for (size_t i = 0; i < timeline_scope_count(tl); i++)
		trust->unended_scopes += !timeline_scope(tl, i)->ended;
	trust->unknown_names = timeline_unknown_names(tl);
	trust->lost_scope_begins = timeline_lost_scope_begins(tl);
}

/* A trace without its end is damaged too, by trace_damage()'s definition. */
static void note_missing_parts(struct notes *n, const struct timeline *tl, const struct trace *t)
{
	const char *damage = trace_damage(t);

	if (damage)
		add_note(n, "partial report: %s", damage);
	if (timeline_damage(tl))
		add_note(n, "partial report: %s", timeline_damage(tl));
	n->trust->partial = n->trust->note_count > 0;
}

static void note_losses(struct notes *n)
{
	const struct analysis_trust *trust = n->trust;
	double all = (double)trust->events + (double)trust->dropped;

	if (trust->dropped)
		add_note(n,
			 "%" PRIu64 " events (%.1f %%) were lost because the buffer was full; the "
			 "newest are kept; --trace-size-mb sets its size",
			 trust->dropped, 100 * (double)trust->dropped / all);
	if (trust->gap_ns)
		add_note(n,
			 "what ran is unknown for %.3f s of the threads' time: it is in the total "
			 "of "
			 "functions that outlasted it and in nobody's self time",
			 (double)trust->gap_ns / 1e9);
	if (trust->repaired)
		add_note(n, "%" PRIu64 " call%s without a recorded exit: ended by what followed",
			 trust->repaired, plural(trust->repaired));
	/* Without a gap they are what was running when the recording began: no surprise. */
	if (trust->open_start && trust->gaps)
		add_note(n,
			 "%" PRIu64 " call%s without a recorded entry: counted from where the "
			 "recording began or went on",
			 trust->open_start, plural(trust->open_start));
	if (trust->open_end)
		add_note(n, "%" PRIu64 " call%s still running when the recording ended",
			 trust->open_end, plural(trust->open_end));
	if (trust->unended_scopes)
		add_note(n, "%" PRIu64 " scope%s without a recorded end: in no figure",
			 trust->unended_scopes, plural(trust->unended_scopes));
	if (trust->lost_scope_begins)
		add_note(n, "%" PRIu64 " scope%s without a recorded begin: in no figure",
			 trust->lost_scope_begins, plural(trust->lost_scope_begins));
	if (trust->unknown_names)
		add_note(n, "%" PRIu64 " name%s missing: shown as (unknown)", trust->unknown_names,
			 plural(trust->unknown_names));
	if (trust->backwards)
		add_note(n, "%" PRIu64 " time stamp%s ran backwards: set to the one before",
			 trust->backwards, plural(trust->backwards));
}

int trust_collect(struct analysis *a, const struct timeline *tl, const struct trace *t)
{
	struct notes n = { .trust = &a->trust };

	count_threads(&a->trust, tl, a->thread_count);
	note_missing_parts(&n, tl, t);
	for (size_t i = 0; i < trace_note_count(t); i++)
		add_note(&n, "%s", trace_note(t, i));
	note_losses(&n);
	add_note(&n, "the GPU and memory are not recorded in this version");
	add_note(&n, "overhead is not measured in this version");
	return n.failed ? -1 : 0;
}
