/*
 * Where libcupti is searched: by the agent, which loads it, and by doctor, which checks whether
 * the agent would find it.  Newest first.
 */
#ifndef FORMAT_CUPTI_NAMES_H
#define FORMAT_CUPTI_NAMES_H

#define CUPTI_ENV "INFERSCOPE_CUPTI" /* names one to use instead */

static const char *const cupti_names[] = {
	"libcupti.so.13",
	"libcupti.so.12",
	"libcupti.so.11.8",
	"libcupti.so",
	"/usr/local/cuda/extras/CUPTI/lib64/libcupti.so",
	"/usr/local/cuda/lib64/libcupti.so",
};

#define CUPTI_NAMES (sizeof(cupti_names) / sizeof(cupti_names[0]))

#endif
