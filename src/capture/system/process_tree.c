#include "capture/system/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "capture/system/new_processes.h"
#include "format/stamp.h"

#define LIST_BYTES 4096 /* a read gives this much of a list of children */

/* Of a core. */
#define MOST_OF_TIME 0.001

/* What is shorter is seen by chance. */
#define SIGHTS 2u

/* However scarce CPUs are: what lives for some seconds is seen that often. */
#define INTERVAL_MOST 4.0

bool system_founds_put(struct system_founds *all, const struct system_found *f)
{
	struct system_found *grown =
		array_grow(all->items, &all->cap, all->count + 1, sizeof(*grown));

	if (!grown)
		return false;
	all->items = grown;
	grown[all->count++] = *f;
	return true;
}

void system_founds_release(struct system_founds *all)
{
	free(all->items);
	*all = (struct system_founds){ 0 };
}

void process_tree_release(struct process_tree *t)
{
	system_founds_release(&t->reported);
	new_processes_release(&t->new_processes);
}

/* --- what the kernel says --- */

static ssize_t read_at(int folder, const char *path, char *text, size_t bytes)
{
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, bytes - 1) : -1;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

static const struct system_process *process_of(const struct system_files *f, uint32_t id)
{
	for (size_t i = 0; i < f->process_count; i++) {
		if (f->processes[i].id == id)
			return &f->processes[i];
	}
	return NULL;
}

static bool is_known(const struct system_files *f, pid_t pid)
{
	for (size_t i = 0; i < f->process_count; i++) {
		if (f->processes[i].pid == pid)
			return true;
	}
	return false;
}

/* --- the life of one that was found --- */

static void publish(struct process_tree *t, struct tree_process *p, enum tree_state state)
{
	/* Points of an unknown process are useless. */
	p->state = system_founds_put(&t->reported, &p->found) ? state : TREE_FORGOTTEN;
}

static bool is_worth_recording(const struct process_tree *t, const struct tree_process *p)
{
	return p->sights >= SIGHTS || p->found.pid == t->workload;
}

static void end(struct process_tree *t, struct system_files *f, struct tree_process *p)
{
	p->found.end_ns = (int64_t)stamp_monotonic() - f->origin_ns;
	p->found.brief = p->state == TREE_PROBATION;
	if (p->state == TREE_SURE || is_worth_recording(t, p))
		publish(t, p, TREE_OVER);
	else
		p->state = TREE_FORGOTTEN;
	system_files_remove(f, p->found.id);
}

static bool is_here(const struct tree_process *p)
{
	return p->state == TREE_PROBATION || p->state == TREE_SURE;
}

static struct tree_process *find(struct process_tree *t, pid_t pid)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->processes[i].found.pid == pid && is_here(&t->processes[i]))
			return &t->processes[i];
	}
	return NULL;
}

void process_tree_joined(struct process_tree *t, struct system_files *f, pid_t pid)
{
	struct tree_process *p = find(t, pid);

	new_processes_forget(
		&t->new_processes); /* it may have children that were strangers till now */
	if (!p)
		return;
	if (p->state == TREE_SURE) { /* it was another program until now */
		end(t, f, p);
		return;
	}
	p->state = TREE_FORGOTTEN;
	system_files_remove(f, p->found.id);
}

void process_tree_ended(struct process_tree *t, struct system_files *f, pid_t pid,
			const struct series_point *last, size_t count, struct system_points *out)
{
	struct tree_process *p = find(t, pid);

	for (size_t i = 0; p && i < count; i++) {
		struct series_point point = last[i];

		point.process = p->found.id;
		system_points_put(out, &point);
	}
	if (p)
		end(t, f, p);
	if (pid == t->workload)
		t->workload = 0; /* the number may become another's */
}

/* False: it has ended, and that is noted. */
static bool check(struct process_tree *t, struct system_files *f, struct tree_process *p,
		  struct stat_line *s, struct system_points *out)
{
	const struct system_process *in_files = process_of(f, p->found.id);
	char text[STAT_LINE_BYTES];

	if (in_files && stat_line_read(s, in_files->folder, "stat", text)) {
		struct reading l = { out, (int64_t)stamp_monotonic() - f->origin_ns, p->found.id,
				     0 };

		if (stat_line_is_alive(s))
			return true;
		source_parse(&source_stat, &l, text);
	}
	end(t, f, p);
	return false;
}

/* Its program may have changed, and with it the name. */
static void update_name(struct process_tree *t, struct system_files *f, struct tree_process *p,
			int64_t now_ns, struct system_points *out)
{
	struct stat_line s;

	if (!check(t, f, p, &s, out))
		return;
	memcpy(p->found.name, s.name, sizeof(s.name));
	p->sights++;
	if (p->state == TREE_PROBATION &&
	    now_ns - f->origin_ns - p->found.start_ns >= PROCESS_TREE_PROBATION_NS)
		publish(t, p, TREE_SURE);
}

void process_tree_finish(struct process_tree *t, struct system_files *f, struct system_points *out)
{
	for (size_t i = 0; i < t->count; i++) {
		struct tree_process *p = &t->processes[i];
		struct stat_line s;

		if (!is_here(p) || !check(t, f, p, &s, out) || p->state == TREE_SURE)
			continue;
		/* Passes may have been far apart. */
		if ((int64_t)stamp_monotonic() - f->origin_ns - p->found.start_ns >=
		    PROCESS_TREE_PERIOD_NS)
			p->sights++;
		if (is_worth_recording(t, p))
			publish(t, p, TREE_SURE);
		else
			p->state = TREE_FORGOTTEN;
	}
}

/* --- finding them --- */

struct search {
	struct process_tree *tree;
	struct system_files *files;
	uint32_t beyond;
};

/* parent 0: any. */
static void take_in(struct search *s, pid_t pid, pid_t parent)
{
	struct process_tree *t = s->tree;
	const struct system_process *in_files;
	uint32_t id = PROCESS_TREE_FIRST_ID + t->ids;
	struct stat_line stat;
	char text[STAT_LINE_BYTES];
	struct tree_process *p;

	if (pid <= 0 || pid == getpid() || is_known(s->files, pid))
		return;
	if (t->count == PROCESS_TREE_MAX) {
		s->beyond++;
		return;
	}
	system_files_add_found(s->files, id, pid);
	in_files = process_of(s->files, id);
	if (!in_files)
		return;
	/* Between the list and now it may have ended, and its number become another's. */
	if (!stat_line_read(&stat, in_files->folder, "stat", text) || !stat_line_is_alive(&stat) ||
	    (parent && stat.parent != parent)) {
		system_files_remove(s->files, id);
		return;
	}
	t->ids++;
	p = &t->processes[t->count++];
	*p = (struct tree_process){
		.found = { .id = id,
			   .pid = pid,
			   .parent = stat.parent,
			   .start_ns = (int64_t)stamp_monotonic() - s->files->origin_ns,
			   .end_ns = -1 },
		.state = TREE_PROBATION,
		.sights = 1,
	};
	memcpy(p->found.name, stat.name, sizeof(stat.name));
}

/* "PID PID ": a process of a great many children has some of them omitted. */
static void take_list(struct search *s, const char *list, pid_t parent)
{
	char *end;

	for (long pid = strtol(list, &end, 10); end != list; pid = strtol(list, &end, 10)) {
		list = end;
		take_in(s, (pid_t)pid, parent);
	}
}

/* False: this kernel has no such lists. */
static bool take_children(struct search *s, struct system_process of)
{
	int fd = openat(of.folder, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *tasks = fd >= 0 ? fdopendir(fd) : NULL;
	bool lists = true;
	struct dirent *e;

	if (!tasks) {
		if (fd >= 0)
			close(fd);
		return true; /* it is gone */
	}
	while (lists && (e = readdir(tasks))) {
		char path[NAME_MAX + 16], list[LIST_BYTES];

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "%s/children", e->d_name);
		if (read_at(dirfd(tasks), path, list, sizeof(list)) >= 0)
			take_list(s, list, of.pid);
		else if (errno == ENOENT && !faccessat(dirfd(tasks), e->d_name, R_OK, 0))
			lists = false;
	}
	closedir(tasks);
	return lists;
}

/* Takes new processes by their parents, some of which may be new as well. */
static void take_by_parents(struct search *s)
{
	struct new_processes *n = &s->tree->new_processes;
	bool any = true;

	new_processes_poll(n, s->files->root);
	while (any) {
		any = false;
		for (size_t i = 0; i < n->count; i++) {
			struct new_process *one = &n->items[i];

			if (!one->pid || !is_known(s->files, one->parent))
				continue;
			take_in(s, one->pid, one->parent);
			one->pid = 0;
			any = true;
		}
	}
	if (s->beyond)
		new_processes_forget(n); /* there may be room for them the next time */
}

static void search(struct process_tree *t, struct system_files *f)
{
	struct search s = { t, f, 0 };

	take_in(&s, t->workload, 0);
	/* Those that are found on the way are in the list as well. */
	for (size_t i = 0; !t->by_parents && i < f->process_count; i++)
		t->by_parents = t->without_lists = !take_children(&s, f->processes[i]);
	if (t->by_parents)
		take_by_parents(&s);
	if (s.beyond > t->beyond)
		t->beyond = s.beyond;
}

/*
 * A list of children for each thread, or a list of all processes: many threads make the one
 * expensive, many processes the other.  Who takes too long tries the other one.  True: for the
 * first time, so that is soon.
 */
static bool choose_way(struct process_tree *t, int64_t used_ns)
{
	int64_t *took_ns = t->took_ns, other_ns = took_ns[!t->by_parents];

	took_ns[t->by_parents] = used_ns;
	if (t->without_lists || used_ns <= (int64_t)(MOST_OF_TIME * PROCESS_TREE_PERIOD_NS) ||
	    other_ns >= used_ns)
		return false;
	t->by_parents = !t->by_parents;
	return !other_ns;
}

int64_t process_tree_poll(struct process_tree *t, struct system_files *f, double slowdown,
			  struct system_points *out)
{
	int64_t began_ns = (int64_t)stamp_monotonic(), used_ns;
	bool all_are_new;

	if (began_ns < t->due_ns)
		return t->due_ns;
	used_ns = (int64_t)stamp_thread_cpu();
	for (size_t i = 0; i < t->count; i++) {
		if (is_here(&t->processes[i]))
			update_name(t, f, &t->processes[i], began_ns, out);
	}
	all_are_new = t->by_parents && !t->new_processes.known_count;
	search(t, f);
	used_ns = (int64_t)stamp_thread_cpu() - used_ns;
	/* A reading of all of them says nothing about the next, which reads only those that are
	 * new. */
	if (all_are_new ? !t->took_ns[true] : choose_way(t, used_ns))
		used_ns = 0;
	t->due_ns = system_files_due((int64_t)stamp_monotonic(), PROCESS_TREE_PERIOD_NS,
				     slowdown < INTERVAL_MOST ? slowdown : INTERVAL_MOST, used_ns,
				     MOST_OF_TIME);
	return t->due_ns;
}

/* --- points --- */

static enum tree_state state_of(const struct process_tree *t, uint32_t id)
{
	if (id < PROCESS_TREE_FIRST_ID)
		return TREE_SURE;
	for (size_t i = 0; i < t->count; i++) {
		if (t->processes[i].found.id == id)
			return t->processes[i].state;
	}
	return TREE_FORGOTTEN;
}

void process_tree_release_points(struct process_tree *t, struct system_points *from,
				 struct system_points *to)
{
	size_t held = 0, left = 0;

	for (size_t i = 0; i < from->count; i++) {
		enum tree_state state = state_of(t, from->items[i].process);

		if (state == TREE_PROBATION)
			from->items[held++] = from->items[i];
		else if (state != TREE_FORGOTTEN)
			system_points_put(to, &from->items[i]);
	}
	from->count = held;
	for (size_t i = 0; i < t->count; i++) {
		if (is_here(&t->processes[i]))
			t->processes[left++] = t->processes[i];
	}
	t->count = left;
}
