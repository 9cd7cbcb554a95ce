/* Read from /proc and /sys/fs/cgroup; a file that is not there says nothing.  See
 * memory_pressure.h. */
#include "capture/session/memory_pressure.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "capture/system/cgroup_path.h"

/* A model is loaded with gigabytes a second; a check costs some 75 microseconds. */
#define SAMPLE_COST_NS 250000000

static double megabytes(uint64_t blocks)
{
	return (double)(blocks * SHM_BLOCK_BYTES) / 1048576;
}

void shrink_init(struct shrink *s, struct shm_owner *owner, const char *root)
{
	s->root = root;
	s->owner = owner;
	s->next_ns = 0;
	s->least = owner->block_count;
	s->noted = 0;
}

/* Grows back by doubling: the pressure may have gone because we gave way. */
static uint32_t size_for(const struct shrink *s, const struct pressure *p)
{
	uint64_t now = (uint64_t)shm_owner_size(s->owner) * SHM_BLOCK_BYTES;
	uint64_t full = (uint64_t)s->owner->block_count * SHM_BLOCK_BYTES;
	uint64_t allowed = pressure_allowed(p, now, shm_owner_held_bytes(s->owner), full);

	if (allowed > 2 * now)
		allowed = 2 * now;
	return (uint32_t)(allowed / SHM_BLOCK_BYTES);
}

static int note_first(struct shrink *s, struct trace_writer *w, struct err *err)
{
	const struct pressure *p = &s->cause;
	char why[96], text[256];

	if (p->stalled > 0)
		snprintf(why, sizeof(why), "programs waited for it %.0f %% of the time",
			 100 * p->stalled);
	else
		snprintf(why, sizeof(why), "%s had %.0f MB left", p->owner ? p->owner : "nobody",
			 (double)p->left_bytes / 1048576);
	s->noted = shm_owner_size(s->owner);
	snprintf(text, sizeof(text),
		 "memory was scarce (%s): the trace buffer was shrunk from %.1f to %.1f MB", why,
		 megabytes(s->owner->block_count), megabytes(s->noted));
	return trace_write_note(w, text, err);
}

int shrink_cycle(struct shrink *s, int64_t now_ns, struct trace_writer *w, struct err *err)
{
	bool sample = now_ns >= s->next_ns;
	uint32_t wanted = s->owner->wanted;
	struct pressure p;

	if (sample) {
		s->next_ns = now_ns + SAMPLE_COST_NS;
		pressure_read(&p, s->root,
			      pressure_enough((uint64_t)s->owner->block_count * SHM_BLOCK_BYTES));
		wanted = size_for(s, &p);
		if (wanted < shm_owner_size(s->owner))
			s->cause = p;
	}
	shm_owner_resize(s->owner, wanted);
	if (shm_owner_size(s->owner) < s->least)
		s->least = shm_owner_size(s->owner);
	if (sample && !s->noted && s->least < s->owner->block_count)
		return note_first(s, w, err);
	return 0;
}

int shrink_finish(struct shrink *s, struct trace_writer *w, struct err *err)
{
	uint32_t size = shm_owner_size(s->owner);
	char text[128];

	if (!s->noted || (s->least == s->noted && size == s->noted))
		return 0;
	snprintf(text, sizeof(text),
		 "the trace buffer shrank to %.1f MB at its smallest and had %.1f MB at the end",
		 megabytes(s->least), megabytes(size));
	return trace_write_note(w, text, err);
}

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
	/* Summing up the statistics of a group is expensive: only where they matter. */
	if (left < enough && small_file_read(text, sizeof(text), root, folder, "memory.stat") &&
	    find_number(text, h->cache, &cache))
		left += cache < usage ? cache : usage;
	if (left < p->left_bytes) {
		p->left_bytes = left;
		p->owner = "the control group";
	}
}

uint64_t pressure_total(const char *root)
{
	uint64_t total = PRESSURE_UNKNOWN, number;
	char text[8192], folder[CGROUP_FOLDER_MAX];

	if (small_file_read(text, sizeof(text), root, "/proc", "meminfo") &&
	    find_number(text, "MemTotal", &number))
		total = number << 10;
	for (size_t i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
		const struct hierarchy *h = &hierarchies[i];
		struct cgroup_walk walk;

		cgroup_walk_init(&walk, root, h->controller, h->mount);
		while (cgroup_walk_next(&walk, folder)) {
			if (small_file_read(text, sizeof(text), root, folder, h->limit) &&
			    number_in(text, &number) && number < total)
				total = number;
		}
	}
	return total;
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
