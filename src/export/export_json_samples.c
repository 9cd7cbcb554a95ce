/* Functions by samples, where the trace does not have their calls: timeline/sampled_spans.h. */
#include "export/export_json.h"
#include "timeline/sampled_spans.h"

static void write_span(void *ctx, const struct sampled_span *s)
{
	struct exported *x = ctx;
	const struct place *f = timeline_function(x->examined, s->function);
	struct json *j = &x->json;

	export_event_begin(x, "cpu_function", f->name);
	key_string(j, "file", f->file);
	key_uint(j, "line", f->line);
	key_us(j, "start_us", s->start_ns);
	key_us(j, "end_us", s->end_ns);
	key_us(j, "self_us", s->self_ns);
	key_uint(j, "depth", s->depth);
	export_event_thread(x, s->thread);
	key_true(j, "sampled");
	key_uint(j, "samples", s->samples);
	key_us(j, "error_us", s->error_ns);
	export_event_end(x);
}

int export_json_samples(struct exported *x, struct err *err)
{
	struct sampled_spans *spans;
	int rc;

	if (sampled_spans_new(&spans, x->trace, x->examined, &x->traced, write_span, x, err))
		return -1;
	do
		rc = sampled_spans_next(spans, err);
	while (rc > 0);
	sampled_spans_free(spans);
	return rc;
}
