/*
 * The size of the trace buffer, kept to what memory allows (pressure.h).  What
 * was done is a note in the trace: one when it is first shrunk, so that a
 * recorder that is killed has said so, and one at the end.  One thread.
 */
#ifndef CAPTURE_SHRINK_H
#define CAPTURE_SHRINK_H

#include <stdint.h>

#include "base/err.h"
#include "capture/area.h"
#include "capture/pressure.h"
#include "format/trace_writer.h"

struct shrink {
	const char *root; /* see pressure_read() */
	struct area *area;
	int64_t next_ns;       /* when to look again */
	struct pressure cause; /* what the latest look that made it smaller saw */
	uint32_t least;        /* blocks: the fewest there were */
	uint32_t noted;        /* what the first note says; 0: there is none */
};

/* Borrows both until the last call. */
void shrink_init(struct shrink *s, struct area *area, const char *root);

/* In every cycle; looks a few times a second.  -1: the trace could not be written. */
int shrink_cycle(struct shrink *s, int64_t now_ns, struct trace_writer *w, struct err *err);

/* After the last cycle. */
int shrink_finish(struct shrink *s, struct trace_writer *w, struct err *err);

#endif
