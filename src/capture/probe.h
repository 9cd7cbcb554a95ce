/*
 * What this machine lets us record: small questions, each answered without
 * disturbing anything.  For `inferscope doctor`.
 */
#ifndef CAPTURE_PROBE_H
#define CAPTURE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

enum probe_level {
	PROBE_OK,
	PROBE_ABSENT, /* not there, and nothing is wrong with that */
	PROBE_PROBLEM,
};

struct probe_result {
	enum probe_level level;
	char found[256]; /* what is there */
	char fix[256];   /* what to do; "" where nothing is wrong */
};

struct probe {
	const char *name; /* "GPU driver" */
	void (*run)(struct probe_result *out);
};

extern const struct probe probes[]; /* ends with a NULL name */

#endif
