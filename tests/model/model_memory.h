/* The memory of the model: what each atomic holds, and what each thread knows of it. */
#ifndef MODEL_MEMORY_H
#define MODEL_MEMORY_H

#include "model.h"

enum memory_op {
	MEMORY_LOAD,
	MEMORY_STORE,
	MEMORY_EXCHANGE,
	MEMORY_ADD,
	MEMORY_SUB,
	MEMORY_AND,
	MEMORY_OR,
	MEMORY_COMPARE, /* a store of `operand`, if the value is `expected` */
};

struct memory_access {
	enum memory_op op;
	uint64_t address;
	unsigned bytes;
	uint64_t operand, expected;
	bool acquire, release;
};

/* Forgets everything, what was learnt about contention as well. */
void memory_reset(void);
/* Forgets the last execution: what the real memory holds are the first values. */
void memory_begin(void);
/* The newest values go to the real memory; the model is over. */
void memory_end(void);

/* Returns the value that was there before; of a comparison that failed, too. */
uint64_t memory_access(unsigned thread, const struct memory_access *a);

/* An access that is not atomic. */
void memory_plain(unsigned thread, uint64_t address, uint64_t bytes, bool write);

/* Everything that `from` did happens before what `to` does next. */
void memory_join(unsigned to, unsigned from);

/*
 * Whether several threads use this atomic and one of them changes it: only there
 * can it matter who comes first.  Learnt from earlier passes of the search.
 */
bool memory_contended(uint64_t address);
/* Takes over what was learnt.  True: there was something new, and the pass is to be repeated. */
bool memory_learn(void);

/* The search's: one of n ways, 0 the plain one, which alone costs nothing. */
unsigned model_choose(unsigned n);

#endif
