/*
 * A program of which only samples are known, told look by look, for tests; after story_analysis.h.
 *
 * Times are milliseconds here, and there is one look in each.
 */
#ifndef TESTS_LOOKS_KIT_H
#define TESTS_LOOKS_KIT_H

#include "base/buf.h"

/* Flags of a look: enum sample_state. */
#define RUNS "1"
#define WAITS_FOR_GIL "2"
#define WAITS_FOR_IO "4"

enum { IMPORTS = 1, CALLS_MODEL, GATHERS, COMPILES, SETS_UP, FORWARDS };

#define SAMPLED                                                                    \
	"info sampler.hz 1000\n"                                                   \
	"code _find_and_load <frozen importlib._bootstrap> 3\n"                    \
	"code Module._call_impl /v/site-packages/torch/nn/modules/module.py 178\n" \
	"code Linear.forward /v/site-packages/torch/nn/modules/linear.py 13\n"     \
	"code _compile /v/site-packages/torch/_dynamo/convert_frame.py 70\n"       \
	"code main app.py 10\ncode gather app.py 40\ncode Net.forward app.py 60\n" \
	"stack 1 _find_and_load:4 main:11\n"                                       \
	"stack 2 Linear.forward:14 Module._call_impl:179 main:20\n"                \
	"stack 3 gather:41 main:21\n"                                              \
	"stack 4 _compile:71 Module._call_impl:179 main:20\n"                      \
	"stack 5 main:15\n"                                                        \
	"stack 6 Net.forward:61 Module._call_impl:179 main:20\n"

static inline void see_thread(struct buf *story, int thread, int stack, int from_ms, int to_ms,
			      const char *flags)
{
	buf_printf(story, "look %d %d %d500000 %d500000 %d %s\n", thread, stack, from_ms, to_ms - 1,
		   to_ms - from_ms, flags);
}

static inline void see(struct buf *story, int stack, int from_ms, int to_ms, const char *flags)
{
	see_thread(story, 1, stack, from_ms, to_ms, flags);
}

/* Steps of 20 ms: something for 15, the model for 5. */
static inline void see_loop(struct buf *story, int stack, const char *flags, int from_ms, int to_ms)
{
	for (int at = from_ms; at < to_ms; at += 20) {
		see(story, stack, at, at + 15, flags);
		see(story, CALLS_MODEL, at + 15, at + 20, RUNS);
	}
}

#endif
