#include "capture/system/system_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "capture/system/cgroup_path.h"
#include "capture/system/fd_budget.h"
#include "capture/system/system_source.h"
#include "format/stamp.h"

#define PIECE_BYTES 65536u
#define TEXT_MAX (16u << 20) /* numa_maps has a line for each mapping */
#define FILES_MAX 1024u      /* that stay open */
#define FILES_OF_PROCESS 4u  /* its folder, stat, io and status */
#define FOREVER_NS 3600000000000
#define LONGEST_NS 500000000
#define MANY 8
#define FOUND_PERIODS 10 /* how much longer those of a process without an agent are */

void system_files_init(struct system_files *f, const char *root, int64_t origin_ns)
{
	memset(f, 0, sizeof(*f));
	f->root = root;
	f->origin_ns = origin_ns;
	buf_init(&f->text);
}

static void file_close(struct system_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
}

void system_files_release(struct system_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		file_close(&f->files[i]);
	for (size_t i = 0; i < f->process_count; i++)
		close(f->processes[i].folder);
	free(f->files);
	free(f->processes);
	nvml_release(&f->nvml);
	buf_release(&f->text);
}

/* Once for each source. */
static void miss(struct system_files *f, const char *name, const char *what, const char *why)
{
	for (size_t i = 0; i < f->missing_count; i++) {
		if (!strcmp(f->missing[i].name, name))
			return;
	}
	if (f->missing_count == SYSTEM_MISSING_MAX)
		return;
	f->missing[f->missing_count].name = name;
	snprintf(f->missing[f->missing_count].text, sizeof(f->missing[0].text), "%s: %s%s%s", name,
		 what, *what ? ": " : "", why);
	f->missing_count++;
}

static struct system_file *file_add(struct system_files *f, const struct system_source *s)
{
	struct system_file *grown = array_grow(f->files, &f->cap, f->count + 1, sizeof(*grown));

	if (!grown)
		return NULL;
	f->files = grown;
	grown[f->count] = (struct system_file){ .source = s, .fd = -1, .folder = -1 };
	return &grown[f->count++];
}

static bool add_path(struct system_files *f, const struct system_source *s, const char *path,
		     uint32_t instance)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct system_file *file = fd >= 0 ? file_add(f, s) : NULL;

	if (file) {
		file->fd = fd;
		file->instance = instance;
		return true;
	}
	miss(f, s->name, path + strlen(f->root), strerror(errno));
	if (fd >= 0)
		close(fd);
	return false;
}

static void add_group(void *ctx, const struct system_source *s, const char *path)
{
	add_path(ctx, s, path, 0);
}

/* Nodes have numbers from 0 on, with holes. */
static void open_nodes(struct system_files *f)
{
	char online[64] = "", cpus[1024], folder[64], path[PATH_MAX];

	(void)small_file_read(online, sizeof(online), f->root, "/sys/devices/system/node",
			      "online");
	f->nodes = strpbrk(online, ",-") != NULL;
	if (!f->nodes) {
		miss(f, "numa", "", *online ? "this machine has one node" : "no nodes are known");
		return;
	}
	for (uint32_t node = 0; node < NUMA_NODES_MAX; node++) {
		snprintf(folder, sizeof(folder), "/sys/devices/system/node/node%u", node);
		if (!small_file_read(cpus, sizeof(cpus), f->root, folder, "cpulist"))
			continue;
		cpu_nodes_add(&f->cpus, node, cpus);
		snprintf(path, sizeof(path), "%s%s/numastat", f->root, folder);
		add_path(f, &source_numastat, path, node);
	}
}

void system_files_open(struct system_files *f)
{
	char path[PATH_MAX];
	size_t before;

	for (size_t i = 0; machine_sources[i]; i++) {
		snprintf(path, sizeof(path), "%s%s", f->root, machine_sources[i]->file);
		add_path(f, machine_sources[i], path, 0);
	}
	before = f->count;
	cgroup_sources_find(f->root, add_group, f);
	if (f->count == before)
		miss(f, "cgroup", "", "the control group has no files here");
	open_nodes(f);
}

/* Files that the kernel generates at each reading; those of the address space keep it alive. */
static bool stays_open(const struct system_source *s)
{
	return !s->most_of_time;
}

static void add_process_file(struct system_files *f, const struct system_process *p,
			     const struct system_source *s)
{
	struct system_file *file = file_add(f, s);

	if (!file)
		return;
	file->process = p->id;
	file->folder = p->folder;
	file->found = p->found;
	/* Many may be found at once, and not be there for long. */
	if (p->found && s->most_of_time > 0)
		file->due_ns = (int64_t)stamp_monotonic() + FOUND_PERIODS * s->period_ns;
	if (!p->found && stays_open(s) &&
	    f->process_count * FILES_OF_PROCESS < fd_budget(FILES_MAX))
		file->fd = openat(p->folder, s->file, O_RDONLY | O_CLOEXEC);
}

static void add_process(struct system_files *f, struct system_process p)
{
	struct system_process *grown;
	char path[PATH_MAX];

	grown = array_grow(f->processes, &f->process_cap, f->process_count + 1, sizeof(*grown));
	if (!grown || f->process_count >= fd_budget(FILES_MAX)) {
		f->processes = grown ? grown : f->processes;
		f->unwatched++;
		return;
	}
	f->processes = grown;
	snprintf(path, sizeof(path), "%s/proc/%d", f->root, p.pid);
	/* The folder is the process's own, even if its number is reused later. */
	p.folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p.folder < 0) {
		f->unwatched += errno != ENOENT && errno != ESRCH;
		return;
	}
	grown[f->process_count++] = p;
	for (size_t i = 0; process_sources[i]; i++)
		add_process_file(f, &p, process_sources[i]);
	if (f->nodes)
		add_process_file(f, &p, &source_numa);
}

void system_files_add(struct system_files *f, uint32_t process, pid_t pid)
{
	add_process(f, (struct system_process){ .id = process, .pid = pid });
}

void system_files_add_found(struct system_files *f, uint32_t process, pid_t pid)
{
	add_process(f, (struct system_process){ .id = process, .pid = pid, .found = true });
}

void system_files_remove(struct system_files *f, uint32_t process)
{
	size_t left = 0;

	for (size_t i = 0; i < f->count; i++) {
		if (f->files[i].process == process)
			file_close(&f->files[i]);
		else
			f->files[left++] = f->files[i];
	}
	f->count = left;
	left = 0;
	for (size_t i = 0; i < f->process_count; i++) {
		if (f->processes[i].id == process)
			close(f->processes[i].folder);
		else
			f->processes[left++] = f->processes[i];
	}
	f->process_count = left;
}

static void poll_gpus(struct system_files *f, double slowdown, struct system_points *out)
{
	struct reading l = { out, (int64_t)stamp_monotonic() - f->origin_ns, 0, 0 };

	f->gpu_due_ns = nvml_poll(&f->nvml, slowdown, &l, f->processes, f->process_count);
}

void system_files_use_gpu(struct system_files *f, struct system_points *out)
{
	char why[128];

	if (f->nvml.tried)
		return;
	if (nvml_open(&f->nvml, why, sizeof(why)))
		miss(f, "gpu", "", why);
	else
		poll_gpus(f, 1, out);
}

/* The whole text, with a NUL behind it; -1: errno says why. */
static int read_text(struct buf *text, int fd, bool in_pieces)
{
	buf_clear(text);
	for (;;) {
		char *to = buf_reserve(text, PIECE_BYTES);
		ssize_t n = to ? pread(fd, to, PIECE_BYTES - 1, (off_t)text->len) : -1;

		if (n < 0)
			return -1;
		to[n] = '\0';
		text->len += (size_t)n;
		if (!n || !in_pieces || text->len > TEXT_MAX)
			return 0;
	}
}

/* That there is no such file, and not that the process is gone. */
static bool is_refusal(int error, const struct system_file *file)
{
	return error == EACCES || error == EPERM ||
	       (error == ENOENT && !faccessat(file->folder, "stat", R_OK, 0));
}

static void read_file(struct system_files *f, struct system_file *file, struct system_points *out)
{
	int fd = file->fd;

	if (fd < 0)
		fd = openat(file->folder, file->source->file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read_text(&f->text, fd, file->source->in_pieces)) {
		if (file->folder >= 0 && !file->found && is_refusal(errno, file))
			miss(f, file->source->name, file->source->file, strerror(errno));
	} else {
		struct reading l = { out, (int64_t)stamp_monotonic() - f->origin_ns, file->process,
				     file->instance };

		source_parse(file->source, &l, f->text.data);
		if (file->source == &source_numa)
			numa_threads_read(&f->cpus, file->folder, &l);
	}
	if (fd >= 0 && fd != file->fd)
		close(fd);
}

int64_t system_files_due(int64_t now_ns, int64_t period_ns, double slowdown, int64_t took_ns,
			 double most_of_time)
{
	double longer_ns = (double)period_ns * slowdown;
	int64_t step_ns;

	if (most_of_time > 0 && (double)took_ns / most_of_time > longer_ns)
		longer_ns = (double)took_ns / most_of_time;
	step_ns = (int64_t)longer_ns;
	return (now_ns / step_ns + 1) * step_ns;
}

/*
 * However scarce CPUs are, a program that runs for some seconds gets readings: two a second cost
 * next to nothing, unless there are many processes.
 */
static double bounded(double slowdown, int64_t period_ns, size_t processes)
{
	double most = (double)LONGEST_NS / (double)period_ns * (1 + (double)processes / MANY);

	if (most < 1)
		most = 1;
	return slowdown < most ? slowdown : most;
}

int64_t system_files_poll(struct system_files *f, double slowdown, struct system_points *out)
{
	int64_t now_ns = (int64_t)stamp_monotonic(), next_ns = now_ns + FOREVER_NS;

	for (size_t i = 0; i < f->count; i++) {
		struct system_file *file = &f->files[i];

		if (file->due_ns <= now_ns) {
			const struct system_source *s = file->source;
			int64_t began_ns = now_ns;
			int64_t period_ns =
				file->found ? FOUND_PERIODS * s->period_ns : s->period_ns;

			read_file(f, file, out);
			now_ns = (int64_t)stamp_monotonic();
			file->due_ns = system_files_due(
				now_ns, period_ns,
				s->most_of_time ? slowdown
						: bounded(slowdown, period_ns, f->process_count),
				now_ns - began_ns, s->most_of_time);
		}
		if (file->due_ns < next_ns)
			next_ns = file->due_ns;
	}
	if (f->nvml.works && f->gpu_due_ns <= now_ns)
		poll_gpus(f, slowdown, out);
	return f->nvml.works && f->gpu_due_ns < next_ns ? f->gpu_due_ns : next_ns;
}

/*
 * Not those that take long: their last values are not old.  Nor the devices, whose memory is no
 * longer that of programs that have ended.
 */
void system_files_read_all(struct system_files *f, struct system_points *out)
{
	for (size_t i = 0; i < f->count; i++) {
		if (!f->files[i].source->most_of_time)
			read_file(f, &f->files[i], out);
	}
}

static bool read_file_of(struct buf *text, const char *root, pid_t pid,
			 const struct system_source *s)
{
	char path[PATH_MAX];
	bool done;
	int fd;

	snprintf(path, sizeof(path), "%s/proc/%d/%s", root, pid, s->file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = !read_text(text, fd, false);
	close(fd);
	return done;
}

/* The number may have been reused: only a process that has ended is ours. */
static bool has_ended(const char *stat)
{
	const char *state = strrchr(stat, ')');

	return state && state[1] == ' ' && state[2] == 'Z';
}

void system_files_read_last(const char *root, pid_t pid, struct reading *l)
{
	struct buf text;

	buf_init(&text);
	if (read_file_of(&text, root, pid, &source_stat) && has_ended(text.data)) {
		source_parse(&source_stat, l, text.data);
		if (read_file_of(&text, root, pid, &source_io))
			source_parse(&source_io, l, text.data);
	}
	buf_release(&text);
}
