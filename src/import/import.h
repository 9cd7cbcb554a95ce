/*
 * Opens any trace that can be read, detected by its content and not by its name: our own file
 * directly, a trace of another tool after conversion.  Either may be compressed with gzip or zstd.
 *
 * The result is in an unlinked temporary file, or in memory if no folder accepts one.  An imported
 * trace has the facts (trace_info()) "import.format" and, if known, "import.tool" and
 * "import.rank"; events without a counterpart are counted in notes.
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
