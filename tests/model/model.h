/*
 * A model checker for C11 atomics that runs the real code.
 *
 * The files under test are compiled with -fsanitize=thread, so that the compiler
 * turns every access to memory into a call; instead of the sanitizer's library
 * model_entry.c answers.  Threads run one at a time.  A load may return any value
 * that the C11 model allows, not just the newest one; a store may take any place
 * in the modification order that the model allows.
 *
 * Which thread runs next, what a load returns, where a store goes: each is a
 * choice.  The search visits every execution with at most `budget` choices other
 * than the plain one (the same thread goes on, the newest value, the last place);
 * a thread that ends leaves all orders of the others open, at no cost.
 *
 * The model is RC11: release and acquire, release sequences made of read-modify-
 * writes, coherence, no cycle of program order and reads-from (no load buffering);
 * seq_cst counts as acq_rel; there are no fences.  Accesses that are not atomic
 * and lie in the watched memory must be ordered by happens-before: anything else
 * is a data race, and a failure.
 */
#ifndef MODEL_H
#define MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MODEL_THREADS 4u /* without the one that starts them */

struct model_thread {
	void (*run)(void);
	bool mortal; /* may be killed before any of its accesses, for one of the budget */
};

/* What is explored.  Everything is set up anew before each execution. */
struct model_scenario {
	const char *name;
	void (*set_up)(void); /* before the threads, outside the model */
	struct model_thread threads[MODEL_THREADS];
	void (*check)(void); /* after all threads, in the model: sees all they did */
	int more;            /* of the budget: large scenarios get less, small ones may have more */
};

/* One order of one atomic access in the source, weakened. */
struct model_mutant {
	uintptr_t pc;
	bool release; /* its release is left out, else its acquire */
};

/* Memory that is not atomic and shared: watched for data races. */
void model_observe(const void *memory, size_t bytes);

/*
 * Explores a scenario; mutant may be NULL.  Returns the text of the first failure,
 * or NULL.  *executions grows by how many were run.
 */
const char *model_explore(const struct model_scenario *s, unsigned budget,
			  const struct model_mutant *mutant, uint64_t *executions);

/* An atomic access of the last execution. */
struct model_access {
	uintptr_t pc;
	unsigned thread;
	const volatile void *address;
	uint64_t was, operand;
	const char *op;
};
size_t model_steps(const struct model_access **out);

/* In a scenario's functions: this execution is wrong. */
void model_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * In a scenario's thread: whether another one was killed.  What that one did
 * happened before this answer, as with a process that the kernel says is dead.
 */
bool model_was_killed(unsigned thread);

/* The mutants there are: one for each release and acquire that any execution came across. */
size_t model_mutants(const struct model_mutant **out);

#endif
