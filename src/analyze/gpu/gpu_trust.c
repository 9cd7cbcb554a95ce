#include "analyze/gpu/gpu_trust.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "analyze/gpu/gpu_busy.h"
#include "timeline/timeline.h"

#define WHOSE 64

static void count(struct analysis_trust *trust, const struct analysis_gpu *gpu)
{
	const struct gpu_timeline *g = gpu->timeline;

	for (size_t i = 0; i < gpu->section_count; i++) {
		const struct gpu_clock *clock = gpu->sections[i].clock;
		int64_t error_ns = clock ? clock->farthest_ns : -1;

		if (!gpu->sections[i].interval_count)
			continue; /* no device time to be wrong about */
		if (error_ns < 0 || trust->clock_error_ns < 0)
			trust->clock_error_ns = -1;
		else if (error_ns > trust->clock_error_ns)
			trust->clock_error_ns = error_ns;
	}
	for (size_t i = 0; i < gpu_clock_count(g); i++) {
		trust->causality_violations_before += gpu_clock(g, i)->violations_before;
		trust->causality_violations += gpu_clock(g, i)->violations_after;
	}
	trust->unmatched_launches = gpu_unmatched_launches(g);
	trust->unmatched_activities = gpu_unmatched_activities(g);
	trust->ambiguous_activities = gpu_ambiguous_activities(g);
	trust->malformed_gpu_records = gpu_malformed(g);
	trust->untimed_activities = gpu_untimed_activities(g);
	trust->cupti_dropped = gpu_dropped(g);
	trust->cupti_overhead_ns = gpu_overhead_ns(g);
}

/* " of process 4711", where there are several. */
static const char *whose(char out[WHOSE], const struct trace *t, uint32_t process)
{
	size_t at = process_position(t, process);

	out[0] = 0;
	if (trace_process_count(t) > 1 && at < trace_process_count(t))
		snprintf(out, WHOSE, " of process %" PRIu32, trace_process(t, at)->pid);
	return out;
}

static const char *or_unknown(const char *text)
{
	return text && *text ? text : "no reason given";
}

/* What a recording that goes on lacks: see GPU_STATE_RECORDING. */
static const char *shortcoming(const struct gpu_change *c)
{
	const char *line = c->text ? strchr(c->text, '\n') : NULL;

	return line && line[1] ? line + 1 : NULL;
}

/* A program that uses another profiler in each step has many of them: one note for all. */
static void note_pauses(struct notes *n, const struct gpu_change_ref *changes, size_t count,
			const char *of)
{
	const struct gpu_change *first = NULL;
	bool ended = true;
	size_t pauses = 0;
	int64_t paused_ns = 0;

	for (size_t i = 0; i < count; i++) {
		if (changes[i].change->state != GPU_STATE_PAUSED)
			continue;
		first = first ? first : changes[i].change;
		pauses++;
		ended = i + 1 < count;
		if (ended)
			paused_ns =
				stats_add(paused_ns, gpu_length(changes[i].change->time_ns,
								changes[i + 1].change->time_ns));
	}
	if (!first)
		return;
	if (!ended)
		notes_add(n, "GPU recording%s paused from %.3f s on and did not resume: %s", of,
			  (double)changes[count - 1].change->time_ns / 1e9,
			  or_unknown(first->text));
	if (pauses > !ended)
		notes_add(n,
			  "GPU recording%s paused %zu time%s, %.3f s in total, first at %.3f s: "
			  "%s",
			  of, pauses - !ended, notes_plural(pauses - !ended),
			  (double)paused_ns / 1e9, (double)first->time_ns / 1e9,
			  or_unknown(first->text));
}

static void note_changes(struct notes *n, const struct analysis_gpu *gpu, const struct trace *t)
{
	const struct gpu_change_ref *changes = gpu->changes;
	char of[WHOSE];

	for (size_t i = 0, next; i < gpu->change_count; i = next) {
		whose(of, t, changes[i].change->process);
		for (next = i; next < gpu->change_count; next++) {
			const struct gpu_change *c = changes[next].change;

			if (c->process != changes[i].change->process)
				break;
			if (c->state == GPU_STATE_UNAVAILABLE)
				notes_add(n, "the GPU%s was not recorded: %s", of,
					  or_unknown(c->text));
			else if (c->state == GPU_STATE_RECORDING && shortcoming(c))
				notes_add(n, "GPU recording%s: %s", of, shortcoming(c));
			else if (c->state == GPU_STATE_STOPPED)
				notes_add(n, "GPU recording%s stopped at %.3f s: %s", of,
					  (double)c->time_ns / 1e9, or_unknown(c->text));
		}
		note_pauses(n, changes + i, next - i, of);
	}
}

static void note_clocks(struct notes *n, const struct analysis_gpu *gpu, const struct trace *t)
{
	char of[WHOSE];

	for (size_t i = 0; i < gpu->section_count; i++) {
		const struct gpu_clock *clock = gpu->sections[i].clock;

		whose(of, t, gpu->sections[i].process);
		if (gpu->sections[i].interval_count && (!clock || clock->farthest_ns < 0))
			notes_add(n,
				  "the offset between the clocks of GPU and host%s is unknown: too "
				  "few waits for the device to bound it",
				  of);
		if (clock && clock->corrected)
			notes_add(n,
				  "the GPU clock%s was corrected by %.1f \xc2\xb5s, drift %.2f ppm",
				  of, clock->offset_ns / 1e3, clock->drift_ppm);
		if (clock && clock->cut)
			notes_add(n,
				  "%" PRIu64 " GPU activit%s%s, according to CUPTI, after a wait "
				  "for it had returned: taken to end when the next activity of the "
				  "stream began",
				  clock->cut, clock->cut == 1 ? "y ends" : "ies end", of);
	}
}

static void note_missing(struct notes *n, const struct analysis_trust *trust)
{
	if (trust->causality_violations)
		notes_add(n,
			  "%" PRIu64 " GPU activit%s before the launch or after the wait for it, "
			  "according to the merged clocks",
			  trust->causality_violations,
			  trust->causality_violations == 1 ? "y lies" : "ies lie");
	if (trust->cupti_dropped)
		notes_add(n,
			  "%" PRIu64 " GPU activit%s dropped by CUPTI: omitted from all "
			  "figures",
			  trust->cupti_dropped, trust->cupti_dropped == 1 ? "y was" : "ies were");
	if (trust->untimed_activities)
		notes_add(n,
			  "%" PRIu64 " GPU activit%s without times: counted, but omitted from "
			  "durations",
			  trust->untimed_activities, trust->untimed_activities == 1 ? "y" : "ies");
	if (trust->unmatched_activities)
		notes_add(
			n,
			"%" PRIu64 " GPU activit%s without the call that started %s: omitted from "
			"the figures of lines and steps",
			trust->unmatched_activities, trust->unmatched_activities == 1 ? "y" : "ies",
			trust->unmatched_activities == 1 ? "it" : "them");
	if (trust->ambiguous_activities)
		notes_add(n,
			  "CUPTI gave different calls the same correlation id, so GPU work cannot "
			  "be assigned to the code that started it: libcupti is older than the "
			  "program's CUDA. Install a matching version");
	if (trust->malformed_gpu_records)
		notes_add(n, "%" PRIu64 " GPU records are malformed and omitted from all figures",
			  trust->malformed_gpu_records);
	if (trust->unmatched_launches)
		notes_add(n, "%" PRIu64 " launch%s without recorded GPU activity",
			  trust->unmatched_launches, trust->unmatched_launches == 1 ? "" : "es");
}

static void note_absence(struct notes *n, const struct analysis_gpu *gpu, const struct trace *t)
{
	const char *asked = trace_info(t, "gpu", 0);

	if (gpu->section_count)
		return;
	if (asked && !strcmp(asked, "off"))
		notes_add(n, "the GPU was not recorded: recording it was switched off");
	else if (gpu->change_count || gpu_device_count(gpu->timeline))
		notes_add(n, "no GPU work was recorded");
	else
		notes_add(n, "no CUDA activity; GPU sections omitted");
}

void gpu_trust_collect(struct analysis *a, const struct trace *t, struct notes *n)
{
	count(&a->trust, &a->gpu);
	note_changes(n, &a->gpu, t);
	note_missing(n, &a->trust);
	note_clocks(n, &a->gpu, t);
	note_absence(n, &a->gpu, t);
}
