/*
 * CUPTI as the agent sees it, on top of the fake driver: the same functions, the
 * same record layouts, the same rules about subscribers, buffers and flushing.
 * fake_faults.h lists what can be made to go wrong.
 *
 * Built a second time as an old CUPTI that lacks a function (FAKE_CUPTI_OLD).
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "callback_data.h"
#include "fake_buffers.h"
#include "fake_driver.h"
#include "fake_faults.h"
#include "fake_records.h"

enum result {
	OK = 0,
	INVALID_PARAMETER = 1,
	MAX_LIMIT_REACHED = 12,
	INVALID_KIND = 21,
	MULTIPLE_SUBSCRIBERS = 39,
};

#define KINDS 64
#define IDS 1024u

FAKE_EXPORT int cuptiGetVersion(uint32_t *version);
FAKE_EXPORT int cuptiGetResultString(int result, const char **text);
FAKE_EXPORT int cuptiSubscribe(void **subscriber, callback function, void *user);
FAKE_EXPORT int cuptiUnsubscribe(void *subscriber);
FAKE_EXPORT int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t id);
FAKE_EXPORT int cuptiActivityEnable(int kind);
FAKE_EXPORT int cuptiActivityDisable(int kind);
FAKE_EXPORT int cuptiActivityRegisterCallbacks(fake_request request, fake_complete complete);
FAKE_EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void));
FAKE_EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
FAKE_EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n);
FAKE_EXPORT int cuptiActivityFlushAll(uint32_t flag);
FAKE_EXPORT int cuptiGetGraphNodeId(void *node, uint64_t *number);
FAKE_EXPORT int cuptiFinalize(void);

static _Atomic(callback) subscriber_function;
static void *subscriber_user;
static _Atomic bool wanted[4][IDS]; /* by domain */
static _Atomic bool enabled[KINDS];
static _Atomic bool client_has_clock;
static _Atomic int64_t to_client_clock; /* by default that is CLOCK_REALTIME */

uint64_t fake_monotonic(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int cuptiGetVersion(uint32_t *version)
{
	static const uint32_t numbers[] = { 17, 18, 28, 130001 };
	int fault = fake_fault(__func__);

	*version = numbers[fake_version()];
	return fault;
}

int cuptiGetResultString(int result, const char **text)
{
	int fault = fake_fault(__func__);

	if (!fault)
		*text = result == MULTIPLE_SUBSCRIBERS
				? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
				: "CUPTI_ERROR_OF_THE_DOUBLE";
	return fault;
}

int cuptiSubscribe(void **subscriber, callback function, void *user)
{
	int fault = fake_fault(__func__);
	callback nobody = NULL;

	if (fault)
		return fault;
	if (!atomic_compare_exchange_strong(&subscriber_function, &nobody, function))
		return MULTIPLE_SUBSCRIBERS;
	subscriber_user = user;
	*subscriber = &subscriber_function;
	return OK;
}

int cuptiUnsubscribe(void *subscriber)
{
	int fault = fake_fault(__func__);

	if (fault)
		return fault;
	if (subscriber != &subscriber_function)
		return INVALID_PARAMETER;
	for (int domain = FAKE_DRIVER_API; domain <= FAKE_RESOURCE; domain++)
		for (size_t i = 0; i < IDS; i++)
			atomic_store(&wanted[domain][i], false);
	atomic_store(&subscriber_function, (callback)NULL);
	return OK;
}

int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t id)
{
	int fault = fake_fault(__func__);

	if (fault)
		return fault;
	if (subscriber != &subscriber_function || id >= IDS || domain < FAKE_DRIVER_API ||
	    domain > FAKE_RESOURCE)
		return INVALID_PARAMETER;
	atomic_store(&wanted[domain][id], on);
	return OK;
}

static uint64_t realtime(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* From CLOCK_MONOTONIC to another clock: of some readings the one least disturbed. */
static int64_t distance(uint64_t (*clock)(void))
{
	uint64_t shortest = UINT64_MAX;
	int64_t best = 0;

	for (int i = 0; i < 32; i++) {
		uint64_t before = fake_monotonic(), there = clock(), after = fake_monotonic();

		if (after - before < shortest) {
			shortest = after - before;
			best = (int64_t)there - (int64_t)(before + shortest / 2);
		}
	}
	return best;
}

/* While graphs are told as a whole, their nodes are not. */
static void did(const struct fake_activity *a)
{
	bool node = a->graph && a->kind != FAKE_GRAPH;

	if (atomic_load(&enabled[a->kind]) && !(node && atomic_load(&enabled[FAKE_GRAPH])))
		fake_buffers_add(a, atomic_load(&to_client_clock));
}

int cuptiActivityEnable(int kind)
{
	struct fake_activity device = { .kind = FAKE_DEVICE, .name = "Fake H200" };
	int fault = fake_fault(__func__);

	if (fault)
		return fault;
	if (kind < 0 || kind >= KINDS || !fake_record_bytes(fake_version(), (uint32_t)kind))
		return INVALID_KIND;
	atomic_store(&enabled[kind], true);
	if (kind == FAKE_DEVICE)
		did(&device);
	return OK;
}

int cuptiActivityDisable(int kind)
{
	int fault = fake_fault(__func__);

	if (fault)
		return fault;
	if (kind < 0 || kind >= KINDS)
		return INVALID_KIND;
	atomic_store(&enabled[kind], false);
	return OK;
}

int cuptiActivityRegisterCallbacks(fake_request request, fake_complete complete)
{
	int fault = fake_fault(__func__);

	if (fault)
		return fault;
	if (!atomic_load(&client_has_clock))
		atomic_store(&to_client_clock, distance(realtime));
	fake_buffers_client(request, complete);
	return OK;
}

#ifndef FAKE_CUPTI_OLD
int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void))
{
	int fault = fake_fault(__func__);

	if (!fault) {
		atomic_store(&client_has_clock, true);
		atomic_store(&to_client_clock, distance(now));
	}
	return fault;
}
#endif

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	int fault = fake_fault(__func__);
	uint8_t *at = *record;
	uint32_t kind;

	if (fault)
		return fault;
	if (at) {
		memcpy(&kind, at, sizeof(kind));
		at += fake_record_bytes(fake_version(), kind);
	} else {
		fake_buffers_dawdle();
		at = buffer;
	}
	if (at >= buffer + valid)
		return MAX_LIMIT_REACHED;
	*record = at;
	return OK;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
	int fault = fake_fault(__func__);

	(void)context;
	(void)stream;
	if (!fault)
		*n = fake_buffers_take_dropped();
	return fault;
}

int cuptiActivityFlushAll(uint32_t flag)
{
	int fault = fake_fault(__func__);

	if (!fault)
		fake_buffers_flush(flag & 1);
	return fault;
}

/* The real one corrupts the heap of a running program: it is never to be called. */
int cuptiFinalize(void)
{
	abort();
}

static int records_kernels(void)
{
	return atomic_load(&enabled[FAKE_KERNEL]);
}

static void call(const struct fake_call *c)
{
	callback function = atomic_load(&subscriber_function);
	uint64_t correlation_data = 0;
	struct callback_data data = {
		.callbackSite = c->leaving ? 1 : 0,
		.functionName = c->function,
		.functionParams = c->params,
		.contextUid = 1,
		.correlationData = &correlation_data,
		.correlationId = c->correlation,
	};

	if (!function || !atomic_load(&wanted[c->domain][c->id]))
		return;
	function(subscriber_user, (int)c->domain, c->id, &data);
}

int cuptiGetGraphNodeId(void *node, uint64_t *number)
{
	int fault = fake_fault(__func__);

	if (!fault)
		*number = ((const struct fake_node *)node)->number;
	return fault;
}

static void graph(enum fake_resource what, struct fake_node *node, struct fake_node *original)
{
	callback function = atomic_load(&subscriber_function);
	struct graph_data graph_data = { .node = node, .originalNode = original };
	struct resource_data data = { .resourceDescriptor = &graph_data };

	if (function && atomic_load(&wanted[FAKE_RESOURCE][what]))
		function(subscriber_user, FAKE_RESOURCE, what, &data);
}

static void other_callback(void *user, int domain, uint32_t id, const void *data)
{
	(void)user;
	(void)domain;
	(void)id;
	(void)data;
}

static int other_tool_subscribes(void)
{
	void *subscriber;

	return cuptiSubscribe(&subscriber, other_callback, NULL);
}

static void other_tool_leaves(void)
{
	callback theirs = other_callback;

	atomic_compare_exchange_strong(&subscriber_function, &theirs, (callback)NULL);
}

FAKE_EXPORT extern const struct fake_ears fake_cupti_ears;
const struct fake_ears fake_cupti_ears = {
	.call = call,
	.did = did,
	.graph = graph,
	.other_tool_subscribes = other_tool_subscribes,
	.other_tool_leaves = other_tool_leaves,
	.records_kernels = records_kernels,
};
