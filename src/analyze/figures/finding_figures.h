/*
 * What a run is bound by and what to do about it: a part of struct analysis that
 * the rules fill in (rules/judge.h).
 */
#ifndef ANALYZE_FIGURES_FINDING_FIGURES_H
#define ANALYZE_FIGURES_FINDING_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/wait_figures.h"
#include "base/arena.h"

struct analysis_verdict {
	const char *bound;   /* "cpu", "gpu", "memory", "balanced" or "unknown" */
	double confidence;   /* 0 to 1 */
	const char *because; /* a sentence without its full stop */
};

/* How much it matters, as far as one can be sure of it: rules/finding_builder.c has the bounds. */
enum finding_severity { SEVERITY_LOW, SEVERITY_MEDIUM, SEVERITY_HIGH };

#define FINDING_SURE 0.8   /* from here on under "Fix first" */
#define FINDING_LIKELY 0.6 /* medium */

struct analysis_finding {
	const char *id;    /* of a custom rule: its name */
	const char *title; /* one line */
	bool custom;       /* from a rules file */
	enum finding_severity severity;
	double confidence; /* 0 to 1 */
	/* What a step would be shorter by, and between what this lies. */
	double saving_ns, saving_low_ns, saving_high_ns;
	double saving_share; /* of the step */
	const char *step;    /* the name of that kind of step */
	struct place where;  /* name NULL: there is no place */
	size_t evidence_count, suggestion_count;
	const char **evidence, **suggestions; /* sentences */
};

struct analysis_findings {
	size_t count;
	/* The sure ones first; within both most saving first. */
	struct analysis_finding *items;
	size_t sure_count;
	struct arena texts; /* that the findings and the verdict are made of */
};

void analysis_findings_release(struct analysis_findings *f);

const char *finding_severity_name(enum finding_severity s);

/* Sentences for the user, in the order in which they were written. */

struct notes {
	char **items; /* each from malloc() */
	size_t count, cap;
	bool failed; /* out of memory */
};

void notes_add(struct notes *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static inline const char *notes_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
