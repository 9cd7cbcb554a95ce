/* What a moment of a thread is given to: the precedence of breakdown.h. */
#include <stdlib.h>
#include <string.h>

#include "analyze/breakdown/sweep_state.h"
#include "analyze/classes/code_kind.h"
#include "base/array.h"

void open_steps_release(struct open_steps *o)
{
	free(o->items);
	memset(o, 0, sizeof(*o));
}

static int64_t end_of(const struct open_steps *o, size_t at)
{
	return o->items[at].item->end_ns;
}

static void swap(struct open_steps *o, size_t a, size_t b)
{
	struct open_step t = o->items[a];

	o->items[a] = o->items[b];
	o->items[b] = t;
}

int open_steps_push(struct open_steps *o, const struct step_item *item,
		    const struct class_sums *sums)
{
	struct open_step *grown = array_grow(o->items, &o->cap, o->count + 1, sizeof(*grown));
	size_t at = o->count;

	if (!grown)
		return -1;
	o->items = grown;
	grown[o->count++] = (struct open_step){ item, *sums };
	for (; at && end_of(o, (at - 1) / 2) > end_of(o, at); at = (at - 1) / 2)
		swap(o, at, (at - 1) / 2);
	return 0;
}

void open_steps_pop(struct open_steps *o)
{
	o->items[0] = o->items[--o->count];
	for (size_t at = 0, least;; at = least) {
		least = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
			if (child < o->count && end_of(o, child) < end_of(o, least))
				least = child;
		}
		if (least == at)
			break;
		swap(o, at, least);
	}
}

static const struct stack_class *top_frame(const struct sweep *w)
{
	return w->depth && !w->lost ? &w->frames[w->depth - 1] : &stack_class_empty;
}

/* Was a function entered or left between now and when the sample was taken? */
static bool moved_since(const struct sweep *w, const struct piece *sample)
{
	const struct sample_times *t =
		&w->s->samples->times[w->thread].items[sample - w->samples->items];

	return w->now_ns < t->first_ns ? w->next_call_ns <= t->first_ns
				       : w->last_call_ns > t->last_ns;
}

static bool is_in_sample(const struct sweep *w, const struct piece *sample, uint32_t function)
{
	size_t count = 0;
	const struct trace_frame *frames = trace_stack(w->s->trace, sample->id, &count);

	for (size_t i = 0; i < count; i++) {
		if (timeline_function_of(w->s->timeline, frames[i].code) == function)
			return true;
	}
	return false;
}

/* Nothing that was recorded lies between it and now, and it was taken inside the open call. */
static bool describes_now(const struct sweep *w, const struct piece *sample, uint32_t function)
{
	return !moved_since(w, sample) && is_in_sample(w, sample, function);
}

/* The one on the other side of now, if the thread was sampled all along; NULL: none. */
static const struct piece *other_sample(const struct sweep *w)
{
	const struct piece *items = w->samples->items, *sample = w->sample;
	size_t at = (size_t)(sample - items);

	if (w->now_ns < w->s->samples->times[w->thread].items[at].first_ns)
		return at && sample[-1].end_ns == sample->start_ns ? sample - 1 : NULL;
	return at + 1 < w->samples->count && sample[1].start_ns == sample->end_ns ? sample + 1
										  : NULL;
}

/* Remembers what the thread does in a function. */
static void remember(struct sweep *w, uint32_t function, const struct piece *sample)
{
	uint32_t at = (uint32_t)(sample - w->samples->items);

	if ((w->seen_last == at && w->seen_last_in == function) || (!w->open.count && !w->gap))
		return;
	w->seen_last = at;
	w->seen_last_in = function;
	if (idmap_put(&w->seen_in, function, at))
		w->failed = true;
}

/* The latest sample in the same function, called by the same one of the user's; NULL: none. */
static const struct piece *remembered(const struct sweep *w, const struct stack_class *calls)
{
	uint32_t at = idmap_find(&w->seen_in, calls->inner);
	const struct piece *sample = at != IDMAP_NONE ? &w->samples->items[at] : NULL;

	return sample && stack_classes_of(w->s->classes, sample->id)->user == calls->user ? sample
											  : NULL;
}

static bool is_waiting(const struct piece *sample)
{
	enum sample_state state = (enum sample_state)(sample->more & SAMPLE_STATE);

	return state != SAMPLE_UNKNOWN && state != SAMPLE_RUNNING;
}

/*
 * A sample stands for the time halfway to its neighbours, calls are known to the nanosecond: where
 * a function was entered or left between the sample and now, its neighbour on the other side knows
 * more, or neither does.  A wait must not reach beyond such a call into another function.  A call
 * that no sample fell into did what the latest one of the same function did that has one: of many
 * calls as many wait as samples say.  What a thread that runs does is spread over the calls of the
 * same function of the user's, which is right on average.
 */
static const struct piece *find_code_sample(struct sweep *w)
{
	const struct stack_class *calls = top_frame(w), *seen = &w->sample_class;
	const struct piece *other;

	if (!w->sample || calls->inner == NO_FUNCTION || !w->sample->id)
		return w->sample;
	if (describes_now(w, w->sample, calls->inner)) {
		remember(w, calls->inner, w->sample);
		return w->sample;
	}
	other = other_sample(w);
	if (other && other->id && describes_now(w, other, calls->inner)) {
		remember(w, calls->inner, other);
		return other;
	}
	if (calls->inner == seen->inner)
		return w->sample;
	other = remembered(w, calls);
	if (other)
		return other;
	return !is_waiting(w->sample) && !seen->waits && calls->user == seen->user ? w->sample
										   : NULL;
}

/* The stack of another thread that is working; 0: there is none. */
static uint32_t others_stack(const struct sweep *w, const struct piece *p)
{
	return p && (p->more & BUSY_THREAD) != w->thread ? p->id : 0;
}

uint32_t sweep_busy_stack(const struct sweep *w)
{
	uint32_t stack = others_stack(w, w->holder);

	return stack ? stack : others_stack(w, w->runs);
}

static bool of_process(const struct sweep *w, size_t thread)
{
	const struct trace *t = w->s->trace;

	return thread < trace_thread_count(t) && trace_thread(t, thread)->process == w->process;
}

uint32_t sweep_waits_for(const struct sweep *w)
{
	const struct piece *p = others_stack(w, w->holder) ? w->holder
				: others_stack(w, w->runs) ? w->runs
							   : NULL;

	if (!p || !time_class_is_wait(w->host.what) || w->host.what == TIME_SLEEP ||
	    w->host.what == TIME_IO_WAIT)
		return HOST_NONE;
	return of_process(w, p->more & BUSY_THREAD) ? p->more & BUSY_THREAD : HOST_NONE;
}

static uint32_t gil_holder(const struct sweep *w)
{
	return others_stack(w, w->holder) && of_process(w, w->holder->more & BUSY_THREAD)
		       ? w->holder->id
		       : 0;
}

static size_t place_of(struct sweep *w, enum time_class what, uint32_t stack,
		       const struct stack_class *at, uint32_t waited_for)
{
	const struct time_place wanted = { what, stack, stack ? NO_FUNCTION : at->user,
					   stack ? NO_FUNCTION : at->inner, waited_for };
	size_t place = time_places_find(w->s->places, &wanted);

	w->failed |= place == SIZE_MAX;
	return place;
}

/*
 * Is the thread in the call that a found step begins with?  Then there is a request, and what it
 * waits for is part of it; behind that call, until the next, it may wait for one to come.
 */
static bool is_in_flight(const struct sweep *w)
{
	size_t count = 0;
	const struct trace_frame *frames = trace_stack(w->s->trace, w->code_sample->id, &count);

	for (size_t i = 0; i < w->open.count; i++) {
		uint32_t call_of = w->s->analysis->steps[w->open.items[i].item->kind].call_of;

		for (size_t k = 0; call_of && k < count; k++) {
			if (timeline_function_of(w->s->timeline, frames[k].code) == call_of - 1)
				return true;
		}
	}
	return false;
}

/* A loop of steps that sleeps itself, behind the call that they begin with, lets time pass. */
static bool is_pause(const struct sweep *w)
{
	for (size_t i = 0; i < w->open.count; i++) {
		uint32_t loop = w->s->analysis->steps[w->open.items[i].item->kind].loop_of;

		if (loop && loop - 1 == w->code_class.user)
			return !sweep_busy_stack(w);
	}
	return false;
}

/* Is it the user's function itself, while it calls native code of a package? */
static bool is_in_native_call(const struct sweep *w, const struct stack_class *at)
{
	return w->native_call && at->users && at->user == at->inner;
}

/*
 * An operator on a CPU is computed by several threads, and the calling thread waits for the others
 * to finish: for the kernel that is a lock, although no thread holds it.  So do other native
 * functions.  Python locks that a framework takes are known by their functions.
 */
static enum time_class class_of_code(const struct sweep *w, const struct stack_class *at,
				     bool runs);

static bool waits_for_own_threads(const struct sweep *w)
{
	return !w->has_gpu &&
	       (w->code_class.what == TIME_FRAMEWORK || is_in_native_call(w, &w->code_class));
}

/* Is it where an event loop waits for whatever comes first? */
static bool is_loop(const struct sweep *w, const struct stack_class *at)
{
	const struct place *f = timeline_function(w->s->timeline, at->inner);

	return function_loops(f->name, f->file);
}

static enum time_class class_of_code(const struct sweep *w, const struct stack_class *at, bool runs)
{
	enum time_class what = at->what;

	if (what == TIME_UNATTRIBUTED && w->native)
		return TIME_CPU_PREPROCESSING;
	if (at->waits && runs) /* just before it waits, or after */
		what = TIME_CPU_PREPROCESSING;
	else if (at->waits && is_loop(w, at)) /* no sample says what for: for no lock */
		what = TIME_IDLE;
	/* Throttled layers are still seen on the stack, unless calls are throttled as well. */
	if ((w->layers || at->in_module) && (at->models || what == TIME_UNATTRIBUTED))
		what = TIME_FRAMEWORK;
	if (is_in_native_call(w, at))
		what = (enum time_class)w->native_call->more;
	if (w->way && at->users && at->user == w->way_class.user)
		what = TIME_FRAMEWORK;
	return what == TIME_FRAMEWORK && !w->has_gpu ? TIME_CPU_COMPUTE : what;
}

static bool is_request(const struct sweep *w)
{
	for (size_t i = 0; i < w->open.count; i++)
		if (w->s->analysis->steps[w->open.items[i].item->kind].source == STEP_REQUEST)
			return true;
	return false;
}

/*
 * An event loop hands a request's work to threads or processes, and waits for any of them, for
 * no lock: what they do is what the request's time goes to.
 */
static bool decide_handed_out(struct sweep *w, struct moment *m)
{
	uint32_t stack = sweep_busy_stack(w);
	struct stack_class does;

	if (!stack || !is_loop(w, &w->code_class) || !is_request(w))
		return false;
	does = *stack_classes_of(w->s->classes, stack);
	if (does.what == TIME_UNATTRIBUTED || does.waits)
		return false;
	m->what = class_of_code(w, &does, true);
	m->place = place_of(w, m->what, stack, &does, 0);
	return true;
}

/* It waits, according to its sample; false: it does not. */
static bool decide_wait(struct sweep *w, struct moment *m)
{
	const struct stack_class *in = &w->code_class;
	struct stack_class slept = stack_class_empty;
	uint32_t waited_for = 0;

	m->sampled = true;
	switch ((enum sample_state)(w->code_sample->more & SAMPLE_STATE)) {
	case SAMPLE_GIL_WAIT:
		m->what = TIME_GIL_WAIT;
		waited_for = gil_holder(w);
		break;
	case SAMPLE_LOCK_WAIT:
		m->what = waits_for_own_threads(w) ? class_of_code(w, in, true) : TIME_LOCK_WAIT;
		break;
	case SAMPLE_IO_WAIT:
	case SAMPLE_OFF_CPU:
		m->what = TIME_IO_WAIT;
		break;
	case SAMPLE_SLEEP:
		m->what = is_pause(w) ? TIME_IDLE : TIME_SLEEP;
		break;
	default:
		return false;
	}
	/*
	 * For an event: through another thread's work, or from outside; or for a time to pass.
	 */
	if (in->waits && m->what != TIME_GIL_WAIT && w->timed_wait) {
		m->what = TIME_SLEEP;
		if (w->timed_wait->id) {
			/* A coroutine sleeps: it is not on the stack. */
			slept.user = w->timed_wait->id - 1;
			slept.inner = w->s->timed_waits->sleep;
			m->place = place_of(w, m->what, w->timed_wait->more, &slept, 0);
			return true;
		}
	} else if (in->waits && m->what != TIME_GIL_WAIT && decide_handed_out(w, m)) {
		return true;
	} else if (in->waits && m->what != TIME_GIL_WAIT) {
		waited_for = sweep_busy_stack(w);
		m->what = waited_for || is_in_flight(w) ? TIME_LOCK_WAIT : TIME_IDLE;
	} else if (in->whole && m->what != TIME_GIL_WAIT) {
		m->what = in->what; /* a compilation or a DataLoader waits for its workers */
		waited_for = sweep_busy_stack(w);
	}
	m->alone = time_class_is_wait(m->what) && !waited_for;
	m->place = place_of(w, m->what, w->code_sample->id, in, waited_for);
	return true;
}

/* The stack of the sample, which knows the line, if it is one at the same function; else 0. */
static uint32_t line_of_sample(const struct sweep *w, const struct stack_class *at)
{
	return w->code_sample && w->code_class.user != NO_FUNCTION &&
			       (at->user == NO_FUNCTION || at->user == w->code_class.user)
		       ? w->code_sample->id
		       : 0;
}

/* Where calls and samples know nothing, it is on the way to its next CUDA call. */
static bool decide_by_next_call(struct sweep *w, struct moment *m)
{
	uint32_t stack = w->calls.at < w->calls.count ? w->calls.items[w->calls.at].id : 0;
	const struct stack_class next = *stack_classes_of(w->s->classes, stack);

	if (next.what == TIME_UNATTRIBUTED)
		return false;
	m->what = class_of_code(w, &next, true);
	m->place = place_of(w, m->what, stack, &next, 0);
	return true;
}

static void decide_code(struct sweep *w, struct moment *m)
{
	const struct stack_class *calls = top_frame(w), *at = calls;
	bool sampled = w->code_sample && w->code_class.what != TIME_UNATTRIBUTED;
	bool runs = w->code_sample && (w->code_sample->more & SAMPLE_STATE) == SAMPLE_RUNNING;

	m->sampled = sampled && (calls->what == TIME_UNATTRIBUTED || w->throttled);
	if (m->sampled)
		at = &w->code_class;
	if (at->what == TIME_UNATTRIBUTED && !w->lost && decide_by_next_call(w, m))
		return;
	m->what = class_of_code(w, at, runs);
	m->place = place_of(w, m->what, line_of_sample(w, at), at, 0);
}

/*
 * It was ready to run and had no CPU: whatever it was at takes longer by that, but for a wait for
 * the device.
 */
static bool decide_queued(struct sweep *w, struct moment *m)
{
	const struct stack_class *calls = top_frame(w);

	if (!w->without_cpu || !w->s->crowded || (w->call && w->call->more == TIME_SYNC_WAIT))
		return false;
	m->what = TIME_CPU_WAIT;
	m->place = w->call ? place_of(w, m->what, w->call->id, &stack_class_empty, 0)
			   : place_of(w, m->what, line_of_sample(w, calls), calls, 0);
	return true;
}

static void decide_host(struct sweep *w)
{
	struct moment *m = &w->host;
	const struct stack_class *calls = top_frame(w);

	*m = (struct moment){ .what = TIME_UNATTRIBUTED, .place = SIZE_MAX };
	if (decide_queued(w, m))
		return;
	if (calls->what == TIME_GC && !(w->at_work && w->at_work->more == TIME_COMPILE)) {
		m->what = TIME_GC;
		m->place = place_of(w, m->what, line_of_sample(w, calls), calls, 0);
	} else if (w->call) {
		m->what = (enum time_class)w->call->more;
		m->place = place_of(w, m->what, w->call->id, &stack_class_empty, 0);
	} else if (w->at_work) {
		m->what = (enum time_class)w->at_work->more;
		m->alone = time_class_is_wait(m->what) && !sweep_busy_stack(w);
		m->place = place_of(w, m->what, line_of_sample(w, calls), calls, 0);
	} else if (!w->code_sample || !decide_wait(w, m)) {
		decide_code(w, m);
	}
}

void sweep_decide(struct sweep *w)
{
	w->known = true;
	w->code_sample = find_code_sample(w);
	if (w->code_sample)
		w->code_class = w->code_sample == w->sample
					? w->sample_class
					: *stack_classes_of(w->s->classes, w->code_sample->id);
	w->moment = w->on_device ? &w->gpu : &w->host;
	if (w->on_device) {
		w->gpu.what = (enum time_class)w->on_device->more;
		w->gpu.place = place_of(w, w->gpu.what, w->on_device->id, &stack_class_empty, 0);
		if (!w->gap && !w->logging)
			return;
	}
	decide_host(w);
}
