/* links: is_capture is_format is_base */
/*
 * Whatever else is read from /proc and /sys: the input is cut at zeros, and each piece is the
 * contents of one file below a folder that plays "/".  Then all that reads them is asked.
 */
#include <ftw.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/sampler/thread_state.h"
#include "capture/session/memory_pressure.h"
#include "capture/system/cgroup_path.h"
#include "capture/system/cpu_usage.h"
#include "capture/system/new_processes.h"
#include "capture/system/process_tree.h"
#include "capture/system/system_source.h"

#define WORKLOAD 10
#define CHILD 11
#define SAMPLES 3

static const char *const files[] = {
	"/proc/10/stat",
	"/proc/10/task/10/children",
	"/proc/10/task/10/stat",
	"/proc/10/task/10/syscall",
	"/proc/10/task/10/schedstat",
	"/proc/10/task/77/children",
	"/proc/11/stat",
	"/proc/11/task/11/children",
	"/proc/12/stat",
	"/proc/self/cgroup",
	"/proc/meminfo",
	"/proc/pressure/memory",
	"/sys/fs/cgroup/box/memory.max",
	"/sys/fs/cgroup/box/memory.current",
	"/sys/fs/cgroup/box/memory.stat",
	"/sys/fs/cgroup/box/memory.pressure",
	"/sys/devices/system/node/online",
	"/sys/devices/system/node/node0/cpulist",
	"/sys/devices/system/node/node1/cpulist",
};

#define FILES (sizeof(files) / sizeof(files[0]))

static char root[64];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static void remove_root(void)
{
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_root(void)
{
	snprintf(root, sizeof(root), "%s/inferscope-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	if (!mkdtemp(root))
		abort();
	atexit(remove_root);
	for (size_t i = 0; i < FILES; i++) {
		char path[256];

		snprintf(path, sizeof(path), "%s%s", root, files[i]);
		for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
			*p = '\0';
			mkdir(path, 0700);
			*p = '/';
		}
	}
}

static void put(const char *name, const uint8_t *data, size_t size)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s%s", root, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void put_all(const uint8_t *data, size_t size)
{
	for (size_t i = 0; i < FILES; i++) {
		const uint8_t *end = size ? memchr(data, 0, size) : NULL;
		size_t n = end ? (size_t)(end - data) : size;

		put(files[i], data, n);
		data += end ? n + 1 : n;
		size -= end ? n + 1 : n;
	}
}

static void check_points(struct system_points *points)
{
	for (size_t i = 0; i < points->count; i++) {
		if (!series_quantity(points->items[i].kind) || points->items[i].value < 0)
			abort();
	}
	system_points_release(points);
}

static void check_told(const struct process_tree *t)
{
	if (t->count > PROCESS_TREE_MAX)
		abort();
	for (size_t i = 0; i < t->reported.count; i++) {
		const struct system_found *f = &t->reported.items[i];

		if (f->pid <= 0 || f->parent < 0 || f->id < PROCESS_TREE_FIRST_ID ||
		    !memchr(f->name, '\0', sizeof(f->name)) ||
		    (f->end_ns != -1 && f->end_ns < f->start_ns))
			abort();
	}
}

static void follow_processes(void)
{
	struct system_points out = { 0 }, ready = { 0 };
	static struct system_files f;
	static struct process_tree t;

	memset(&t, 0, sizeof(t));
	system_files_init(&f, root, 0);
	system_files_open(&f);
	t.workload = WORKLOAD;
	system_files_add(&f, 1, CHILD);
	for (int i = 0; i < SAMPLES; i++) {
		t.due_ns = 0;
		t.by_parents = i == SAMPLES - 1;
		process_tree_poll(&t, &f, 1, &out);
		system_files_poll(&f, 1, &out);
		process_tree_release_points(&t, &out, &ready);
	}
	system_files_read_all(&f, &out);
	process_tree_finish(&t, &f, &out);
	process_tree_release_points(&t, &out, &ready);
	check_told(&t);
	check_points(&ready);
	system_points_release(&out);
	process_tree_release(&t);
	system_files_release(&f);
}

static void ask_threads(void)
{
	static struct cpu_nodes nodes;
	struct system_points points = { 0 };
	struct reading l = { &points, 0, 1, 0 };
	struct thread_state_readeres all = { 0 };
	struct thread_times times;
	struct thread_state_reader w;
	char path[128], list[256];
	int folder;

	thread_state_reader_open(&w, &all, root, WORKLOAD, WORKLOAD);
	if (thread_state_reader_state(&w, (struct address_range){ 4096, 8192 }).state >=
	    SAMPLE_STATES)
		abort();
	thread_state_reader_close(&w, &all);
	(void)thread_times_read(&times, root, WORKLOAD, WORKLOAD);
	memset(&nodes, 0, sizeof(nodes));
	for (uint32_t node = 0; node < 2; node++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%u", node);
		if (small_file_read(list, sizeof(list), root, path, "cpulist"))
			cpu_nodes_add(&nodes, node, list);
	}
	snprintf(path, sizeof(path), "%s/proc/%d", root, WORKLOAD);
	folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	numa_threads_read(&nodes, folder, &l);
	close(folder);
	check_points(&points);
}

static void ask_groups(void)
{
	char folder[CGROUP_FOLDER_MAX];
	struct cgroup_walk walk;
	struct pressure p;
	unsigned steps = 0;

	pressure_read(&p, root, 1u << 20);
	if (!(p.stalled >= 0 && p.stalled <= 1))
		abort();
	for (cgroup_walk_init(&walk, root, "", "/sys/fs/cgroup");
	     cgroup_walk_next(&walk, folder);) {
		if (++steps > PATH_MAX)
			abort();
	}
}

/* The whole input, as one text. */
static void parse_texts(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct stat_line line;
	uint64_t idle_ns;
	cpu_set_t set;

	if (!text)
		return;
	memcpy(text, data, size);
	text[size] = '\0';
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	CPU_SET(3, &set);
	(void)cpus_parse_idle(text, &set, &idle_ns);
	if (stat_line_parse(&line, text) && (line.parent < 0 || !line.state))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!*root)
		make_root();
	put_all(data, size);
	parse_texts(data, size);
	follow_processes();
	ask_threads();
	ask_groups();
	return 0;
}
