/* What /proc says about a process.  stat and numa_maps have files of their own. */
#include "capture/system_source.h"

static const struct keyed_line status[] = {
	{ "VmHWM", SERIES_RSS_PEAK, KILOBYTES },
	{ "RssAnon", SERIES_RSS_ANON, KILOBYTES },
	{ "RssFile", SERIES_RSS_FILE, KILOBYTES },
	{ "RssShmem", SERIES_RSS_SHARED, KILOBYTES },
	{ "VmSwap", SERIES_SWAP, KILOBYTES },
	{ "VmLck", SERIES_LOCKED, KILOBYTES },
	{ "voluntary_ctxt_switches", SERIES_MAIN_VOLUNTARY_SWITCHES, 1 },
	{ "nonvoluntary_ctxt_switches", SERIES_MAIN_INVOLUNTARY_SWITCHES, 1 },
	{ NULL, 0, 0 },
};

static const struct keyed_line io[] = {
	{ "rchar", SERIES_READ_CALLS, 1 },
	{ "wchar", SERIES_WRITE_CALLS, 1 },
	{ "read_bytes", SERIES_READ, 1 },
	{ "write_bytes", SERIES_WRITTEN, 1 },
	{ NULL, 0, 0 },
};

static const struct keyed_line smaps_rollup[] = {
	{ "Pss", SERIES_PSS, KILOBYTES },
	{ "Private_Dirty", SERIES_PRIVATE_DIRTY, KILOBYTES },
	{ "Anonymous", SERIES_ANON, KILOBYTES },
	{ "AnonHugePages", SERIES_HUGE_ANON, KILOBYTES },
	{ "SwapPss", SERIES_SWAP_PSS, KILOBYTES },
	{ NULL, 0, 0 },
};

const struct system_source source_io = {
	.name = "io",
	.file = "io",
	.period_ns = 10000000,
	.lines = io,
};

static const struct system_source source_status = {
	.name = "status",
	.file = "status",
	.period_ns = 100000000,
	.lines = status,
};

/* The kernel walks all pages, with the lock of the address space in hand. */
static const struct system_source source_smaps = {
	.name = "smaps_rollup",
	.file = "smaps_rollup",
	.period_ns = 1000000000,
	.most_of_time = 0.002,
	.lines = smaps_rollup,
};

const struct system_source *const process_sources[] = {
	&source_stat, &source_io, &source_status, &source_smaps, NULL,
};
