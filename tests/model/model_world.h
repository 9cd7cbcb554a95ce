/*
 * What the scenarios of the ring protocol run in: a small shared memory, the real
 * agent and the real drain on it, and a trace that checks what it is given.
 */
#ifndef MODEL_WORLD_H
#define MODEL_WORLD_H

#include "agent/core/session.h"
#include "capture/drain/drain.h"
#include "model.h"

#define WORLD_WRITERS 4u

extern struct drain *world_drain;

/* Makes the memory, once. */
void world_init(void);

/*
 * A fresh recording with so many thread entries and blocks; no process has joined.
 * keep_newest as for drain_new().
 */
void world_set_up(uint32_t threads, uint32_t blocks, bool keep_newest);
void world_join(void); /* this process joins */

/* An entry and a ring of another process, made by hand: a thread of it writes. */
struct ring *world_other_ring(void);

/* The n-th writer's next event: a call whose id says who wrote it and its number. */
void world_push(unsigned writer, struct ring *r);
/* Likewise, with a payload that says the same. */
void world_push_payload(unsigned writer, struct ring *r);
/* An event that uses a definition. */
void world_push_use(unsigned writer, struct ring *r, uint32_t definition);

void world_cycle(void);

/*
 * Ends the recording and checks it: every event was whole, in its thread and with
 * its number; stored + lost = produced; each block is back in the pool, once.
 */
void world_check(void);
void world_check_all(void); /* and nothing was lost */

#endif
