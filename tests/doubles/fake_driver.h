/*
 * Between the two doubles: what the fake driver tells the fake CUPTI.
 *
 * The real ones talk through a private table, and so do these: the driver looks
 * for fake_cupti_ears in the library that INFERSCOPE_CUPTI names (CUPTI_TAP_REAL
 * where a tap stands before it, tests/gpu/cupti_tap.c), once somebody has loaded it.
 * Nobody loaded it: nobody listens, the driver works all the same.
 */
#ifndef DOUBLES_FAKE_DRIVER_H
#define DOUBLES_FAKE_DRIVER_H

#include <stdint.h>

#define FAKE_EXPORT __attribute__((visibility("default")))

/* CUPTI's numbers, as in its headers. */
enum fake_kind {
	FAKE_COPY = 1,
	FAKE_MEMSET = 2,
	FAKE_DEVICE = 8,
	FAKE_KERNEL = 10,
	FAKE_OVERHEAD = 17,
	FAKE_PEER_COPY = 22,
	FAKE_GRAPH = 51,
	FAKE_STRANGE = 999, /* of a CUPTI to come */
};

enum fake_domain { FAKE_DRIVER_API = 1, FAKE_RUNTIME_API = 2, FAKE_RESOURCE = 3 };

enum fake_resource { FAKE_NODE_CREATED = 13, FAKE_EXEC_CREATED = 18, FAKE_NODE_CLONED = 20 };

/* A node as a program has it: CUPTI alone knows its number. */
struct fake_node {
	uint64_t number;
};

/* Something that a device does; times in ns of CLOCK_MONOTONIC. */
struct fake_activity {
	enum fake_kind kind;
	uint64_t start, end;
	uint32_t device, context, stream, correlation;
	uint32_t graph;
	uint64_t node;
	const char *name;
	int32_t grid[3], block[3];
	uint16_t registers;
	int32_t static_shared, dynamic_shared;
	uint64_t bytes;
	uint32_t value;
	uint8_t copy, source, destination, asynchronous;
	uint16_t memory;
};

/* An API call is entered (leaving = 0) or left. */
struct fake_call {
	int leaving;
	enum fake_domain domain;
	uint32_t id;
	const char *function;
	const void *params;
	uint32_t correlation;
};

struct fake_ears {
	void (*call)(const struct fake_call *c);
	void (*did)(const struct fake_activity *a);
	/* Something happened to a graph; original: of a clone. */
	void (*graph)(enum fake_resource what, struct fake_node *node, struct fake_node *original);
	int (*other_tool_subscribes)(void); /* a CUptiResult */
	void (*other_tool_leaves)(void);
	int (*records_kernels)(void);
};

uint64_t fake_monotonic(void);

#endif
