/*
 * Quantities that are read now and then, most of them from outside: what the memory,
 * the kernel and the devices did.  A series is one quantity of one process, or of
 * the machine, with one instance (a node, a device).  One numbering serves the
 * collector, the trace file and the analysis; numbers are never reused.
 */
#ifndef FORMAT_SERIES_H
#define FORMAT_SERIES_H

#include <stddef.h>
#include <stdint.h>

enum series_kind {
	/* Of a process: /proc/PID/stat. */
	SERIES_RSS = 1,
	SERIES_VIRTUAL = 2,
	SERIES_MINOR_FAULTS = 3, /* all threads, the ended ones too, as all totals of a process */
	SERIES_MAJOR_FAULTS = 4,
	SERIES_CPU_USER = 5, /* in steps of a clock tick, 10 ms */
	SERIES_CPU_SYSTEM = 6,
	SERIES_THREADS = 7,
	/* /proc/PID/status. */
	SERIES_RSS_PEAK = 8, /* since the program was started, before the recording too */
	SERIES_RSS_ANON = 9,
	SERIES_RSS_FILE = 10,
	SERIES_RSS_SHARED = 11, /* shared memory: tmpfs, memfd */
	SERIES_SWAP = 12,
	SERIES_LOCKED = 13,
	SERIES_MAIN_VOLUNTARY_SWITCHES = 14, /* of its main thread alone */
	SERIES_MAIN_INVOLUNTARY_SWITCHES = 15,
	/* /proc/PID/io: what went to and came from storage, and what was asked for. */
	SERIES_READ = 16,
	SERIES_WRITTEN = 17,
	SERIES_READ_CALLS = 18, /* bytes of read() and its like, from caches and pipes too */
	SERIES_WRITE_CALLS = 19,
	/* /proc/PID/smaps_rollup. */
	SERIES_PSS = 20,
	SERIES_PRIVATE_DIRTY = 21,
	SERIES_ANON = 22,
	SERIES_HUGE_ANON = 23, /* of them in transparent huge pages */
	SERIES_SWAP_PSS = 24,
	/* /proc/PID/numa_maps; instance: the node. */
	SERIES_NUMA_NODE = 25,
	SERIES_NUMA_THREADS = 26, /* its threads that were last on a CPU of the node */

	/* Of the machine: /proc/meminfo. */
	SERIES_MACHINE_TOTAL = 32,
	SERIES_MACHINE_AVAILABLE = 33,
	SERIES_MACHINE_CACHED = 34,
	SERIES_MACHINE_SWAP_TOTAL = 35,
	SERIES_MACHINE_SWAP_FREE = 36,
	/* /proc/pressure: time in which some, or all, of the tasks that had work waited. */
	SERIES_PSI_CPU_SOME = 40,
	SERIES_PSI_MEMORY_SOME = 41,
	SERIES_PSI_MEMORY_FULL = 42,
	SERIES_PSI_IO_SOME = 43,
	SERIES_PSI_IO_FULL = 44,
	/* numastat of each node, pages; instance: the node. */
	SERIES_NODE_HIT = 48,
	SERIES_NODE_MISS = 49, /* got here though another node was wanted */
	SERIES_NODE_FOREIGN = 50,
	SERIES_NODE_LOCAL = 51,
	SERIES_NODE_OTHER = 52,

	/*
	 * The control group of the recorder, which the workload starts in.  Limits are those of
	 * the group above it that allows least.
	 */
	SERIES_CGROUP_MEMORY = 64,
	SERIES_CGROUP_MEMORY_MAX = 65, /* none while there is no limit */
	SERIES_CGROUP_CACHE = 66,      /* of it in files that the kernel takes back first */
	SERIES_CGROUP_SWAP = 67,
	SERIES_CGROUP_HIGH_EVENTS = 68, /* it was held back for being over memory.high */
	SERIES_CGROUP_MAX_EVENTS = 69,  /* it wanted more than memory.max */
	SERIES_CGROUP_OOMS = 70,
	SERIES_CGROUP_OOM_KILLS = 71,
	SERIES_CGROUP_CPU = 72,
	SERIES_CGROUP_CPU_LIMIT = 73, /* none while there is no limit */
	SERIES_CGROUP_CPU_PERIODS = 74,
	SERIES_CGROUP_THROTTLED_PERIODS = 75,
	SERIES_CGROUP_THROTTLED = 76,
	SERIES_CGROUP_PSI_CPU_SOME = 77,
	SERIES_CGROUP_PSI_MEMORY_SOME = 78,
	SERIES_CGROUP_PSI_MEMORY_FULL = 79,
	SERIES_CGROUP_PSI_IO_SOME = 80,
	SERIES_CGROUP_PSI_IO_FULL = 81,

	/* NVML; instance: the device's index there. */
	SERIES_GPU_MEMORY_USED = 96, /* by all programs */
	SERIES_GPU_MEMORY_TOTAL = 97,
	SERIES_GPU_PROCESS_MEMORY = 98, /* by this process */
	SERIES_GPU_BUSY = 99,           /* share of the time in which a kernel ran */
	SERIES_GPU_MEMORY_BUSY = 100,   /* ... in which its memory was read or written */
	SERIES_GPU_SM_CLOCK = 101,
	SERIES_GPU_SM_CLOCK_MAX = 102,
	SERIES_GPU_MEMORY_CLOCK = 103,
	SERIES_GPU_POWER = 104,
	SERIES_GPU_POWER_LIMIT = 105,
	SERIES_GPU_TEMPERATURE = 106,
	SERIES_GPU_THROTTLE_REASONS = 107, /* bits, NVML's */
	SERIES_GPU_PCIE_GENERATION = 108,
	SERIES_GPU_PCIE_GENERATION_MAX = 109,
	SERIES_GPU_PCIE_WIDTH = 110,
	SERIES_GPU_PCIE_WIDTH_MAX = 111,

	/*
	 * Of a process: the cache of device memory of its PyTorch, from PyTorch's own counters;
	 * instance: PyTorch's number of the device.  From the agent (RECORD_SERIES).
	 */
	SERIES_TORCH_ALLOCATED = 112, /* in tensors */
	/* At most, since the program began or has set it back, as the next but one. */
	SERIES_TORCH_ALLOCATED_PEAK = 113,
	SERIES_TORCH_RESERVED = 114, /* got from CUDA */
	SERIES_TORCH_RESERVED_PEAK = 115,
	SERIES_TORCH_SPLIT = 116, /* not in tensors, and in one piece with some that is */
	SERIES_TORCH_RETRIES =
		117,             /* CUDA had no more: it gave all it could back and asked again */
	SERIES_TORCH_OOMS = 118, /* ... and was refused again */
};

enum series_unit {
	SERIES_COUNT,
	SERIES_BYTES,
	SERIES_MICROSECONDS,
	SERIES_PAGES,
	SERIES_PERCENT,
	SERIES_MILLICPUS,
	SERIES_MEGAHERTZ,
	SERIES_MILLIWATTS,
	SERIES_CELSIUS,
	SERIES_BITS,
};

/* Whose series of a kind are. */
enum series_owner { SERIES_PROCESS, SERIES_MACHINE };

enum series_nature {
	SERIES_GAUGE, /* a level: it holds until the next point */
	SERIES_TOTAL, /* a count that grows: between two points it grew evenly, for all one knows */
};

struct series_quantity {
	enum series_kind kind;
	const char *name; /* with its unit, as exports have it: "rss_bytes" */
	enum series_unit unit;
	enum series_owner owner;
	enum series_nature nature;
};

const struct series_quantity *series_quantity(uint32_t kind); /* NULL: of a later version */
const struct series_quantity *series_quantity_named(const char *name); /* NULL: none */
const struct series_quantity *series_quantity_at(size_t i);            /* NULL past the last */
const char *series_unit_name(enum series_unit unit);

struct series_point {
	int64_t time_ns;   /* kept in whole microseconds */
	uint32_t process;  /* id, as in struct trace_process; 0: the machine */
	uint32_t kind;     /* enum series_kind; fits 16 bits */
	uint32_t instance; /* node, device; else 0 */
	int64_t value;
};

#endif
