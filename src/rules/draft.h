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
 * A run without steps is judged as one, by samples (whole_run.h): texts say so, calls are no
 * evidence of its times, and how sure it is depends on how evenly models were seen in it.
 */
#ifndef RULES_DRAFT_H
#define RULES_DRAFT_H

#include <stdbool.h>

#include "analyze/analysis.h"
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

#define DRAFT_EVIDENCE 8
#define DRAFT_SUGGESTIONS 6

struct draft {
	/* To read. */
	const struct analysis *a;
	const struct analysis_step *step; /* the first kind */
	const struct step_breakdown *parts;
	const struct step_use *use;
	const struct metrics *m;
	const struct rule *rule;
	double explained_ms; /* for the last rules: idle time that findings may save at most */
	/* Put down. */
	struct analysis_finding finding;
	double strengths[EVIDENCE_KINDS];
	double claims[TIME_CLASSES]; /* ms of a step: claims.h */
	double hosts_ms;             /* of it, what it was given of time that is not the GPU's */
	bool settled, dropped;       /* likewise */
	bool tail; /* it is about the slowest steps: what it saves on average is no measure */
	const char *evidence[DRAFT_EVIDENCE], *suggestions[DRAFT_SUGGESTIONS];
	struct arena *texts;
	bool failed; /* out of memory */
};

void draft_init(struct draft *d, const struct analysis *a, const struct metrics *m,
		const struct rule *rule, struct arena *texts);

/*
 * Names, files and texts that go into sentences may hold anything; reports make them
 * harmless for their format.  What does not fit DRAFT_EVIDENCE is left out.
 */
void draft_evidence(struct draft *d, enum evidence_kind kind, double strength, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void draft_suggest(struct draft *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * The place; NULL: nowhere.  Where only its function is known (the line is its first), the
 * line of that function with most time takes its place.
 */
void draft_where(struct draft *d, const struct analysis_place *p);
bool place_same_function(const struct analysis_place *a, const struct analysis_place *b);

/* Milliseconds of a step; kept within 0 and the step. */
void draft_saving(struct draft *d, double ms, double low_ms, double high_ms);

/*
 * The time that the cause takes of a step: it is saved once, whoever else sees it (claims.h).  A
 * finding that takes no time of its own claims none.
 */
void draft_claim(struct draft *d, enum time_class what, double ms);
/*
 * Time of the host that would run beside the GPU's work: of all that the host does by itself, in
 * equal shares.
 */
void draft_claim_hosts(struct draft *d, double ms);

/*
 * For claims.c: only a share of it all is left; the most that may be saved is at least so much,
 * and no more than there is.
 */
void draft_shrink(struct draft *d, double share);
void draft_widen(struct draft *d, double ms, double most_ms);
/* How sure it is, if only a share of its evidence counts. */
double draft_confidence(const struct draft *d, double share);

/* Takes confidence, severity and the lists over into d->finding.  -1: out of memory. */
int draft_finish(struct draft *d);

/* How far above its bound a figure is: 0.5 at the bound, 2/3 at twice as much. */
double draft_strength(double value, double bound);

/* A share of the mean step, of a time in ms. */
double draft_share(const struct draft *d, double ms);

/* Was this found already?  For the last rules. */
bool draft_found(const struct draft *d, const char *id);

/* Per step, in ms. */
double draft_part(const struct draft *d, enum time_class what);

/* The cause of a class with most time; NULL: none has a place. */
const struct time_cause *draft_cause(const struct draft *d, enum time_class what);
double draft_cause_ms(const struct draft *d, const struct time_cause *c); /* per step */

/*
 * "infer (serve.py:41)"; "the program" where it is unknown.  Lasts as long as the
 * findings.
 */
const char *draft_name(struct draft *d, const struct analysis_place *p);

/* "12.3 ms", "840 ns", likewise. */
const char *draft_ms(struct draft *d, double ms);
const char *draft_bytes(struct draft *d, double bytes); /* "3.10 MB" */

const char *draft_number(struct draft *d, double n); /* "1.5", "230" */

/* "37 %" of the mean step. */
const char *draft_percent(struct draft *d, double ms);

/*
 * "of a step", "a step" and "the thread of the steps"; without steps "of the run's 4.2 s",
 * "in all" and "the thread that calls the model".
 */
const char *draft_of_step(struct draft *d);
const char *draft_a_step(const struct draft *d);
const char *draft_thread(const struct draft *d);

/* " in which the GPU does nothing for it"; "" where there is no GPU. */
const char *draft_meanwhile(const struct draft *d);

/* Does the program use a GPU, call a model, or mark steps? */
bool draft_is_inference(const struct draft *d);

/* That the device was idle meanwhile, as evidence; nothing where there is no GPU. */
void draft_evidence_idle(struct draft *d);

/*
 * That a thread had no CPU for about so long, as the kernel says, or that it ran in this function,
 * as samples of it say (the kernel's, where times are by those of its stacks): the second witness
 * where there is no GPU.
 */
void draft_evidence_off_cpu(struct draft *d, double ms);
void draft_evidence_samples(struct draft *d, const struct analysis_place *p);

/* The share of the data's quality in a confidence, 0 to 1; the verdict has it too. */
double draft_quality(const struct analysis *a, const struct metrics *m);

/* Copies a text into an arena; NULL: out of memory. */
const char *draft_text(struct arena *to, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

#endif
