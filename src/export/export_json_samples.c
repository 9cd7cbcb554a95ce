/*
 * Functions by samples, where the trace does not have their calls: what was left out
 * of it or happened while it paused, so that what takes long is on the timeline.
 * Each has the error of its times; what is shorter than a few looks is not told.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bisect.h"
#include "export/export_json.h"
#include "timeline/sample_spans.h"

#define LOOKS_MIN 2

void export_traced_release(struct export_traced *k)
{
	free(k->functions);
	free(k->pauses);
	memset(k, 0, sizeof(*k));
}

static struct traced_function *traced_of(struct export_traced *k, uint32_t function)
{
	size_t old = k->function_cap;
	struct traced_function *grown;

	if (function >= old) {
		grown = array_grow(k->functions, &k->function_cap, (size_t)function + 1,
				   sizeof(*grown));
		if (!grown) {
			k->failed = true;
			return NULL;
		}
		memset(grown + old, 0, (k->function_cap - old) * sizeof(*grown));
		k->functions = grown;
	}
	return &k->functions[function];
}

static void see_function(void *ctx, const struct span *s)
{
	struct traced_function *f = traced_of(ctx, s->function);

	if (!f)
		return;
	f->traced = true;
	if (s->end_ns > f->last_ns)
		f->last_ns = s->end_ns;
}

static void see_left_out(void *ctx, const struct left_out *l)
{
	struct traced_function *f = l->function == UINT32_MAX ? NULL : traced_of(ctx, l->function);

	if (f)
		f->left_out = true;
}

static void see_pause(void *ctx, const struct pause *p)
{
	struct export_traced *k = ctx;
	struct pause *grown =
		array_grow(k->pauses, &k->pause_cap, k->pause_count + 1, sizeof(*grown));

	if (!grown) {
		k->failed = true;
		return;
	}
	k->pauses = grown;
	grown[k->pause_count++] = *p;
}

struct timeline_visitor export_traced_visitor(struct export_traced *k)
{
	return (struct timeline_visitor){
		.ctx = k,
		.function = see_function,
		.left_out = see_left_out,
		.pause = see_pause,
	};
}

static bool is_before(const struct pause *p, const struct sampled_span *s)
{
	return p->thread < s->thread || (p->thread == s->thread && p->end_ns <= s->start_ns);
}

/* They come thread by thread, in order of time. */
static bool in_a_pause(const struct export_traced *k, const struct sampled_span *s)
{
	size_t at = 0;

	BISECT(at, k->pause_count, is_before(&k->pauses[at], s));
	return at < k->pause_count && k->pauses[at].thread == s->thread &&
	       k->pauses[at].start_ns < s->end_ns;
}

/* Is it in the trace, exactly? */
static bool is_traced(const struct export_traced *k, const struct sampled_span *s)
{
	const struct traced_function *f =
		s->function < k->function_cap ? &k->functions[s->function] : NULL;

	if (!f || !f->traced || in_a_pause(k, s))
		return false;
	return !f->left_out || s->start_ns < f->last_ns;
}

static void write_span(void *ctx, const struct sampled_span *s)
{
	struct exported *x = ctx;
	const struct function *f = timeline_function(x->examined, s->function);
	struct json *j = &x->json;

	if (s->looks < LOOKS_MIN || is_traced(&x->traced, s))
		return;
	export_event_begin(x, "cpu_function", f->name);
	key_string(j, "file", f->file);
	key_uint(j, "line", f->line);
	key_us(j, "start_us", s->start_ns);
	key_us(j, "end_us", s->end_ns);
	key_us(j, "self_us", s->self_ns);
	key_uint(j, "depth", s->depth);
	export_event_thread(x, s->thread);
	key_true(j, "sampled");
	key_uint(j, "samples", s->looks);
	key_us(j, "error_us", s->error_ns);
	export_event_end(x);
}

int export_json_samples(struct exported *x, struct err *err)
{
	if (x->traced.failed)
		return err_set(err, "out of memory");
	return sample_spans_walk(x->trace, x->examined, write_span, x, err);
}
