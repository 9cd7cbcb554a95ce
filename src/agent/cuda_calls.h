/* Which CUDA calls are recorded, and what they do. */
#ifndef AGENT_CUDA_CALLS_H
#define AGENT_CUDA_CALLS_H

#include <stdint.h>

#include "format/record.h"

#define CUDA_CALL_IDS 1024u /* all callback ids in the table are below */

struct cuda_call_row {
	int domain; /* enum cupti_domain */
	uint32_t id;
	enum cuda_call what;
	const char *name; /* as in CUPTI's headers; NULL ends the table */
};

#define CUDA_CALL_ROWS_MAX 512u

extern const struct cuda_call_row cuda_call_rows[];

void cuda_calls_init(void);

/* NULL: not of interest. */
const struct cuda_call_row *cuda_call_find(int domain, uint32_t id);

#endif
