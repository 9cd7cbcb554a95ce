/*
 * speedscope's JSON: a profile for each thread, in order of time.  By samples where the trace has
 * any, because they tell of every function, else by the calls: then functions whose entry is
 * missing are omitted.
 *
 * Frames: first what is no function, then the functions by their index.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/json.h"
#include "export/export.h"
#include "export/spool.h"
#include "export/thread_intervals.h"
#include "timeline/sample_walk.h"
#include "timeline/timeline.h"

enum { FRAME_GC = SAMPLE_STATES, FRAME_DEEPER, FRAMES_OTHER };

static const char *other_frame(unsigned number)
{
	return number == FRAME_GC       ? "(garbage collection)"
	       : number == FRAME_DEEPER ? "(deeper)"
					: sample_state_frame(number);
}

struct thread_profile {
	bool any;
	int64_t start_ns, end_ns;
};

struct speedscope {
	const struct trace *trace;
	struct timeline *timeline;
	struct spool *spool; /* of each thread its samples or events, and its weights */
	struct thread_profile *threads;
	bool by_samples;
	/* Of the thread that is read, by calls. */
	size_t thread;
	uint32_t *open;
	size_t depth, cap;
	struct buf text;
	struct json json;
	int fd, error;
	bool failed; /* no memory */
};

/* By samples: two lists, of stacks and of their times. */

static void add_sample(struct speedscope *x, size_t thread, const uint32_t *frames, size_t count,
		       int64_t ns)
{
	struct buf *stacks = spool_stream(x->spool, 2 * thread);
	struct buf *weights = spool_stream(x->spool, 2 * thread + 1);
	size_t before = stacks->len + weights->len;
	bool first = spool_is_empty(x->spool, 2 * thread);

	buf_add_str(stacks, first ? "[" : ",\n[");
	for (size_t i = 0; i < count; i++)
		buf_printf(stacks, i ? ",%" PRIu32 : "%" PRIu32, frames[i]);
	buf_add_byte(stacks, ']');
	buf_printf(weights, first ? "%" PRId64 : ",%" PRId64, ns);
	spool_settle(x->spool, 2 * thread, stacks->len + weights->len - before);
}

static bool open_reserve(struct speedscope *x, size_t count)
{
	uint32_t *grown = array_grow(x->open, &x->cap, count, sizeof(*grown));

	if (grown)
		x->open = grown;
	else
		x->failed = true;
	return grown != NULL;
}

static void take_sample(void *ctx, const struct timed_sample *s)
{
	struct speedscope *x = ctx;
	struct thread_profile *p = &x->threads[s->thread];
	size_t count = 0, n = 0;
	const struct trace_frame *frames = trace_stack(x->trace, s->sample->stack, &count);
	enum sample_state state = sample_state(s->sample);

	x->by_samples = true;
	if (x->failed || !open_reserve(x, count + 2))
		return;
	if (s->sample->flags & SAMPLE_CUT)
		x->open[n++] = FRAME_DEEPER;
	while (count--)
		x->open[n++] = timeline_function_of(x->timeline, frames[count].code) + FRAMES_OTHER;
	if (state != SAMPLE_RUNNING && state != SAMPLE_UNKNOWN && state < SAMPLE_STATES)
		x->open[n++] = state;
	if (!p->any)
		*p = (struct thread_profile){ true, s->start_ns, s->start_ns };
	if (s->start_ns > p->end_ns) /* it was not sampled meanwhile */
		add_sample(x, s->thread, NULL, 0, s->start_ns - p->end_ns);
	if (s->end_ns > p->end_ns) {
		int64_t from_ns = s->start_ns > p->end_ns ? s->start_ns : p->end_ns;

		add_sample(x, s->thread, x->open, n, s->end_ns - from_ns);
		p->end_ns = s->end_ns;
	}
}

/* By calls: what opens and what closes. */

static void add_event(struct speedscope *x, size_t thread, char type, uint32_t frame, int64_t ns)
{
	struct thread_profile *p = &x->threads[thread];
	struct buf *events = spool_stream(x->spool, 2 * thread);
	size_t before = events->len;

	if (!p->any)
		*p = (struct thread_profile){ true, ns, ns };
	if (ns > p->end_ns)
		p->end_ns = ns;
	buf_printf(events, "%s{\"type\":\"%c\",\"frame\":%" PRIu32 ",\"at\":%" PRId64 "}",
		   spool_is_empty(x->spool, 2 * thread) ? "" : ",\n", type, frame, p->end_ns);
	spool_settle(x->spool, 2 * thread, events->len - before);
}

/* What is still open left the stack unseen. */
static void finish_thread(struct speedscope *x)
{
	while (x->depth) {
		x->depth--;
		add_event(x, x->thread, 'C', x->open[x->depth], x->threads[x->thread].end_ns);
	}
}

static void visit_enter(void *ctx, size_t thread, uint32_t depth, uint32_t function,
			int64_t time_ns)
{
	struct speedscope *x = ctx;

	(void)depth;
	if (thread != x->thread)
		finish_thread(x);
	x->thread = thread;
	if (x->failed || !open_reserve(x, x->depth + 1))
		return;
	x->open[x->depth++] = function == UINT32_MAX ? FRAME_GC : function + FRAMES_OTHER;
	add_event(x, thread, 'O', x->open[x->depth - 1], time_ns);
}

/* Those above it left the stack without an end of their own: they end with it. */
static void close_frame(struct speedscope *x, const struct span *s, uint32_t frame)
{
	size_t at = s->thread == x->thread ? x->depth : 0;

	while (at && x->open[at - 1] != frame)
		at--;
	if (!at || (s->flags & SPAN_OPEN_START))
		return;
	while (x->depth >= at) {
		x->depth--;
		add_event(x, s->thread, 'C', x->open[x->depth], s->end_ns);
	}
}

static void visit_function(void *ctx, const struct span *s)
{
	close_frame(ctx, s, s->function + FRAMES_OTHER);
}

static void visit_gc(void *ctx, const struct span *s, uint64_t collected)
{
	(void)collected;
	close_frame(ctx, s, FRAME_GC);
}

static int read_all(struct speedscope *x, struct err *err)
{
	const struct sample_visitor of_samples = { .ctx = x, .sample = take_sample };
	const struct timeline_visitor of_calls = {
		.ctx = x,
		.enter = visit_enter,
		.function = visit_function,
		.gc = visit_gc,
	};
	struct sample_walk walk;

	if (timeline_new(&x->timeline, x->trace, err) ||
	    sample_walk(&walk, x->trace, &of_samples, err))
		return -1;
	if (!x->by_samples && timeline_walk(x->timeline, &of_calls, err))
		return -1;
	finish_thread(x);
	return x->failed ? err_set(err, "out of memory") : 0;
}

static void write_text(struct speedscope *x, const char *text)
{
	buf_add_str(&x->text, text);
	export_flush(&x->text, x->fd, &x->error);
}

static void write_name(struct speedscope *x, size_t thread)
{
	const struct trace_thread *t = trace_thread(x->trace, thread);
	const struct trace_process *p =
		trace_process(x->trace, process_position(x->trace, t->process));
	struct buf name;

	buf_init(&name);
	buf_printf(&name, "%s (%" PRIu32 "): ", p->name, p->pid);
	if (*t->name)
		buf_add_str(&name, t->name);
	else
		buf_printf(&name, "thread %" PRIu32, t->tid);
	json_init(&x->json, &x->text, JSON_COMPACT);
	json_string(&x->json, buf_string(&name));
	buf_release(&name);
}

static void write_profile(struct speedscope *x, size_t thread, bool first)
{
	const struct thread_profile *p = &x->threads[thread];

	buf_printf(&x->text, "%s{\"type\":\"%s\",\"name\":", first ? "" : ",\n",
		   x->by_samples ? "sampled" : "evented");
	write_name(x, thread);
	buf_printf(&x->text,
		   ",\"unit\":\"nanoseconds\",\"startValue\":%" PRId64 ",\"endValue\":%" PRId64
		   ",\"%s\":[\n",
		   p->start_ns, p->end_ns, x->by_samples ? "samples" : "events");
	export_flush(&x->text, x->fd, &x->error);
	spool_copy(x->spool, 2 * thread, x->fd, &x->error);
	if (x->by_samples) {
		write_text(x, "],\n\"weights\":[");
		spool_copy(x->spool, 2 * thread + 1, x->fd, &x->error);
	}
	write_text(x, "]}");
}

static void write_frames(struct speedscope *x)
{
	struct json *j = &x->json;

	json_init(j, &x->text, JSON_COMPACT);
	json_array_begin(j);
	for (size_t i = 0; i < FRAMES_OTHER + timeline_function_count(x->timeline); i++) {
		const struct place *f =
			i < FRAMES_OTHER
				? NULL
				: timeline_function(x->timeline, (uint32_t)(i - FRAMES_OTHER));

		json_object_begin(j);
		json_key(j, "name");
		json_string(j, f ? f->name : other_frame((unsigned)i));
		if (f && f->file && *f->file) {
			json_key(j, "file");
			json_string(j, f->file);
			json_key(j, "line");
			json_uint(j, f->line);
		}
		json_object_end(j);
		if (x->text.len >= EXPORT_WRITE_BYTES)
			export_flush(&x->text, x->fd, &x->error);
	}
	json_array_end(j);
}

static void write_all(struct speedscope *x)
{
	bool first = true;

	write_text(x, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		      "\"exporter\":\"inferscope " INFERSCOPE_VERSION "\",\n\"profiles\":[\n");
	for (size_t i = 0; i < trace_thread_count(x->trace); i++) {
		if (!x->threads[i].any)
			continue;
		write_profile(x, i, first);
		first = false;
	}
	write_text(x, "],\n\"shared\":{\"frames\":");
	write_frames(x);
	write_text(x, "}}\n");
}

static int export_speedscope(const struct trace *t, const struct export_target *to, struct err *err)
{
	struct speedscope x = { .trace = t, .fd = to->fd, .thread = SIZE_MAX };
	size_t threads = trace_thread_count(t);
	int rc = -1;

	buf_init(&x.text);
	x.threads = calloc(threads + 1, sizeof(*x.threads));
	if (!x.threads) {
		err_set(err, "out of memory");
		goto out;
	}
	if (spool_new(&x.spool, 2 * threads, err) || read_all(&x, err))
		goto out;
	write_all(&x);
	rc = export_finish(x.error, err);
out:
	timeline_free(x.timeline);
	spool_free(x.spool);
	free(x.threads);
	free(x.open);
	buf_release(&x.text);
	return rc;
}

const struct exporter exporter_speedscope = {
	.name = "speedscope",
	.suffixes = ".speedscope.json .speedscope",
	.write = export_speedscope,
};
