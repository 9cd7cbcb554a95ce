/* links: is_capture */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "capture/system/cpu_usage.h"

#define STAT                             \
	"cpu  60 0 30 700 9 0 3 0 0 0\n" \
	"cpu0 10 0 10 200 2 0 1 0 0 0\n" \
	"cpu1 20 0 10 250 3 0 1 0 0 0\n" \
	"cpu11 30 0 10 250 4 0 1 0 0 0\n"

static uint64_t ticks(uint64_t ns)
{
	return ns / (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

static cpu_set_t set_of(int first, int second)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)first, &set);
	CPU_SET((size_t)second, &set);
	return set;
}

static void idle_and_waiting_for_disks_of_the_cpus_that_count(void **state)
{
	cpu_set_t set = set_of(1, 11);
	uint64_t ns;

	(void)state;
	assert_true(cpus_parse_idle(STAT "intr 17 4\n", &set, &ns));
	assert_int_equal(ticks(ns), 250 + 3 + 250 + 4);
	set = set_of(0, 0);
	assert_true(cpus_parse_idle(STAT, &set, &ns));
	assert_int_equal(ticks(ns), 202);
}

static void what_is_not_told_is_not_guessed(void **state)
{
	cpu_set_t set = set_of(1, 2);
	uint64_t ns;

	(void)state;
	assert_false(cpus_parse_idle(STAT, &set, &ns));
	assert_false(cpus_parse_idle("", &set, &ns));
	set = set_of(0, 1);
	assert_false(cpus_parse_idle("cpu0 1 2 3 4 5\ncpu1 1 2 3 4", &set, &ns));
}

static void virtual_machines_say_so(void **state)
{
	(void)state;
	assert_true(
		cpus_parse_virtual("processor\t: 0\nflags\t\t: fpu hypervisor lm\nbugs\t: x\n"));
	assert_true(cpus_parse_virtual("processor\t: 0\nflags\t\t: fpu hypervisor\n"));
	assert_false(cpus_parse_virtual("processor\t: 0\nflags\t\t: fpu lm\nbugs\t: hypervisor\n"));
	assert_false(cpus_parse_virtual("processor\t: 0\nflags\t\t: fpu hypervisors lm\n"));
	assert_false(cpus_parse_virtual("processor\t: 0\nFeatures\t: fp asimd\n"));
	assert_false(cpus_parse_virtual(""));
	(void)cpus_virtual(); /* whatever this is */
}

static void this_machine_tells(void **state)
{
	cpu_set_t set;
	uint64_t ns;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	if (!cpus_idle(&set, &ns))
		skip(); /* a container without /proc/stat */
	assert_true(ns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_and_waiting_for_disks_of_the_cpus_that_count),
		cmocka_unit_test(what_is_not_told_is_not_guessed),
		cmocka_unit_test(virtual_machines_say_so),
		cmocka_unit_test(this_machine_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
