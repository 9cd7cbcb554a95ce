#include "capture/system/system_source.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 512u /* more are not asked: they cost 5 us each */
#define PROCESSOR 36     /* fields behind the state of stat */

void cpu_nodes_add(struct cpu_nodes *c, uint32_t node, const char *list)
{
	while (*list >= '0' && *list <= '9') {
		char *behind;
		unsigned long first = strtoul(list, &behind, 10);
		unsigned long last = *behind == '-' ? strtoul(behind + 1, &behind, 10) : first;

		for (unsigned long cpu = first; cpu <= last && cpu < NUMA_CPUS_MAX; cpu++)
			c->node_of[cpu] = (uint8_t)(node + 1);
		list = behind + (*behind == ',');
	}
}

/* -1: it does not say. */
static int64_t cpu_in(const char *stat)
{
	const char *p = strrchr(stat, ')');
	int64_t cpu;

	for (int i = 0; p && i <= PROCESSOR; i++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	return p && text_number(p, &cpu) ? cpu : -1;
}

static int64_t cpu_of(int tasks, const char *tid)
{
	char path[64], text[1024];
	ssize_t n;
	int fd;

	if (snprintf(path, sizeof(path), "%s/stat", tid) >= (int)sizeof(path))
		return -1;
	fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return cpu_in(text);
}

void numa_threads_read(const struct cpu_nodes *c, int folder, struct reading *l)
{
	int tasks = openat(folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = tasks >= 0 ? fdopendir(tasks) : NULL;
	int64_t threads[NUMA_NODES_MAX] = { 0 };
	struct dirent *entry;
	unsigned asked = 0;

	if (!list) {
		if (tasks >= 0)
			close(tasks);
		return;
	}
	while (asked < THREADS_MAX && (entry = readdir(list))) {
		int64_t cpu = entry->d_name[0] == '.' ? -1 : cpu_of(tasks, entry->d_name);

		asked += entry->d_name[0] != '.';
		if (cpu >= 0 && cpu < NUMA_CPUS_MAX && c->node_of[cpu])
			threads[c->node_of[cpu] - 1]++;
	}
	closedir(list);
	for (uint32_t node = 0; node < NUMA_NODES_MAX; node++) {
		if (memchr(c->node_of, (int)node + 1, sizeof(c->node_of)))
			reading_put_instance(l, SERIES_NUMA_THREADS, node, threads[node]);
	}
}
