/*
 * What CUPTI hands to a subscriber, as both its doubles declare it: apart from
 * src/agent/gpu/cupti.h, so that a mistake there does not meet its like here.
 */
#ifndef DOUBLES_CALLBACK_DATA_H
#define DOUBLES_CALLBACK_DATA_H

#include <stdint.h>

struct callback_data { /* CUpti_CallbackData */
	uint32_t callbackSite;
	const char *functionName;
	const void *functionParams;
	void *functionReturnValue;
	const char *symbolName;
	void *context;
	uint32_t contextUid;
	uint64_t *correlationData;
	uint32_t correlationId;
};

struct resource_data { /* CUpti_ResourceData */
	void *context;
	void *resourceHandle;
	void *resourceDescriptor;
};

struct graph_data { /* CUpti_GraphData */
	void *graph;
	void *originalGraph;
	void *node;
	void *originalNode;
	int nodeType;
	void *dependency;
	void *graphExec;
};

typedef void (*callback)(void *user, int domain, uint32_t id, const void *data);

#endif
