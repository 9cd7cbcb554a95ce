/* links: is_capture is_format is_base */
/* What is made of the kernel's texts: as real ones are, as a machine with two nodes has them, cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/system/system_source.h"

#define ABSENT INT64_MIN

static const struct system_source *source_of(const char *name)
{
	for (size_t i = 0; process_sources[i]; i++) {
		if (!strcmp(process_sources[i]->name, name))
			return process_sources[i];
	}
	for (size_t i = 0; machine_sources[i]; i++) {
		if (!strcmp(machine_sources[i]->file, name))
			return machine_sources[i];
	}
	fail_msg("no source %s", name);
	return NULL;
}

static struct system_points seen;

static void see(const struct system_source *s, const char *text)
{
	struct reading l = { &seen, 5000, 3, 0 };

	seen.count = 0;
	source_parse(s, &l, text);
	for (size_t i = 0; i < seen.count; i++) {
		assert_int_equal(seen.items[i].time_ns, 5000);
		assert_int_equal(seen.items[i].process, 3);
	}
}

static int64_t value_of(enum series_kind kind, uint32_t instance)
{
	for (size_t i = 0; i < seen.count; i++) {
		if (seen.items[i].kind == (uint32_t)kind && seen.items[i].instance == instance)
			return seen.items[i].value;
	}
	return ABSENT;
}

#define assert_seen(kind, value) assert_true(value_of(kind, 0) == (value))

static int release(void **state)
{
	(void)state;
	system_points_release(&seen);
	return 0;
}

static void stat_has_a_name_that_may_hold_anything(void **state)
{
	int64_t page = sysconf(_SC_PAGESIZE), tick = 1000000 / sysconf(_SC_CLK_TCK);

	(void)state;
	see(&source_stat, "4711 (py) thon (x) S 1 2 3 0 -1 4194304 123456 99 17 3 250 75 1 2 20 0 "
			  "12 0 5000 1073741824 262144 18446744073709551615 1 1 0\n");
	assert_seen(SERIES_MINOR_FAULTS, 123456);
	assert_seen(SERIES_MAJOR_FAULTS, 17);
	assert_seen(SERIES_CPU_USER, 250 * tick);
	assert_seen(SERIES_CPU_SYSTEM, 75 * tick);
	assert_seen(SERIES_THREADS, 12);
	assert_seen(SERIES_VIRTUAL, 1073741824);
	assert_seen(SERIES_RSS, 262144 * page);
}

static void one_that_has_ended_has_totals_and_no_memory(void **state)
{
	(void)state;
	see(&source_stat, "4711 (a) Z 1 2 3 0 -1 4194304 500 99 17 3 250 75 1 2 20 0 "
			  "1 0 5000 0 0 18446744073709551615 0 0 0\n");
	assert_seen(SERIES_MINOR_FAULTS, 500);
	assert_seen(SERIES_RSS, ABSENT);
	assert_seen(SERIES_THREADS, ABSENT);
	/* On its way there: its address space is gone already. */
	see(&source_stat, "4711 (a) R 1 2 3 0 -1 4194304 501 99 17 3 250 75 1 2 20 0 "
			  "1 0 5000 0 0 18446744073709551615 0 0 0\n");
	assert_seen(SERIES_MINOR_FAULTS, 501);
	assert_seen(SERIES_RSS, ABSENT);
}

static void a_stat_that_is_cut_says_nothing(void **state)
{
	static const char whole[] = "1 (a) S 1 2 3 0 -1 0 5 6 7 8 9 10 1 2 20 0 1 0 50 4096 1";

	(void)state;
	for (size_t n = 0; n < strlen(whole) - 2; n++) {
		char text[sizeof(whole)];

		snprintf(text, sizeof(text), "%.*s", (int)n, whole);
		see(&source_stat, text);
		assert_int_equal(seen.count, 0);
	}
	see(&source_stat, whole);
	assert_seen(SERIES_RSS, sysconf(_SC_PAGESIZE));
}

static void status_is_read_by_its_keys(void **state)
{
	(void)state;
	see(source_of("status"), "Name:\tVmSwap: 7 kB\nVmHWM:\t    1684 kB\nRssAnon:\t     112 kB\n"
				 "RssFile:\t    1572 kB\nRssShmem:\t       8 kB\nVmSwap:\t  4 kB\n"
				 "VmLck:\t       0 kB\nvoluntary_ctxt_switches:\t31\n"
				 "nonvoluntary_ctxt_switches:\t2\n");
	assert_seen(SERIES_RSS_PEAK, 1684ll * 1024);
	assert_seen(SERIES_RSS_ANON, 112ll * 1024);
	assert_seen(SERIES_RSS_FILE, 1572ll * 1024);
	assert_seen(SERIES_RSS_SHARED, 8ll * 1024);
	assert_seen(SERIES_SWAP, 4ll * 1024);
	assert_seen(SERIES_LOCKED, 0);
	assert_seen(SERIES_MAIN_VOLUNTARY_SWITCHES, 31);
	assert_seen(SERIES_MAIN_INVOLUNTARY_SWITCHES, 2);
}

static void numbers_beyond_all_measure_are_left_out(void **state)
{
	(void)state;
	see(&source_io, "rchar: 9223372036854775807\nwchar: 9223372036854775808\n"
			"read_bytes: -5\nwrite_bytes: x\n");
	assert_int_equal(seen.count, 1);
	assert_true(value_of(SERIES_READ_CALLS, 0) == INT64_MAX);
	see(source_of("status"), "VmHWM: 9007199254740992 kB\n"); /* 2^63 bytes */
	assert_int_equal(seen.count, 0);
}

static void smaps_rollup_and_meminfo(void **state)
{
	(void)state;
	see(source_of("smaps_rollup"),
	    "55ba3a85b000-7ffc5ea2b000 ---p 00000000 00:00 0                          [rollup]\n"
	    "Rss:                1772 kB\nPss:                 272 kB\nPss_Anon:  112 kB\n"
	    "Private_Dirty:       112 kB\nAnonymous:           113 kB\n"
	    "AnonHugePages:      2048 kB\nSwap:  1 kB\nSwapPss:               3 kB\n");
	assert_seen(SERIES_PSS, 272ll * 1024);
	assert_seen(SERIES_PRIVATE_DIRTY, 112ll * 1024);
	assert_seen(SERIES_ANON, 113ll * 1024);
	assert_seen(SERIES_HUGE_ANON, 2048ll * 1024);
	assert_seen(SERIES_SWAP_PSS, 3ll * 1024);
	see(source_of("/proc/meminfo"), "MemTotal:       24000000 kB\nMemFree:  1 kB\n"
					"MemAvailable:   20000000 kB\nCached:  500 kB\n"
					"SwapCached: 1 kB\nSwapTotal:  0 kB\nSwapFree:  0 kB\n");
	assert_seen(SERIES_MACHINE_TOTAL, 24000000ll * 1024);
	assert_seen(SERIES_MACHINE_AVAILABLE, 20000000ll * 1024);
	assert_seen(SERIES_MACHINE_CACHED, 500ll * 1024);
	assert_seen(SERIES_MACHINE_SWAP_FREE, 0);
}

static void pressure_is_told_in_total(void **state)
{
	(void)state;
	see(source_of("/proc/pressure/memory"),
	    "some avg10=0.00 avg60=0.00 avg300=0.00 total=4955\n"
	    "full avg10=0.00 avg60=0.00 avg300=0.00 total=524\n");
	assert_seen(SERIES_PSI_MEMORY_SOME, 4955);
	assert_seen(SERIES_PSI_MEMORY_FULL, 524);
	see(source_of("/proc/pressure/cpu"), "some avg10=9.81 avg60=1.00 avg300=0.00 total=77\n");
	assert_seen(SERIES_PSI_CPU_SOME, 77);
	see(source_of("/proc/pressure/io"), "some avg10=9.81 avg60=1.00 avg3");
	assert_int_equal(seen.count, 0);
}

/*
 * A machine with two nodes, a model in huge pages on one and loaded from a file on both; the format
 * is that of the kernel's documentation.  Policies may have node lists of their own.
 */
static const char two_nodes[] =
	"00400000 default file=/usr/bin/python3.12 mapped=1 active=0 N0=1 kernelpagesize_kB=4\n"
	"555555600000 default heap anon=3000 dirty=3000 active=0 N0=1000 N1=2000 "
	"kernelpagesize_kB=4\n"
	"7f0000000000 interleave:0-1 anon=512 dirty=512 N0=256 N1=256 kernelpagesize_kB=4\n"
	"7f2000000000 bind:1 file=/anon_hugepage\\040(deleted) huge anon=3 dirty=3 N1=3 "
	"kernelpagesize_kB=2048\n"
	"7f4000000000 default file=/models/N0=999\\040N1=5/w.bin mapped=16 mapmax=2 N0=8 N1=8 "
	"kernelpagesize_kB=4\n"
	"7ffd00000000 default stack anon=5 dirty=5 N0=5 kernelpagesize_kB=4\n"
	"7ffdfff00000 default\n";

static void pages_of_two_nodes_are_added_up(void **state)
{
	(void)state;
	see(&source_numa, two_nodes);
	assert_int_equal(seen.count, 2);
	assert_true(value_of(SERIES_NUMA_NODE, 0) == (1 + 1000 + 256 + 8 + 5) * 4096ll);
	assert_true(value_of(SERIES_NUMA_NODE, 1) == (2000 + 256 + 8) * 4096ll + 3 * 2048ll * 1024);
}

/*
 * Recorded: Linux 6.1 on a virtual machine of two nodes, a Python process that has bound 64 MiB to
 * the first, 256 MiB to the second, and interleaves 32.
 */
static void a_process_on_a_machine_with_two_nodes(void **state)
{
	const char *here = __FILE__;
	char path[4096], text[16384];
	size_t n;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "%.*s/../data/numa_maps_of_two_nodes",
		 (int)(strrchr(here, '/') - here), here);
	f = fopen(path, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	see(&source_numa, text);
	assert_int_equal(seen.count, 2);
	assert_true(value_of(SERIES_NUMA_NODE, 0) == 90620 * 1024ll);
	assert_true(value_of(SERIES_NUMA_NODE, 1) == 280048 * 1024ll);
}

/* Whatever is cut off at the end, what is there before it counts, line by line. */
static void numa_maps_that_are_cut_have_whole_lines(void **state)
{
	char text[sizeof(two_nodes)];

	(void)state;
	for (size_t n = 0; n < sizeof(two_nodes); n++) {
		snprintf(text, sizeof(text), "%.*s", (int)n, two_nodes);
		see(&source_numa, text);
		for (size_t i = 0; i < seen.count; i++)
			assert_true(seen.items[i].value % 4096 == 0);
		assert_int_equal(seen.count > 0, strchr(text, '\n') != NULL);
	}
	see(&source_numa, "7f00 default N1025=5 N=3 Nx=4 N0=y kernelpagesize_kB=4\n");
	assert_int_equal(seen.count, 0);
}

static void nodes_have_their_counts(void **state)
{
	(void)state;
	see(&source_numastat, "numa_hit 1673574587\nnuma_miss 3\nnuma_foreign 4\n"
			      "interleave_hit 1129\nlocal_node 1673574000\nother_node 587\n");
	assert_seen(SERIES_NODE_HIT, 1673574587);
	assert_seen(SERIES_NODE_MISS, 3);
	assert_seen(SERIES_NODE_FOREIGN, 4);
	assert_seen(SERIES_NODE_LOCAL, 1673574000);
	assert_seen(SERIES_NODE_OTHER, 587);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_has_a_name_that_may_hold_anything),
		cmocka_unit_test(one_that_has_ended_has_totals_and_no_memory),
		cmocka_unit_test(a_stat_that_is_cut_says_nothing),
		cmocka_unit_test(status_is_read_by_its_keys),
		cmocka_unit_test(numbers_beyond_all_measure_are_left_out),
		cmocka_unit_test(smaps_rollup_and_meminfo),
		cmocka_unit_test(pressure_is_told_in_total),
		cmocka_unit_test(pages_of_two_nodes_are_added_up),
		cmocka_unit_test(a_process_on_a_machine_with_two_nodes),
		cmocka_unit_test(numa_maps_that_are_cut_have_whole_lines),
		cmocka_unit_test(nodes_have_their_counts),
	};

	return cmocka_run_group_tests(tests, NULL, release);
}
