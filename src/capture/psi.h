/*
 * Pressure stall information, of the machine and of control groups (docs.kernel.org, psi):
 *   some avg10=0.00 avg60=0.00 avg300=0.00 total=4955
 *   full avg10=0.00 avg60=0.00 avg300=0.00 total=524
 */
#ifndef CAPTURE_PSI_H
#define CAPTURE_PSI_H

#include "capture/system_source.h"

#define PSI_PERIOD_NS 50000000

/* The totals, in microseconds; the source's lines have the keys "some" and "full". */
void psi_parse(const struct system_source *s, struct look *l, const char *text);

#endif
