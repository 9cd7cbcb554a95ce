#include "agent/calibration.h"

#include <stdlib.h>
#include <time.h>

#include "agent/budget.h"
#include "agent/codes.h"

#define CALLS 500 /* their events fit one block */
#define REPEATS 7
#define EVENTS (2 * CALLS + 2) /* each call's begin and end, and those of the loop around them */

_Static_assert(EVENTS * sizeof(struct record) <= RING_CAPACITY, "the block is never full");

static uint64_t plain_ns; /* 0: not measured */
static uint32_t event_ps; /* measured before, in this process */

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* A name of the package: inferscope.NAME. */
static PyObject *of_package(const char *name)
{
	PyObject *package = py.Dict_GetString(py.ImportedModules(), "inferscope");

	return package ? py.GetAttr(package, name) : NULL;
}

/* The median of what the calls took, all REPEATS of them; 0: it cannot be said. */
static uint64_t measure(struct ring *scratch)
{
	PyObject *function = of_package("_call_nothing");
	PyObject *count = py.Long_From(CALLS);
	uint64_t took[REPEATS], start;
	size_t n = 0;

	for (; function && count && n < REPEATS; n++) {
		PyObject *result;

		if (scratch)
			scratch->events.head = 0;
		start = clock_ns();
		result = py.CallWith(function, count, NULL);
		took[n] = clock_ns() - start;
		py_drop(result);
		if (!result)
			break;
	}
	py_drop(function);
	py_drop(count);
	py.Err_Clear();
	qsort(took, n, sizeof(took[0]), by_size);
	return n == REPEATS ? took[REPEATS / 2] : 0;
}

void calibration_without_hook(void)
{
	plain_ns = event_ps ? 0 : measure(NULL);
}

/* The two functions get no definition: no trace has events of theirs. */
static bool keep_out_of_the_trace(const char *name)
{
	PyObject *function = of_package(name);
	PyObject *code = function ? py.GetAttr(function, "__code__") : NULL;
	bool kept = code && codes_note_nameless(code);

	py_drop(function);
	py_drop(code);
	py.Err_Clear();
	return kept;
}

/* Like the thread's own, but what is written to it is read by nobody. */
static struct ring *scratch_ring(const struct ring *own)
{
	struct ring *r = malloc(ring_bytes(own->session));
	struct shm_block *block = calloc(1, sizeof(*block));

	if (!r || !block) {
		free(r);
		free(block);
		return NULL;
	}
	ring_init(r, own->session, own->thread);
	r->name_at = UINT64_MAX;
	r->lot = r->allowance = INT32_MAX;
	r->events.block = block;
	return r;
}

static void measure_with_hook(void)
{
	struct ring *own = session_ring(), *scratch = own ? scratch_ring(own) : NULL;
	uint64_t hooked_ns;

	if (!scratch)
		return;
	session_my_ring = scratch;
	hooked_ns = measure(scratch);
	session_my_ring = own;
	free(scratch->events.block);
	free(scratch);
	if (hooked_ns > plain_ns)
		event_ps = (uint32_t)((hooked_ns - plain_ns) * 1000u / EVENTS);
}

void calibration_with_hook(void)
{
	if (plain_ns && keep_out_of_the_trace("_nothing") && keep_out_of_the_trace("_call_nothing"))
		measure_with_hook();
	budget_set_event_cost_ps(event_ps);
}
