/* What is measured in each step. */
#ifndef ANALYZE_STEP_SOURCES_H
#define ANALYZE_STEP_SOURCES_H

#include "analyze/async_naps.h"
#include "analyze/gpu_steps.h"
#include "analyze/memory_steps.h"

struct step_sources {
	const struct gpu_steps *gpu;
	const struct memory_sources *memory;
	const struct async_naps *naps; /* before steps that are found */
};

#endif
