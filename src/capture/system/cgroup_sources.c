#include "capture/system/system_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/system/cgroup_path.h"

#define CHEAP_NS 50000000
#define DEAR_NS 1000000000   /* the kernel sums up what all CPUs have counted */
#define NO_LIMIT (1ll << 60) /* version 1 has a number for it, near the largest */

static void parse_usage(const struct system_source *s, struct reading *l, const char *text)
{
	int64_t value;

	if (text_number(text, &value))
		reading_put(l, s->lines->kind, value);
}

/* "max" and its like are no limit, and no point. */
static void parse_limit(const struct system_source *s, struct reading *l, const char *text)
{
	int64_t value;

	if (text_number(text, &value) && value < NO_LIMIT)
		reading_put(l, s->lines->kind, value);
}

/* "50000 100000": so many microseconds in each period of so many. */
static bool cpu_limit(const char *text, int64_t *millicpus)
{
	const char *blank = strchr(text, ' ');
	int64_t quota, period;

	if (!blank || !text_number(text, &quota) || !text_number(blank, &period) || !period ||
	    __builtin_mul_overflow(quota, 1000, &quota))
		return false;
	*millicpus = quota / period;
	return true;
}

static void parse_cpu_limit(const struct system_source *s, struct reading *l, const char *text)
{
	int64_t millicpus;

	(void)s;
	if (cpu_limit(text, &millicpus))
		reading_put(l, SERIES_CGROUP_CPU_LIMIT, millicpus);
}

/* Version 1 counts nanoseconds. */
static void parse_throttled(const struct system_source *s, struct reading *l, const char *text)
{
	static const char key[] = "throttled_time ";
	const struct system_source lines_alone = { .lines = s->lines };
	const char *at = strstr(text, key);
	int64_t ns;

	source_parse(&lines_alone, l, text);
	if (at && text_number(at + strlen(key), &ns))
		reading_put(l, SERIES_CGROUP_THROTTLED, ns / 1000);
}

#define TABLE static const struct keyed_line
#define END                \
	{                  \
		NULL, 0, 0 \
	}

TABLE usage[] = { { "", SERIES_CGROUP_MEMORY, 1 }, END };
TABLE limit[] = { { "", SERIES_CGROUP_MEMORY_MAX, 1 }, END };
TABLE swap[] = { { "", SERIES_CGROUP_SWAP, 1 }, END };
TABLE failures[] = { { "", SERIES_CGROUP_MAX_EVENTS, 1 }, END };
TABLE cache[] = { { "inactive_file", SERIES_CGROUP_CACHE, 1 }, END };
TABLE cache_v1[] = { { "total_inactive_file", SERIES_CGROUP_CACHE, 1 }, END };
TABLE kills_v1[] = { { "oom_kill", SERIES_CGROUP_OOM_KILLS, 1 }, END };
TABLE events[] = {
	{ "high", SERIES_CGROUP_HIGH_EVENTS, 1 },
	{ "max", SERIES_CGROUP_MAX_EVENTS, 1 },
	{ "oom", SERIES_CGROUP_OOMS, 1 },
	{ "oom_kill", SERIES_CGROUP_OOM_KILLS, 1 },
	END,
};
TABLE cpu[] = {
	{ "usage_usec", SERIES_CGROUP_CPU, 1 },
	{ "nr_periods", SERIES_CGROUP_CPU_PERIODS, 1 },
	{ "nr_throttled", SERIES_CGROUP_THROTTLED_PERIODS, 1 },
	{ "throttled_usec", SERIES_CGROUP_THROTTLED, 1 },
	END,
};
TABLE psi_cpu[] = { { "some", SERIES_CGROUP_PSI_CPU_SOME, 1 }, END };
TABLE psi_memory[] = {
	{ "some", SERIES_CGROUP_PSI_MEMORY_SOME, 1 },
	{ "full", SERIES_CGROUP_PSI_MEMORY_FULL, 1 },
	END,
};
TABLE psi_io[] = {
	{ "some", SERIES_CGROUP_PSI_IO_SOME, 1 },
	{ "full", SERIES_CGROUP_PSI_IO_FULL, 1 },
	END,
};

#define SOURCE(file_, period, lines_, parse_)                                          \
	{                                                                              \
		.name = "cgroup", .file = file_, .period_ns = period, .lines = lines_, \
		.parse = parse_                                                        \
	}

static const struct system_source memory_v2[] = {
	SOURCE("memory.current", CHEAP_NS, usage, parse_usage),
	SOURCE("memory.max", DEAR_NS, limit, parse_limit),
	SOURCE("memory.swap.current", CHEAP_NS, swap, parse_usage),
	SOURCE("memory.stat", DEAR_NS, cache, NULL),
	SOURCE("memory.events", CHEAP_NS, events, NULL),
	SOURCE("memory.pressure", PSI_PERIOD_NS, psi_memory, psi_parse),
	SOURCE("io.pressure", PSI_PERIOD_NS, psi_io, psi_parse),
	{ NULL },
};
static const struct system_source cpu_v2[] = {
	SOURCE("cpu.stat", CHEAP_NS, cpu, NULL),
	SOURCE("cpu.max", DEAR_NS, NULL, parse_cpu_limit),
	SOURCE("cpu.pressure", PSI_PERIOD_NS, psi_cpu, psi_parse),
	{ NULL },
};
static const struct system_source memory_v1[] = {
	SOURCE("memory.usage_in_bytes", CHEAP_NS, usage, parse_usage),
	SOURCE("memory.limit_in_bytes", DEAR_NS, limit, parse_limit),
	SOURCE("memory.stat", DEAR_NS, cache_v1, NULL),
	SOURCE("memory.failcnt", CHEAP_NS, failures, parse_usage),
	SOURCE("memory.oom_control", CHEAP_NS, kills_v1, NULL),
	{ NULL },
};
static const struct system_source cpu_v1[] = {
	SOURCE("cpu.stat", CHEAP_NS, cpu, parse_throttled),
	{ NULL },
};

/* What is left of a limit; INT64_MAX: there is none. */
typedef int64_t available_fn(const char *root, const char *folder);

static int64_t number_of(const char *root, const char *folder, const char *name, int64_t otherwise)
{
	char text[64];
	int64_t value;

	return small_file_read(text, sizeof(text), root, folder, name) && text_number(text, &value)
		       ? value
		       : otherwise;
}

static int64_t memory_available(const char *root, const char *folder, const char *max,
				const char *now)
{
	int64_t most = number_of(root, folder, max, INT64_MAX);

	return most < NO_LIMIT ? most - number_of(root, folder, now, 0) : INT64_MAX;
}

static int64_t memory_available_v2(const char *root, const char *folder)
{
	return memory_available(root, folder, "memory.max", "memory.current");
}

static int64_t memory_available_v1(const char *root, const char *folder)
{
	return memory_available(root, folder, "memory.limit_in_bytes", "memory.usage_in_bytes");
}

static int64_t cpus_v2(const char *root, const char *folder)
{
	char text[64];
	int64_t millicpus;

	return small_file_read(text, sizeof(text), root, folder, "cpu.max") &&
			       cpu_limit(text, &millicpus)
		       ? millicpus
		       : INT64_MAX;
}

static int64_t cpus_v1(const char *root, const char *folder)
{
	int64_t quota = number_of(root, folder, "cpu.cfs_quota_us", INT64_MAX); /* -1: none */
	int64_t period = number_of(root, folder, "cpu.cfs_period_us", 0);

	return quota < NO_LIMIT / 1000 && period ? quota * 1000 / period : INT64_MAX;
}

static const struct controller {
	const char *name, *mount; /* see cgroup_path.h */
	available_fn *left;
	const struct system_source *sources;
} controllers[] = {
	{ "", "/sys/fs/cgroup", memory_available_v2, memory_v2 },
	{ "", "/sys/fs/cgroup", cpus_v2, cpu_v2 },
	{ "memory", "/sys/fs/cgroup/memory", memory_available_v1, memory_v1 },
	{ "cpu", "/sys/fs/cgroup/cpu", cpus_v1, cpu_v1 },
};

static bool exists(const char *root, const char *folder, const char *name)
{
	char path[PATH_MAX + CGROUP_FOLDER_MAX];

	snprintf(path, sizeof(path), "%s%s/%s", root, folder, name);
	return !access(path, R_OK);
}

/*
 * Our own group where nothing is limited; the nearest one above that is to be seen here where
 * our own is not.  False: there is none.
 */
static bool binding_group(char out[CGROUP_FOLDER_MAX], const struct controller *c, const char *root)
{
	char folder[CGROUP_FOLDER_MAX];
	int64_t least = INT64_MAX;
	struct cgroup_walk walk;
	bool found = false;

	cgroup_walk_init(&walk, root, c->name, c->mount);
	while (cgroup_walk_next(&walk, folder)) {
		int64_t left = c->left(root, folder);

		if (!exists(root, folder, c->sources->file) || (found && left >= least))
			continue;
		memcpy(out, folder, sizeof(folder));
		least = left;
		found = true;
	}
	return found;
}

void cgroup_sources_find(const char *root,
			 void (*watch)(void *ctx, const struct system_source *s, const char *path),
			 void *ctx)
{
	char folder[CGROUP_FOLDER_MAX], path[PATH_MAX + CGROUP_FOLDER_MAX];

	for (size_t i = 0; i < sizeof(controllers) / sizeof(controllers[0]); i++) {
		const struct controller *c = &controllers[i];

		if (!binding_group(folder, c, root))
			continue;
		for (const struct system_source *s = c->sources; s->name; s++) {
			if (!exists(root, folder, s->file))
				continue;
			snprintf(path, sizeof(path), "%s%s/%s", root, folder, s->file);
			watch(ctx, s, path);
		}
	}
}
