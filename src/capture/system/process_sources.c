/* What /proc says about a process.  stat and numa_maps have files of their own. */
#include <string.h>
#include <unistd.h>

#include "capture/system/system_source.h"

/* What the kernel says about the whole machine: memory, nodes and what tasks wait for. */

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

/*
 * /proc/PID/numa_maps: on which nodes the memory of a process lies.  A line for each mapping:
 *   7f12a4000000 default anon=512 dirty=512 active=0 N0=256 N1=256 kernelpagesize_kB=4
 * As of smaps_rollup, the kernel walks all pages.
 */

#define NODES 1024u
#define PAGE_KB 4 /* where the line does not say; kernels before 2.6.39 did not */

/* "N12=345": a node and its pages. */
static bool read_node(const char *word, size_t bytes, uint32_t *node, int64_t *pages)
{
	const char *equals = memchr(word, '=', bytes);
	int64_t number;

	if (*word != 'N' || !equals || word[1] == '=' || !text_number(word + 1, &number) ||
	    strspn(word + 1, "0123456789") != (size_t)(equals - word - 1) || number >= NODES)
		return false;
	*node = (uint32_t)number;
	return text_number(equals + 1, pages);
}

static int64_t page_kb(const char *line, size_t bytes)
{
	static const char key[] = "kernelpagesize_kB=";
	const char *at = memmem(line, bytes, key, strlen(key));
	int64_t kb;

	return at && text_number(at + strlen(key), &kb) ? kb : PAGE_KB;
}

static void add(int64_t *kb, int64_t pages, int64_t page)
{
	int64_t more;

	if (!__builtin_mul_overflow(pages, page, &more))
		(void)!__builtin_add_overflow(*kb, more, kb);
}

/* The words behind the address and the policy; a file's name has its blanks escaped. */
static void read_line(const char *line, size_t bytes, int64_t kb[NODES], uint32_t *nodes)
{
	int64_t page = page_kb(line, bytes);
	const char *end = line + bytes;

	while (line < end) {
		size_t word = strcspn(line, " \n");
		uint32_t node;
		int64_t pages;

		if (word > (size_t)(end - line))
			word = (size_t)(end - line);
		if (read_node(line, word, &node, &pages)) {
			add(&kb[node], pages, page);
			if (node >= *nodes)
				*nodes = node + 1;
		}
		line += word + 1;
	}
}

static void parse_numa_maps(const struct system_source *s, struct reading *l, const char *text)
{
	int64_t kb[NODES] = { 0 };
	uint32_t nodes = 0;

	(void)s;
	while (*text) {
		size_t line = strcspn(text, "\n");

		/* A line without its end was cut. */
		if (text[line] == '\n')
			read_line(text, line, kb, &nodes);
		text += line;
		text += *text == '\n';
	}
	for (uint32_t i = 0; i < nodes; i++) {
		int64_t value;

		if (!__builtin_mul_overflow(kb[i], KILOBYTES, &value))
			reading_put_instance(l, SERIES_NUMA_NODE, i, value);
	}
}

const struct system_source source_numa = {
	.name = "numa",
	.file = "numa_maps",
	.period_ns = 1000000000,
	.most_of_time = 0.002,
	.in_pieces = true,
	.parse = parse_numa_maps,
};

/* /proc/PID/stat: resident memory, page faults and CPU time of a process, all its threads. */

/* Fields behind the name, which may hold anything: the first is the third of proc(5). */
enum { STATE, MINOR_FAULTS = 7, MAJOR_FAULTS = 9, USER = 11, SYSTEM, THREADS = 17, SIZE = 20, RSS };

#define FIELDS (RSS + 1)

static int64_t ticks_to_us(int64_t ticks)
{
	int64_t us;

	return __builtin_mul_overflow(ticks, 1000000 / sysconf(_SC_CLK_TCK), &us) ? 0 : us;
}

static int64_t pages_to_bytes(int64_t pages)
{
	int64_t bytes;

	return __builtin_mul_overflow(pages, sysconf(_SC_PAGESIZE), &bytes) ? 0 : bytes;
}

/* Fields that are no number, or negative, are 0: the state is, and none of those that matter. */
static bool read_fields(int64_t fields[FIELDS], char *state, const char *text)
{
	const char *p = strrchr(text, ')');
	int n = 0;

	if (!p || p[1] != ' ')
		return false;
	*state = p[2];
	for (p += 2; n < FIELDS; n++) {
		fields[n] = 0;
		(void)text_number(p, &fields[n]);
		p += strcspn(p, " ");
		if (!*p)
			return n + 1 == FIELDS;
		p++;
	}
	return true;
}

static void parse(const struct system_source *s, struct reading *l, const char *text)
{
	int64_t f[FIELDS];
	char state;

	(void)s;
	if (!read_fields(f, &state, text))
		return;
	reading_put(l, SERIES_MINOR_FAULTS, f[MINOR_FAULTS]);
	reading_put(l, SERIES_MAJOR_FAULTS, f[MAJOR_FAULTS]);
	reading_put(l, SERIES_CPU_USER, ticks_to_us(f[USER]));
	reading_put(l, SERIES_CPU_SYSTEM, ticks_to_us(f[SYSTEM]));
	/* One that ends gives its memory away first; what it had last stays. */
	if (state == 'Z' || state == 'X' || !f[SIZE])
		return;
	reading_put(l, SERIES_RSS, pages_to_bytes(f[RSS]));
	reading_put(l, SERIES_VIRTUAL, f[SIZE]);
	reading_put(l, SERIES_THREADS, f[THREADS]);
}

const struct system_source source_stat = {
	.name = "stat",
	.file = "stat",
	.period_ns = 10000000,
	.parse = parse,
};

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
