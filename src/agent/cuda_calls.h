/* Which CUDA calls are recorded, and what they do. */
#ifndef AGENT_CUDA_CALLS_H
#define AGENT_CUDA_CALLS_H

#include <stdatomic.h>
#include <stdint.h>

#include "format/record.h"

#define CUDA_CALL_IDS 1024u /* all callback ids in the table are below */

struct cuda_call_row {
	int domain; /* enum cupti_domain */
	uint32_t id;
	enum cuda_call what;
	const char *name; /* as in CUPTI's headers; NULL ends the table */
};

extern const struct cuda_call_row cuda_call_rows[];

/* All that most calls need, in one line of the cache. */
struct cuda_call_entry {
	const struct cuda_call_row *row; /* NULL: not of interest */
	enum cuda_call what;
	/* The recording (high half), and the id that the name has in it. */
	_Atomic uint64_t name;
};

void cuda_calls_init(void);

/* NULL: not of interest. */
struct cuda_call_entry *cuda_call_find(int domain, uint32_t id);

#endif
