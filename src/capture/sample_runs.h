/*
 * What the sampler has seen, on its way to the main thread: equal looks at a thread
 * in a row become one.
 */
#ifndef CAPTURE_SAMPLE_RUNS_H
#define CAPTURE_SAMPLE_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/sampler.h"

/* Of one thread. */
struct sample_run {
	uint32_t process, tid;
	bool told;         /* something of it was handed over */
	struct sample run; /* count 0: none */
	uint64_t lines;    /* see struct sampler_look */
};

/* Another look, and how many lines it has read.  What finds no room in `out` is counted in
 * *dropped, here and below. */
void sample_run_add(struct sample_run *r, struct sampler_taken *out, const struct sample *look,
		    size_t lines, uint64_t *dropped);

/* The thread is gone. */
void sample_run_end(struct sample_run *r, struct sampler_taken *out, int64_t now_ns,
		    uint64_t *dropped);

/* Puts what is in `from` behind what is in `to`, and empties it. */
void sampler_taken_append(struct sampler_taken *to, struct sampler_taken *from, uint64_t *dropped);

#endif
