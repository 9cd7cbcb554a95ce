#include "capture/sample_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define RUN_MAX_NS 500000000 /* equal looks are handed over at least this often */
#define LOOKS_MAX (1u << 18) /* that wait for the main thread; it comes every 10 ms */

static void hand_over(struct sample_run *r, struct sampler_taken *out, uint64_t *dropped)
{
	struct sampler_look *grown =
		array_grow(out->looks, &out->look_cap, out->look_count + 1, sizeof(*grown));

	if (grown) {
		out->looks = grown;
		grown[out->look_count++] =
			(struct sampler_look){ r->process, r->tid, r->run, r->lines };
		r->told = true;
	} else {
		*dropped += r->run.count;
	}
	r->run.count = 0;
	r->lines = 0;
}

void sample_run_add(struct sample_run *r, struct sampler_taken *out, const struct sample *look,
		    size_t lines, uint64_t *dropped)
{
	struct sample *run = &r->run;

	if (run->count && (run->stack != look->stack || run->flags != look->flags ||
			   run->lock != look->lock || look->first_ns - run->first_ns >= RUN_MAX_NS))
		hand_over(r, out, dropped);
	if (!run->count)
		*run = *look;
	run->count++;
	r->lines += lines;
	run->last_ns = look->first_ns;
}

void sample_run_end(struct sample_run *r, struct sampler_taken *out, int64_t now_ns,
		    uint64_t *dropped)
{
	if (r->run.count)
		hand_over(r, out, dropped);
	if (!r->told)
		return;
	r->run = (struct sample){ .first_ns = now_ns, .last_ns = now_ns };
	hand_over(r, out, dropped);
}

void sampler_taken_append(struct sampler_taken *to, struct sampler_taken *from, uint64_t *dropped)
{
	struct sampler_look *grown = NULL;

	buf_add(&to->defs, from->defs.data, from->defs.len);
	if (to->look_count + from->look_count <= LOOKS_MAX)
		grown = array_grow(to->looks, &to->look_cap, to->look_count + from->look_count,
				   sizeof(*grown));
	if (grown) {
		to->looks = grown;
		if (from->look_count) /* else there may be none to point to */
			memcpy(grown + to->look_count, from->looks,
			       from->look_count * sizeof(*from->looks));
		to->look_count += from->look_count;
	} else {
		for (size_t i = 0; i < from->look_count; i++)
			*dropped += from->looks[i].sample.count;
	}
	buf_clear(&from->defs);
	from->look_count = 0;
}

void sampler_taken_release(struct sampler_taken *t)
{
	buf_release(&t->defs);
	free(t->looks);
	memset(t, 0, sizeof(*t));
}
