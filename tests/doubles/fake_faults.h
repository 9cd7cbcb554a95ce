/*
 * What is to go wrong in the fake CUPTI, from the environment:
 *
 *   FAKE_CUPTI_VERSION  11.7, 11.8, 12.9 or 13.0 (the default)
 *   FAKE_CUPTI_FAIL     "function:code", every call of it returns the error;
 *                       "function:code:n", only its nth; several with commas
 *   FAKE_CUPTI_HANG     a function that does not return for an hour
 *   FAKE_CUPTI_DROP     n: every nth activity is dropped, and counted
 *   FAKE_CUPTI_UNTIMED  n: every nth activity comes without times
 *   FAKE_CUPTI_STRANGE  1: records of an unknown kind among the others
 *   FAKE_CUPTI_LATE     1: every other buffer comes at the forced flush only
 *   FAKE_CUPTI_SLOW     ms that its own thread takes to hand a buffer over; a flush does not
 *                       wait for it
 *   FAKE_CUPTI_END      ms that it takes to end with the process; whoever calls it from then on
 *                       is aborted
 *   FAKE_CUPTI_END_EARLY  the same, but it ends by a function of atexit() that it registers with
 *                       the first activity, and so before those that were registered before
 */
#ifndef DOUBLES_FAKE_FAULTS_H
#define DOUBLES_FAKE_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "fake_records.h"

enum fake_version fake_version(void);

/* The result that this call of the function is to return; 0: none, go on. */
int fake_fault(const char *function);

bool fake_is_late(uint64_t buffer_number);
bool fake_is_dropped(void); /* each call is one activity */
bool fake_is_untimed(void); /* likewise */
bool fake_is_strange(void);
unsigned fake_slow_ms(void);
void fake_first_activity(void);

#endif
