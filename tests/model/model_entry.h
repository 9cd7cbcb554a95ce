/* Between the compiler's calls (model_entry.c) and the search (model.c). */
#ifndef MODEL_ENTRY_H
#define MODEL_ENTRY_H

#include "model.h"

extern bool model_running; /* else accesses are what they are */

/* The calling thread is about to use an atomic: another one may be first, or it may die. */
void model_step(uint64_t address);
unsigned model_self(void);
/* The calling thread was killed; its destructors run, but reach nothing. */
bool model_is_killed(void);

/* An access that is not atomic; for those that the compiler does not report. */
void model_plain(const volatile void *memory, size_t bytes, bool write);

void model_entry_begin(void); /* an execution */
/* The mutant to be from now on; NULL: none. */
void model_entry_weaken(const struct model_mutant *mutant);

#endif
