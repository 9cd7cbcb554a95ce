#include "capture/sampler/sampler_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define RUN_MAX_NS 500000000       /* equal samples are handed over at least this often */
#define RUN_SAMPLES_MAX (1u << 18) /* that wait for the main thread; it comes every 10 ms */

static void hand_over(struct sample_run *r, struct sampler_taken *out, uint64_t *dropped)
{
	struct sampler_sample *grown =
		array_grow(out->samples, &out->sample_cap, out->sample_count + 1, sizeof(*grown));

	if (grown) {
		out->samples = grown;
		grown[out->sample_count++] =
			(struct sampler_sample){ r->process, r->tid, r->run, r->lines };
		r->reported = true;
	} else {
		*dropped += r->run.count;
	}
	r->run.count = 0;
	r->lines = 0;
}

void sample_run_add(struct sample_run *r, struct sampler_taken *out, const struct sample *sample,
		    size_t lines, uint64_t *dropped)
{
	struct sample *run = &r->run;

	if (run->count &&
	    (run->stack != sample->stack || run->flags != sample->flags ||
	     run->lock != sample->lock || sample->first_ns - run->first_ns >= RUN_MAX_NS))
		hand_over(r, out, dropped);
	if (!run->count)
		*run = *sample;
	run->count++;
	r->lines += lines;
	run->last_ns = sample->first_ns;
}

void sample_run_end(struct sample_run *r, struct sampler_taken *out, int64_t now_ns,
		    uint64_t *dropped)
{
	if (r->run.count)
		hand_over(r, out, dropped);
	if (!r->reported)
		return;
	r->run = (struct sample){ .first_ns = now_ns, .last_ns = now_ns };
	hand_over(r, out, dropped);
}

void sampler_taken_append(struct sampler_taken *to, struct sampler_taken *from, uint64_t *dropped)
{
	struct sampler_sample *grown = NULL;

	buf_add(&to->defs, from->defs.data, from->defs.len);
	if (to->sample_count + from->sample_count <= RUN_SAMPLES_MAX)
		grown = array_grow(to->samples, &to->sample_cap,
				   to->sample_count + from->sample_count, sizeof(*grown));
	if (grown) {
		to->samples = grown;
		if (from->sample_count) /* else there may be none to point to */
			memcpy(grown + to->sample_count, from->samples,
			       from->sample_count * sizeof(*from->samples));
		to->sample_count += from->sample_count;
	} else {
		for (size_t i = 0; i < from->sample_count; i++)
			*dropped += from->samples[i].sample.count;
	}
	buf_clear(&from->defs);
	from->sample_count = 0;
}

void sampler_taken_release(struct sampler_taken *t)
{
	buf_release(&t->defs);
	free(t->samples);
	memset(t, 0, sizeof(*t));
}

bool wait_place_same(struct wait_place *w, uint64_t place, const struct sample *latest,
		     enum sample_state state, uint64_t lock)
{
	bool same = place && place == w->place && latest->count && sample_state(latest) == state &&
		    latest->lock == lock;

	if (!same)
		w->place = 0;
	return same;
}

void wait_place_set(struct wait_place *w, uint64_t place, const struct py_frame *top,
		    const struct py_stack *stack)
{
	w->place = py_stack_is_at(stack, top) ? place : 0;
}
