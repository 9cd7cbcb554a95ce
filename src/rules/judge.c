#include "rules/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/finding_figures.h"
#include "base/array.h"
#include "replay/replay.h"
#include "rules/condition.h"
#include "rules/finding_builder.h"
#include "rules/metrics.h"
#include "rules/rule.h"
#include "timeline/code_owner.h"

/*
 * Which finding has which time.
 *
 * Each rule claims the parts of a step that its cause takes, class by class (finding_claim()).
 * Two rules may see the same time from two sides: the host that waits for the GPU and the
 * framework's code that nothing hides because of it.  A fix brings that time once.  So the
 * finding that is best supported has all that it claims, and what others claim of it lowers
 * their saving, and their evidence with it, as far as nothing else is left to them.
 *
 * What a cause takes is not all that goes with it: caches are cold after it, threads have gone
 * to sleep, clocks have fallen.  A cause that has nearly all of the time that is not the model's
 * own work is behind the rest of it as well; one that has little of it leaves the rest as it
 * is.  So the most that a finding may save is what it claims, and of the rest that no finding
 * claims the share that it has of the whole.
 */

/* As in rule.h: less of a step is not worth a person's time. */
#define WORTH_SHARE 0.05
/* Said of a finding that others have more of than that. */
#define NOTICED 0.05

struct pool {
	double left_ms[TIME_CLASSES];
	double whole_ms; /* all but the model's own work and what nobody asked for */
	bool gpu;
};

/* The model's own work is the GPU's, or, without one, that of its operators. */
static bool is_hosts(const struct pool *p, enum time_class what)
{
	return what != (p->gpu ? TIME_GPU_COMPUTE : TIME_CPU_COMPUTE) && what != TIME_IDLE;
}

static double pool_ms(const struct pool *p)
{
	double ms = 0;

	for (enum time_class i = 0; i < TIME_CLASSES; i++)
		if (is_hosts(p, i))
			ms += p->left_ms[i];
	return ms;
}

static void pool_init(struct pool *p, const struct finding_builder *d)
{
	for (enum time_class i = 0; i < TIME_CLASSES; i++)
		p->left_ms[i] = finding_part(d, i);
	p->gpu = d->use->gpu;
	p->whole_ms = pool_ms(p);
}

static double claimed_ms(const struct finding_builder *d)
{
	double ms = 0;

	for (size_t i = 0; i < TIME_CLASSES; i++)
		ms += d->claims[i];
	return ms;
}

/* What of its claims is still there. */
static double free_share(const struct pool *p, const struct finding_builder *d)
{
	double all_ms = claimed_ms(d), free_ms = 0;

	for (size_t i = 0; i < TIME_CLASSES; i++)
		free_ms += fmin(d->claims[i], p->left_ms[i]);
	return all_ms > 0 ? free_ms / all_ms : 1;
}

/* Sure ones first, as in the report; what each would save of what is left. */
static bool is_better(const struct pool *p, const struct finding_builder *a,
		      const struct finding_builder *b)
{
	double a_free = free_share(p, a), b_free = free_share(p, b);
	bool a_sure = finding_confidence(a, a_free) >= FINDING_SURE;
	bool b_sure = finding_confidence(b, b_free) >= FINDING_SURE;

	if (a_sure != b_sure)
		return a_sure;
	return a->finding.saving_ns * a_free > b->finding.saving_ns * b_free;
}

static void grant(struct pool *p, struct finding_builder *d)
{
	double share = free_share(p, d), taken_ms = 0;

	d->settled = true;
	d->dropped = share < 1 && finding_share(d, share * claimed_ms(d)) <= WORTH_SHARE;
	if (d->dropped)
		return;
	if (share < 1 - NOTICED)
		finding_evidence(d, FROM_TIMES, 0,
				 "other findings already account for %s of this time per step; it "
				 "is not counted here",
				 finding_ms(d, (1 - share) * claimed_ms(d)));
	finding_shrink(d, share);
	for (enum time_class i = 0; i < TIME_CLASSES; i++) {
		double ms = fmin(d->claims[i], p->left_ms[i]);

		p->left_ms[i] -= ms;
		d->claims[i] = ms;
		taken_ms += is_hosts(p, i) ? ms : 0;
	}
	d->hosts_ms = taken_ms;
}

/* With a cause goes, at most, its share of what nobody claims. */
static void add_rest(const struct pool *p, struct finding_builder *d)
{
	double rest_ms = pool_ms(p);

	if (!d->dropped && !d->replayed && !d->rule->of_device && p->whole_ms > 0)
		finding_widen(d, d->hosts_ms + rest_ms * d->hosts_ms / p->whole_ms,
			      d->hosts_ms + rest_ms);
}

/*
 * Settles what each of the drafts has, the best supported first, and leaves the others with
 * what remains.  Those with nothing that is worth a person's time are marked as `dropped`.
 */
static void claims_settle(struct finding_builder *builders, size_t count)
{
	struct pool p;

	if (!count)
		return;
	pool_init(&p, &builders[0]);
	for (size_t n = 0; n < count; n++) {
		struct finding_builder *best = NULL;

		for (size_t i = 0; i < count; i++)
			if (!builders[i].settled && (!best || is_better(&p, &builders[i], best)))
				best = &builders[i];
		if (best)
			grant(&p, best);
	}
	for (size_t i = 0; i < count; i++)
		add_rest(&p, &builders[i]);
}

/* What is less likely than that is not worth a reader's time. */
#define WORTH_REPORTING 0.3

/*
 * A user's rule is one piece of evidence, whatever it compares: likely, not sure.  Its
 * weight is the user's own word on that.
 */
#define CUSTOM_CONFIDENCE 0.75

/* So many times as much would be saved by the other. */
#define PART_OF 2
/* Of a step: by itself that much is worth acting on, whatever the purpose of the rest. */
#define WORTH_ITSELF 0.20

struct judged {
	struct analysis *a;
	struct metrics metrics;
	struct conditions *conditions;
	struct finding_replay replays;
	size_t cap;
	double explained_ms;
	bool has_user_code;
};

static bool has_user_code(const struct analysis *a)
{
	for (size_t i = 0; i < a->function_count; i++)
		if (strcmp(a->functions[i].name, "<module>") != 0 &&
		    user_frame(a->functions[i].name, a->functions[i].file))
			return true;
	return false;
}

static int add_finding(struct judged *j, const struct analysis_finding *f)
{
	struct analysis_findings *all = &j->a->findings;
	struct analysis_finding *grown =
		array_grow(all->items, &j->cap, all->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	all->items = grown;
	grown[all->count++] = *f;
	return 0;
}

/* What a rule sees, if it sees anything: *seen. */
static int evaluate_rule(struct judged *j, const struct rule *rule, struct finding_builder *d,
			 bool *seen, struct err *err)
{
	double value;

	*seen = false;
	if (condition_value(j->conditions, rule->condition, &value, err))
		return -1;
	if (isnan(value) || value == 0)
		return 0;
	finding_init(d, j->a, &j->metrics, rule, &j->a->findings.texts);
	d->explained_ms = j->explained_ms;
	d->replays = &j->replays;
	d->has_user_code = j->has_user_code;
	/* Of a program that neither marks steps nor calls a model there is no step to speak of. */
	*seen = finding_is_inference(d) && rule->evaluate(d);
	return d->failed ? err_set(err, "out of memory") : 0;
}

static int keep(struct judged *j, struct finding_builder *d, struct err *err)
{
	if (finding_finish(d))
		return err_set(err, "out of memory");
	if (d->finding.confidence < WORTH_REPORTING)
		return 0;
	if (add_finding(j, &d->finding))
		return err_set(err, "out of memory");
	j->explained_ms += d->rule->of_device ? d->hosts_ms
					      : fmax(d->hosts_ms, d->finding.saving_high_ns / 1e6);
	return 0;
}

/* Does it claim only time that code which runs takes beside its own work? */
static bool is_beside_work(const struct finding_builder *d)
{
	double ms = d->claims[TIME_PAGE_FAULTS] + d->claims[TIME_GC] + d->claims[TIME_ALLOCATION];

	return ms > 0 && ms >= claimed_ms(d);
}

/*
 * Page faults, collections and allocations are a part of what a function costs.  Where a finding
 * about all of the function would save far more and is likely, but not certain, the one about that
 * part is not either: it must not come first.
 */
static void doubt_parts(struct finding_builder *builders, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct finding_builder *part = &builders[i];

		for (size_t k = 0; k < count && !part->dropped && is_beside_work(part); k++) {
			struct finding_builder *whole = &builders[k];
			double sure = whole->dropped ? 0 : finding_confidence(whole, 1);

			if (whole->doubtful && part->finding.saving_share >= WORTH_ITSELF)
				continue;
			if (sure < FINDING_LIKELY || sure >= FINDING_SURE ||
			    whole->finding.saving_ns < PART_OF * part->finding.saving_ns ||
			    !place_same_function(&whole->finding.where, &part->finding.where))
				continue;
			part->doubtful = true;
			finding_evidence(part, FROM_TIMES, 0,
					 "%s is likely at the same place and takes more of the "
					 "time: this may be a part of it",
					 whole->rule->id);
			break;
		}
	}
}

static size_t rule_count(void)
{
	size_t n = 0;

	while (builtin_rules[n])
		n++;
	return n;
}

static int evaluate_all(struct judged *j, struct err *err)
{
	struct finding_builder *builders = calloc(rule_count() + 1, sizeof(*builders));
	size_t count = 0;
	bool seen;
	int rc = -1;

	if (!builders)
		return err_set(err, "out of memory");
	for (const struct rule *const *r = builtin_rules; *r; r++) {
		if ((*r)->last)
			continue;
		if (evaluate_rule(j, *r, &builders[count], &seen, err))
			goto out;
		count += seen;
	}
	claims_settle(builders, count);
	doubt_parts(builders, count);
	for (size_t i = 0; i < count; i++)
		if (!builders[i].dropped && keep(j, &builders[i], err))
			goto out;
	for (const struct rule *const *r = builtin_rules; *r; r++) {
		if (!(*r)->last)
			continue;
		if (evaluate_rule(j, *r, &builders[0], &seen, err) ||
		    (seen && keep(j, &builders[0], err)))
			goto out;
	}
	rc = 0;
out:
	free(builders);
	return rc;
}

static enum finding_severity custom_severity(double confidence)
{
	return confidence >= FINDING_SURE     ? SEVERITY_HIGH
	       : confidence >= FINDING_LIKELY ? SEVERITY_MEDIUM
					      : SEVERITY_LOW;
}

static const char **copy_texts(struct arena *to, const char *const *texts, size_t count)
{
	const char **copies = arena_alloc(to, (count + 1) * sizeof(*copies));

	for (size_t i = 0; copies && i < count; i++) {
		copies[i] = finding_text(to, "%s", texts[i]);
		if (!copies[i])
			return NULL;
	}
	return copies;
}

static bool is_part_of_name(char c)
{
	return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool has_name(const char *expression, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = expression; (at = strstr(at, name)) != NULL; at += n)
		if ((at == expression || !is_part_of_name(at[-1])) && !is_part_of_name(at[n]))
			return true;
	return false;
}

/* The condition, and what the metrics in it are. */
static const char *custom_evidence(struct judged *j, const struct custom_rule *rule,
				   const char *path)
{
	struct arena *texts = &j->a->findings.texts;
	const char *text = finding_text(texts, "%s (%s:%zu)", rule->condition, path, rule->line);

	for (size_t i = 0; text && i < METRIC_COUNT; i++) {
		const struct metric *m = &metrics_table[i];

		if (has_name(rule->condition, m->name))
			text = finding_text(texts, "%s; %s = %.4g%s%s", text, m->name,
					    metric_value(&j->metrics, i), *m->unit ? " " : "",
					    m->unit);
	}
	return text;
}

static int add_custom(struct judged *j, const struct rule_set *set, const struct custom_rule *rule,
		      double saving_ms)
{
	struct arena *texts = &j->a->findings.texts;
	double total_ms = j->metrics.total_time, confidence;
	const char *evidence = custom_evidence(j, rule, set->path);
	struct analysis_finding f = {
		.custom = true,
		.id = finding_text(texts, "%s", rule->name),
		.title = finding_text(texts, "%s", rule->title),
		.step = j->a->steps[0].name,
		.evidence_count = 1,
		.evidence = copy_texts(texts, &evidence, evidence ? 1 : 0),
		.suggestion_count = rule->suggestion_count,
		.suggestions = copy_texts(texts, rule->suggestions, rule->suggestion_count),
	};

	if (!evidence || !f.id || !f.title || !f.evidence || !f.suggestions)
		return -1;
	confidence =
		CUSTOM_CONFIDENCE * finding_quality(j->a, &j->metrics) * rule->confidence_weight;
	f.confidence = confidence < 1 ? confidence : 1;
	f.severity = custom_severity(f.confidence);
	if (saving_ms > 0 && total_ms > 0) {
		saving_ms = saving_ms < total_ms ? saving_ms : total_ms;
		f.saving_ns = f.saving_high_ns = saving_ms * 1e6;
		f.saving_share = saving_ms / total_ms;
	}
	return add_finding(j, &f);
}

static int note_silence(struct judged *j, const struct rule_set *set,
			const struct custom_rule *rule)
{
	struct analysis_trust *t = &j->a->trust;
	struct notes notes = { t->notes, t->note_count, t->note_count, false };

	notes_add(&notes,
		  "the rule '%s' (%s:%zu) was not evaluated: a metric that it uses is unknown in "
		  "this run, or it divides by zero",
		  rule->name, set->path, rule->line);
	t->notes = notes.items;
	t->note_count = notes.count;
	return notes.failed ? -1 : 0;
}

static int apply_custom(struct judged *j, const struct rule_set *set,
			const struct custom_rule *rule, struct err *err)
{
	double value, saving_ms = 0;
	struct err why;

	if (condition_value(j->conditions, rule->condition, &value, &why) ||
	    (rule->saving && condition_value(j->conditions, rule->saving, &saving_ms, &why)))
		return err_set(err, "%s:%zu: rule '%s': %s", set->path, rule->line, rule->name,
			       why.text);
	if (isnan(value))
		return note_silence(j, set, rule) ? err_set(err, "out of memory") : 0;
	if (value == 0)
		return 0;
	return add_custom(j, set, rule, saving_ms) ? err_set(err, "out of memory") : 0;
}

static int most_saving_first(const void *a, const void *b)
{
	const struct analysis_finding *x = a, *y = b;
	bool x_sure = x->confidence >= FINDING_SURE, y_sure = y->confidence >= FINDING_SURE;

	if (x_sure != y_sure)
		return x_sure ? -1 : 1;
	if (x->saving_ns != y->saving_ns)
		return x->saving_ns > y->saving_ns ? -1 : 1;
	if (x->confidence != y->confidence)
		return x->confidence > y->confidence ? -1 : 1;
	return strcmp(x->id, y->id);
}

static void rank(struct analysis_findings *f)
{
	if (f->count)
		qsort(f->items, f->count, sizeof(*f->items), most_saving_first);
	while (f->sure_count < f->count && f->items[f->sure_count].confidence >= FINDING_SURE)
		f->sure_count++;
}

int judge(struct analysis *a, const struct rule_set *custom, struct err *err)
{
	struct judged j = { .a = a, .has_user_code = has_user_code(a) };
	int rc = -1;

	if (!a->step_count)
		return 0;
	metrics_measure(&j.metrics, a);
	if (conditions_new(&j.conditions, &j.metrics, err))
		return -1;
	if (replay_new(&j.replays.replay, a, err) ||
	    replay_critical_path(j.replays.replay, &a->critical_path, err))
		goto out;
	if (evaluate_all(&j, err))
		goto out;
	for (size_t i = 0; custom && i < custom->count; i++)
		if (apply_custom(&j, custom, &custom->items[i], err))
			goto out;
	rank(&a->findings);
	if (verdict_find(&a->verdict, a, &j.metrics)) {
		err_set(err, "out of memory");
		goto out;
	}
	rc = 0;
out:
	replay_free(j.replays.replay);
	conditions_free(j.conditions);
	return rc;
}
