/*
 * Functions of the standard library in which a thread waits for something else
 * to happen.  Time in them is not work: a report that led with them would show
 * idle threads as the hottest place of a program.
 */
#ifndef ANALYZE_WAITS_H
#define ANALYZE_WAITS_H

#include <stdbool.h>

bool function_waits(const char *name, const char *file);

/*
 * Of these, the one that goes on when another thread of the process calls the other function, or
 * when its time is over: queues, events, futures and semaphores of Python's all wait in it.
 */
bool function_is_woken(const char *name, const char *file);
bool function_wakes(const char *name, const char *file);

/* Of those above, the ones that do nothing in between: some take up work when it comes. */
bool function_only_waits(const char *name, const char *file);

#endif
