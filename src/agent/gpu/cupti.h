/*
 * The part of CUPTI that the agent uses: our own declarations, and a table of
 * functions that is filled by dlopen() at run time.
 *
 * One binary serves CUPTI 11.8 to 13.x: records grow from version to version
 * at their end, so only the common prefix is declared here and records are
 * never stepped over by size (cuptiActivityGetNextRecord does that).
 * tests/python/test_cupti_abi.py compares everything here with the real headers.
 */
#ifndef AGENT_GPU_CUPTI_H
#define AGENT_GPU_CUPTI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/record.h"

enum cupti_result {
	CUPTI_OK = 0,
	CUPTI_NO_MORE_RECORDS = 12, /* CUPTI_ERROR_MAX_LIMIT_REACHED */
	CUPTI_TAKEN = 39,           /* CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED */
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
};

enum cupti_activity_kind {
	CUPTI_KIND_COPY = 1,
	CUPTI_KIND_MEMSET = 2,
	CUPTI_KIND_DEVICE = 8,
	CUPTI_KIND_CONCURRENT_KERNEL = 10,
	CUPTI_KIND_OVERHEAD = 17,
	CUPTI_KIND_PEER_COPY = 22,
	/*
	 * While it is on, graphs come as a whole, without their nodes.  Enabled before the first
	 * graph or never: the next launch of one that exists already crashes
	 * (tests/gpu/graph_probe.cu).
	 */
	CUPTI_KIND_GRAPH = 51,
};

enum cupti_domain { CUPTI_DOMAIN_DRIVER = 1, CUPTI_DOMAIN_RUNTIME = 2, CUPTI_DOMAIN_RESOURCE = 3 };

/* Resource events, as far as they are used. */
enum cupti_resource {
	CUPTI_GRAPH_NODE_CREATED = 13,
	CUPTI_GRAPH_EXEC_CREATED = 18,
	CUPTI_GRAPH_NODE_CLONED = 20,
};

enum cupti_site { CUPTI_ENTER = 0, CUPTI_EXIT = 1 };

#define CUPTI_FLUSH_FORCED 1u
#define CUPTI_VERSION_MIN 18u /* 11.8, by cuptiGetVersion() */

struct cupti_activity {
	uint32_t kind;
};

struct cupti_kernel { /* CUpti_ActivityKernel8, 9, 10 */
	uint32_t kind;
	uint8_t cache_config, shared_config;
	uint16_t registers;
	uint32_t cache_requested, cache_executed;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_per_thread, local_total;
	uint32_t correlation;
	int64_t grid_id;
	const char *name;
	void *reserved;
	uint64_t queued, submitted;
	uint8_t launch_type, shared_set, carveout, shared_executed_set;
	uint8_t pad[4];
	uint64_t graph_node;
	uint32_t shared_limit;
	uint32_t graph;
};

struct cupti_copy { /* CUpti_ActivityMemcpy5, 6 */
	uint32_t kind;
	uint8_t copy, source, destination, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint32_t runtime_correlation, pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_peer_copy { /* CUpti_ActivityMemcpyPtoP4 */
	uint32_t kind;
	uint8_t copy, source, destination, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream;
	uint32_t source_device, source_context, destination_device, destination_context;
	uint32_t correlation;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_memset { /* CUpti_ActivityMemset4 */
	uint32_t kind;
	uint32_t value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory;
	uint32_t pad;
	void *reserved;
	uint64_t graph_node;
	uint32_t graph;
};

struct cupti_graph { /* CUpti_ActivityGraphTrace, 2 */
	uint32_t kind;
	uint32_t correlation;
	uint64_t start, end;
	uint32_t device, graph, context, stream;
};

struct cupti_overhead { /* CUpti_ActivityOverhead, 3 */
	uint32_t kind;
	uint32_t overhead;
	uint32_t object_kind;
	uint32_t object[3];
	uint64_t start, end;
};

struct cupti_device { /* CUpti_ActivityDevice4, 5 */
	uint32_t kind;
	uint32_t flags;
	uint64_t bandwidth_kb_s, memory_bytes;
	uint32_t constant_bytes, l2_bytes, warp, core_clock_khz, copy_engines, multiprocessors;
	uint32_t limits[14];
	uint32_t major, minor, id, ecc;
	uint64_t uuid[2];
	const char *name;
};

struct cupti_callback_data { /* CUpti_CallbackData */
	uint32_t site;       /* enum cupti_site */
	const char *function;
	const void *params;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation_data;
	uint32_t correlation;
};

struct cupti_resource_data { /* CUpti_ResourceData */
	void *context;
	void *stream;
	const void *descriptor; /* of graphs: struct cupti_graph_data */
};

struct cupti_graph_data { /* CUpti_GraphData */
	void *graph, *original_graph;
	void *node, *original_node;
	int32_t node_type;
	void *dependency;
	void *exec;
};

typedef void *cupti_subscriber;
typedef void (*cupti_callback)(void *user, int domain, uint32_t id, const void *data);
typedef void (*cupti_buffer_request)(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void (*cupti_buffer_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
				      size_t valid_bytes);
typedef uint64_t (*cupti_timestamp)(void);

/* X(name in the table, symbol, arguments); all return enum cupti_result. */
#define CUPTI_FUNCTIONS(X)                                                                    \
	X(GetVersion, "cuptiGetVersion", (uint32_t *))                                        \
	X(GetResultString, "cuptiGetResultString", (int, const char **))                      \
	X(Subscribe, "cuptiSubscribe", (cupti_subscriber *, cupti_callback, void *))          \
	X(Unsubscribe, "cuptiUnsubscribe", (cupti_subscriber))                                \
	X(EnableCallback, "cuptiEnableCallback", (uint32_t, cupti_subscriber, int, uint32_t)) \
	X(ActivityEnable, "cuptiActivityEnable", (int))                                       \
	X(ActivityDisable, "cuptiActivityDisable", (int))                                     \
	X(RegisterCallbacks, "cuptiActivityRegisterCallbacks",                                \
	  (cupti_buffer_request, cupti_buffer_complete))                                      \
	X(RegisterTimestamp, "cuptiActivityRegisterTimestampCallback", (cupti_timestamp))     \
	X(GetNextRecord, "cuptiActivityGetNextRecord",                                        \
	  (uint8_t *, size_t, struct cupti_activity **))                                      \
	X(GetDropped, "cuptiActivityGetNumDroppedRecords", (void *, uint32_t, size_t *))      \
	X(FlushAll, "cuptiActivityFlushAll", (uint32_t))

struct cupti {
#define FIELD(name, symbol, args) int(*name) args;
	CUPTI_FUNCTIONS(FIELD)
#undef FIELD
	/* Optional: the number of a stream, as activities have it. */
	int (*GetStreamId)(void *context, void *stream, uint8_t per_thread, uint32_t *id);
	/* Optional: the number of a graph's node, as activities have it. */
	int (*GetGraphNodeId)(void *node, uint64_t *id);
	uint32_t version;
	bool has_driver_calls; /* false: those must not be enabled, only the runtime's */
};

extern struct cupti cupti;

/*
 * Finds and loads a libcupti: the one named by INFERSCOPE_CUPTI; one that is in
 * the process already; then the system's.  0, or -1 with a text for the user.
 */
int cupti_load(char *text, size_t bytes);

/* Which CUDA calls are recorded, and what they do. */

#define CUDA_CALL_IDS 1024u /* all callback ids in the table are below */

struct cuda_call_row {
	int domain; /* enum cupti_domain */
	uint32_t id;
	enum cuda_call what;
	const char *name; /* as in CUPTI's headers; NULL ends the table */
};

extern const struct cuda_call_row cuda_call_rows[];

/* All that most calls need, in one line of the cache. */
struct cuda_call_entry {
	const struct cuda_call_row *row; /* NULL: not of interest */
	enum cuda_call what;
	/* The recording (high half), and the id that the name has in it. */
	_Atomic uint64_t name;
};

void cuda_calls_init(void);

/* NULL: not of interest. */
struct cuda_call_entry *cuda_call_find(int domain, uint32_t id);

#endif
