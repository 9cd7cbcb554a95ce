/* links: is_capture is_agent_core */
/*
 * NVTX's functions as a program calls them, with the sanitizers that the agent itself
 * is never built with: handles, names, the budget, many threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agent/nvtx/nvtx.h"
#include "agent/overhead/budget.h"
#include "fake_clock.h"
#include "joined.h"

#define FIVE_PERCENT 50000u

#define CALL(table, place, type) ((type)(table)[place])
#define push_a CALL(nvtx_core, NVTX_CORE_PUSH_A, int (*)(const char *))
#define pop CALL(nvtx_core, NVTX_CORE_POP, int (*)(void))
#define start_a CALL(nvtx_core, NVTX_CORE_START_A, uint64_t (*)(const char *))
#define end_a CALL(nvtx_core, NVTX_CORE_END, void (*)(uint64_t))
#define mark_a CALL(nvtx_core, NVTX_CORE_MARK_A, void (*)(const char *))
#define push_ex \
	CALL(nvtx_core2, NVTX_CORE2_PUSH_EX, int (*)(nvtx_domain, const struct nvtx_attributes *))
#define pop_of CALL(nvtx_core2, NVTX_CORE2_POP, int (*)(nvtx_domain))
#define domain_of CALL(nvtx_core2, NVTX_CORE2_DOMAIN_CREATE_A, nvtx_domain (*)(const char *))
#define string_of \
	CALL(nvtx_core2, NVTX_CORE2_REGISTER_STRING_A, nvtx_string (*)(nvtx_domain, const char *))
#define name_category \
	CALL(nvtx_core2, NVTX_CORE2_NAME_CATEGORY_A, void (*)(nvtx_domain, uint32_t, const char *))

static struct ring *join(uint32_t budget_ppm)
{
	struct recording_options options = {
		.buffer_bytes = 8u << 20,
		.collect = SHM_COLLECT_NVTX,
		.cpu_mode = SHM_CPU_AUTO,
		.budget_ppm = budget_ppm,
	};

	join_with(&options);
	return session_ring();
}

static void a_pop_ends_the_newest_range_of_its_domain(void **state)
{
	struct nvtx_attributes a = { .version = 3, .bytes = sizeof(a) };
	struct ring *r = join(SHM_NO_BUDGET);
	nvtx_domain one = domain_of("one"), other = domain_of("other");

	(void)state;
	assert_ptr_equal(domain_of("one"), one);
	assert_ptr_not_equal(one, other);
	assert_int_equal(push_a("a"), 0);
	assert_int_equal(push_ex(one, &a), 0);
	assert_int_equal(push_ex(other, &a), 0);
	assert_int_equal(push_ex(one, NULL), 1);
	assert_int_equal(push_a("b"), 1);
	assert_int_equal(pop_of(other), 0);
	assert_int_equal(pop_of(other), -1);
	assert_int_equal(pop(), 1);
	assert_int_equal(pop_of(one), 1);
	assert_int_equal(push_ex(one, &a), 1);
	assert_int_equal(pop(), 0);
	assert_int_equal(pop(), -1);
	assert_int_equal(r->produced, 6 + 4);
	leave(NULL);
	assert_int_equal(push_a("nobody listens"), NVTX_NOT_TRACKED);
	assert_int_equal(pop(), NVTX_NOT_TRACKED);
	/* A new recording knows nothing of what is open. */
	join(SHM_NO_BUDGET);
	assert_int_equal(pop_of(one), -1);
	assert_int_equal(push_a("a"), 0);
}

static void handles_that_nobody_gave_out_are_no_harm(void **state)
{
	static const uintptr_t numbers[] = {
		1, 77, 262143, 262144, 262145, UINT32_MAX, UINTPTR_MAX
	};
	struct nvtx_attributes a = { .version = 3,
				     .bytes = sizeof(a),
				     .message_type = NVTX_MESSAGE_REGISTERED };
	struct ring *r = join(SHM_NO_BUDGET);

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		a.message.registered = (nvtx_string)numbers[i];
		a.category = (uint32_t)numbers[i];
		name_category((nvtx_domain)numbers[i], a.category, "category");
		assert_int_equal(push_ex((nvtx_domain)numbers[i], &a) >= 0, 1);
		end_a(numbers[i] << 32 | 5);
		pop_of((nvtx_domain)numbers[i]);
	}
	assert_null(string_of(NULL, NULL));
	assert_null(domain_of(NULL));
	assert_true(r->produced >= 14);
}

static void wide_names_become_utf8(void **state)
{
	char text[NVTX_NAME_MAX + 1];
	wchar_t long_name[NVTX_NAME_MAX];

	(void)state;
	nvtx_narrow(text, L"a\u00e9\u2192\U0001f600");
	assert_string_equal(text, "a\xc3\xa9\xe2\x86\x92\xf0\x9f\x98\x80");
	nvtx_narrow(text, (const wchar_t[]){ 0xdfff, 0x110000, -1, 0 });
	assert_string_equal(text, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	nvtx_narrow(text, NULL);
	assert_string_equal(text, "");
	wmemset(long_name, 0x2192, NVTX_NAME_MAX - 1);
	long_name[NVTX_NAME_MAX - 1] = 0;
	nvtx_narrow(text, long_name);
	assert_in_range(strlen(text), NVTX_NAME_MAX - 3, NVTX_NAME_MAX);
	assert_int_equal(strlen(text) % 3, 0);
}

static void more_names_than_there_is_room_for(void **state)
{
	uint32_t last = 0, number = 0;
	char name[32];

	(void)state;
	for (unsigned i = 0; i < 300000; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		last = number;
		number = nvtx_name_number(name, NVTX_NAME_MAX);
		assert_true(number > 0);
	}
	assert_int_equal(number, last); /* one for all that came too late */
	assert_int_equal(nvtx_name_number("name 0", NVTX_NAME_MAX),
			 nvtx_name_number("name 0", NVTX_NAME_MAX));
	assert_int_not_equal(nvtx_name_number("name 0", NVTX_NAME_MAX), number);
}

static void what_is_too_short_for_the_budget_goes(void **state)
{
	struct ring *r = join(FIVE_PERCENT);
	uint64_t before, started;

	(void)state;
	push_a("long");
	budget_spend_ns(10000000000ull); /* for a quarter of an hour it is overdrawn */
	for (unsigned i = 0; i < 8 * NVTX_BUDGET_CHECK_EVENTS; i++) {
		push_a("short");
		pop();
		mark_a("often");
		end_a(start_a("short request"));
	}
	before = r->produced;
	for (unsigned i = 0; i < NVTX_BUDGET_CHECK_EVENTS; i++) {
		assert_int_equal(push_a("short"), 1);
		assert_int_equal(pop(), 1);
		mark_a("often");
		started = start_a("short request");
		assert_true(started);
		end_a(started);
	}
	assert_int_equal(r->produced, before);
	pop();
	assert_int_equal(r->produced, before + 1);
}

static void a_child_does_not_end_what_its_parent_started(void **state)
{
	struct ring *r = join(SHM_NO_BUDGET);
	uint64_t range = start_a("of the parent"), other = start_a("of the parent");

	(void)state;
	end_a(range);
	assert_int_equal(r->produced, 3);
	nvtx_ranges_forked();
	end_a(other);
	assert_int_equal(r->produced, 3);
	end_a(start_a("of the child"));
	assert_int_equal(r->produced, 5);
}

static void *use_everything(void *unused)
{
	struct nvtx_attributes a = { .version = 3,
				     .bytes = sizeof(a),
				     .message_type = NVTX_MESSAGE_REGISTERED };
	nvtx_domain domain = domain_of("shared");
	char name[32];

	(void)unused;
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(name, sizeof(name), "shared %u", i % 97);
		a.message.registered = string_of(domain, name);
		a.category = i % 13 + 1;
		if (i % 100 == 0)
			name_category(domain, a.category, name);
		push_ex(domain, &a);
		push_a(name);
		end_a(start_a("started"));
		pop();
		pop_of(domain);
	}
	return NULL;
}

static void many_threads_at_once(void **state)
{
	pthread_t threads[4];

	(void)state;
	join(1000); /* overdrawn at once */
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_everything, NULL), 0);
	for (size_t i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	recording_cycle(recording);
	assert_null(recording_trouble(recording));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_pop_ends_the_newest_range_of_its_domain, leave),
		cmocka_unit_test_teardown(handles_that_nobody_gave_out_are_no_harm, leave),
		cmocka_unit_test(wide_names_become_utf8),
		cmocka_unit_test_teardown(what_is_too_short_for_the_budget_goes, leave),
		cmocka_unit_test_teardown(a_child_does_not_end_what_its_parent_started, leave),
		cmocka_unit_test_teardown(many_threads_at_once, leave),
		cmocka_unit_test(more_names_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
