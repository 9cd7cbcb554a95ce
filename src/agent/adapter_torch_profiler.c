/*
 * CUPTI serves one tool at a time.  When the program starts torch.profiler, we let go of
 * CUPTI before PyTorch asks for it, and take it back afterwards.
 */
#include "agent/adapter.h"
#include "agent/gpu_recording.h"

static void profiler_begins(struct ring *r)
{
	(void)r;
	gpu_pause(GPU_PAUSE_TOOL,
		  "the program uses torch.profiler: the GPU is not recorded meanwhile");
}

static void profiler_has_ended(struct ring *r)
{
	(void)r;
	gpu_resume(GPU_PAUSE_TOOL);
}

static const struct adapter_function functions[] = {
	{ .file = "torch/autograd/profiler.py",
	  .name = "profile._prepare_trace",
	  .begins = profiler_begins },
	{ .file = "torch/autograd/profiler.py",
	  .name = "profile.__exit__",
	  .ends = profiler_has_ended },
};

const struct adapter adapter_torch_profiler = {
	.functions = functions,
	.count = sizeof(functions) / sizeof(functions[0]),
};
