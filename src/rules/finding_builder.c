#include "rules/finding_builder.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/figure_text.h"
#include "rules/saving.h"
#include "timeline/code_owner.h"

/*
 * A finding from one kind of record alone may be likely, not sure; nor is one sure whose place is
 * none that the user can change.
 */
#define ONE_KIND_MOST 0.75
/* Nothing that is inferred is certain. */
#define CONFIDENCE_MOST 0.97
/* Where no step is known from its begin to its end: samples tell shares, not what repeats. */
#define WITHOUT_STEPS 0.9

/* Severities: 10 % of a step is what people notice, 5 % what they can measure. */
#define HIGH_SHARE 0.10
#define MEDIUM_SHARE 0.05

void finding_init(struct finding_builder *d, const struct analysis *a, const struct metrics *m,
		  const struct rule *rule, struct arena *texts)
{
	*d = (struct finding_builder){
		.a = a,
		.step = &a->steps[0],
		.parts = &a->steps[0].breakdown,
		.use = &a->use,
		.m = m,
		.rule = rule,
		.texts = texts,
		.finding = { .id = rule->id, .title = rule->title, .step = a->steps[0].name },
	};
	if (!a->use.gpu && rule->title_without_gpu)
		d->finding.title = rule->title_without_gpu;
}

bool place_same_function(const struct place *a, const struct place *b)
{
	return a->name && b->name && !strcmp(a->name, b->name) && a->file && b->file &&
	       !strcmp(a->file, b->file);
}

static const char *vtext(struct arena *to, const char *fmt, va_list ap)
{
	va_list again;
	char *text;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	text = n < 0 ? NULL : arena_alloc(to, (size_t)n + 1);
	if (text)
		vsnprintf(text, (size_t)n + 1, fmt, ap);
	return text;
}

const char *finding_text(struct arena *to, const char *fmt, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, fmt);
	text = vtext(to, fmt, ap);
	va_end(ap);
	return text;
}

static void put(struct finding_builder *d, const char **list, size_t *count, size_t most,
		const char *fmt, va_list ap)
{
	const char *text = *count < most ? vtext(d->texts, fmt, ap) : NULL;

	if (text)
		list[(*count)++] = text;
	else if (*count < most)
		d->failed = true;
}

/* Are its times by samples alone? */
static bool is_sampled(const struct finding_builder *d)
{
	return d->step->model_parts > 0;
}

void finding_evidence(struct finding_builder *d, enum evidence_kind kind, double strength,
		      const char *fmt, ...)
{
	va_list ap;

	if (kind == FROM_TIMES && is_sampled(d))
		kind = FROM_STATES; /* the same records */
	if (strength > d->strengths[kind])
		d->strengths[kind] = strength;
	va_start(ap, fmt);
	put(d, d->evidence, &d->finding.evidence_count, FINDING_EVIDENCE_MAX, fmt, ap);
	va_end(ap);
}

void finding_suggest(struct finding_builder *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(d, d->suggestions, &d->finding.suggestion_count, FINDING_SUGGESTIONS_MAX, fmt, ap);
	va_end(ap);
}

/* The function of a place whose line is its first: where only the function is known. */
static const struct analysis_function *only_function(const struct finding_builder *d,
						     const struct place *p)
{
	for (size_t i = 0; i < d->a->function_count; i++) {
		const struct analysis_function *f = &d->a->functions[i];

		if (f->line == p->line &&
		    place_same_function(&(struct place){ f->name, f->file, 0 }, p))
			return f;
	}
	return NULL;
}

bool finding_line_known(const struct finding_builder *d, const struct place *p)
{
	return !only_function(d, p);
}

/* The line of that function which most time is known of: in steps, else by all samples. */
static uint32_t heaviest_line(const struct finding_builder *d, const struct place *p)
{
	const struct analysis_function *f = only_function(d, p);

	if (!f)
		return p->line;
	for (size_t i = 0; i < d->parts->cause_count; i++) {
		const struct time_cause *c = &d->parts->causes[i];
		const struct place *places[] = { &c->where, &c->waited_for };

		for (size_t k = 0; k < 2; k++)
			if (places[k]->line != f->line && place_same_function(places[k], p))
				return places[k]->line;
	}
	return f->line_count ? f->lines[0].line : f->line;
}

static bool is_users(const struct place *p)
{
	return p->name && (!p->file || user_frame(p->name, p->file));
}

/* The user's line that the steps spend most time in; NULL: none. */
static const struct place *users_line(const struct finding_builder *d)
{
	for (size_t i = 0; i < d->parts->cause_count; i++)
		if (is_users(&d->parts->causes[i].where))
			return &d->parts->causes[i].where;
	return NULL;
}

void finding_where(struct finding_builder *d, const struct place *p)
{
	const struct place *own = p && p->name && !is_users(p) ? users_line(d) : NULL;

	d->in_library = p && p->name && !is_users(p) && !own;
	if (own) {
		finding_evidence(d, FROM_TIMES, 0,
				 "the place is in a library, %s, which runs around or below %s",
				 finding_place_name(d, p), finding_place_name(d, own));
		p = own;
	}
	d->finding.where = p && p->name ? *p : (struct place){ 0 };
	if (d->finding.where.name)
		d->finding.where.line = heaviest_line(d, p);
}

static double within(double value, double low, double high)
{
	return !(value > low) ? low : value > high ? high : value; /* NAN: low */
}

static double whole_step_ms(const struct finding_builder *d)
{
	return isnan(d->m->total_time) ? 0 : d->m->total_time;
}

static void set_saving(struct finding_builder *d, const struct saving_interval *s)
{
	struct analysis_finding *f = &d->finding;

	f->saving_ns = s->ms * 1e6;
	f->saving_low_ns = s->low_ms * 1e6;
	f->saving_high_ns = s->high_ms * 1e6;
	f->saving_share = whole_step_ms(d) > 0 ? s->ms / whole_step_ms(d) : 0;
}

/* As long as it may change no interval is drawn. */
static void set_bounds(struct finding_builder *d, double least_ms, double most_ms)
{
	d->most_ms = within(most_ms, 0, whole_step_ms(d));
	d->least_ms = within(least_ms, 0, d->most_ms);
	set_saving(d, &(struct saving_interval){ (d->least_ms + d->most_ms) / 2, d->least_ms,
						 d->most_ms });
}

void finding_saving(struct finding_builder *d, double least_ms, double most_ms)
{
	set_bounds(d, least_ms, most_ms);
}

static const struct replay *made_replay(struct finding_builder *d)
{
	struct finding_replay *all = d->replays;
	struct err err;

	if (!all || all->failed)
		return NULL;
	if (!all->replay && replay_new(&all->replay, d->a, &err)) {
		all->failed = d->failed = true;
		return NULL;
	}
	return all->replay;
}

bool finding_replayed(struct finding_builder *d, const struct replay_edit *edit, double *ms)
{
	const struct replay *r = made_replay(d);
	const struct replay_quality *q = r ? replay_quality(r) : NULL;
	struct replay_result result;
	struct err err;

	if (!q || !q->steps || !q->gpu)
		return false;
	if (q->step_error > REPLAY_STEP_ERROR) {
		d->doubt = fmin(q->step_error, 0.5);
		finding_evidence(d, FROM_TIMES, 0,
				 "a replay of the unchanged steps is off by %.1f %%, so the saving "
				 "comes from the times of the cause only",
				 100 * q->step_error);
		return false;
	}
	if (replay_predict(r, edit, 1, &result, &err)) {
		d->failed = true;
		return false;
	}
	/* Another run of it, or other steps: not these. */
	if (!result.steps || result.missed == 0 || result.touched_ns <= 0)
		return false;
	*ms = fmax(0, result.saving_ns / 1e6);
	d->replay_error = q->step_error;
	finding_evidence(d, FROM_TIMES, 0,
			 "replayed without it, a step takes %s less (%s); %s (unchanged, the "
			 "replay is off by %.1f %%)",
			 finding_ms(d, *ms), finding_percent(d, *ms),
			 replay_edit_assumption(edit->kind), 100 * q->step_error);
	return true;
}

void finding_claim(struct finding_builder *d, enum time_class what, double ms)
{
	d->claims[what] += within(ms, 0, finding_part(d, what) - d->claims[what]);
}

void finding_claim_hosts(struct finding_builder *d, double ms)
{
	static const enum time_class own[] = { TIME_CPU_PREPROCESSING, TIME_CPU_COMPUTE,
					       TIME_FRAMEWORK, TIME_LAUNCH };
	double all_ms = 0;

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		all_ms += finding_part(d, own[i]) - d->claims[own[i]];
	for (size_t i = 0; all_ms > 0 && i < sizeof(own) / sizeof(*own); i++)
		finding_claim(d, own[i],
			      fmin(ms / all_ms, 1) * (finding_part(d, own[i]) - d->claims[own[i]]));
}

void finding_shrink(struct finding_builder *d, double share)
{
	for (size_t i = 0; i < EVIDENCE_KINDS; i++)
		d->strengths[i] *= share;
	set_bounds(d, share * d->least_ms, share * d->most_ms);
}

void finding_widen(struct finding_builder *d, double ms, double most_ms)
{
	set_bounds(d, d->least_ms, fmax(d->most_ms, fmin(ms, most_ms)));
}

double finding_strength(double value, double bound)
{
	return value > 0 ? value / (value + bound) : 0;
}

double finding_share(const struct finding_builder *d, double ms)
{
	return d->m->total_time > 0 && ms > 0 ? ms / d->m->total_time : 0;
}

bool finding_found(const struct finding_builder *d, const char *id)
{
	for (size_t i = 0; i < d->a->findings.count; i++)
		if (!strcmp(d->a->findings.items[i].id, id))
			return true;
	return false;
}

double finding_part(const struct finding_builder *d, enum time_class what)
{
	return d->parts->steps ? (double)d->parts->parts[what].ns / 1e6 / (double)d->parts->steps
			       : 0;
}

const struct time_cause *finding_cause(const struct finding_builder *d, enum time_class what)
{
	for (size_t i = 0; i < d->parts->cause_count; i++)
		if (d->parts->causes[i].what == what && d->parts->causes[i].where.name)
			return &d->parts->causes[i];
	return NULL;
}

double finding_cause_ms(const struct finding_builder *d, const struct time_cause *c)
{
	return c && d->parts->steps ? (double)c->ns / 1e6 / (double)d->parts->steps : 0;
}

const char *finding_place_name(struct finding_builder *d, const struct place *p)
{
	const char *slash, *text;

	if (!p || !p->name)
		return "the program";
	slash = p->file ? strrchr(p->file, '/') : NULL;
	if (!p->file || !*p->file)
		text = finding_text(d->texts, "%s", p->name);
	else
		text = finding_text(d->texts, "%s (%s:%u)", p->name, slash ? slash + 1 : p->file,
				    heaviest_line(d, p));
	d->failed |= !text;
	return text ? text : p->name;
}

static const char *kept(struct finding_builder *d, const char *text)
{
	d->failed |= !text;
	return text ? text : "";
}

const char *finding_ms(struct finding_builder *d, double ms)
{
	char figure[TEXT_FIGURE];

	return kept(d, finding_text(d->texts, "%s", text_duration(figure, fmax(ms, 0) * 1e6)));
}

const char *finding_bytes(struct finding_builder *d, double bytes)
{
	char figure[TEXT_FIGURE];

	/* NAN: 0 */
	return kept(d, finding_text(d->texts, "%s",
				    text_bytes(figure, (uint64_t)within(bytes, 0, 1e18))));
}

const char *finding_number(struct finding_builder *d, double n)
{
	return kept(d, finding_text(d->texts, n < 99.5 ? "%.3g" : "%.0f", n));
}

const char *finding_percent(struct finding_builder *d, double ms)
{
	return kept(d, finding_text(d->texts, "%.0f %%", 100 * finding_share(d, ms)));
}

const char *finding_meanwhile(const struct finding_builder *d)
{
	return d->use->gpu ? " while the GPU runs nothing for it" : "";
}

const char *finding_of_step(struct finding_builder *d)
{
	if (d->step->source != STEP_WHOLE_RUN)
		return "per step";
	return kept(d, finding_text(d->texts, "of the run's %s", finding_ms(d, d->m->total_time)));
}

const char *finding_a_step(const struct finding_builder *d)
{
	return d->step->source == STEP_WHOLE_RUN ? "in total" : "per step";
}

const char *finding_thread(const struct finding_builder *d)
{
	return is_sampled(d) ? "the thread that calls the model"
			     : "the thread that runs the "
			       "steps";
}

bool finding_is_inference(const struct finding_builder *d)
{
	return d->use->gpu || d->a->layers.count || d->step->model_parts ||
	       d->step->source != STEP_WHOLE_RUN;
}

void finding_evidence_idle(struct finding_builder *d)
{
	double idle_ms = d->m->total_time * d->m->idle_share;

	if (idle_ms > 0)
		finding_evidence(d, FROM_ACTIVITIES, finding_strength(d->m->idle_share, 0.10),
				 "the GPU was idle for %.0f %% of the steps",
				 100 * d->m->idle_share);
}

/* The thread of the first step, if the kernel's figures of it are known. */
static const struct analysis_thread *step_thread(const struct finding_builder *d)
{
	return d->use->thread < d->a->thread_count ? &d->a->threads[d->use->thread] : NULL;
}

void finding_evidence_off_cpu(struct finding_builder *d, double ms)
{
	const struct analysis_thread *t = step_thread(d);
	double lived_ns, away, claimed;

	if (!t || !t->timed || t->end_ns <= t->start_ns)
		return;
	lived_ns = (double)(t->end_ns - t->start_ns);
	away = 1 - ((double)t->on_cpu_ns + (double)t->queued_ns) / lived_ns;
	/* What is claimed of one stretch of its life may all be there; of steps it is a share. */
	claimed = is_sampled(d) ? ms * 1e6 / lived_ns : finding_share(d, ms);
	/* It must have been away for at least half of that. */
	if (away > claimed / 2)
		finding_evidence(
			d, FROM_KERNEL_TIMES, 0.5,
			"according to the Linux kernel, %s did not need a CPU for %.0f %% of its "
			"lifetime",
			finding_thread(d), 100 * away);
}

/* The kernel's samples of CPU time, whose native code this function of Python's called or is. */
static void evidence_native(struct finding_builder *d, const struct place *p)
{
	const struct analysis_native *n = &d->a->native;
	uint64_t found = 0;

	for (size_t i = 0; i < n->count; i++)
		if (place_same_function(&n->rows[i].python, p))
			found += n->rows[i].samples;
	if (found)
		finding_evidence(d, FROM_NATIVE, finding_strength((double)found, 10),
				 "%" PRIu64 " of the Linux kernel's CPU time samples are in %s",
				 found, p->name);
}

void finding_evidence_samples(struct finding_builder *d, const struct place *p)
{
	if (p && is_sampled(d)) {
		evidence_native(d, p);
		return;
	}
	for (size_t i = 0; p && p->name && i < d->a->function_count; i++) {
		const struct analysis_function *f = &d->a->functions[i];

		if (!f->samples || strcmp(f->name, p->name) != 0 || !p->file ||
		    strcmp(f->file, p->file) != 0)
			continue;
		/* Ten looks are no accident; where a time is spent does not make it longer. */
		finding_evidence(d, FROM_STATES,
				 d->strengths[FROM_TIMES] *
					 finding_strength((double)f->samples, 10),
				 "%" PRIu64 " stack samples are in %s", f->samples, f->name);
		return;
	}
}

double finding_quality(const struct analysis *a, const struct metrics *m)
{
	unsigned parts = a->steps[0].model_parts;
	double steps = within(m->steps, 1, 1e9), quality;

	/*
	 * One step may be like no other; with ten of them a stray one counts for little.  So it is
	 * with parts of a run in which models were seen at work.
	 */
	quality = parts ? WITHOUT_STEPS * (1 - 0.5 / parts) : 1 - 0.5 / steps;
	/* Where one step takes as long as all others, means say little of any of them. */
	if (steps > 1 && m->longest_share > 0.5)
		quality *= 2 * (1 - m->longest_share);
	/* A GPU was used and not recorded: what was hidden behind its work is not known. */
	if (a->gpu.change_count && !a->use.gpu)
		quality *= 0.5;
	quality *= 1 - within(m->dropped_share, 0, 0.5);
	if (m->unattributed_time > 0 && m->total_time > 0)
		quality *= 1 - within(m->unattributed_time / m->total_time, 0, 0.5);
	/*
	 * By so much host and device may be on the wrong side of each other.  A wide bound says
	 * that few pairs bind them, not that they are apart: that only contradictions show.
	 */
	if (m->clock_error_us > 0 && m->total_time > 0)
		quality *= 1 - within(m->clock_error_us / 1e3 / m->total_time, 0,
				      a->trust.causality_violations ? 0.3 : 0.1);
	if (a->trust.partial)
		quality *= 0.9;
	return quality;
}

double finding_confidence(const struct finding_builder *d, double share)
{
	double doubt = 1, sure;
	size_t kinds = 0;

	for (size_t i = 0; i < EVIDENCE_KINDS; i++) {
		kinds += d->strengths[i] > 0;
		doubt *= 1 - within(d->strengths[i] * share, 0, 1);
	}
	sure = within(1 - doubt, 0,
		      kinds > 1 && !d->in_library && !d->doubtful ? CONFIDENCE_MOST
								  : ONE_KIND_MOST);
	return sure * finding_quality(d->a, d->m);
}

static enum finding_severity severity(const struct analysis_finding *f)
{
	if (f->confidence >= FINDING_SURE && f->saving_share >= HIGH_SHARE)
		return SEVERITY_HIGH;
	if (f->confidence >= FINDING_LIKELY && f->saving_share >= MEDIUM_SHARE)
		return SEVERITY_MEDIUM;
	return SEVERITY_LOW;
}

static const char **keep(struct finding_builder *d, const char *const *list, size_t count)
{
	const char **kept = arena_alloc(d->texts, (count + 1) * sizeof(*kept));

	if (kept)
		memcpy(kept, list, count * sizeof(*kept));
	d->failed |= !kept;
	return kept;
}

/*
 * A saving of what is barely measured is likely at most, whatever the evidence for its cause;
 * from what people notice on it takes nothing away.  What saves nothing says so.
 */
static double worth(const struct finding_builder *d)
{
	double share = d->finding.saving_share;

	if (d->tail || share <= 0)
		return 1;
	share = within((share - MEDIUM_SHARE) / (HIGH_SHARE - MEDIUM_SHARE), 0, 1);
	return FINDING_LIKELY + (1 - FINDING_LIKELY) * share;
}

static void draw_interval(struct finding_builder *d)
{
	struct saving_basis basis = { .least_ms = d->least_ms,
				      .most_ms = d->most_ms,
				      .replay_error = d->replay_error };
	struct saving_interval s;

	memcpy(basis.claims_ms, d->claims, sizeof(basis.claims_ms));
	s = saving_interval(d->parts, &basis);
	s.high_ms = within(s.high_ms, s.ms, whole_step_ms(d));
	set_saving(d, &s);
}

int finding_finish(struct finding_builder *d)
{
	struct analysis_finding *f = &d->finding;

	draw_interval(d);
	f->confidence = worth(d) * finding_confidence(d, 1) * (1 - d->doubt);
	f->severity = severity(f);
	f->evidence = keep(d, d->evidence, f->evidence_count);
	f->suggestions = keep(d, d->suggestions, f->suggestion_count);
	return d->failed ? -1 : 0;
}
