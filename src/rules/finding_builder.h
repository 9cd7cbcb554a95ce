/*
 * A finding as a rule writes it: facts to read, and what to put down.
 *
 * Confidence.  Each piece of evidence has a strength between 0 and 1: how likely it
 * alone makes the finding.  Pieces of the same kind of record are no more than the
 * strongest of them; those of different kinds add up as independent ones do,
 * 1 - (1 - a)(1 - b).  Evidence of a single kind never makes a finding sure.  The result
 * falls with the share of lost events, the clocks' error, few steps, steps that are not
 * alike, and the share of the step that nothing explains; and where the saving is small.
 *
 * A run without steps is judged as one, by samples (steps.h): texts say so, calls are no
 * evidence of its times, and how sure it is depends on how evenly models were seen in it.
 */
#ifndef RULES_FINDING_BUILDER_H
#define RULES_FINDING_BUILDER_H

#include <stdbool.h>

#include "analyze/analysis.h"
#include "replay/replay.h"
#include "rules/metrics.h"
#include "rules/rule.h"

/* Kinds of records that evidence can come from. */
enum evidence_kind {
	FROM_ACTIVITIES, /* what the device did */
	FROM_CUDA_CALLS,
	FROM_TIMES,  /* what the step's thread did: calls, and samples where there are none */
	FROM_STATES, /* samples of threads that waited, and who had what they waited for */
	FROM_NATIVE, /* the kernel's samples of native code */
	FROM_GC,
	FROM_SCOPES, /* what the program and the frameworks say of themselves */
	FROM_LAYERS,
	FROM_SERIES,       /* memory, faults, clocks: looks at /proc and NVML */
	FROM_KERNEL_TIMES, /* CPU times of threads */
	FROM_DEVICE,       /* what the device is */
	EVIDENCE_KINDS
};

#define FINDING_EVIDENCE_MAX 8
#define FINDING_SUGGESTIONS_MAX 6

/* The replay of the steps. */
struct finding_replay {
	struct replay *replay; /* NULL: nobody asked */
	bool failed;
};

struct finding_builder {
	/* To read. */
	const struct analysis *a;
	const struct analysis_step *step; /* the first kind */
	const struct step_breakdown *parts;
	const struct step_gpu_usage *use;
	const struct metrics *m;
	const struct rule *rule;
	struct finding_replay *replays; /* of all findings; NULL: there is none */
	double explained_ms; /* for the last rules: idle time that findings may save at most */
	bool has_user_code;  /* the program has functions of the user's own */
	/* Put down. */
	struct analysis_finding finding;
	double strengths[EVIDENCE_KINDS];
	double claims[TIME_CLASSES]; /* ms of a step: judge.c */
	double least_ms, most_ms;    /* of the saving: finding_saving() */
	bool replayed;         /* the saving is a replay's: it knows what goes with the cause */
	double doubt;          /* so much less sure: the replay does not explain the steps */
	double replay_error;   /* of the replay that the saving is by; 0: it is by none */
	double hosts_ms;       /* of it, what it was given of time that is not the GPU's */
	bool settled, dropped; /* likewise */
	bool in_library;       /* its place is one that the user cannot change */
	bool doubtful; /* whatever its evidence, something else is as likely: never certain */
	bool tail;     /* it is about the slowest steps: what it saves on average is no measure */
	const char *evidence[FINDING_EVIDENCE_MAX], *suggestions[FINDING_SUGGESTIONS_MAX];
	struct arena *texts;
	bool failed; /* out of memory */
};

void finding_init(struct finding_builder *d, const struct analysis *a, const struct metrics *m,
		  const struct rule *rule, struct arena *texts);

/*
 * Names, files and texts that go into sentences may hold anything; reports make them
 * harmless for their format.  What does not fit FINDING_EVIDENCE_MAX is left out.
 */
void finding_evidence(struct finding_builder *d, enum evidence_kind kind, double strength,
		      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void finding_suggest(struct finding_builder *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * The place; NULL: nowhere.  Where only its function is known (the line is its first), the
 * line of that function with most time takes its place.  Of a place in a library the user's line
 * that the steps spend most time in takes its place, and evidence names the library's; if the user
 * has none there, the finding is never certain.
 */
void finding_where(struct finding_builder *d, const struct place *p);
bool place_same_function(const struct place *a, const struct place *b);

/* False: only its function is known, the line is that function's first. */
bool finding_line_known(const struct finding_builder *d, const struct place *p);

/*
 * Milliseconds of a step; kept within 0 and the step.  Between these lies what the fix brings, as
 * far as it is unknown what goes with the cause; that it is measured is another matter (saving.h).
 */
void finding_saving(struct finding_builder *d, double least_ms, double most_ms);

/*
 * What a replay of the steps saves with one change.  False: there is nothing to replay, the change
 * applies to nothing, or the unchanged replay is too far off; then evidence says so, and the
 * finding is less sure.
 */
bool finding_replayed(struct finding_builder *d, const struct replay_edit *edit, double *ms);

/*
 * The time that the cause takes of a step: it is saved once, whoever else sees it (judge.c).  A
 * finding that takes no time of its own claims none.
 */
void finding_claim(struct finding_builder *d, enum time_class what, double ms);
/*
 * Time of the host that would run beside the GPU's work: of all that the host does by itself, in
 * equal shares.
 */
void finding_claim_hosts(struct finding_builder *d, double ms);

/*
 * For judge.c: only a share of it all is left; the most that may be saved is at least so much,
 * and no more than there is.  finding_finish() makes the saving and its interval of that.
 */
void finding_shrink(struct finding_builder *d, double share);
void finding_widen(struct finding_builder *d, double ms, double most_ms);
/* How sure it is, if only a share of its evidence counts. */
double finding_confidence(const struct finding_builder *d, double share);

/* Takes confidence, severity and the lists over into d->finding.  -1: out of memory. */
int finding_finish(struct finding_builder *d);

/* How far above its bound a figure is: 0.5 at the bound, 2/3 at twice as much. */
double finding_strength(double value, double bound);

/* A share of the mean step, of a time in ms. */
double finding_share(const struct finding_builder *d, double ms);

/* Was this found already?  For the last rules. */
bool finding_found(const struct finding_builder *d, const char *id);

/* Per step, in ms. */
double finding_part(const struct finding_builder *d, enum time_class what);

/* The cause of a class with most time; NULL: none has a place. */
const struct time_cause *finding_cause(const struct finding_builder *d, enum time_class what);
double finding_cause_ms(const struct finding_builder *d, const struct time_cause *c); /* per step */

/*
 * "infer (serve.py:41)"; "the program" where it is unknown.  Lasts as long as the
 * findings.
 */
const char *finding_place_name(struct finding_builder *d, const struct place *p);

/* "12.3 ms", "840 ns", likewise. */
const char *finding_ms(struct finding_builder *d, double ms);
const char *finding_bytes(struct finding_builder *d, double bytes); /* "3.10 MB" */

const char *finding_number(struct finding_builder *d, double n); /* "1.5", "230" */

/* "37 %" of the mean step. */
const char *finding_percent(struct finding_builder *d, double ms);

/*
 * "of a step", "a step" and "the thread of the steps"; without steps "of the run's 4.2 s",
 * "in all" and "the thread that calls the model".
 */
const char *finding_of_step(struct finding_builder *d);
const char *finding_a_step(const struct finding_builder *d);
const char *finding_thread(const struct finding_builder *d);

/* " in which the GPU does nothing for it"; "" where there is no GPU. */
const char *finding_meanwhile(const struct finding_builder *d);

/* Does the program use a GPU, call a model, or mark steps? */
bool finding_is_inference(const struct finding_builder *d);

/* That the device was idle meanwhile, as evidence; nothing where there is no GPU. */
void finding_evidence_idle(struct finding_builder *d);

/*
 * That a thread had no CPU for about so long, as the kernel says, or that it ran in this function,
 * as samples of it say (the kernel's, where times are by those of its stacks): the second witness
 * where there is no GPU.
 */
void finding_evidence_off_cpu(struct finding_builder *d, double ms);
void finding_evidence_samples(struct finding_builder *d, const struct place *p);

/* The share of the data's quality in a confidence, 0 to 1; the verdict has it too. */
double finding_quality(const struct analysis *a, const struct metrics *m);

/* Copies a text into an arena; NULL: out of memory. */
const char *finding_text(struct arena *to, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
