#include "timeline/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "timeline/callstack.h"
#include "timeline/cuda_decode.h"
#include "timeline/functions.h"
#include "timeline/layer_stack.h"

struct timeline {
	const struct trace *trace;
	struct functions functions;
	struct scopes scopes;
	struct thread_counts *threads;
	struct err damage;
};

struct walk {
	struct timeline *tl;
	const struct timeline_visitor *visitor;
	bool again; /* all that the timeline keeps is known */
	struct callstack stack;
	struct layer_stack layers;
	struct event_batch batch;
	size_t thread;
	struct thread_counts *totals;
	uint64_t next_index; /* of the next event if none is lost */
	uint64_t gap_lost;
	uint64_t moves; /* as in struct annotation, whatever is open */
	int64_t last_ns;
	int64_t displaced_ns; /* since when another tool has the thread's calls; NEVER */
	int64_t paused_ns;    /* since when the recording of its calls pauses; NEVER */
};

#define NEVER INT64_MIN

int timeline_new(struct timeline **out, const struct trace *t, struct err *err)
{
	struct timeline *tl = calloc(1, sizeof(*tl));
	size_t threads = trace_thread_count(t);

	if (!tl)
		return err_set(err, "out of memory");
	tl->trace = t;
	tl->threads = calloc(threads ? threads : 1, sizeof(*tl->threads));
	if (!tl->threads || functions_init(&tl->functions, t)) {
		free(tl->threads);
		free(tl);
		return err_set(err, "out of memory");
	}
	scopes_init(&tl->scopes, t);
	*out = tl;
	return 0;
}

void timeline_free(struct timeline *tl)
{
	if (!tl)
		return;
	functions_release(&tl->functions);
	scopes_release(&tl->scopes);
	free(tl->threads);
	free(tl);
}

static int handle_annotation(struct walk *w, size_t i, int64_t now_ns)
{
	const struct event_batch *b = &w->batch;
	const uint8_t *p = b->payload + b->payload_at[i];
	const uint8_t *end = b->payload + b->payload_at[i + 1];
	struct annotation a = {
		.thread = w->thread,
		.kind = (enum record_kind)b->kinds[i],
		.name = b->ids[i],
		.time_ns = now_ns,
		.moves = w->stack.depth || w->layers.depth ? w->moves : 0,
	};

	/* A payload cut short leaves what it does not say at 0. */
	if (a.kind != RECORD_MARK)
		p = varint_get(p, end, &a.instance);
	if (p && a.kind != RECORD_SCOPE_END)
		p = varint_get(p, end, &a.task);
	if (p) {
		a.args = p;
		a.args_bytes = (size_t)(end - p);
	}
	if (w->visitor->annotation)
		w->visitor->annotation(w->visitor->ctx, &a);
	return w->again ? 0 : scopes_add(&w->tl->scopes, &a);
}

static void handle_counter(struct walk *w, size_t i, int64_t now_ns)
{
	const struct event_batch *b = &w->batch;
	struct annotation a = {
		.thread = w->thread,
		.kind = RECORD_COUNTER,
		.name = b->ids[i],
		.time_ns = now_ns,
		.value = NAN,
	};

	if (b->payload_at[i + 1] - b->payload_at[i] >= sizeof(a.value))
		memcpy(&a.value, b->payload + b->payload_at[i], sizeof(a.value));
	if (w->visitor->annotation)
		w->visitor->annotation(w->visitor->ctx, &a);
}

static void handle_cuda_call(struct walk *w, size_t i, int64_t now_ns)
{
	struct cuda_entry e;
	const char *name;

	if (!w->visitor->cuda_begin || !cuda_entry_decode(&e, &w->batch, i))
		return;
	name = trace_string(w->tl->trace, w->batch.ids[i]);
	w->visitor->cuda_begin(w->visitor->ctx, &(struct cuda_begin){
							.thread = w->thread,
							.what = e.what,
							.name = name ? name : "",
							.correlation = e.correlation,
							.stack = e.stack,
							.time_ns = now_ns,
						});
}

static int handle_payload_event(struct walk *w, size_t i, int64_t now_ns)
{
	const struct event_batch *b = &w->batch;
	uint64_t collected = 0;

	switch (b->kinds[i]) {
	case RECORD_GC_END:
		varint_get(b->payload + b->payload_at[i], b->payload + b->payload_at[i + 1],
			   &collected);
		callstack_gc_end(&w->stack, b->ids[i], collected, now_ns);
		return 0;
	case RECORD_SCOPE_BEGIN:
	case RECORD_SCOPE_END:
	case RECORD_MARK:
		return handle_annotation(w, i, now_ns);
	case RECORD_COUNTER:
		handle_counter(w, i, now_ns);
		return 0;
	case RECORD_CUDA_ENTER:
		handle_cuda_call(w, i, now_ns);
		return 0;
	default: /* a kind of a later version */
		return 0;
	}
}

static void pause_end(struct walk *w, int64_t now_ns)
{
	const struct pause p = { w->thread, w->paused_ns, now_ns };

	callstack_resume(&w->stack, now_ns);
	w->totals->paused_ns += now_ns - w->paused_ns;
	w->paused_ns = NEVER;
	if (w->visitor->pause)
		w->visitor->pause(w->visitor->ctx, &p);
}

static void pause_begin(struct walk *w, uint32_t us_ago, int64_t now_ns)
{
	int64_t since_ns = now_ns - (int64_t)us_ago * 1000;

	/* A collection may have been recorded since. */
	if (since_ns < w->stack.last_ns)
		since_ns = w->stack.last_ns;
	if (w->paused_ns != NEVER)
		pause_end(w, since_ns);
	callstack_pause(&w->stack, since_ns);
	layer_stack_gap(&w->layers, since_ns); /* their ends would come with calls */
	w->paused_ns = since_ns;
	w->totals->pauses++;
}

static int handle_throttled(struct walk *w, uint32_t id, int64_t now_ns)
{
	size_t from_depth = w->stack.depth;
	struct throttled l = {
		.thread = w->thread,
		.function = id ? functions_find(&w->tl->functions, id) : UINT32_MAX,
		.time_ns = now_ns,
	};

	if (!id)
		w->stack.entries_missing = true;
	else if (callstack_drop_function(&w->stack, id, &from_depth))
		return -1;
	l.from_depth = (uint32_t)from_depth;
	if (w->visitor->throttled)
		w->visitor->throttled(w->visitor->ctx, &l);
	return 0;
}

/* What is open from here on may have been left unseen. */
static int displaced_begin(struct walk *w, uint32_t by, int64_t now_ns)
{
	if (w->paused_ns != NEVER)
		pause_end(w, now_ns);
	if (w->displaced_ns != NEVER) /* by a third: it is one interval */
		return 0;
	w->displaced_ns = now_ns;
	callstack_reach(&w->stack, now_ns);
	callstack_gap(&w->stack, now_ns);
	if (!w->totals->displaced++) {
		w->totals->displaced_first_ns = now_ns;
		w->totals->displaced_by = functions_find(&w->tl->functions, by);
		return w->totals->displaced_by == FUNCTION_NONE ? -1 : 0;
	}
	return 0;
}

static void displaced_end(struct walk *w, int64_t now_ns)
{
	callstack_gap(&w->stack, now_ns);
	w->totals->displaced_ns += now_ns - w->displaced_ns;
	if (w->totals->displaced == 1)
		w->totals->displaced_first_end_ns = now_ns;
	w->displaced_ns = NEVER;
}

/* Does it show that the calls of its thread are recorded? */
static bool is_call_event(uint8_t kind)
{
	return (kind >= RECORD_CALL && kind <= RECORD_UNWIND) || kind == RECORD_RUNNING;
}

/* A function that is omitted from here on was called. */
static bool is_move(uint8_t kind)
{
	return is_call_event(kind) || kind == RECORD_LAYER_BEGIN || kind == RECORD_LAYER_END ||
	       kind == RECORD_LEFT_OUT;
}

static void recording_goes_on(struct walk *w, int64_t now_ns)
{
	if (w->paused_ns != NEVER)
		pause_end(w, now_ns);
	if (w->displaced_ns != NEVER)
		displaced_end(w, now_ns);
}

static int walk_batch(struct walk *w)
{
	const struct event_batch *b = &w->batch;
	int64_t last_ns = w->last_ns;
	int rc = 0;

	for (size_t i = 0; i < b->count && !rc; i++) {
		int64_t now_ns = b->times_ns[i];

		if (now_ns < last_ns) {
			now_ns = last_ns;
			w->totals->backwards++;
		}
		last_ns = now_ns;
		w->moves += is_move(b->kinds[i]);
		if ((w->displaced_ns != NEVER || w->paused_ns != NEVER) &&
		    is_call_event(b->kinds[i]))
			recording_goes_on(w, now_ns);
		switch (b->kinds[i]) {
		case RECORD_CALL:
			rc = callstack_enter(&w->stack, b->ids[i], true, now_ns);
			break;
		case RECORD_RESUME:
		case RECORD_THROW:
		case RECORD_RUNNING:
			rc = callstack_enter(&w->stack, b->ids[i], false, now_ns);
			break;
		case RECORD_RETURN:
		case RECORD_YIELD:
		case RECORD_UNWIND:
			rc = callstack_exit(&w->stack, b->ids[i], now_ns);
			break;
		case RECORD_PAUSED:
			pause_begin(w, b->ids[i], now_ns);
			break;
		case RECORD_LEFT_OUT:
			rc = handle_throttled(w, b->ids[i], now_ns);
			break;
		case RECORD_NVTX_LEFT_OUT:
			rc = w->again ? 0 : scopes_throttle(&w->tl->scopes, b->ids[i]);
			break;
		case RECORD_UNWINDING:
			/* Ends that were missed meanwhile are still missing afterwards. */
			w->stack.entries_missing = w->stack.exits_missing = true;
			break;
		case RECORD_DISPLACED:
			rc = displaced_begin(w, b->ids[i], now_ns);
			break;
		case RECORD_LAYER_BEGIN:
			layer_stack_begin(&w->layers, b->ids[i], now_ns);
			break;
		case RECORD_LAYER_END:
			layer_stack_end(&w->layers, b->ids[i], now_ns);
			break;
		case RECORD_LAYERS_FOLDED:
			layer_stack_drop(&w->layers, b->ids[i]);
			break;
		case RECORD_CUDA_EXIT:
			if (w->visitor->cuda_end)
				w->visitor->cuda_end(w->visitor->ctx, w->thread, b->ids[i], now_ns);
			break;
		case RECORD_GC_BEGIN:
			/* What ran since is unknown; that this collection runs is not. */
			if (w->displaced_ns != NEVER)
				callstack_gap(&w->stack, now_ns);
			rc = callstack_gc_begin(&w->stack, b->ids[i], now_ns);
			break;
		default:
			rc = handle_payload_event(w, i, now_ns);
			break;
		}
	}
	w->last_ns = last_ns;
	return rc;
}

static int handle_gap(struct walk *w, uint64_t lost, int64_t end_ns)
{
	const struct gap g = {
		.thread = w->thread,
		.start_ns = w->last_ns,
		.end_ns = end_ns > w->last_ns ? end_ns : w->last_ns,
		.lost = lost,
	};

	w->totals->gaps++;
	w->gap_lost += lost;
	callstack_gap(&w->stack, g.end_ns);
	layer_stack_gap(&w->layers, g.start_ns);
	if (w->visitor->gap)
		w->visitor->gap(w->visitor->ctx, &g);
	w->last_ns = g.end_ns;
	return w->again ? 0 : scopes_add_gap(&w->tl->scopes, w->thread, g.start_ns);
}

/* A block that cannot be read shows as a gap when the next one is. */
static int walk_block(struct walk *w, size_t nth)
{
	struct event_batch *b = &w->batch;
	struct err why = { "" };

	if (trace_batch_read(w->tl->trace, w->thread, nth, b, &why)) {
		if (err_is_memory(&why))
			return -1;
		w->totals->unreadable++;
		if (!w->tl->damage.text[0])
			w->tl->damage = why;
		return 0;
	}
	if (!b->count)
		return 0;
	if (w->visitor->block && w->visitor->block(w->visitor->ctx, w->thread, b))
		return -1;
	if (b->first_index > w->next_index &&
	    handle_gap(w, b->first_index - w->next_index, b->times_ns[0]))
		return -1;
	if (walk_batch(w))
		return -1;
	w->next_index = b->first_index + b->count;
	w->totals->events += b->count;
	return 0;
}

/* When the thread ended; if unknown, the end of its process or of the recording. */
static int64_t thread_end(const struct walk *w)
{
	const struct trace *t = w->tl->trace;
	const struct trace_thread *thread = trace_thread(t, w->thread);
	size_t process = process_position(t, thread->process);
	int64_t end_ns = thread->end_ns;

	if (end_ns == TRACE_UNKNOWN_NS && process < trace_process_count(t))
		end_ns = trace_process(t, process)->end_ns;
	if (end_ns == TRACE_UNKNOWN_NS && trace_end(t))
		end_ns = trace_end(t)->wall_ns;
	return end_ns > w->last_ns ? end_ns : w->last_ns;
}

static void thread_begin(struct walk *w, size_t position, struct thread_counts *totals)
{
	const struct trace_thread *thread = trace_thread(w->tl->trace, position);

	w->thread = position;
	w->totals = totals;
	w->totals->start_ns = thread->start_ns > 0 ? thread->start_ns : 0;
	w->next_index = 0;
	w->gap_lost = 0;
	w->moves = 1;
	w->last_ns = w->totals->start_ns;
	w->displaced_ns = w->paused_ns = NEVER;
	callstack_start(&w->stack, position, w->totals, w->totals->start_ns);
	layer_stack_start(&w->layers, position, w->totals);
}

static int thread_finish(struct walk *w)
{
	const struct trace_thread *thread = trace_thread(w->tl->trace, w->thread);
	int rc = 0;

	w->totals->end_ns = thread_end(w);
	/* What was produced behind the last readable event was overwritten, or cannot be read. */
	if (thread->produced > w->next_index)
		rc = handle_gap(w, thread->produced - w->next_index, w->totals->end_ns);
	recording_goes_on(w, w->totals->end_ns);
	callstack_finish(&w->stack, w->totals->end_ns);
	layer_stack_finish(&w->layers, w->totals->end_ns);
	w->totals->lost = thread->lost > w->gap_lost ? thread->lost : w->gap_lost;
	return rc;
}

static int walk_thread(struct walk *w, size_t position, struct thread_counts *totals)
{
	size_t blocks = trace_batch_count(w->tl->trace, position);

	thread_begin(w, position, totals);
	for (size_t i = 0; i < blocks; i++)
		if (walk_block(w, i))
			return -1;
	return thread_finish(w);
}

static void walk_init(struct walk *w, struct timeline *tl, const struct timeline_visitor *v,
		      bool again)
{
	w->tl = tl;
	w->visitor = v;
	w->again = again;
	callstack_init(&w->stack, &tl->functions, v);
	layer_stack_init(&w->layers, v);
	event_batch_init(&w->batch);
}

static void walk_release(struct walk *w)
{
	event_batch_release(&w->batch);
	callstack_release(&w->stack);
}

int timeline_walk(struct timeline *tl, const struct timeline_visitor *v, struct err *err)
{
	size_t threads = trace_thread_count(tl->trace);
	struct walk w;
	int rc = 0;

	walk_init(&w, tl, v, false);
	for (size_t i = 0; i < threads && !rc; i++)
		rc = walk_thread(&w, i, &tl->threads[i]);
	if (!rc)
		scopes_finish(&tl->scopes, tl->threads);
	walk_release(&w);
	return rc ? err_set(err, "out of memory") : 0;
}

int timeline_walk_again(struct timeline *tl, size_t thread, const struct timeline_visitor *v,
			struct err *err)
{
	struct thread_counts unused = { 0 };
	struct walk w;
	int rc;

	walk_init(&w, tl, v, true);
	rc = walk_thread(&w, thread, &unused);
	walk_release(&w);
	return rc ? err_set(err, "out of memory") : 0;
}

struct timeline_reader {
	struct walk walk;
	struct timeline_visitor visitor;
	struct thread_counts totals; /* of the thread that is being read: belongs to no function */
	size_t thread, block;
};

int timeline_reader_new(struct timeline_reader **out, struct timeline *tl,
			const struct timeline_visitor *v, struct err *err)
{
	struct timeline_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, "out of memory");
	r->visitor = *v;
	walk_init(&r->walk, tl, &r->visitor, true);
	*out = r;
	return 0;
}

int timeline_reader_next(struct timeline_reader *r, struct err *err)
{
	const struct trace *t = r->walk.tl->trace;
	int rc;

	if (r->thread >= trace_thread_count(t))
		return 0;
	if (!r->block) {
		r->totals = (struct thread_counts){ 0 };
		thread_begin(&r->walk, r->thread, &r->totals);
	}
	if (r->block < trace_batch_count(t, r->thread)) {
		rc = walk_block(&r->walk, r->block++);
	} else {
		rc = thread_finish(&r->walk);
		r->thread++;
		r->block = 0;
	}
	return rc ? err_set(err, "out of memory") : 1;
}

void timeline_reader_free(struct timeline_reader *r)
{
	if (!r)
		return;
	walk_release(&r->walk);
	free(r);
}

size_t timeline_function_count(const struct timeline *tl)
{
	return tl->functions.count;
}

uint32_t timeline_function_of(struct timeline *tl, uint32_t code)
{
	return functions_find(&tl->functions, code);
}

const struct place *timeline_function(const struct timeline *tl, uint32_t index)
{
	return &tl->functions.items[index];
}

size_t timeline_scope_count(const struct timeline *tl)
{
	return tl->scopes.count;
}

const struct scope *timeline_scope(const struct timeline *tl, size_t index)
{
	return &tl->scopes.items[index];
}

size_t timeline_nvtx_throttled_count(const struct timeline *tl)
{
	return tl->scopes.throttled_count;
}

const struct trace_nvtx *timeline_nvtx_throttled(const struct timeline *tl, size_t index)
{
	return tl->scopes.throttled[index].what;
}

const struct thread_counts *timeline_thread(const struct timeline *tl, size_t thread)
{
	return &tl->threads[thread];
}

uint64_t timeline_lost_scope_begins(const struct timeline *tl)
{
	return tl->scopes.lost_begins;
}

uint64_t timeline_unknown_names(const struct timeline *tl)
{
	return tl->functions.unknown + tl->scopes.unknown_names;
}

const char *timeline_damage(const struct timeline *tl)
{
	return tl->damage.text[0] ? tl->damage.text : NULL;
}
