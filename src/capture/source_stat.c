/* /proc/PID/stat: resident memory, page faults and CPU time of a process, all its threads. */
#include <string.h>
#include <unistd.h>

#include "capture/system_source.h"

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

static void parse(const struct system_source *s, struct look *l, const char *text)
{
	int64_t f[FIELDS];
	char state;

	(void)s;
	if (!read_fields(f, &state, text))
		return;
	look_put(l, SERIES_MINOR_FAULTS, f[MINOR_FAULTS]);
	look_put(l, SERIES_MAJOR_FAULTS, f[MAJOR_FAULTS]);
	look_put(l, SERIES_CPU_USER, ticks_to_us(f[USER]));
	look_put(l, SERIES_CPU_SYSTEM, ticks_to_us(f[SYSTEM]));
	/* One that ends gives its memory away first; what it had last stays. */
	if (state == 'Z' || state == 'X' || !f[SIZE])
		return;
	look_put(l, SERIES_RSS, pages_to_bytes(f[RSS]));
	look_put(l, SERIES_VIRTUAL, f[SIZE]);
	look_put(l, SERIES_THREADS, f[THREADS]);
}

const struct system_source source_stat = {
	.name = "stat",
	.file = "stat",
	.period_ns = 10000000,
	.parse = parse,
};
