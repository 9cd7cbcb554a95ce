/* Waiting for what another thread or process does, however busy the machine is. */
#ifndef TESTS_PATIENCE_H
#define TESTS_PATIENCE_H

#include <stdbool.h>
#include <time.h>

#define PATIENCE_MS 60000 /* after this long it is taken not to happen at all */

/* for (struct patience p = { 0 }; !condition && patience_lasts(&p);) do something; */
struct patience {
	int waited_ms;
};

static inline bool patience_lasts(struct patience *p)
{
	nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	p->waited_ms += 5;
	return p->waited_ms < PATIENCE_MS;
}

#endif
