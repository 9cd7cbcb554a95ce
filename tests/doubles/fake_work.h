/* Inside the fake driver: what its files share. */
#ifndef DOUBLES_FAKE_WORK_H
#define DOUBLES_FAKE_WORK_H

#include <stdbool.h>

#include "fake_cuda.h"
#include "fake_driver.h"

/*
 * The runtime implements its calls by driver calls, and CUPTI reports both: a
 * call of the runtime is entered, then the one of the driver inside it.
 */
struct call_pair {
	struct fake_call runtime, driver;
};

int fake_is_ready(void);
const struct fake_ears *fake_find_ears(void); /* NULL: nobody listens */
void fake_enter(struct call_pair *p);
uint32_t fake_leave(struct call_pair *p); /* the correlation */

struct fake_activity fake_kernel(const struct fake_shape *s, const char *name, uint32_t stream,
				 uint32_t correlation);

/* Puts work on its stream, or into the graph that the thread captures (0); returns when it will be
 * done. */
uint64_t fake_start_work(struct fake_activity *a, uint64_t duration);

/* True: the thread captures, and the work is a node now. */
bool fake_graph_takes(const struct fake_activity *a, uint64_t duration);

#endif
