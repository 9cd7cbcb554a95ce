/* Steps of a story, as text; for the tests of how steps are found and chosen.  Times are in ns. */
#ifndef TESTS_STEPS_KIT_H
#define TESTS_STEPS_KIT_H

#include <cmocka.h>

#include "report/report.h"
#include "story_analysis.h"

#define HEAD                                                              \
	"process 1 100 app.py 0 10000\n"                                  \
	"thread 1 1 100 MainThread 0 10000 0\n"                           \
	"thread 2 1 101 pool 0 10000 0\n"                                 \
	"code <module> /srv/app.py 1\n"                                   \
	"code main /srv/app.py 10\n"                                      \
	"code infer /srv/app.py 20\n"                                     \
	"code run_forever /usr/lib/python3.12/asyncio/events.py 30\n"     \
	"code Module._call_impl /x/site-packages/torch/nn/module.py 40\n" \
	"code decorate /x/site-packages/torch/utils/contexts.py 50\n"     \
	"code wrap /x/site-packages/torch/utils/_contextlib.py 55\n"      \
	"code detect /x/site-packages/faces/detect.py 60\n"               \
	"layer 1 0 Net -\nlayer 2 0 Other -\nlayer 3 1 Linear fc\n"       \
	"layer 11 0 Softmax -\nlayer 12 0 Softmax -\nlayer 13 0 Softmax -\n"
#define END "end 10000 0\n"

/* Each step as "name source count total p50 depth". */
static void expect_steps(const char *story, const char *steps)
{
	static const char *const sources[] = {
		"scope", "nvtx", "loop", "module", "run", "request"
	};
	const struct analysis *a;
	struct story_analysis reported;
	struct buf b;

	buf_init(&b);
	a = analyze_story(&reported, story);
	for (size_t i = 0; i < a->step_count; i++)
		buf_printf(&b, "%s: %s %zu %" PRId64 " %" PRId64 " %u\n", a->steps[i].name,
			   sources[a->steps[i].source], a->steps[i].count, a->steps[i].total_ns,
			   a->steps[i].p50_ns, a->steps[i].depth);
	assert_string_equal(buf_string(&b), steps);
	buf_release(&b);
	forget(&reported);
}

#endif
