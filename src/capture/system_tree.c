#include "capture/system_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "format/stamp.h"

#define STAT_BYTES 1024
#define LIST_BYTES 4096 /* a read gives this much of a list of children */

/* Of a core: a process of hundreds of threads has as many lists. */
#define MOST_OF_TIME 0.001

/* What is shorter is seen by chance. */
#define SIGHTS 2u

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

void system_tree_release(struct system_tree *t)
{
	system_founds_release(&t->told);
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

struct stat_line {
	char name[sizeof(((struct system_found *)0)->name)];
	char state;
	pid_t parent;
};

/* "PID (NAME) STATE PARENT ..."; the name may hold anything. */
static bool stat_parse(struct stat_line *s, const char *text)
{
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	int64_t parent;

	if (!name || !end || end < name || end[1] != ' ' || !end[2] || end[3] != ' ' ||
	    !text_number(end + 4, &parent) || parent > INT_MAX)
		return false;
	snprintf(s->name, sizeof(s->name), "%.*s", (int)(end - name - 1), name + 1);
	s->state = end[2];
	s->parent = (pid_t)parent;
	return true;
}

static bool stat_is_alive(const struct stat_line *s)
{
	return s->state != 'Z' && s->state != 'X';
}

static const struct system_process *watched(const struct system_files *f, uint32_t id)
{
	for (size_t i = 0; i < f->process_count; i++) {
		if (f->processes[i].id == id)
			return &f->processes[i];
	}
	return NULL;
}

static bool is_watched(const struct system_files *f, pid_t pid)
{
	for (size_t i = 0; i < f->process_count; i++) {
		if (f->processes[i].pid == pid)
			return true;
	}
	return false;
}

/* --- the life of one that was found --- */

static void tell(struct system_tree *t, struct tree_process *p, enum tree_state state)
{
	/* Points whose process nobody knows are no use. */
	p->state = system_founds_put(&t->told, &p->found) ? state : TREE_FORGOTTEN;
}

static bool is_worth_telling(const struct system_tree *t, const struct tree_process *p)
{
	return p->sights >= SIGHTS || p->found.pid == t->workload;
}

static void end(struct system_tree *t, struct system_files *f, struct tree_process *p)
{
	p->found.end_ns = (int64_t)stamp_monotonic() - f->origin_ns;
	if (p->state == TREE_SURE || is_worth_telling(t, p))
		tell(t, p, TREE_OVER);
	else
		p->state = TREE_FORGOTTEN;
	system_files_remove(f, p->found.id);
}

static bool is_here(const struct tree_process *p)
{
	return p->state == TREE_PROBATION || p->state == TREE_SURE;
}

static struct tree_process *find(struct system_tree *t, pid_t pid)
{
	for (size_t i = 0; i < t->count; i++) {
		if (t->processes[i].found.pid == pid && is_here(&t->processes[i]))
			return &t->processes[i];
	}
	return NULL;
}

void system_tree_joined(struct system_tree *t, struct system_files *f, pid_t pid)
{
	struct tree_process *p = find(t, pid);

	if (!p)
		return;
	if (p->state == TREE_SURE) { /* it was another program until now */
		end(t, f, p);
		return;
	}
	p->state = TREE_FORGOTTEN;
	system_files_remove(f, p->found.id);
}

void system_tree_ended(struct system_tree *t, struct system_files *f, pid_t pid,
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
static bool check(struct system_tree *t, struct system_files *f, struct tree_process *p,
		  struct stat_line *s, struct system_points *out)
{
	const struct system_process *in_files = watched(f, p->found.id);
	char text[STAT_BYTES];

	if (in_files && read_at(in_files->folder, "stat", text, sizeof(text)) > 0 &&
	    stat_parse(s, text)) {
		struct look l = { out, (int64_t)stamp_monotonic() - f->origin_ns, p->found.id, 0 };

		if (stat_is_alive(s))
			return true;
		source_parse(&source_stat, &l, text);
	}
	end(t, f, p);
	return false;
}

/* Its program may have changed, and with it the name. */
static void look_again(struct system_tree *t, struct system_files *f, struct tree_process *p,
		       int64_t now_ns, struct system_points *out)
{
	struct stat_line s;

	if (!check(t, f, p, &s, out))
		return;
	memcpy(p->found.name, s.name, sizeof(s.name));
	p->sights++;
	if (p->state == TREE_PROBATION &&
	    now_ns - f->origin_ns - p->found.start_ns >= SYSTEM_TREE_PROBATION_NS)
		tell(t, p, TREE_SURE);
}

void system_tree_finish(struct system_tree *t, struct system_files *f, struct system_points *out)
{
	for (size_t i = 0; i < t->count; i++) {
		struct tree_process *p = &t->processes[i];
		struct stat_line s;

		if (!is_here(p) || !check(t, f, p, &s, out) || p->state == TREE_SURE)
			continue;
		/* Passes may have been far apart. */
		if ((int64_t)stamp_monotonic() - f->origin_ns - p->found.start_ns >=
		    SYSTEM_TREE_PERIOD_NS)
			p->sights++;
		if (is_worth_telling(t, p))
			tell(t, p, TREE_SURE);
		else
			p->state = TREE_FORGOTTEN;
	}
}

/* --- finding them --- */

struct search {
	struct system_tree *tree;
	struct system_files *files;
	uint32_t beyond;
};

/* parent 0: any. */
static void take_in(struct search *s, pid_t pid, pid_t parent)
{
	struct system_tree *t = s->tree;
	const struct system_process *in_files;
	uint32_t id = SYSTEM_TREE_FIRST_ID + t->ids;
	struct stat_line stat;
	char text[STAT_BYTES];
	struct tree_process *p;

	if (pid <= 0 || pid == getpid() || is_watched(s->files, pid))
		return;
	if (t->count == SYSTEM_TREE_MAX) {
		s->beyond++;
		return;
	}
	system_files_add_found(s->files, id, pid);
	in_files = watched(s->files, id);
	if (!in_files)
		return;
	/* Between the list and now it may have ended, and its number become another's. */
	if (read_at(in_files->folder, "stat", text, sizeof(text)) <= 0 ||
	    !stat_parse(&stat, text) || !stat_is_alive(&stat) ||
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

/* "PID PID ": a process of a great many children has some of them left out. */
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

/* All processes there are, by their parents.  Children's children are found the next time. */
static void take_by_parents(struct search *s)
{
	char path[PATH_MAX], text[STAT_BYTES];
	struct dirent *e;
	DIR *all;

	snprintf(path, sizeof(path), "%s/proc", s->files->root);
	all = opendir(path);
	while (all && (e = readdir(all))) {
		char file[NAME_MAX + 8];
		struct stat_line stat;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(file, sizeof(file), "%s/stat", e->d_name);
		if (read_at(dirfd(all), file, text, sizeof(text)) > 0 && stat_parse(&stat, text) &&
		    is_watched(s->files, stat.parent))
			take_in(s, (pid_t)strtol(e->d_name, NULL, 10), stat.parent);
	}
	if (all)
		closedir(all);
}

static void search(struct system_tree *t, struct system_files *f)
{
	struct search s = { t, f, 0 };

	take_in(&s, t->workload, 0);
	/* Those that are found on the way are in the list as well. */
	for (size_t i = 0; !t->without_lists && i < f->process_count; i++)
		t->without_lists = !take_children(&s, f->processes[i]);
	if (t->without_lists)
		take_by_parents(&s);
	if (s.beyond > t->beyond)
		t->beyond = s.beyond;
}

static int64_t own_cpu_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int64_t system_tree_look(struct system_tree *t, struct system_files *f, double stretch,
			 struct system_points *out)
{
	int64_t began_ns = (int64_t)stamp_monotonic(), used_ns;

	if (began_ns < t->due_ns)
		return t->due_ns;
	used_ns = own_cpu_ns();
	for (size_t i = 0; i < t->count; i++) {
		if (is_here(&t->processes[i]))
			look_again(t, f, &t->processes[i], began_ns, out);
	}
	search(t, f);
	used_ns = own_cpu_ns() - used_ns;
	t->due_ns = system_files_due((int64_t)stamp_monotonic(), SYSTEM_TREE_PERIOD_NS, stretch,
				     used_ns, MOST_OF_TIME);
	return t->due_ns;
}

/* --- points --- */

static enum tree_state state_of(const struct system_tree *t, uint32_t id)
{
	if (id < SYSTEM_TREE_FIRST_ID)
		return TREE_SURE;
	for (size_t i = 0; i < t->count; i++) {
		if (t->processes[i].found.id == id)
			return t->processes[i].state;
	}
	return TREE_FORGOTTEN;
}

void system_tree_release_points(struct system_tree *t, struct system_points *from,
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
