/*
 * Places in native code: addresses of processes become files and offsets while
 * the processes live, and functions with names when the recording ends.
 *
 * Reading the symbols of a large library takes a tenth of a second: that is not
 * for the time while the workload runs.  One thread.
 */
#ifndef CAPTURE_NATIVE_PLACES_H
#define CAPTURE_NATIVE_PLACES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct native_places;

/* How the places become definitions of the trace. */
struct native_definitions {
	void *ctx;
	uint32_t (*next_id)(void *ctx); /* never 0 */
	/* -1 ends the work. */
	int (*define)(void *ctx, uint8_t kind, uint32_t id, const void *payload, size_t bytes);
};

struct native_places *native_places_new(void);    /* NULL: no memory */
void native_places_free(struct native_places *p); /* NULL is a no-op */

/* What a process has mapped, as far as it is known.  All 0: nothing yet. */
struct native_maps {
	struct native_mapping *items;
	size_t count, cap;
	int64_t read_ns; /* when */
};

void native_maps_release(struct native_maps *m);

/*
 * The id of the place at an address; 0: unknown.  The process is asked what it has mapped
 * where that is needed, though not all the time.
 */
uint32_t native_places_find(struct native_places *p, struct native_maps *m, pid_t pid,
			    uint64_t address, int64_t now_ns, const struct native_definitions *d);

/* Names them all.  -1: no memory, or define() said so. */
int native_places_define(struct native_places *p, const struct native_definitions *d);

#endif
