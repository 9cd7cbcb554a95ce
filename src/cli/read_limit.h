/*
 * --max-memory: the memory for reading a trace.  The kernel enforces it (RLIMIT_DATA, around the
 * reading only), so every allocation counts and the first one beyond it fails, instead of the
 * machine running out of memory.  Callers then try again with a part of the trace
 * (trace_open_part()).
 */
#ifndef CLI_READ_LIMIT_H
#define CLI_READ_LIMIT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

#include "base/err.h"
#include "cli/config.h"

struct read_limit {
	uint64_t bytes; /* 0: none */
	struct rlimit before;
	bool set;
};

/* The setting, or half of the machine's or container's memory.  Of what is allocated from here on.
 */
void read_limit_begin(struct read_limit *m, const struct config *c);
void read_limit_end(struct read_limit *m);

/*
 * For a loop: *part, at first UINT64_MAX, becomes the number of bytes of the trace file to try
 * next. False: `err` is not about memory, or what is left is too little; then it says what to do.
 */
bool read_limit_retry(const struct read_limit *m, const char *trace_path, uint64_t *part,
		      struct err *err);

#endif
