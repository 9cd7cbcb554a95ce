/*
 * A thread of ours that does, with the GIL, what no thread of the program comes by to do.
 *
 * It is there from the first tender_wake() on and sleeps when nothing is due.  The
 * program does not notice: all signals are blocked in it, Python's threading
 * module does not know it, a fork leaves it behind (the next tender_wake() in the
 * child makes another), and nobody waits for it at the end.
 *
 * The end of the interpreter.  CPython makes a thread that wants the GIL exit from
 * then on; the tender looks before it asks, has a thread state of its own since
 * its beginning, for which tender_wake() waits (nothing is allocated in an interpreter that is
 * going away), and keeps nothing that would have to be released.  Py_AtExit() ends it for good
 * before another interpreter can begin.
 */
#ifndef AGENT_TENDER_H
#define AGENT_TENDER_H

#include <stdbool.h>
#include <stdint.h>

#define TENDER_NOW 0u
#define TENDER_NEVER UINT64_MAX

struct tender_duty {
	/*
	 * Without the GIL: when is there work?  TENDER_NOW; a time of CLOCK_MONOTONIC to look
	 * again at; or TENDER_NEVER: not before somebody calls tender_wake().
	 */
	uint64_t (*look)(uint64_t now_ns);
	/* With the GIL. */
	void (*work)(void);
};

/*
 * The duty's look() is to be called now, and from then on when it says.  With the GIL.
 * False: there is no thread to do it.  Costs a system call or two.
 */
bool tender_wake(const struct tender_duty *duty);

/* Was it woken for this duty, in this process? */
bool tender_serves(const struct tender_duty *duty);

#endif
