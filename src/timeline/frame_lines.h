/*
 * The line of a frame of a stack.  Decoding a table takes microseconds, and samples repeat
 * themselves: the latest answers are kept.
 */
#ifndef TIMELINE_FRAME_LINES_H
#define TIMELINE_FRAME_LINES_H

#include "format/trace.h"

#define FRAME_LINES_SLOTS 1024u /* a power of two */

/* Begins as { 0 }. */
struct frame_lines {
	struct {
		struct trace_frame frame;
		uint32_t line;
	} slots[FRAME_LINES_SLOTS];
};

/* 0: unknown. */
uint32_t frame_lines_find(struct frame_lines *f, const struct trace *t,
			  const struct trace_frame *frame);

#endif
