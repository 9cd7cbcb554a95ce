/*
 * NVTX ranges and marks, from the program's calls to records: names, throttle, ranges, and the
 * tables of functions that NVTX is given.
 */
#ifndef AGENT_NVTX_NVTX_H
#define AGENT_NVTX_NVTX_H

#include <stdbool.h>
#include <wchar.h>

#include "agent/core/ring.h"
#include "agent/nvtx/nvtx_abi.h"

/*
 * Names in NVTX: domains, registered strings and categories, and the ids under which
 * the trace knows what a program calls its ranges.
 *
 * What a program gets for a domain or a string is a number, so that whatever it hands
 * back is harmless: nothing is followed that the program could have made up or freed.
 * Names outlive recordings, and are never freed.  Any thread, no lock.
 */

#define NVTX_NAME_MAX 4096u  /* bytes; longer ones are cut */
#define NVTX_SHORT_NAME 255u /* the same of domains and categories */

/* The number of a name, the same for the same name; 0 only for NULL.  At most `max` bytes count. */
uint32_t nvtx_name_number(const char *name, size_t max);

/*
 * A wide string as UTF-8, cut where it does not fit; what is no character becomes U+FFFD.
 * NULL gives "".
 */
void nvtx_narrow(char out[NVTX_NAME_MAX + 1], const wchar_t *wide);

/* From here on this category of this domain (numbers, 0: the default one) is called so. */
void nvtx_name_category(uint32_t domain, uint32_t category, const char *name);

/* What an event says of itself. */
struct nvtx_event {
	enum nvtx_kind kind;
	uint32_t domain; /* number; 0: the default one */
	uint32_t category, colour;
	const char *text;    /* NULL: see below */
	uint32_t registered; /* number of the text; 0: none */
};

/*
 * The id of its DEF_NVTX, defined at first sight; 0 where there was no room.  *about: what its
 * text says of this one event, behind a name that it shares with others; NULL: nothing.
 */
uint32_t nvtx_id(struct ring *r, const struct nvtx_event *e, const char **about);

/*
 * Throttles NVTX ranges and marks when the budget is overdrawn: those that are too short for the
 * cost of their records.
 *
 * At intervals a thread checks the budget.  If it is overdrawn because of the thread's own events,
 * the next range is measured, and throttled if it earned less time than it cost; if that is not
 * enough, longer ranges follow.  Everything is recorded again after 2, 4, 8 ... s.  Any thread, no
 * lock.
 */

#define NVTX_BUDGET_CHECK_EVENTS 128u
#define NVTX_THROTTLE_SLOTS 1024u

/* By id; two that share a place are never throttled at the same time. */
extern _Atomic uint32_t nvtx_throttle_ids[NVTX_THROTTLE_SLOTS];

static inline bool nvtx_is_throttled(uint32_t id)
{
	return atomic_load_explicit(&nvtx_throttle_ids[id % NVTX_THROTTLE_SLOTS],
				    memory_order_relaxed) == id &&
	       id;
}

/* A thread's first range in a recording. */
void nvtx_throttle_start(void);

/* State of the throttle in one thread; begins as 0. */
struct nvtx_budget_check {
	uint32_t events, recorded;  /* since the last check: in all, and recorded ones */
	uint64_t sampled_ns_before; /* CLOCK_MONOTONIC */
};

/* Counts an event before it is recorded or not.  True: nvtx_budget_check_now() is due. */
static inline bool nvtx_budget_check_due(struct nvtx_budget_check *l)
{
	return __builtin_expect(++l->events >= NVTX_BUDGET_CHECK_EVENTS, 0);
}

/* True: something must go. */
bool nvtx_budget_check_now(struct ring *r, struct nvtx_budget_check *l);

/* A range took so long, or it is a mark (0): leaves it out, if it costs more than it is worth. */
void nvtx_throttle_evaluate(struct ring *r, uint32_t id, uint64_t lasted_ns);

/*
 * NVTX ranges and marks on the timeline.
 *
 * Any thread, no lock; a call allocates only for a name, or in a thread, that was not
 * seen before.  While nothing is recorded it is two loads and a branch (wide names are
 * converted first).
 */

/* The calling thread's ring; NULL: nothing is recorded, or no ranges are. */
struct ring *nvtx_ring(void);

/* Attributes may be NULL or of another version: do they have all fields that we know? */
static inline bool nvtx_has_message(const struct nvtx_attributes *a)
{
	return a && a->bytes >= offsetof(struct nvtx_attributes, message) + sizeof(a->message);
}

/*
 * As NVTX defines them: push and pop return the level of the range among those of its
 * domain (a number of nvtx.h) or something negative.  Of the attributes only the payload is
 * read.
 */
int nvtx_push(const struct nvtx_event *e, const struct nvtx_attributes *a);
int nvtx_pop(uint32_t domain);
uint64_t nvtx_start(const struct nvtx_event *e, const struct nvtx_attributes *a);
void nvtx_end(uint64_t range);
void nvtx_mark(const struct nvtx_event *e, const struct nvtx_attributes *a);

/* In the child of a fork: ranges that its parent started are not this process's to end. */
void nvtx_ranges_forked(void);

/*
 * NVTX's functions as a program calls them: tables for nvtx_inject.c, by the numbers of
 * nvtx_abi.h.  Any thread, no lock.
 */

extern const nvtx_function nvtx_core[NVTX_CORE_NAME_THREAD_W + 1];
extern const nvtx_function nvtx_core2[NVTX_CORE2_INITIALIZE + 1];

#endif
