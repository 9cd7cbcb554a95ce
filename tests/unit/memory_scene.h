/* Traces of memory whose truth is known, told in a few calls. */
#ifndef TESTS_MEMORY_SCENE_H
#define TESTS_MEMORY_SCENE_H

#include <math.h>

#include "story_analysis.h"

#define MS ((int64_t)1000000)
#define MB ((int64_t)1000000)
#define STEP_NS (100 * MS)

struct scene {
	struct buf text;
	struct story_analysis reported;
	int64_t wall_ns;
};

static inline void begin(struct scene *s, int64_t wall_ns)
{
	buf_init(&s->text);
	s->wall_ns = wall_ns;
	buf_printf(&s->text,
		   "process 1 100 app.py 0 %" PRId64 "\nthread 1 1 100 MainThread 0 %" PRId64
		   " 0\n",
		   wall_ns, wall_ns);
}

/* Steps of a length, one every `every_ns`. */
static inline void steps(struct scene *s, size_t n, int64_t start_ns, int64_t every_ns,
			 int64_t length_ns)
{
	buf_add_str(&s->text, "1:");
	for (size_t i = 0; i < n; i++) {
		int64_t at = start_ns + (int64_t)i * every_ns;

		buf_printf(&s->text, " [step#%zu/0@%" PRId64 " ]#%zu@%" PRId64, i + 1, at, i + 1,
			   at + length_ns);
	}
	buf_add_byte(&s->text, '\n');
}

/* A look every `every_ns`: the value at each time is told by `at`. */
static inline void samples(struct scene *s, const char *name, int64_t from_ns, int64_t to_ns,
			   int64_t every_ns, int64_t (*at)(int64_t))
{
	buf_printf(&s->text, "series 1 %s", name);
	for (int64_t t = from_ns; t <= to_ns; t += every_ns)
		buf_printf(&s->text, " %" PRId64 "@%" PRId64, at(t), t);
	buf_add_byte(&s->text, '\n');
}

static inline const struct analysis *analysed(struct scene *s)
{
	buf_printf(&s->text, "end %" PRId64 " 0\n", s->wall_ns);
	return analyze_story(&s->reported, buf_string(&s->text));
}

static inline void end(struct scene *s)
{
	forget(&s->reported);
	buf_release(&s->text);
}

static inline bool warnings(const struct analysis *a, enum memory_concern what)
{
	for (size_t i = 0; i < a->memory.warning_count; i++) {
		if (a->memory.warnings[i].what == what)
			return true;
	}
	return false;
}

static inline void assert_near(double value, double truth, double share)
{
	if (fabs(value - truth) > share * fabs(truth))
		fail_msg("%g is not within %g of %g", value, share, truth);
}

#endif
