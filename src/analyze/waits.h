/*
 * Functions of the standard library in which a thread waits for something else
 * to happen.  Time in them is not work: a report that led with them would show
 * idle threads as the hottest place of a program.
 */
#ifndef ANALYZE_WAITS_H
#define ANALYZE_WAITS_H

#include <stdbool.h>

bool function_waits(const char *name, const char *file);

#endif
