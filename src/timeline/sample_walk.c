#include "timeline/sample_walk.h"

#include <stdlib.h>

/* The latest sample of a thread, which is passed on when the next one shows where it ends. */
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

struct sample_reader {
	const struct trace *trace;
	struct sample_visitor visitor;
	struct sample_walk walk;
	struct pending *latest; /* by position of the thread */
	struct sample_batch batch;
	size_t block;
};

int sample_reader_new(struct sample_reader **out, const struct trace *t,
		      const struct sample_visitor *v, struct err *err)
{
	struct sample_reader *r = calloc(1, sizeof(*r));

	if (!r) {
		err_set(err, "out of memory");
		return -1;
	}
	r->trace = t;
	r->visitor = *v;
	sample_batch_init(&r->batch);
	r->latest = calloc(trace_thread_count(t) + 1, sizeof(*r->latest));
	if (!r->latest) {
		sample_reader_free(r);
		err_set(err, "out of memory");
		return -1;
	}
	*out = r;
	return 0;
}

void sample_reader_free(struct sample_reader *r)
{
	if (!r)
		return;
	sample_batch_release(&r->batch);
	free(r->latest);
	free(r);
}

const struct sample_walk *sample_reader_walk(const struct sample_reader *r)
{
	return &r->walk;
}

static void read_block(struct sample_reader *r)
{
	const struct sample_batch *b = &r->batch;
	size_t threads = trace_thread_count(r->trace);

	for (size_t n = 0; n < b->count; n++) {
		const struct sample *s = &b->samples[n];
		size_t thread = trace_thread_find(r->trace, s->thread);

		if (s->flags & SAMPLE_FAULT)
			visit_fault(&r->visitor, b->process, thread, s);
		else if (s->flags & SAMPLE_NATIVE)
			visit_native(&r->visitor, b->process, thread, s);
		else if (thread < threads && r->visitor.sample)
			next(&r->visitor, thread, &r->latest[thread], s);
	}
}

int sample_reader_next(struct sample_reader *r, struct err *err)
{
	size_t blocks = trace_sample_batch_count(r->trace);
	struct err why = { "" };

	if (r->block > blocks)
		return 0;
	if (r->block++ == blocks) {
		for (size_t i = 0; i < trace_thread_count(r->trace); i++)
			if (r->latest[i].sample.count)
				visit_sample(&r->visitor, i, &r->latest[i],
					     r->latest[i].sample.last_ns);
		return 1;
	}
	if (!trace_sample_batch_read(r->trace, r->block - 1, &r->batch, &why)) {
		read_block(r);
	} else if (err_is_memory(&why)) {
		return err_set(err, "out of memory");
	} else if (!r->walk.unreadable++) {
		r->walk.damage = why;
	}
	return 1;
}

int sample_walk(struct sample_walk *w, const struct trace *t, const struct sample_visitor *v,
		struct err *err)
{
	struct sample_reader *r = NULL;
	int rc;

	*w = (struct sample_walk){ 0 };
	if (sample_reader_new(&r, t, v, err))
		return -1;
	do
		rc = sample_reader_next(r, err);
	while (rc > 0);
	*w = r->walk;
	sample_reader_free(r);
	return rc;
}
