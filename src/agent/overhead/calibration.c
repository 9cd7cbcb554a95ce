#include "agent/overhead/calibration.h"

#include <stdlib.h>

#include "agent/overhead/budget.h"
#include "agent/python/codes.h"

#define REPEATS 7
#define PAGE_BYTES 4096u /* or more */
/* Each call's begin and end, and those of the loop around them; they fit one block. */
#define EVENTS (2 * CALIBRATION_ROUNDS + 2)

_Static_assert(EVENTS * sizeof(struct record) <= RING_CAPACITY, "the block is never full");

static const char *const programs[CALIBRATIONS] = { "_call_nothing", "_call_c", "_loop" };

/* 0: not measured */
static uint64_t plain_ns[CALIBRATIONS], hooked_ns[CALIBRATIONS];

uint64_t calibration_plain_ns(enum calibration what)
{
	return plain_ns[what];
}

uint64_t calibration_hooked_ns(enum calibration what)
{
	return hooked_ns[what];
}

/* Of a timed event; 0: none were. */
static double hook_ticks;

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The best but some. */
static double choose(double *values, size_t but)
{
	qsort(values, REPEATS, sizeof(values[0]), by_size);
	return values[but];
}

/* A name of the package: inferscope.NAME. */
static PyObject *of_package(const char *name)
{
	PyObject *package = py_module("inferscope");

	return package ? py.GetAttr(package, name) : NULL;
}

/* What the program took; 0: it cannot be said. */
static uint64_t measure(const char *program, struct ring *scratch, struct shm_block *blocks)
{
	PyObject *function = of_package(program);
	PyObject *count = py.Long_From(CALIBRATION_ROUNDS);
	double took[REPEATS], ticks[REPEATS] = { 0 };
	uint64_t start;
	size_t n = 0;

	for (; function && count && n < REPEATS; n++) {
		PyObject *result;

		/* A block that is not in the cache, as for most events of a program. */
		if (scratch) {
			scratch->events.block = &blocks[n];
			scratch->events.head = 0;
			scratch->timed = 0;
			scratch->timed_ticks = 0;
		}
		start = stamp_monotonic();
		result = py.CallWith(function, count, NULL);
		took[n] = (double)(stamp_monotonic() - start);
		if (scratch && scratch->timed)
			ticks[n] = (double)scratch->timed_ticks / scratch->timed;
		py_drop(result);
		if (!result)
			break;
	}
	py_drop(function);
	py_drop(count);
	py.Err_Clear();
	if (n < REPEATS)
		return 0;
	if (scratch && program == programs[CALIBRATION_CALLS])
		hook_ticks = choose(ticks, REPEATS / 2);
	return (uint64_t)choose(took, 1); /* others may want the CPU */
}

void calibration_without_hook(unsigned count)
{
	for (unsigned i = 0; i < count && i < CALIBRATIONS && !hooked_ns[0]; i++)
		plain_ns[i] = measure(programs[i], NULL, NULL);
}

/* These functions get no definition, and no trace has their events. */
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

/* So that no page has to be found, by us or by a hypervisor, while we measure. */
static void touch(struct shm_block *blocks)
{
	for (size_t at = 0; at < REPEATS * sizeof(*blocks); at += PAGE_BYTES)
		((volatile char *)blocks)[at] = 0;
}

/* On a ring like the thread's own, whose records are never read. */
static void measure_with_hook(unsigned count)
{
	struct ring *own = session_ring(), *scratch = own ? malloc(ring_bytes(own->session)) : NULL;
	struct shm_block *blocks = calloc(REPEATS, sizeof(*blocks));

	if (scratch && blocks) {
		touch(blocks);
		ring_init_alone(scratch, own->session, own->thread);
		scratch->name_at = UINT64_MAX;
		scratch->lot = scratch->allowance = INT32_MAX;
		session_my_ring = scratch;
		for (unsigned i = 0; i < count && i < CALIBRATIONS; i++)
			hooked_ns[i] = measure(programs[i], scratch, blocks);
		session_my_ring = own;
	}
	free(scratch);
	free(blocks);
}

void calibration_with_hook(unsigned count)
{
	bool kept = keep_out_of_the_trace("_nothing");
	uint64_t plain = plain_ns[CALIBRATION_CALLS];
	uint64_t hooked;

	for (unsigned i = 0; i < count && i < CALIBRATIONS; i++)
		kept &= keep_out_of_the_trace(programs[i]);
	if (kept && plain && !hooked_ns[CALIBRATION_CALLS])
		measure_with_hook(count);
	hooked = hooked_ns[CALIBRATION_CALLS];
	budget_set_event_cost(hooked > plain ? (uint32_t)((hooked - plain) * 1000u / EVENTS) : 0,
			      hook_ticks);
}
