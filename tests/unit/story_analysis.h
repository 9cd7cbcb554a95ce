/* A trace that is told in a few lines (story.h), and what the analysis makes of it. */
#ifndef TESTS_TOLD_H
#define TESTS_TOLD_H

#include <string.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "story.h"

struct story_analysis {
	char path[32];
	struct trace *trace;
	struct analysis *analysis;
};

/* What it says holds until forget(). */
static inline const struct analysis *analyze_story(struct story_analysis *t, const char *story)
{
	struct err err;

	strcpy(t->path, "/tmp/told-XXXXXX"); /* story_write() makes the name */
	story_write(t->path, story);
	assert_int_equal(trace_open(&t->trace, t->path, &err), 0);
	assert_int_equal(analysis_new(&t->analysis, t->trace, &err), 0);
	return t->analysis;
}

static inline void forget(struct story_analysis *t)
{
	analysis_free(t->analysis);
	trace_close(t->trace);
	unlink(t->path);
}

#endif
