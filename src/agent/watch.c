#include "agent/watch.h"

#include <string.h>

#include "agent/gpu_recording.h"
#include "format/record.h"

enum watch { WATCH_NOTHING, WATCH_PROFILER_BEGINS, WATCH_PROFILER_ENDS };

static const struct {
	const char *file; /* how it ends */
	const char *name;
	uint8_t watch; /* enum watch */
} watched[] = {
	{ "torch/autograd/profiler.py", "profile._prepare_trace", WATCH_PROFILER_BEGINS },
	{ "torch/autograd/profiler.py", "profile.__exit__", WATCH_PROFILER_ENDS },
};

static bool ends_with(const struct text *t, const char *end)
{
	size_t n = strlen(end);

	return t->bytes >= n && !memcmp(t->data + t->bytes - n, end, n);
}

uint8_t watch_of(const struct text *name, const struct text *file)
{
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++) {
		if (ends_with(file, watched[i].file) && name->bytes == strlen(watched[i].name) &&
		    ends_with(name, watched[i].name))
			return watched[i].watch;
	}
	return WATCH_NOTHING;
}

void watch_event(uint8_t watch, uint8_t kind)
{
	if (watch == WATCH_PROFILER_BEGINS && kind == RECORD_CALL)
		gpu_pause(GPU_PAUSE_TOOL,
			  "the program uses torch.profiler: the GPU is not recorded meanwhile");
	if (watch == WATCH_PROFILER_ENDS && (kind == RECORD_RETURN || kind == RECORD_UNWIND))
		gpu_resume(GPU_PAUSE_TOOL);
}
