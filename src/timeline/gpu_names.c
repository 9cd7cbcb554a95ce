#include "timeline/gpu_names.h"

#include <stddef.h>

const char *gpu_copy_name(enum gpu_copy kind)
{
	switch (kind) {
	case GPU_COPY_HOST_TO_DEVICE:
		return "H2D";
	case GPU_COPY_DEVICE_TO_HOST:
		return "D2H";
	case GPU_COPY_DEVICE_TO_DEVICE:
		return "D2D";
	case GPU_COPY_HOST_TO_HOST:
		return "H2H";
	case GPU_COPY_PEER:
		return "peer";
	case GPU_COPY_UNKNOWN:
		break;
	}
	return "other";
}

const char *gpu_memory_name(enum gpu_memory memory)
{
	static const char *const names[] = {
		[GPU_MEMORY_UNKNOWN] = "unknown", [GPU_MEMORY_PAGEABLE] = "pageable",
		[GPU_MEMORY_PINNED] = "pinned",   [GPU_MEMORY_DEVICE] = "device",
		[GPU_MEMORY_ARRAY] = "array",     [GPU_MEMORY_MANAGED] = "managed",
	};

	return (size_t)memory < sizeof(names) / sizeof(*names) ? names[memory] : "unknown";
}

const char *cuda_call_name(enum cuda_call what)
{
	static const char *const names[] = {
		[CUDA_CALL_OTHER] = "other",
		[CUDA_CALL_LAUNCH] = "launch",
		[CUDA_CALL_GRAPH_LAUNCH] = "graph_launch",
		[CUDA_CALL_COPY] = "copy",
		[CUDA_CALL_MEMSET] = "memset",
		[CUDA_CALL_SYNC_DEVICE] = "sync_device",
		[CUDA_CALL_SYNC_STREAM] = "sync_stream",
		[CUDA_CALL_SYNC_EVENT] = "sync_event",
		[CUDA_CALL_ALLOC] = "alloc",
		[CUDA_CALL_FREE] = "free",
		[CUDA_CALL_HOST_ALLOC] = "host_alloc",
		[CUDA_CALL_HOST_FREE] = "host_free",
		[CUDA_CALL_STREAM_CREATE] = "stream_create",
		[CUDA_CALL_CONTEXT_CREATE] = "context_create",
		[CUDA_CALL_MODULE_LOAD] = "module_load",
		[CUDA_CALL_GRAPH_BUILD] = "graph_build",
	};

	return (size_t)what < sizeof(names) / sizeof(*names) ? names[what] : "other";
}
