/* Filling CUPTI's records; see fake_records.h. */
#include "fake_records.h"

#include <string.h>

static const struct {
	uint32_t kind;
	uint16_t bytes[4]; /* by enum fake_version */
} sizes[] = {
	{ FAKE_KERNEL, { 200, 200, 208, 216 } }, { FAKE_COPY, { 88, 88, 96, 96 } },
	{ FAKE_PEER_COPY, { 96, 96, 96, 96 } },  { FAKE_MEMSET, { 88, 88, 88, 88 } },
	{ FAKE_OVERHEAD, { 40, 40, 56, 56 } },   { FAKE_DEVICE, { 176, 176, 184, 184 } },
	{ FAKE_GRAPH, { 48, 48, 56, 56 } },      { FAKE_STRANGE, { 24, 24, 24, 24 } },
};

_Static_assert(sizeof(struct kernel_record) == 216, "CUpti_ActivityKernel10");
_Static_assert(sizeof(struct copy_record) == 96, "CUpti_ActivityMemcpy6");
_Static_assert(sizeof(struct peer_copy_record) == 96, "CUpti_ActivityMemcpyPtoP4");
_Static_assert(sizeof(struct memset_record) == 88, "CUpti_ActivityMemset4");
_Static_assert(sizeof(struct graph_record) == 56, "CUpti_ActivityGraphTrace2");
_Static_assert(sizeof(struct overhead_record) == 56, "CUpti_ActivityOverhead3");
_Static_assert(sizeof(struct device_record) == 184, "CUpti_ActivityDevice5");

size_t fake_record_bytes(enum fake_version version, uint32_t kind)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (sizes[i].kind == kind)
			return sizes[i].bytes[version];
	}
	return 0;
}

static void write_kernel(struct kernel_record *r, const struct fake_activity *a)
{
	r->registersPerThread = a->registers;
	r->start = a->start;
	r->end = a->end;
	r->completed = a->end + 1; /* kernels that it started itself may end later */
	r->deviceId = a->device;
	r->contextId = a->context;
	r->streamId = a->stream;
	r->gridX = a->grid[0];
	r->gridY = a->grid[1];
	r->gridZ = a->grid[2];
	r->blockX = a->block[0];
	r->blockY = a->block[1];
	r->blockZ = a->block[2];
	r->staticSharedMemory = a->static_shared;
	r->dynamicSharedMemory = a->dynamic_shared;
	r->correlationId = a->correlation;
	r->name = a->name;
	r->graphNodeId = a->node;
	r->graphId = a->graph;
}

static void write_copy(struct copy_record *r, const struct fake_activity *a)
{
	r->copyKind = a->copy;
	r->srcKind = a->source;
	r->dstKind = a->destination;
	r->flags = a->asynchronous;
	r->bytes = a->bytes;
	r->start = a->start;
	r->end = a->end;
	r->deviceId = a->device;
	r->contextId = a->context;
	r->streamId = a->stream;
	r->correlationId = a->correlation;
	r->graphNodeId = a->node;
	r->graphId = a->graph;
}

static void write_peer_copy(struct peer_copy_record *r, const struct fake_activity *a)
{
	r->copyKind = a->copy;
	r->srcKind = a->source;
	r->dstKind = a->destination;
	r->flags = a->asynchronous;
	r->bytes = a->bytes;
	r->start = a->start;
	r->end = a->end;
	r->deviceId = a->device;
	r->contextId = a->context;
	r->streamId = a->stream;
	r->correlationId = a->correlation;
	r->graphNodeId = a->node;
	r->graphId = a->graph;
}

static void write_memset(struct memset_record *r, const struct fake_activity *a)
{
	r->value = a->value;
	r->bytes = a->bytes;
	r->start = a->start;
	r->end = a->end;
	r->deviceId = a->device;
	r->contextId = a->context;
	r->streamId = a->stream;
	r->correlationId = a->correlation;
	r->flags = a->asynchronous;
	r->memoryKind = a->memory;
	r->graphNodeId = a->node;
	r->graphId = a->graph;
}

static void write_graph(struct graph_record *r, const struct fake_activity *a)
{
	r->correlationId = a->correlation;
	r->start = a->start;
	r->end = a->end;
	r->deviceId = a->device;
	r->graphId = a->graph;
	r->contextId = a->context;
	r->streamId = a->stream;
}

static void write_overhead(struct overhead_record *r, const struct fake_activity *a)
{
	r->overheadKind = a->value;
	r->start = a->start;
	r->end = a->end;
}

static void write_device(struct device_record *r, const struct fake_activity *a)
{
	r->globalMemoryBandwidth = 4800000000u;
	r->globalMemorySize = (uint64_t)141 << 30;
	r->coreClockRate = 1980000;
	r->numMultiprocessors = 132;
	r->computeCapabilityMajor = 9;
	r->computeCapabilityMinor = 0;
	r->id = a->device;
	r->name = a->name;
}

void fake_record_write(void *to, enum fake_version version, const struct fake_activity *a)
{
	union {
		uint32_t kind;
		struct kernel_record kernel;
		struct copy_record copy;
		struct peer_copy_record peer_copy;
		struct memset_record set;
		struct graph_record graph;
		struct overhead_record overhead;
		struct device_record device;
	} r;

	memset(&r, 0xa5, sizeof(r));
	r.kind = a->kind;
	if (a->kind == FAKE_KERNEL)
		write_kernel(&r.kernel, a);
	else if (a->kind == FAKE_COPY)
		write_copy(&r.copy, a);
	else if (a->kind == FAKE_PEER_COPY)
		write_peer_copy(&r.peer_copy, a);
	else if (a->kind == FAKE_MEMSET)
		write_memset(&r.set, a);
	else if (a->kind == FAKE_GRAPH)
		write_graph(&r.graph, a);
	else if (a->kind == FAKE_OVERHEAD)
		write_overhead(&r.overhead, a);
	else if (a->kind == FAKE_DEVICE)
		write_device(&r.device, a);
	memcpy(to, &r, fake_record_bytes(version, a->kind));
}

/* Where a record of work keeps its start and end; NULL: it is no work. */
static uint64_t *times(void *record)
{
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	if (kind == FAKE_KERNEL)
		return &((struct kernel_record *)record)->start;
	if (kind == FAKE_COPY || kind == FAKE_PEER_COPY)
		return &((struct copy_record *)record)->start;
	if (kind == FAKE_MEMSET)
		return &((struct memset_record *)record)->start;
	if (kind == FAKE_GRAPH)
		return &((struct graph_record *)record)->start;
	return NULL;
}

uint64_t fake_record_end(void *record)
{
	uint64_t *span = times(record);

	return span ? span[1] : 0;
}

void fake_record_forget_times(void *record)
{
	uint64_t *span = times(record);

	if (span)
		span[0] = span[1] = 0;
}
