/*
 * CUPTI's activity records, field by field as in NVIDIA's headers, written
 * without a look at src/agent/gpu/cupti.h: where both are right, they agree.
 *
 * Each is the longest form; older versions end earlier (fake_record_bytes()).
 */
#ifndef DOUBLES_FAKE_RECORDS_H
#define DOUBLES_FAKE_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "fake_driver.h"

enum fake_version { FAKE_11_7, FAKE_11_8, FAKE_12_9, FAKE_13_0 };

struct kernel_record {
	uint32_t kind;
	uint8_t cacheConfig, sharedMemoryConfig;
	uint16_t registersPerThread;
	uint32_t partitionedGlobalCacheRequested, partitionedGlobalCacheExecuted;
	uint64_t start, end, completed;
	uint32_t deviceId, contextId, streamId;
	int32_t gridX, gridY, gridZ, blockX, blockY, blockZ;
	int32_t staticSharedMemory, dynamicSharedMemory;
	uint32_t localMemoryPerThread, localMemoryTotal, correlationId;
	int64_t gridId;
	const char *name;
	void *reserved0;
	uint64_t queued, submitted;
	uint8_t launchType, isSharedMemoryCarveoutRequested, sharedMemoryCarveoutRequested, padding;
	uint32_t sharedMemoryExecuted;
	uint64_t graphNodeId;
	uint32_t shmemLimitConfig, graphId;
	void *pAccessPolicyWindow;
	uint32_t channelID, channelType, clusterX, clusterY, clusterZ, clusterSchedulingPolicy;
	uint64_t localMemoryTotal_v2;                        /* the last one of 11.8 */
	uint32_t maxPotentialClusterSize, maxActiveClusters; /* of 12.9 */
	uint8_t isDeviceLaunched, padding3[7];               /* of 13.0 */
};

struct copy_record {
	uint32_t kind;
	uint8_t copyKind, srcKind, dstKind, flags;
	uint64_t bytes, start, end;
	uint32_t deviceId, contextId, streamId, correlationId, runtimeCorrelationId, pad;
	void *reserved0;
	uint64_t graphNodeId;
	uint32_t graphId, channelID, channelType, pad2; /* the last one of 11.8 */
	uint64_t copyCount;
};

struct peer_copy_record {
	uint32_t kind;
	uint8_t copyKind, srcKind, dstKind, flags;
	uint64_t bytes, start, end;
	uint32_t deviceId, contextId, streamId;
	uint32_t srcDeviceId, srcContextId, dstDeviceId, dstContextId, correlationId;
	void *reserved0;
	uint64_t graphNodeId;
	uint32_t graphId, channelID, channelType;
};

struct memset_record {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t deviceId, contextId, streamId, correlationId;
	uint16_t flags, memoryKind;
	uint32_t pad;
	void *reserved0;
	uint64_t graphNodeId;
	uint32_t graphId, channelID, channelType, pad2;
};

struct graph_record {
	uint32_t kind, correlationId;
	uint64_t start, end;
	uint32_t deviceId, graphId, contextId, streamId;
	void *reserved; /* the last one of 11.8 */
	uint32_t endDeviceId, endContextId;
};

struct overhead_record {
	uint32_t kind, overheadKind, objectKind;
	uint32_t deviceId, contextId, streamId; /* objectId */
	uint64_t start, end;                    /* the last one of 11.8 */
	uint32_t correlationId, reserved0;
	void *overheadData;
};

struct device_record {
	uint32_t kind, flags;
	uint64_t globalMemoryBandwidth, globalMemorySize;
	uint32_t constantMemorySize, l2CacheSize, numThreadsPerWarp, coreClockRate;
	uint32_t numMemcpyEngines, numMultiprocessors, maxIPC, maxWarpsPerMultiprocessor;
	uint32_t maxBlocksPerMultiprocessor, maxSharedMemoryPerMultiprocessor;
	uint32_t maxRegistersPerMultiprocessor, maxRegistersPerBlock, maxSharedMemoryPerBlock;
	uint32_t maxThreadsPerBlock, maxBlockDimX, maxBlockDimY, maxBlockDimZ;
	uint32_t maxGridDimX, maxGridDimY, maxGridDimZ;
	uint32_t computeCapabilityMajor, computeCapabilityMinor, id, eccEnabled;
	uint8_t uuid[16];
	const char *name;
	uint8_t isCudaVisible, isMigEnabled, reserved[6];
	uint32_t gpuInstanceId, computeInstanceId;
	uint8_t migUuid[16]; /* the last one of 11.8 */
	uint32_t isNumaNode, numaId;
};

#define FAKE_RECORD_MAX sizeof(struct kernel_record)

/* How long a record of this kind is in this version; 0: no such kind. */
size_t fake_record_bytes(enum fake_version version, uint32_t kind);

/*
 * Writes the record of an activity, fake_record_bytes() long, at `to` (aligned
 * to 8).  Fields that nobody reads hold noise, as they do in reality.
 */
void fake_record_write(void *to, enum fake_version version, const struct fake_activity *a);

/* When its work ends, on the client's clock; 0 where it is no work or has no times. */
uint64_t fake_record_end(void *record);

/* Says that a record's work is not done, or that the device did not say when. */
void fake_record_forget_times(void *record);

#endif
