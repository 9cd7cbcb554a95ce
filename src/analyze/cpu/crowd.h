/*
 * Do more threads of the program want to run than there are CPUs?  CPU time that they lose to
 * other programs is not a property of the program; a note reports it (trust.c).
 */
#ifndef ANALYZE_CPU_CROWD_H
#define ANALYZE_CPU_CROWD_H

#include <stdbool.h>

struct crowd {
	double cpus;     /* that the program might use; 0: not known */
	double runnable; /* its threads that ran or were ready to, on average, during steps; 0:
			    likewise */
	bool own;        /* it has clearly more of them than CPUs */
};

struct analysis;

/* After the steps and the memory figures. */
void crowd_measure(struct crowd *c, const struct analysis *a);

#endif
