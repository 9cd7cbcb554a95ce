/*
 * Are there more threads of the program that could run than CPUs?  Other programs take CPUs too:
 * what its threads lose to those is no property of the program, and a note tells it (trust.c).
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
