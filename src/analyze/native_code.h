/* Where CPU time goes below Python: the kernel's samples, each with its Python function. */
#ifndef ANALYZE_NATIVE_CODE_H
#define ANALYZE_NATIVE_CODE_H

#include "analyze/look_window.h"
#include "analyze/wait_figures.h"
#include "timeline/pair_map.h"
#include "timeline/sample_walk.h"

struct native_tally {
	uint32_t place; /* id of a DEF_NATIVE */
	uint32_t code;  /* the innermost Python function; 0: none, or unknown */
	uint64_t samples, in_steps;
};

struct native_code {
	int64_t from_ns, until_ns; /* the steps last */
	struct native_tally *items;
	size_t count, cap;
	struct pair_map at;
};

/* The steps of the first kind last from one time to the other, without warm-up. */
void native_code_init(struct native_code *n, int64_t from_ns, int64_t until_ns);
void native_code_release(struct native_code *n);

/* `window`: sorted, of the sample's process and time.  -1: no memory. */
int native_code_add(struct native_code *n, const struct native_sample_at *l,
		    const struct look_window *window, const struct trace *t);

int native_code_finish(const struct native_code *n, const struct trace *t,
		       struct analysis_native *out);

#endif
