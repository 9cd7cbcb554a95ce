/*
 * What a source of figures about memory, kernel and devices is: a file of the kernel that is read
 * now and then, and how points are made of its text.  The text is the kernel's, but it may be
 * cut or of a later version: what is not understood is omitted.
 */
#ifndef CAPTURE_SYSTEM_SYSTEM_SOURCE_H
#define CAPTURE_SYSTEM_SYSTEM_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/series.h"

struct system_points {
	struct series_point *items;
	size_t count, cap;
	uint64_t dropped; /* there was no memory for them */
};

void system_points_put(struct system_points *all, const struct series_point *p);
void system_points_release(struct system_points *all);

/* A reading of a source: at what, when, and where to put what is found. */
struct reading {
	struct system_points *points;
	int64_t time_ns;
	uint32_t process;  /* 0: the machine */
	uint32_t instance; /* see struct series_point */
};

void reading_put(struct reading *l, enum series_kind kind, int64_t value);
void reading_put_instance(struct reading *l, enum series_kind kind, uint32_t instance,
			  int64_t value);

/* What a line "key value" or "key: value kB" says. */
struct keyed_line {
	const char *key; /* NULL: the end of the table */
	enum series_kind kind;
	int64_t scale;
};

#define KILOBYTES 1024

struct system_source {
	const char *name; /* what is missing is given by it */
	const char *file; /* in the folder of a process or a group; else the whole path */
	int64_t period_ns;
	/*
	 * Reading holds a lock of the program in the kernel: it is read for this share of the
	 * time at most.  0: it holds none.
	 */
	double most_of_time;
	bool in_pieces; /* the kernel does not give it at once: to be read up to its end */
	const struct keyed_line *lines;
	/* NULL: all there is to it are the lines. */
	void (*parse)(const struct system_source *s, struct reading *l, const char *text);
};

/* Makes points of the text, which ends with a NUL. */
void source_parse(const struct system_source *s, struct reading *l, const char *text);

/* The number at the beginning of the text, behind blanks; false: none, or it is too large. */
bool text_number(const char *text, int64_t *value);

/* Tables end with NULL. */
extern const struct system_source *const process_sources[]; /* files in /proc/PID */
extern const struct system_source *const machine_sources[];
/* Of a process, where there are several nodes; and of each of them. */
extern const struct system_source source_numa, source_numastat;
/* In process_sources as well: these can be read until the process has been waited for. */
extern const struct system_source source_stat, source_io;

/*
 * Pressure stall information, of the machine and of control groups (docs.kernel.org, psi):
 *   some avg10=0.00 avg60=0.00 avg300=0.00 total=4955
 *   full avg10=0.00 avg60=0.00 avg300=0.00 total=524
 */

#define PSI_PERIOD_NS 50000000

/* The totals, in microseconds; the source's lines have the keys "some" and "full". */
void psi_parse(const struct system_source *s, struct reading *l, const char *text);

/*
 * The control group whose limits bind the workload: of ours and those above it the one that has
 * least memory left when the recording begins, and the one that may use the fewest CPUs.
 */

/* Calls `watch` for each file that the groups have; the path is the callee's to copy. */
void cgroup_sources_find(const char *root,
			 void (*watch)(void *ctx, const struct system_source *s, const char *path),
			 void *ctx);

/*
 * On which nodes the threads of a process ran last: /proc/PID/task/TID/stat says the CPU, the
 * node's cpulist whose that is.
 */

#define NUMA_CPUS_MAX 4096u
#define NUMA_NODES_MAX 64u

struct cpu_nodes {
	uint8_t node_of[NUMA_CPUS_MAX]; /* 1 + node; 0: unknown */
};

/* "0-3,8,10-11", as cpulist and online have it. */
void cpu_nodes_add(struct cpu_nodes *c, uint32_t node, const char *list);

/* folder: the process's in /proc, open.  Of a thread that vanishes nothing is said. */
void numa_threads_read(const struct cpu_nodes *c, int folder, struct reading *l);

#endif
