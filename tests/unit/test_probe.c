/* links: is_capture */
/*
 * The answers of `inferscope doctor` that depend on /proc and /sys, on machines
 * made of a few files.  tests/cli/test_doctor.py has the others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/doctor/probe.h"
#include "fake_root.h"

static struct probe_result ask(void (*probe)(const struct probe_context *, struct probe_result *))
{
	const struct probe_context c = {
		.python = "python3",
		.trace = "",
		.buffer_bytes = 100u << 20,
		.root = root,
	};
	struct probe_result r = { .level = PROBE_OK };

	probe(&c, &r);
	assert_true(r.found[0] != 0);
	assert_int_equal(r.level == PROBE_PROBLEM, r.fix[0] != 0);
	return r;
}

static void memory_that_is_scarce_is_a_problem(void **state)
{
	struct probe_result r;

	(void)state;
	put("/proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 50000 kB\n");
	r = ask(probe_memory);
	assert_int_equal(r.level, PROBE_PROBLEM);
	assert_non_null(strstr(r.found, "the machine has 49 MB left"));
	assert_non_null(strstr(r.found, "of 100 MB"));
}

static void memory_that_is_there_is_well(void **state)
{
	(void)state;
	put("/proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable: 12000000 kB\n");
	assert_int_equal(ask(probe_memory).level, PROBE_OK);
}

static void memory_that_nobody_knows_is_absent(void **state)
{
	(void)state;
	assert_int_equal(ask(probe_memory).level, PROBE_ABSENT);
}

static void pressure_is_there_or_not(void **state)
{
	(void)state;
	assert_int_equal(ask(probe_pressure).level, PROBE_ABSENT);
	put("/proc/pressure/memory", "some avg10=0.00\n");
	assert_int_equal(ask(probe_pressure).level, PROBE_OK);
}

static void what_is_missing_of_the_system_is_told(void **state)
{
	struct probe_result r;

	(void)state;
	r = ask(probe_system);
	assert_int_equal(r.level, PROBE_ABSENT);
	assert_non_null(strstr(r.found, "no system figures can be read"));
	put("/proc/meminfo", "MemTotal: 16000000 kB\n");
	put("/sys/devices/system/node/online", "0\n");
	r = ask(probe_system);
	assert_int_equal(r.level, PROBE_ABSENT);
	assert_non_null(strstr(r.found, "1 files are read; not readable: psi: "
					"/proc/pressure/cpu: No such"));
	assert_non_null(strstr(r.found, "numa: this machine has one node"));
}

#define WITH_ROOT(f) cmocka_unit_test_setup_teardown(f, make_root, remove_root)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ROOT(memory_that_is_scarce_is_a_problem),
		WITH_ROOT(memory_that_is_there_is_well),
		WITH_ROOT(memory_that_nobody_knows_is_absent),
		WITH_ROOT(pressure_is_there_or_not),
		WITH_ROOT(what_is_missing_of_the_system_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
