/* The steps that figures are made of, one by one. */
#ifndef ANALYZE_STEP_ITEMS_H
#define ANALYZE_STEP_ITEMS_H

#include <stddef.h>
#include <stdint.h>

/* Every step is in the first of these; some in one more. */
enum step_group { STEPS_ALL, STEPS_SLOW, STEPS_TYPICAL, STEP_GROUPS };

struct step_item {
	int64_t start_ns, end_ns;
	uint32_t thread; /* position */
	uint16_t kind;   /* index of its analysis_step */
	uint16_t group;  /* enum step_group */
};

struct step_items {
	struct step_item *items;
	size_t count, cap;
};

/* A step of no kind and group yet.  -1: no memory. */
int step_items_add(struct step_items *items, int64_t start_ns, int64_t end_ns, uint32_t thread);

#endif
