/* The environment's wishes; see fake_faults.h. */
#include "fake_faults.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FUNCTIONS_MAX 32

static const char *setting(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "";
}

enum fake_version fake_version(void)
{
	static const char *const names[] = { "11.7", "11.8", "12.9" };
	const char *wanted = setting("FAKE_CUPTI_VERSION");

	for (int i = 0; i < 3; i++) {
		if (!strcmp(wanted, names[i]))
			return (enum fake_version)i;
	}
	return FAKE_13_0;
}

/* How often a function has been called, this time included. */
static unsigned long count_call(const char *function)
{
	static struct {
		_Atomic(const char *) function;
		_Atomic unsigned long calls;
	} table[FUNCTIONS_MAX];

	for (int i = 0; i < FUNCTIONS_MAX; i++) {
		const char *there = NULL;

		if (atomic_compare_exchange_strong(&table[i].function, &there, function) ||
		    !strcmp(there, function))
			return atomic_fetch_add(&table[i].calls, 1) + 1;
	}
	return 0;
}

static _Atomic bool ended;

static void end_for(unsigned long ms)
{
	struct timespec t = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	if (!ms)
		return;
	atomic_store(&ended, true);
	nanosleep(&t, NULL);
}

static void end_early(void)
{
	end_for(strtoul(setting("FAKE_CUPTI_END_EARLY"), NULL, 10));
}

static __attribute__((destructor)) void end(void)
{
	end_for(strtoul(setting("FAKE_CUPTI_END"), NULL, 10));
}

void fake_first_activity(void)
{
	static atomic_flag registered = ATOMIC_FLAG_INIT;

	if (*setting("FAKE_CUPTI_END_EARLY") && !atomic_flag_test_and_set(&registered))
		atexit(end_early);
}

int fake_fault(const char *function)
{
	unsigned long nth = count_call(function);
	struct timespec hour = { 3600, 0 };
	const char *at = setting("FAKE_CUPTI_FAIL");

	if (atomic_load(&ended))
		abort();
	if (!strcmp(setting("FAKE_CUPTI_HANG"), function))
		nanosleep(&hour, NULL);
	while (*at) {
		size_t n = strcspn(at, ":,");

		if (at[n] == ':' && n == strlen(function) && !memcmp(at, function, n)) {
			char *end;
			long code = strtol(at + n + 1, &end, 10);
			unsigned long only = *end == ':' ? strtoul(end + 1, NULL, 10) : 0;

			if (!only || only == nth)
				return (int)code;
		}
		at += strcspn(at, ",");
		at += *at == ',';
	}
	return 0;
}

static bool every_nth(const char *name, _Atomic unsigned long *counter)
{
	unsigned long n = strtoul(setting(name), NULL, 10);

	return n && (atomic_fetch_add(counter, 1) + 1) % n == 0;
}

bool fake_is_dropped(void)
{
	static _Atomic unsigned long counter;

	return every_nth("FAKE_CUPTI_DROP", &counter);
}

bool fake_is_untimed(void)
{
	static _Atomic unsigned long counter;

	return every_nth("FAKE_CUPTI_UNTIMED", &counter);
}

bool fake_is_strange(void)
{
	return *setting("FAKE_CUPTI_STRANGE");
}

bool fake_is_late(uint64_t buffer_number)
{
	return *setting("FAKE_CUPTI_LATE") && buffer_number % 2 == 0;
}

unsigned fake_slow_ms(void)
{
	return (unsigned)strtoul(setting("FAKE_CUPTI_SLOW"), NULL, 10);
}
