/*
 * Which frameworks a workload runs, and in which versions: seen from outside.  A function's file
 * lies in the folder of its package, and beside that lies what the installer wrote of it
 * ("torch-2.11.0.dist-info").  Nothing is asked of the workload, nothing imported.
 *
 * Files' names are the workload's word: they lead to a folder that is listed, no more.  One thread.
 */
#ifndef CAPTURE_FRAMEWORKS_H
#define CAPTURE_FRAMEWORKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "format/trace_writer.h"

#define FRAMEWORKS_MAX 48u    /* more than the list has */
#define FRAMEWORK_VERSION 64u /* bytes; longer ones are none */

struct frameworks {
	char *folders[FRAMEWORKS_MAX]; /* by the list's order: that the package lies in; or NULL */
};

void frameworks_release(struct frameworks *f); /* zeroed is fine */

/* Looks at a definition (format/record.h) on its way to the trace; where memory is short, not. */
void frameworks_note(struct frameworks *f, uint8_t kind, const void *payload, size_t bytes);

/* Writes a fact for each: "framework", "torch 2.11.0"; without the version where none is found. */
int frameworks_write(const struct frameworks *f, struct trace_writer *w, struct err *err);

#endif
