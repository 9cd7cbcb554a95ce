/* What the kernel says about the whole machine: memory, nodes and what tasks wait for. */
#include "capture/psi.h"
#include "capture/system_source.h"

static const struct keyed_line meminfo[] = {
	{ "MemTotal", SERIES_MACHINE_TOTAL, KILOBYTES },
	{ "MemAvailable", SERIES_MACHINE_AVAILABLE, KILOBYTES },
	{ "Cached", SERIES_MACHINE_CACHED, KILOBYTES },
	{ "SwapTotal", SERIES_MACHINE_SWAP_TOTAL, KILOBYTES },
	{ "SwapFree", SERIES_MACHINE_SWAP_FREE, KILOBYTES },
	{ NULL, 0, 0 },
};

static const struct system_source source_meminfo = {
	.name = "meminfo",
	.file = "/proc/meminfo",
	.period_ns = 100000000,
	.lines = meminfo,
};

/* Since 5.13 the CPU has a "full" line too; of the machine it says nothing. */
static const struct keyed_line psi_cpu[] = {
	{ "some", SERIES_PSI_CPU_SOME, 1 },
	{ NULL, 0, 0 },
};

static const struct keyed_line psi_memory[] = {
	{ "some", SERIES_PSI_MEMORY_SOME, 1 },
	{ "full", SERIES_PSI_MEMORY_FULL, 1 },
	{ NULL, 0, 0 },
};

static const struct keyed_line psi_io[] = {
	{ "some", SERIES_PSI_IO_SOME, 1 },
	{ "full", SERIES_PSI_IO_FULL, 1 },
	{ NULL, 0, 0 },
};

static const struct system_source source_psi_cpu = {
	.name = "psi",
	.file = "/proc/pressure/cpu",
	.period_ns = PSI_PERIOD_NS,
	.lines = psi_cpu,
	.parse = psi_parse,
};

static const struct system_source source_psi_memory = {
	.name = "psi",
	.file = "/proc/pressure/memory",
	.period_ns = PSI_PERIOD_NS,
	.lines = psi_memory,
	.parse = psi_parse,
};

static const struct system_source source_psi_io = {
	.name = "psi",
	.file = "/proc/pressure/io",
	.period_ns = PSI_PERIOD_NS,
	.lines = psi_io,
	.parse = psi_parse,
};

const struct system_source *const machine_sources[] = {
	&source_meminfo, &source_psi_cpu, &source_psi_memory, &source_psi_io, NULL,
};

static const struct keyed_line numastat[] = {
	{ "numa_hit", SERIES_NODE_HIT, 1 },         { "numa_miss", SERIES_NODE_MISS, 1 },
	{ "numa_foreign", SERIES_NODE_FOREIGN, 1 }, { "local_node", SERIES_NODE_LOCAL, 1 },
	{ "other_node", SERIES_NODE_OTHER, 1 },     { NULL, 0, 0 },
};

const struct system_source source_numastat = {
	.name = "numa",
	.file = "numastat",
	.period_ns = 1000000000,
	.lines = numastat,
};
