/*
 * Page faults as a part of steps, and as a cause of idle time.
 *
 * The kernel counts the faults of a process; how long one takes follows from its CPU time in the
 * kernel.  That much of the host's running time is theirs: at the places where they were seen, in
 * the proportion in which they were; where none was seen, of all such time alike.  A fault that
 * waits for a disk is taken from waits for data first.  No place has more of them than
 * time was spent there, so that the parts still add up.
 */
#ifndef ANALYZE_FAULT_PARTS_H
#define ANALYZE_FAULT_PARTS_H

#include "analyze/idle_gaps.h"
#include "analyze/step_sweep.h"
#include "analyze/time_places.h"

/*
 * Of a kind of step whose places are counted: `step` knows its faults, `alone` is the share of
 * them that its thread can have had where none was seen, `idle` the section of its process whose
 * steps these are (NULL: none).  -1: no memory.
 */
int fault_parts_move(struct kind_sum *kind, const struct analysis_step *step, double alone,
		     struct idle_section *idle, struct time_places *places);

#endif
