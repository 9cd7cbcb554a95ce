#include "timeline/sample_walk.h"

#include <stdlib.h>

/* The latest sample of a thread, which is told when the next one says where it ends. */
struct pending {
	struct sample sample; /* count 0: none */
	int64_t start_ns;
};

static void visit_sample(const struct sample_visitor *v, size_t thread, const struct pending *p,
			 int64_t end_ns)
{
	const struct timed_sample s = {
		.thread = thread,
		.sample = &p->sample,
		.start_ns = p->start_ns,
		.end_ns = end_ns > p->start_ns ? end_ns : p->start_ns,
	};

	v->sample(v->ctx, &s);
}

static void next(const struct sample_visitor *v, size_t thread, struct pending *p,
		 const struct sample *s)
{
	int64_t last_ns = p->sample.last_ns, gap_ns = s->first_ns - last_ns;
	int64_t start_ns = s->first_ns;

	if (p->sample.count) {
		if (gap_ns < 0) /* a file that does not keep to the order */
			gap_ns = 0;
		if (gap_ns > SAMPLE_GAP_NS)
			gap_ns = SAMPLE_GAP_NS;
		visit_sample(v, thread, p, last_ns + gap_ns / 2);
		start_ns = s->first_ns - gap_ns / 2;
	}
	p->sample = *s;
	p->start_ns = start_ns;
}

static void visit_native(const struct sample_visitor *v, uint32_t process, size_t thread,
			 const struct sample *s)
{
	const struct native_sample_at n = { process,  thread,      s->flags,
					    s->stack, s->first_ns, s->last_ns };

	if (v->native)
		v->native(v->ctx, &n);
}

static void visit_fault(const struct sample_visitor *v, uint32_t process, size_t thread,
			const struct sample *s)
{
	const struct fault_at f = { process,  thread,   (s->flags & SAMPLE_MAJOR) != 0,
				    s->stack, s->count, s->first_ns };

	if (v->fault)
		v->fault(v->ctx, &f);
}

int sample_walk(struct sample_walk *w, const struct trace *t, const struct sample_visitor *v,
		struct err *err)
{
	size_t threads = trace_thread_count(t);
	struct pending *latest = calloc(threads + 1, sizeof(*latest));
	struct sample_batch b;
	int rc = 0;

	*w = (struct sample_walk){ 0 };
	if (!latest)
		return err_set(err, "out of memory");
	sample_batch_init(&b);
	for (size_t i = 0; i < trace_sample_batch_count(t); i++) {
		struct err why = { "" };

		if (trace_sample_batch_read(t, i, &b, &why)) {
			if (err_is_memory(&why)) {
				rc = err_set(err, "out of memory");
				break;
			}
			if (!w->unreadable++)
				w->damage = why;
			continue;
		}
		for (size_t n = 0; n < b.count; n++) {
			size_t thread = trace_thread_find(t, b.samples[n].thread);

			if (b.samples[n].flags & SAMPLE_FAULT)
				visit_fault(v, b.process, thread, &b.samples[n]);
			else if (b.samples[n].flags & SAMPLE_NATIVE)
				visit_native(v, b.process, thread, &b.samples[n]);
			else if (thread < threads)
				next(v, thread, &latest[thread], &b.samples[n]);
		}
	}
	for (size_t i = 0; i < threads && !rc; i++) {
		if (latest[i].sample.count)
			visit_sample(v, i, &latest[i], latest[i].sample.last_ns);
	}
	sample_batch_release(&b);
	free(latest);
	return rc;
}
