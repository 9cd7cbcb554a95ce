/* links: is_capture */
/* Which clock agents stamp with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/drain/ticks.h"
#include "fake_root.h"
#include "format/shm.h"

#define AVAILABLE "/sys/devices/system/clocksource/clocksource0/available_clocksource"

static void the_kernel_has_the_last_word_on_the_counter(void **state)
{
	/* An empty folder: a system that does not say. */
	const uint32_t of_the_cpu = ticks_choose_clock(root);

	(void)state;
	put(AVAILABLE, "tsc kvm-clock hpet \n");
	assert_int_equal(ticks_choose_clock(root), of_the_cpu);
#if defined(__x86_64__)
	put(AVAILABLE, "hpet acpi_pm \n");
	assert_int_equal(ticks_choose_clock(root), SHM_CLOCK_MONOTONIC);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_kernel_has_the_last_word_on_the_counter,
						make_root, remove_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
