/*
 * What a source of figures about memory, kernel and devices is: a file of the kernel that is read
 * now and then, and how points are made of its text.  The text is the kernel's, but it may be
 * cut or of a later version: what is not understood is left out.
 */
#ifndef CAPTURE_SYSTEM_SOURCE_H
#define CAPTURE_SYSTEM_SOURCE_H

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

/* A look at a source: at what, when, and where to put what is found. */
struct look {
	struct system_points *points;
	int64_t time_ns;
	uint32_t process;  /* 0: the machine */
	uint32_t instance; /* see struct series_point */
};

void look_put(struct look *l, enum series_kind kind, int64_t value);
void look_put_instance(struct look *l, enum series_kind kind, uint32_t instance, int64_t value);

/* What a line "key value" or "key: value kB" says. */
struct keyed_line {
	const char *key; /* NULL: the end of the table */
	enum series_kind kind;
	int64_t scale;
};

#define KILOBYTES 1024

struct system_source {
	const char *name; /* what is missing is told by it */
	const char *file; /* in the folder of a process or a group; else the whole path */
	int64_t period_ns;
	/*
	 * The kernel holds a lock of the program meanwhile: it is read for this share of the time
	 * at most.  0: nobody has to wait.
	 */
	double most_of_time;
	bool in_pieces; /* the kernel does not give it at once: to be read up to its end */
	const struct keyed_line *lines;
	/* NULL: all there is to it are the lines. */
	void (*parse)(const struct system_source *s, struct look *l, const char *text);
};

/* Makes points of the text, which ends with a NUL. */
void source_parse(const struct system_source *s, struct look *l, const char *text);

/* The number at the beginning of the text, behind blanks; false: none, or it is too large. */
bool text_number(const char *text, int64_t *value);

/* Tables end with NULL. */
extern const struct system_source *const process_sources[]; /* files in /proc/PID */
extern const struct system_source *const machine_sources[];
/* Of a process, where there are several nodes; and of each of them. */
extern const struct system_source source_numa, source_numastat;
/* In process_sources as well: these can be read until the process has been waited for. */
extern const struct system_source source_stat, source_io;

#endif
