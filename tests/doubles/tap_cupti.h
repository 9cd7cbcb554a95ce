/* What a program that plays a tap calls in tap_cupti.c. */
#ifndef DOUBLES_TAP_CUPTI_H
#define DOUBLES_TAP_CUPTI_H

#include <stdint.h>

/*
 * Tells the client all that is in the tap and returns 0, and by how much times
 * were shifted; -1: there is no client that takes it, or calls of several threads.
 */
__attribute__((visibility("default"))) int tap_replay(int64_t *shift);

#endif
