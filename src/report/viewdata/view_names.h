/*
 * What items of the timeline are called, each thing once: strings, places in the code, stacks, and
 * labels, which are what an item refers to.  Items are many and labels are few: a launch's whole
 * context (name, stack, layer, facts) is one label.
 *
 * Indices begin at 0; in labels and places 0 means "none" and n is index n - 1.
 */
#ifndef REPORT_VIEWDATA_VIEW_NAMES_H
#define REPORT_VIEWDATA_VIEW_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json.h"
#include "timeline/gpu.h"
#include "timeline/pair_map.h"

/* Beyond, items share one label that reports it: a page is for people. */
#define VIEW_LABELS_MAX 200000u
#define VIEW_STACK_FRAMES 48u

/* The numbers are the page's: viewer/model.js. */
enum view_kind {
	VIEW_STEP = 0,
	VIEW_SCOPE = 1,
	VIEW_FRAME = 2,   /* a traced call */
	VIEW_SAMPLED = 3, /* a frame that samples found */
	VIEW_LAYER = 4,
	VIEW_CALL = 5, /* of CUDA; what: enum cuda_call */
	VIEW_KERNEL = 6,
	VIEW_COPY = 7, /* what: enum gpu_copy */
	VIEW_MEMSET = 8,
	VIEW_GRAPH = 9,
	VIEW_BUSY = 10, /* the device had work */
	VIEW_IDLE = 11, /* what: enum time_class */
	VIEW_WAIT = 12, /* what: enum sample_state */
	VIEW_SYNC = 13, /* a CUDA call that waits; what: enum cuda_call */
	VIEW_GC = 14,
	VIEW_COMPILE = 15, /* what: enum time_class: a DataLoader's wait as well */
	VIEW_PAUSE = 16,   /* nothing was recorded */
};

struct view_label {
	uint32_t kind; /* enum view_kind */
	uint32_t what;
	uint32_t name;  /* string, none: the kind says enough */
	uint32_t place; /* of the code that it is, or that it is blamed on */
	uint32_t stack; /* that it was called from */
	uint32_t layer; /* string */
	uint32_t full;  /* string: the whole name of a kernel */
	uint32_t more;  /* string: further facts */
};

struct view_place {
	uint32_t function, file, line; /* strings */
};

/* A hash table of indices; what they mean and when two are equal its owner knows. */
struct view_set {
	uint32_t *slots; /* index + 1 */
	size_t slot_count, count;
};

struct view_names {
	const char *root; /* that paths are relative to; may be NULL */
	struct buf text;  /* of all strings, NUL-terminated, one after the other */
	size_t *strings;  /* offsets */
	size_t string_count, string_cap;
	struct view_set string_set;
	struct view_place *places;
	size_t place_count, place_cap;
	struct view_set place_set;
	struct view_label *labels;
	size_t label_count, label_cap;
	struct view_set label_set;
	struct buf frames; /* of all stacks, as uint32_t: places + 1, innermost first */
	size_t *stacks;    /* where each begins */
	size_t stack_count, stack_cap;
	struct pair_map known; /* (1, id of a stack): its index + 1; (2, address): its string */
	struct buf scratch;
	bool failed; /* out of memory: what was returned since means nothing */
};

void view_names_init(struct view_names *n, const char *root);
void view_names_release(struct view_names *n);

/* All give index + 1; 0 for NULL.  Text loses its control characters, files get short. */
uint32_t view_string(struct view_names *n, const char *s);
/* The same for text that stays where it is. */
uint32_t view_lasting_string(struct view_names *n, const char *s);
uint32_t view_place(struct view_names *n, const char *function, const char *file, uint32_t line);
uint32_t view_stack(struct view_names *n, const struct gpu_timeline *g, uint32_t id);
const char *view_text(const struct view_names *n, uint32_t string); /* "" for 0 */

/* The index, without 1 added. */
uint32_t view_label(struct view_names *n, const struct view_label *label);

/* The frames of a stack as places + 1, innermost first. */
const uint32_t *view_stack_frames(const struct view_names *n, uint32_t stack, size_t *count);

/* The members "strings", "places", "stacks" and "labels" of an open object. */
void view_names_put(const struct view_names *n, struct json *j);

#endif
