/* The calls of the fake CUDA; see fake_cuda.c. */
#ifndef DOUBLES_FAKE_CUDA_H
#define DOUBLES_FAKE_CUDA_H

#include <stdint.h>

#define FAKE_CUDA_EXPORT __attribute__((visibility("default")))

struct fake_shape {
	int32_t grid[3], block[3];
	uint16_t registers;
	int32_t static_shared, dynamic_shared;
};

struct fake_transfer {
	uint64_t bytes;
	uint8_t copy;                /* CUpti_ActivityMemcpyKind */
	uint8_t source, destination; /* CUpti_ActivityMemoryKind */
	uint8_t asynchronous;
};

/* 0, or 1 where the injected library said no: a real driver then fails to initialise. */
FAKE_CUDA_EXPORT int fake_init(void);

/* For the calling thread. */
FAKE_CUDA_EXPORT void fake_set_device(uint32_t number, uint32_t context_number);

/* All return the call's correlation id, or 0. */
FAKE_CUDA_EXPORT uint32_t fake_launch(const char *name, const struct fake_shape *shape,
				      uint32_t stream, uint64_t duration_ns);
FAKE_CUDA_EXPORT uint32_t fake_launch_driver(const char *name, const struct fake_shape *shape,
					     uint32_t stream, uint64_t duration_ns);
FAKE_CUDA_EXPORT uint32_t fake_graph_launch(const char *name, uint32_t graph, uint32_t nodes,
					    uint32_t stream, uint64_t duration_ns);

/*
 * Graphs, by handles of ours.  From begin to end what the thread launches, copies and
 * sets becomes nodes instead of work.  An instance is a graph of its own, with copies of
 * the nodes; so is what a graph gets as its child.  0: CUDA would return an error.
 */
FAKE_CUDA_EXPORT uint32_t fake_capture_begin(void);
FAKE_CUDA_EXPORT uint32_t fake_capture_end(void); /* the graph */
FAKE_CUDA_EXPORT uint32_t fake_graph_create(void);
FAKE_CUDA_EXPORT uint32_t fake_graph_add_kernel(uint32_t graph, const char *name,
						uint64_t duration_ns);
FAKE_CUDA_EXPORT uint32_t fake_graph_add_child(uint32_t graph, uint32_t child);
FAKE_CUDA_EXPORT uint32_t fake_graph_instantiate(uint32_t graph);
FAKE_CUDA_EXPORT uint32_t fake_graph_replay(uint32_t instance, uint32_t stream);

FAKE_CUDA_EXPORT uint32_t fake_copy(const struct fake_transfer *t, uint32_t stream,
				    uint64_t duration_ns);
FAKE_CUDA_EXPORT uint32_t fake_memset(uint64_t bytes, uint32_t value, uint32_t stream,
				      uint64_t duration_ns);
FAKE_CUDA_EXPORT uint32_t fake_sync_stream(uint32_t stream);
FAKE_CUDA_EXPORT uint32_t fake_sync_device(void);
FAKE_CUDA_EXPORT uint32_t fake_malloc(uint64_t bytes);
FAKE_CUDA_EXPORT uint32_t fake_host_alloc(uint64_t bytes);
FAKE_CUDA_EXPORT uint32_t fake_free(void);
FAKE_CUDA_EXPORT uint32_t fake_uninteresting(void);

/* What another profiler gets that asks CUPTI for itself now; -1: CUPTI is not loaded. */
FAKE_CUDA_EXPORT int fake_other_tool_subscribes(void);

/* CUPTI: whether it records kernels now; -1: it is not loaded. */
FAKE_CUDA_EXPORT int fake_records_kernels(void);
FAKE_CUDA_EXPORT void fake_other_tool_leaves(void);

#endif
