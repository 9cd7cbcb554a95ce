/*
 * The processes that no agent has joined: descendants of those that are watched, and the workload
 * itself where it is a native program.  They are found by a reading of /proc now and then, and are
 * watched less often than the others.
 *
 * Most children are not for us: they are gone at once, or an agent joins them a moment later.  One
 * that is found is therefore on probation: its points are held back until it has been there for a
 * while, and forgotten if it turns out to be one of those.  One thread.
 */
#ifndef CAPTURE_SYSTEM_PROCESS_TREE_H
#define CAPTURE_SYSTEM_PROCESS_TREE_H

#include "capture/system/new_processes.h"
#include "capture/system/system_files.h"

#define PROCESS_TREE_MAX 64u              /* at a time */
#define PROCESS_TREE_FIRST_ID 0x80000000u /* recorded processes count from 1 */
#define PROCESS_TREE_PERIOD_NS 250000000
#define PROCESS_TREE_PROBATION_NS 2000000000

/* What is reported of a process: once it is certain, and again when it has ended. */
struct system_found {
	uint32_t id;
	pid_t pid, parent;
	int64_t start_ns; /* when it was first seen */
	int64_t end_ns;   /* -1: it lives */
	char name[64];    /* as the kernel has it */
	bool brief; /* it ended in probation: an agent may have joined it, which is told later */
};

struct system_founds {
	struct system_found *items;
	size_t count, cap;
};

bool system_founds_put(struct system_founds *all,
		       const struct system_found *f); /* no memory: false */
void system_founds_release(struct system_founds *all);

enum tree_state { TREE_PROBATION, TREE_SURE, TREE_OVER, TREE_FORGOTTEN };

struct tree_process {
	struct system_found found;
	enum tree_state state;
	unsigned sights;
};

struct process_tree {
	pid_t workload; /* 0: none, or it has ended */
	struct tree_process processes[PROCESS_TREE_MAX];
	size_t count;
	uint32_t ids;       /* given so far */
	uint32_t beyond;    /* that there was no room for, at the worst time */
	bool without_lists; /* this kernel does not list the children of a thread */
	bool by_parents;    /* they are found by their parents, not by lists of children */
	int64_t took_ns[2]; /* a reading of either kind; 0: not known */
	struct new_processes new_processes;
	int64_t due_ns;
	struct system_founds reported; /* the caller takes them out */
};

/*
 * Searches for processes if that is due, all periods `stretch` times as long; returns when it is
 * next, on CLOCK_MONOTONIC.
 */
int64_t process_tree_poll(struct process_tree *t, struct system_files *f, double slowdown,
			  struct system_points *out);

/* An agent has joined the process: from here on it is a recorded one. */
void process_tree_joined(struct process_tree *t, struct system_files *f, pid_t pid);

/* It has ended; the points, whose process is not set, are what it used in all. */
void process_tree_ended(struct process_tree *t, struct system_files *f, pid_t pid,
			const struct series_point *last, size_t count, struct system_points *out);

/* No more readings: what is still on probation is sure, or forgotten. */
void process_tree_finish(struct process_tree *t, struct system_files *f, struct system_points *out);

/* Moves the points from one list to the other, but for those that are held back or forgotten. */
void process_tree_release_points(struct process_tree *t, struct system_points *from,
				 struct system_points *to);

void process_tree_release(struct process_tree *t);

#endif
