#include "format/series.h"

#include <string.h>

#define PROCESS(kind, name, unit, nature)                \
	{                                                \
		kind, name, unit, SERIES_PROCESS, nature \
	}
#define MACHINE(kind, name, unit, nature)                \
	{                                                \
		kind, name, unit, SERIES_MACHINE, nature \
	}

/* In order of their numbers. */
static const struct series_quantity quantities[] = {
	PROCESS(SERIES_RSS, "rss_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_VIRTUAL, "virtual_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_MINOR_FAULTS, "minor_faults", SERIES_COUNT, SERIES_TOTAL),
	PROCESS(SERIES_MAJOR_FAULTS, "major_faults", SERIES_COUNT, SERIES_TOTAL),
	PROCESS(SERIES_CPU_USER, "cpu_user_us", SERIES_MICROSECONDS, SERIES_TOTAL),
	PROCESS(SERIES_CPU_SYSTEM, "cpu_system_us", SERIES_MICROSECONDS, SERIES_TOTAL),
	PROCESS(SERIES_THREADS, "threads", SERIES_COUNT, SERIES_GAUGE),
	PROCESS(SERIES_RSS_PEAK, "rss_peak_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_RSS_ANON, "rss_anon_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_RSS_FILE, "rss_file_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_RSS_SHARED, "rss_shared_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_SWAP, "swap_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_LOCKED, "locked_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_MAIN_VOLUNTARY_SWITCHES, "main_voluntary_switches", SERIES_COUNT,
		SERIES_TOTAL),
	PROCESS(SERIES_MAIN_INVOLUNTARY_SWITCHES, "main_involuntary_switches", SERIES_COUNT,
		SERIES_TOTAL),
	PROCESS(SERIES_READ, "read_bytes", SERIES_BYTES, SERIES_TOTAL),
	PROCESS(SERIES_WRITTEN, "written_bytes", SERIES_BYTES, SERIES_TOTAL),
	PROCESS(SERIES_READ_CALLS, "read_calls_bytes", SERIES_BYTES, SERIES_TOTAL),
	PROCESS(SERIES_WRITE_CALLS, "write_calls_bytes", SERIES_BYTES, SERIES_TOTAL),
	PROCESS(SERIES_PSS, "pss_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_PRIVATE_DIRTY, "private_dirty_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_ANON, "anon_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_HUGE_ANON, "huge_anon_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_SWAP_PSS, "swap_pss_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_NUMA_NODE, "numa_node_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_NUMA_THREADS, "numa_threads", SERIES_COUNT, SERIES_GAUGE),

	MACHINE(SERIES_MACHINE_TOTAL, "machine_total_bytes", SERIES_BYTES, SERIES_GAUGE),
	MACHINE(SERIES_MACHINE_AVAILABLE, "machine_available_bytes", SERIES_BYTES, SERIES_GAUGE),
	MACHINE(SERIES_MACHINE_CACHED, "machine_cached_bytes", SERIES_BYTES, SERIES_GAUGE),
	MACHINE(SERIES_MACHINE_SWAP_TOTAL, "machine_swap_total_bytes", SERIES_BYTES, SERIES_GAUGE),
	MACHINE(SERIES_MACHINE_SWAP_FREE, "machine_swap_free_bytes", SERIES_BYTES, SERIES_GAUGE),
	MACHINE(SERIES_PSI_CPU_SOME, "psi_cpu_some_us", SERIES_MICROSECONDS, SERIES_TOTAL),
	MACHINE(SERIES_PSI_MEMORY_SOME, "psi_memory_some_us", SERIES_MICROSECONDS, SERIES_TOTAL),
	MACHINE(SERIES_PSI_MEMORY_FULL, "psi_memory_full_us", SERIES_MICROSECONDS, SERIES_TOTAL),
	MACHINE(SERIES_PSI_IO_SOME, "psi_io_some_us", SERIES_MICROSECONDS, SERIES_TOTAL),
	MACHINE(SERIES_PSI_IO_FULL, "psi_io_full_us", SERIES_MICROSECONDS, SERIES_TOTAL),
	MACHINE(SERIES_NODE_HIT, "node_hit_pages", SERIES_PAGES, SERIES_TOTAL),
	MACHINE(SERIES_NODE_MISS, "node_miss_pages", SERIES_PAGES, SERIES_TOTAL),
	MACHINE(SERIES_NODE_FOREIGN, "node_foreign_pages", SERIES_PAGES, SERIES_TOTAL),
	MACHINE(SERIES_NODE_LOCAL, "node_local_pages", SERIES_PAGES, SERIES_TOTAL),
	MACHINE(SERIES_NODE_OTHER, "node_other_pages", SERIES_PAGES, SERIES_TOTAL),

	MACHINE(SERIES_CGROUP_MEMORY, "cgroup_memory_bytes", SERIES_BYTES, SERIES_GAUGE),
	MACHINE(SERIES_CGROUP_MEMORY_MAX, "cgroup_memory_max_bytes", SERIES_BYTES, SERIES_GAUGE),
	MACHINE(SERIES_CGROUP_CACHE, "cgroup_cache_bytes", SERIES_BYTES, SERIES_GAUGE),
	MACHINE(SERIES_CGROUP_SWAP, "cgroup_swap_bytes", SERIES_BYTES, SERIES_GAUGE),
	MACHINE(SERIES_CGROUP_HIGH_EVENTS, "cgroup_high_events", SERIES_COUNT, SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_MAX_EVENTS, "cgroup_max_events", SERIES_COUNT, SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_OOMS, "cgroup_ooms", SERIES_COUNT, SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_OOM_KILLS, "cgroup_oom_kills", SERIES_COUNT, SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_CPU, "cgroup_cpu_us", SERIES_MICROSECONDS, SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_CPU_LIMIT, "cgroup_cpu_limit_millicpus", SERIES_MILLICPUS,
		SERIES_GAUGE),
	MACHINE(SERIES_CGROUP_CPU_PERIODS, "cgroup_cpu_periods", SERIES_COUNT, SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_THROTTLED_PERIODS, "cgroup_throttled_periods", SERIES_COUNT,
		SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_THROTTLED, "cgroup_throttled_us", SERIES_MICROSECONDS, SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_PSI_CPU_SOME, "cgroup_psi_cpu_some_us", SERIES_MICROSECONDS,
		SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_PSI_MEMORY_SOME, "cgroup_psi_memory_some_us", SERIES_MICROSECONDS,
		SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_PSI_MEMORY_FULL, "cgroup_psi_memory_full_us", SERIES_MICROSECONDS,
		SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_PSI_IO_SOME, "cgroup_psi_io_some_us", SERIES_MICROSECONDS,
		SERIES_TOTAL),
	MACHINE(SERIES_CGROUP_PSI_IO_FULL, "cgroup_psi_io_full_us", SERIES_MICROSECONDS,
		SERIES_TOTAL),

	MACHINE(SERIES_GPU_MEMORY_USED, "gpu_memory_used_bytes", SERIES_BYTES, SERIES_GAUGE),
	MACHINE(SERIES_GPU_MEMORY_TOTAL, "gpu_memory_total_bytes", SERIES_BYTES, SERIES_GAUGE),
	PROCESS(SERIES_GPU_PROCESS_MEMORY, "gpu_process_memory_bytes", SERIES_BYTES, SERIES_GAUGE),
	MACHINE(SERIES_GPU_BUSY, "gpu_busy_percent", SERIES_PERCENT, SERIES_GAUGE),
	MACHINE(SERIES_GPU_MEMORY_BUSY, "gpu_memory_busy_percent", SERIES_PERCENT, SERIES_GAUGE),
	MACHINE(SERIES_GPU_SM_CLOCK, "gpu_sm_clock_mhz", SERIES_MEGAHERTZ, SERIES_GAUGE),
	MACHINE(SERIES_GPU_SM_CLOCK_MAX, "gpu_sm_clock_max_mhz", SERIES_MEGAHERTZ, SERIES_GAUGE),
	MACHINE(SERIES_GPU_MEMORY_CLOCK, "gpu_memory_clock_mhz", SERIES_MEGAHERTZ, SERIES_GAUGE),
	MACHINE(SERIES_GPU_POWER, "gpu_power_mw", SERIES_MILLIWATTS, SERIES_GAUGE),
	MACHINE(SERIES_GPU_POWER_LIMIT, "gpu_power_limit_mw", SERIES_MILLIWATTS, SERIES_GAUGE),
	MACHINE(SERIES_GPU_TEMPERATURE, "gpu_temperature_celsius", SERIES_CELSIUS, SERIES_GAUGE),
	MACHINE(SERIES_GPU_THROTTLE_REASONS, "gpu_throttle_reasons", SERIES_BITS, SERIES_GAUGE),
	MACHINE(SERIES_GPU_PCIE_GENERATION, "gpu_pcie_generation", SERIES_COUNT, SERIES_GAUGE),
	MACHINE(SERIES_GPU_PCIE_GENERATION_MAX, "gpu_pcie_generation_max", SERIES_COUNT,
		SERIES_GAUGE),
	MACHINE(SERIES_GPU_PCIE_WIDTH, "gpu_pcie_width", SERIES_COUNT, SERIES_GAUGE),
	MACHINE(SERIES_GPU_PCIE_WIDTH_MAX, "gpu_pcie_width_max", SERIES_COUNT, SERIES_GAUGE),
};

#define QUANTITIES (sizeof(quantities) / sizeof(quantities[0]))

const struct series_quantity *series_quantity(uint32_t kind)
{
	size_t low = 0, high = QUANTITIES;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if ((uint32_t)quantities[mid].kind < kind)
			low = mid + 1;
		else
			high = mid;
	}
	return low < QUANTITIES && (uint32_t)quantities[low].kind == kind ? &quantities[low] : NULL;
}

const struct series_quantity *series_quantity_named(const char *name)
{
	for (size_t i = 0; i < QUANTITIES; i++) {
		if (!strcmp(quantities[i].name, name))
			return &quantities[i];
	}
	return NULL;
}

const struct series_quantity *series_quantity_at(size_t i)
{
	return i < QUANTITIES ? &quantities[i] : NULL;
}

const char *series_unit_name(enum series_unit unit)
{
	static const char *const names[] = {
		[SERIES_COUNT] = "count",     [SERIES_BYTES] = "bytes",
		[SERIES_MICROSECONDS] = "us", [SERIES_PAGES] = "pages",
		[SERIES_PERCENT] = "percent", [SERIES_MILLICPUS] = "millicpus",
		[SERIES_MEGAHERTZ] = "MHz",   [SERIES_MILLIWATTS] = "mW",
		[SERIES_CELSIUS] = "celsius", [SERIES_BITS] = "bits",
	};

	return names[unit];
}
