/*
 * When a program infers, by samples: for runs whose steps are not known, because calls were
 * recorded in bursts, or not at all.
 *
 * Samples do not tell one call from the next.  But they see a thread inside of models' calls
 * (CODE_MODULE), and the stretch of time from the first of those to the last is what the program
 * is there for: imports, weights that are loaded and what comes behind are no part of it.  Nor
 * are
 *  - a trial: what is called before a pause of a fifth of all this, if it is less than a tenth of
 *    the models' time;
 *  - the start: up to the last import or compilation in the first half, which first calls cause.
 *    One that is still seen later belongs to what the program does.
 */
#ifndef ANALYZE_MODEL_STRETCH_H
#define ANALYZE_MODEL_STRETCH_H

#include "base/err.h"
#include "timeline/timeline.h"

#define STRETCH_PARTS 10

struct model_stretch {
	/* 0: models were not seen often enough to say anything; else in so many of
	 * STRETCH_PARTS equal parts of the stretch. */
	unsigned parts;
	uint32_t thread; /* position: the one that was in models for the longest */
	int64_t begin_ns, end_ns;
};

/* After the walk over the events.  -1: no memory. */
int model_stretch_find(struct model_stretch *out, const struct trace *t, struct timeline *tl,
		       struct err *err);

#endif
