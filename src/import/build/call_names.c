/* What the calls of CUDA's and HIP's runtimes and drivers do, by their names. */
#include <string.h>
#include <strings.h>

#include "import/build/build.h"

/* The first that the name contains, behind "cuda", "cu" or "hip". */
static const struct {
	const char *part;
	enum cuda_call what;
} parts[] = {
	{ "GraphLaunch", CUDA_CALL_GRAPH_LAUNCH },
	{ "StreamBeginCapture", CUDA_CALL_GRAPH_BUILD },
	{ "StreamEndCapture", CUDA_CALL_GRAPH_BUILD },
	{ "GraphInstantiate", CUDA_CALL_GRAPH_BUILD },
	{ "GraphAdd", CUDA_CALL_GRAPH_BUILD },
	{ "GraphCreate", CUDA_CALL_GRAPH_BUILD },
	{ "GraphClone", CUDA_CALL_GRAPH_BUILD },
	{ "GraphExecUpdate", CUDA_CALL_GRAPH_BUILD },
	{ "LaunchHostFunc", CUDA_CALL_OTHER },
	{ "Launch", CUDA_CALL_LAUNCH },
	{ "DeviceSynchronize", CUDA_CALL_SYNC_DEVICE },
	{ "CtxSynchronize", CUDA_CALL_SYNC_DEVICE },
	{ "ThreadSynchronize", CUDA_CALL_SYNC_DEVICE },
	{ "StreamSynchronize", CUDA_CALL_SYNC_STREAM },
	{ "EventSynchronize", CUDA_CALL_SYNC_EVENT },
	{ "MemcpyToSymbol", CUDA_CALL_COPY },
	{ "Memcpy", CUDA_CALL_COPY },
	{ "Memset", CUDA_CALL_MEMSET },
	{ "MallocHost", CUDA_CALL_HOST_ALLOC },
	{ "HostMalloc", CUDA_CALL_HOST_ALLOC },
	{ "HostAlloc", CUDA_CALL_HOST_ALLOC },
	{ "HostRegister", CUDA_CALL_HOST_ALLOC },
	{ "MemAllocHost", CUDA_CALL_HOST_ALLOC },
	{ "MemHostAlloc", CUDA_CALL_HOST_ALLOC },
	{ "MemHostRegister", CUDA_CALL_HOST_ALLOC },
	{ "FreeHost", CUDA_CALL_HOST_FREE },
	{ "HostFree", CUDA_CALL_HOST_FREE },
	{ "HostUnregister", CUDA_CALL_HOST_FREE },
	{ "Malloc", CUDA_CALL_ALLOC },
	{ "MemAlloc", CUDA_CALL_ALLOC },
	{ "MemCreate", CUDA_CALL_ALLOC },
	{ "MemFree", CUDA_CALL_FREE },
	{ "MemRelease", CUDA_CALL_FREE },
	{ "StreamCreate", CUDA_CALL_STREAM_CREATE },
	{ "CtxCreate", CUDA_CALL_CONTEXT_CREATE },
	{ "PrimaryCtxRetain", CUDA_CALL_CONTEXT_CREATE },
	{ "ModuleLoad", CUDA_CALL_MODULE_LOAD },
	{ "LibraryLoad", CUDA_CALL_MODULE_LOAD },
	{ "ModuleGetFunction", CUDA_CALL_MODULE_LOAD },
};

enum cuda_call cuda_call_of_name(const char *name)
{
	size_t prefix = !strncmp(name, "cuda", 4) ? 4 : !strncmp(name, "hip", 3) ? 3 : 2;

	if (prefix == 2 && strncmp(name, "cu", 2) != 0)
		return CUDA_CALL_OTHER;
	/* hipExtLaunchKernel, hipModuleLaunchKernel and cuLaunchKernelEx alike. */
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(name + prefix, parts[i].part))
			return parts[i].what;
	/* "cudaFree", "cudaFree_v3020", "cudaFreeAsync"; not "cudaGetFreeMemory" */
	return !strncmp(name + prefix, "Free", 4) ? CUDA_CALL_FREE : CUDA_CALL_OTHER;
}
