/*
 * Any trace that can be read, by its content and not by its name: our own file is opened as it
 * is, what another tool recorded is turned into one first.  Either may be packed with gzip or
 * zstd.
 *
 * The result lives in an unlinked temporary file, or in memory where no folder takes one.  What
 * was imported has the facts (trace_info()) "import.format" and, where they are known,
 * "import.tool", "import.rank"; what has no counterpart is counted in notes.
 */
#ifndef IMPORT_IMPORT_H
#define IMPORT_IMPORT_H

#include <stdint.h>

#include "base/err.h"
#include "format/trace.h"

/*
 * part: at most so many bytes of the file are read, as by trace_open_part(); UINT64_MAX: all.
 * trace_damage() tells what is missing of the result.
 */
int import_open(struct trace **out, const char *path, uint64_t part, struct err *err);

/* Of an imported trace: "Kineto JSON"; NULL of our own. */
const char *import_format(const struct trace *t);

#endif
