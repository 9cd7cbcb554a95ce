/*
 * Do we run on a core that the workload runs on, too?
 *
 * Two CPUs may be the two hardware threads of one core: each is slower while the other is busy.  A
 * virtual machine does not know, and its host may change it from one second to the next.  So a
 * short piece of work is timed now and then, such as would find the core's units busy: where it
 * takes much longer than at best, somebody else is there.
 */
#ifndef CAPTURE_SHARED_CORE_H
#define CAPTURE_SHARED_CORE_H

struct shared_core {
	double best_ns; /* of all that were timed; 0: none was */
	double share;   /* of the time, of late: 0 to 1 */
};

/* Times it a few times over, in some 20 us. */
void shared_core_look(struct shared_core *s);

/* It took so long. */
void shared_core_took(struct shared_core *s, double ns);

#endif
