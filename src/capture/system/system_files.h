/*
 * The files that are read now and then (system_source.h), of the machine and of the processes that
 * are watched, each with its own period.  Files that the kernel generates at each reading stay
 * open.  One thread.
 */
#ifndef CAPTURE_SYSTEM_SYSTEM_FILES_H
#define CAPTURE_SYSTEM_SYSTEM_FILES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "capture/system/nvml.h"
#include "capture/system/system_source.h"

#define SYSTEM_MISSING_MAX 16u

struct system_file {
	const struct system_source *source;
	int fd;     /* -1: it is opened for each reading */
	int folder; /* of its process; -1: the file is the machine's */
	uint32_t process, instance;
	bool found; /* of a process that was found: see system_files_add_found() */
	int64_t due_ns;
};

struct system_process {
	uint32_t id;
	pid_t pid;
	bool found;
	int folder;
};

struct system_files {
	const char *root;
	int64_t origin_ns;
	struct system_file *files;
	size_t count, cap;
	struct system_process *processes;
	size_t process_count, process_cap;
	bool nodes; /* there are several */
	struct cpu_nodes cpus;
	uint32_t unwatched;
	struct nvml nvml;
	int64_t gpu_due_ns;
	struct buf text; /* of the file that is read */
	struct {
		const char *name;
		char text[256]; /* "NAME: why" */
	} missing[SYSTEM_MISSING_MAX];
	size_t missing_count;
};

void system_files_init(struct system_files *f, const char *root, int64_t origin_ns);
void system_files_release(struct system_files *f);

/* Those of the machine.  Absent ones are listed in `missing`. */
void system_files_open(struct system_files *f);

void system_files_add(struct system_files *f, uint32_t process, pid_t pid);

/*
 * One that no agent has joined: it is read a tenth as often, so that it takes nothing from
 * the others, and what cannot be read of it is not missing.
 */
void system_files_add_found(struct system_files *f, uint32_t process, pid_t pid);
void system_files_remove(struct system_files *f, uint32_t process);

/* From here on devices are read, for the first time right now.  May be called again. */
void system_files_use_gpu(struct system_files *f, struct system_points *out);

/*
 * Reads what is due, all periods `stretch` times as long; returns when the next one is, on
 * CLOCK_MONOTONIC.
 */
int64_t system_files_poll(struct system_files *f, double slowdown, struct system_points *out);
void system_files_read_all(struct system_files *f, struct system_points *out);

/*
 * When something is to be read again, on a grid, so that one waking serves all that have the
 * same period.  took_ns: how long it took; see struct system_source for most_of_time.
 */
int64_t system_files_due(int64_t now_ns, int64_t period_ns, double slowdown, int64_t took_ns,
			 double most_of_time);

/* The totals of a process that has ended and was not waited for; nothing of any other. */
void system_files_read_last(const char *root, pid_t pid, struct reading *l);

#endif
