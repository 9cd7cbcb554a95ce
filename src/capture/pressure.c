/* Read from /proc and /sys/fs/cgroup; a file that is not there says nothing.  See pressure.h. */
#include "capture/pressure.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "capture/cgroup_path.h"

#define SHARE 4u    /* of the memory that is left, the buffer may have one part in four */
#define STALLED 0.1 /* this share of the time lost is pressure */
#define LIMIT_SHARE                                                                  \
	8u /* of a limited address space, one part in eight: the rest is its owner's \
	    */
#define FILE_ROOM 4194304u /* the tables before the blocks, which count as the same file */

/* The two versions of control groups, whose files differ in names only. */
static const struct hierarchy {
	const char *controller; /* as /proc/self/cgroup has it */
	const char *mount, *limit, *usage;
	const char *cache; /* the part of the usage that the kernel takes back first */
	const char *stalls;
} hierarchies[] = {
	{ "", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file",
	  "memory.pressure" },
	{ "memory", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	  "total_inactive_file", NULL },
};

static bool number_in(const char *text, uint64_t *value)
{
	char *end;

	*value = strtoull(text, &end, 10);
	return end != text; /* "max" is no number */
}

/* The number behind a key that begins a line. */
static bool find_number(const char *text, const char *key, uint64_t *value)
{
	size_t n = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, n) && (line[n] == ' ' || line[n] == ':'))
			return number_in(line + n + 1, value);
	}
	return false;
}

static void read_machine(struct pressure *p, const char *root)
{
	char text[8192];
	uint64_t kb;

	if (small_file_read(text, sizeof(text), root, "/proc", "meminfo") &&
	    find_number(text, "MemAvailable", &kb)) {
		p->left_bytes = kb << 10;
		p->owner = "the machine";
	}
}

/* One control group; those above it have limits of their own. */
static void read_group(struct pressure *p, const struct hierarchy *h, const char *root,
		       const char *folder, uint64_t enough)
{
	uint64_t limit, usage, cache, left;
	char text[8192];

	if (!small_file_read(text, sizeof(text), root, folder, h->limit) ||
	    !number_in(text, &limit) ||
	    !small_file_read(text, sizeof(text), root, folder, h->usage) ||
	    !number_in(text, &usage))
		return;
	left = limit > usage ? limit - usage : 0;
	/* Summing up the statistics of a group is dear: only where they matter. */
	if (left < enough && small_file_read(text, sizeof(text), root, folder, "memory.stat") &&
	    find_number(text, h->cache, &cache))
		left += cache < usage ? cache : usage;
	if (left < p->left_bytes) {
		p->left_bytes = left;
		p->owner = "the control group";
	}
}

static void read_stalls(struct pressure *p, const char *root, const char *folder, const char *name)
{
	static const char key[] = "full avg10=";
	char text[512];
	const char *full;

	if (!small_file_read(text, sizeof(text), root, folder, name) || !(full = strstr(text, key)))
		return;
	p->stalled = strtod(full + strlen(key), NULL) / 100;
	if (!(p->stalled >= STALLED && p->stalled <= 1)) /* it may be no number at all */
		p->stalled = 0;
}

/* From our group up to the root. */
static void read_groups(struct pressure *p, const struct hierarchy *h, const char *root,
			uint64_t enough)
{
	char folder[CGROUP_FOLDER_MAX];
	struct cgroup_walk walk;
	bool own = true;

	cgroup_walk_init(&walk, root, h->controller, h->mount);
	while (cgroup_walk_next(&walk, folder)) {
		read_group(p, h, root, folder, enough);
		if (own && h->stalls)
			read_stalls(p, root, folder, h->stalls);
		own = false;
	}
}

void pressure_read(struct pressure *p, const char *root, uint64_t enough_bytes)
{
	p->left_bytes = PRESSURE_UNKNOWN;
	p->owner = NULL;
	p->stalled = 0;
	read_machine(p, root);
	/* What our own group waits for says more than what all the others do. */
	read_stalls(p, root, "/proc/pressure", "memory");
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++)
		read_groups(p, &hierarchies[i], root, enough_bytes);
}

uint64_t pressure_enough(uint64_t wanted)
{
	return wanted * SHARE;
}

uint64_t pressure_allowed(const struct pressure *p, uint64_t size, uint64_t held, uint64_t wanted)
{
	uint64_t allowed = wanted;

	/* What we hold is ours to share out as well: giving it back changes nothing here. */
	if (p->left_bytes != PRESSURE_UNKNOWN && (p->left_bytes + held) / SHARE < allowed)
		allowed = (p->left_bytes + held) / SHARE;
	if (p->stalled > 0 && size / 2 < allowed)
		allowed = size / 2;
	return allowed;
}

static uint64_t soft_limit(int which)
{
	struct rlimit limit;

	if (getrlimit(which, &limit) || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

uint64_t pressure_limit(uint64_t wanted, const char **option)
{
	uint64_t space = soft_limit(RLIMIT_AS), file = soft_limit(RLIMIT_FSIZE);

	*option = NULL;
	if (space / LIMIT_SHARE < wanted) {
		wanted = space / LIMIT_SHARE;
		*option = "ulimit -v";
	}
	if (file > FILE_ROOM && file - FILE_ROOM < wanted) {
		wanted = file - FILE_ROOM;
		*option = "ulimit -f";
	}
	return wanted;
}
