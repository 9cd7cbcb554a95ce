/*
 * CPython 3.8 to 3.10: a frame is an object that lies anywhere and links to its
 * caller.  A function that is not entered twice has the same one for every call, and
 * when it is left, only the link goes.  Those of recursive functions go from one to the
 * other, by a list of free ones.
 *
 * So the address of the newest frame, a single word, nearly says by itself which
 * function runs, and it is the first that a sample reads: whatever comes later is found
 * where the thread waits for what we have read (see py_frame_chunks.c).  The frames of the
 * latest samples follow in the same system call, those of a page together, for it is the
 * number of pieces that takes the time.
 *
 * Functions of less than a microsecond have been left by then, and some of the links
 * with them.  Which function ran is known all the same; its caller is then
 * taken from calls that were observed with certainty, the shortest way to a frame that runs.
 */
#include <errno.h>
#include <string.h>

#include "capture/sampler/py_reader.h"

#define PAGE_BYTES 4096u
#define RUN_BYTES_MAX 65536u
#define AGE_MAX 250u   /* samples after which a frame that was not met is forgotten */
#define MOVES_MAX 8u   /* of a function, from frame to frame, that are counted */
#define STAYS_MAX 200u /* in one frame, after which a move is forgotten */
#define SETTLED 3u     /* after which it is taken to be its only one */

/* One sample. */
struct object_read {
	struct py_reader *reader;
	const struct py_process *process;
	const struct py_layout *layout;
	struct py_thread *thread;
	const uint8_t *copies[PY_THREAD_APART]; /* of the frames that were met */
	uint64_t newest;
	unsigned alone; /* frames that were read by themselves */
	size_t lines;   /* see struct py_stack */
	unsigned count;
	struct py_frame frames[OBJECT_STEPS];
	uint64_t at[OBJECT_STEPS];
};

static bool runs(const struct py_layout *l, const uint8_t *frame)
{
	uint8_t state = frame[l->state];

	return state < 8 && l->runs >> state & 1;
}

/* The first one at `at` or behind. */
static unsigned find_place(const struct py_thread *t, uint64_t at)
{
	unsigned low = 0, high = t->met_count;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (t->met[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void remove_met(struct py_thread *t, unsigned i)
{
	memmove(&t->met[i], &t->met[i + 1], (--t->met_count - i) * sizeof(t->met[0]));
}

static void remove_oldest(struct py_thread *t)
{
	unsigned oldest = 0;

	for (unsigned i = 1; i < t->met_count; i++) {
		if (t->met[i].age > t->met[oldest].age)
			oldest = i;
	}
	remove_met(t, oldest);
}

/* From now on it is read with every sample. */
static struct py_met *meet(struct py_thread *t, uint64_t at)
{
	unsigned i = find_place(t, at);
	struct py_met *met = &t->met[i];

	if (i == t->met_count || met->at != at) {
		if (t->met_count == PY_THREAD_APART) {
			remove_oldest(t);
			i = find_place(t, at);
			met = &t->met[i];
		}
		memmove(met + 1, met, (t->met_count++ - i) * sizeof(*met));
		*met = (struct py_met){ .at = at };
	}
	met->age = 0;
	return met;
}

static void fade(struct py_thread *t)
{
	for (unsigned i = t->met_count; i-- > 0;) {
		if (t->met[i].age++ >= AGE_MAX)
			remove_met(t, i);
	}
}

/*
 * Those from `first` on that lie in pages side by side; returns where the next begin.
 * *urgent: one of them may be another function's soon.
 */
static unsigned same_run(const struct py_thread *t, unsigned first, bool *urgent)
{
	unsigned i = first;

	*urgent = false;
	do
		*urgent |= t->met[i].shared;
	while (++i < t->met_count &&
	       t->met[i].at / PAGE_BYTES - t->met[i - 1].at / PAGE_BYTES <= 1 &&
	       t->met[i].at - t->met[first].at < RUN_BYTES_MAX);
	return i;
}

static bool add_frames(struct object_read *k, bool urgent)
{
	const struct py_thread *t = k->thread;
	unsigned next;

	for (unsigned i = 0; i < t->met_count; i = next) {
		uint64_t from = t->met[i].at;
		size_t bytes;
		uint8_t *to;
		bool is_urgent;

		next = same_run(t, i, &is_urgent);
		if (is_urgent != urgent)
			continue;
		bytes = t->met[next - 1].at - from + frame_bytes(k->layout);
		to = reader_memory(k->reader, bytes);
		if (!to || !remote_add(&k->reader->remote, to, from, bytes)) {
			errno = ENOMEM;
			return false;
		}
		for (unsigned n = i; n < next; n++)
			k->copies[n] = to + (t->met[n].at - from);
	}
	return true;
}

static int copy_all(struct object_read *k)
{
	struct remote *remote = &k->reader->remote;

	k->reader->used = 0;
	remote_clear(remote);
	remote_add(remote, &k->newest, k->thread->state + k->layout->frame, sizeof(k->newest));
	if (!add_frames(k, true) || !add_frames(k, false))
		return -1;
	k->lines += remote->lines;
	return remote_read(remote, &k->process->memory);
}

/* One that was not known is read by itself: a system call later.  NULL: it cannot be read. */
static const uint8_t *copy_of(struct object_read *k, uint64_t at)
{
	unsigned i = find_place(k->thread, at);
	uint8_t *to;

	if (i < k->thread->met_count && k->thread->met[i].at == at)
		return k->copies[i];
	if (k->alone++ >= READER_ALONE_MAX)
		return NULL;
	to = reader_memory(k->reader, frame_bytes(k->layout));
	return to && !remote_copy(&k->process->memory, to, at, frame_bytes(k->layout)) ? to : NULL;
}

static struct known_owner *owner_of(struct object_read *k, uint64_t code)
{
	return &k->reader->owners[(code >> 4 ^ code >> 15 ^ k->thread->state >> 9) % OWNERS];
}

/* A function runs in this frame. */
static void note_owner(struct object_read *k, uint64_t code, uint64_t at)
{
	struct known_owner *o = owner_of(k, code);

	if (o->code != code || o->thread != k->thread->state) {
		*o = (struct known_owner){ k->thread->state, code, at, 0, 0 };
	} else if (o->at != at) {
		o->at = at;
		o->stays = 0;
		if (o->moves < MOVES_MAX)
			o->moves++;
	} else if (++o->stays == STAYS_MAX) { /* its last move was long ago */
		o->stays = SETTLED;
		if (o->moves)
			o->moves--;
	}
}

/* Its function has others, too. */
static bool is_shared(struct object_read *k, const uint8_t *copy)
{
	uint64_t code = frame_code(k->layout, copy);
	const struct known_owner *o = owner_of(k, code);

	return o->code == code && o->thread == k->thread->state && o->moves > 0;
}

/* A function that has been met some times, and never in another frame. */
static bool is_settled(struct object_read *k, const uint8_t *copy)
{
	uint64_t code = frame_code(k->layout, copy);
	const struct known_owner *o = owner_of(k, code);

	return o->code == code && o->thread == k->thread->state && !o->moves && o->stays >= SETTLED;
}

/* It is unchanged since the last sample. */
static bool is_steady(struct object_read *k, uint64_t at, const uint8_t *copy)
{
	const struct py_thread *t = k->thread;
	unsigned i = find_place(t, at);

	return i < t->met_count && t->met[i].at == at && runs(k->layout, copy) &&
	       t->met[i].code == frame_code(k->layout, copy) &&
	       t->met[i].back == frame_previous(k->layout, copy);
}

/*
 * Is this frame's caller the one that it links to, and with this copy of it?  Only a frame that one
 * function has is the same whenever it is read, and links to its caller or, once it is left,
 * to nothing.  Others must run, and have done so for a while, or be read at the same moment.
 */
static bool is_linked(struct object_read *k, uint64_t at, const uint8_t *copy)
{
	uint64_t back = frame_previous(k->layout, copy);
	const uint8_t *back_copy;

	if (!runs(k->layout, copy) && (!back || is_shared(k, copy)))
		return false;
	if (!back)
		return true;
	back_copy = copy_of(k, back);
	if (!back_copy)
		return false;
	if (is_settled(k, back_copy) || is_steady(k, back, back_copy))
		return true;
	return at / PAGE_BYTES == back / PAGE_BYTES && runs(k->layout, copy) &&
	       runs(k->layout, back_copy);
}

static struct known_call *calls_of(struct object_read *k, uint64_t code)
{
	return k->reader->calls[(code >> 4 ^ code >> 14) % CALL_SETS];
}

static bool is_call_of(struct object_read *k, const struct known_call *c, uint64_t code)
{
	return c->code == code && c->pid == k->process->memory.pid;
}

/* The calls of a function are in the order in which they were seen last. */
static void learn_call(struct object_read *k, const struct known_call *call)
{
	struct known_call *set = calls_of(k, call->code);
	unsigned i = 0;

	while (i < CALL_WAYS - 1 &&
	       !(is_call_of(k, &set[i], call->code) && set[i].back.code == call->back.code))
		i++;
	memmove(set + 1, set, i * sizeof(*set));
	set[0] = *call;
}

static void note_owners(struct object_read *k)
{
	const uint8_t *newest = copy_of(k, k->newest);

	for (unsigned i = 0; i < k->thread->met_count; i++) {
		if (runs(k->layout, k->copies[i]))
			note_owner(k, frame_code(k->layout, k->copies[i]), k->thread->met[i].at);
	}
	if (newest)
		note_owner(k, frame_code(k->layout, newest), k->newest);
}

/* Learns calls from all frames that were read, whether they are in this stack or have just left it.
 */
static void learn_calls(struct object_read *k)
{
	const struct py_layout *l = k->layout;

	for (unsigned i = 0; i < k->thread->met_count; i++) {
		const uint8_t *copy = k->copies[i], *back;
		struct known_call call = { .code = frame_code(l, copy),
					   .pid = k->process->memory.pid,
					   .back_at = frame_previous(l, copy) };

		if (!call.back_at || !is_linked(k, k->thread->met[i].at, copy))
			continue;
		back = copy_of(k, call.back_at);
		if (!back)
			continue;
		call.back =
			(struct py_frame){ frame_code(l, back), remote_word(back, l->instruction) };
		learn_call(k, &call);
	}
}

/* How well a caller fits: its frame is its own and runs, or is its own, or neither. */
static int fits(struct object_read *k, const struct known_call *c)
{
	const uint8_t *copy;

	copy = copy_of(k, c->back_at);
	if (!copy || frame_code(k->layout, copy) != c->back.code || !is_settled(k, copy))
		return 0;
	return runs(k->layout, copy) ? 2 : 1;
}

static bool push(struct object_read *k, uint64_t at, const struct py_frame *frame)
{
	if (k->count == OBJECT_STEPS)
		return false;
	k->at[k->count] = at;
	k->frames[k->count++] = *frame;
	return true;
}

/*
 * The last step's callers, up to the first that has a frame of its own: its address; 0: unknown.
 * Shared frames may have been reused by now, so calls of recursive functions among each other are
 * omitted.
 */
static uint64_t recall(struct object_read *k, bool *runs_now)
{
	unsigned first = k->count - 1;

	while (k->count < OBJECT_STEPS) {
		uint64_t code = k->frames[k->count - 1].code;
		const struct known_call *set = calls_of(k, code), *best = NULL;
		int best_fit = -1;

		for (unsigned i = 0; i < CALL_WAYS; i++) {
			bool again = false;
			int fit;

			for (unsigned n = first; n < k->count; n++)
				again |= k->frames[n].code == set[i].back.code;
			if (!is_call_of(k, &set[i], code) || again)
				continue;
			fit = fits(k, &set[i]);
			if (fit > best_fit) {
				best_fit = fit;
				best = &set[i];
			}
		}
		*runs_now = best_fit == 2;
		if (!best || best_fit > 0)
			return best ? best->back_at : 0;
		push(k, best->back_at, &best->back);
	}
	return 0;
}

/*
 * From the newest frame outwards.  -1: it is not certain, nor known from before; the frames that
 * it may be are met all the same, and the next sample will have them.
 */
static int walk(struct object_read *k, bool *certain)
{
	const struct py_layout *l = k->layout;
	uint64_t at = k->newest, landmark = 0;
	int rc = 0;

	*certain = true;
	while (at) {
		const uint8_t *copy = copy_of(k, at);
		struct py_frame frame;
		uint64_t back;
		bool runs_now = false;

		/* Round and round: that is no stack.  The landmark moves on ever more slowly. */
		if (!copy || at == landmark)
			return -1;
		if (!(k->count & (k->count - 1)))
			landmark = at;
		frame = (struct py_frame){ frame_code(l, copy), remote_word(copy, l->instruction) };
		if (!push(k, at, &frame))
			return rc;
		back = frame_previous(l, copy);
		if (!is_linked(k, at, copy)) {
			uint64_t recalled = recall(k, &runs_now);

			*certain &= runs_now && !is_shared(k, copy);
			if (recalled)
				back = recalled;
			else if (k->count < OBJECT_STEPS)
				rc = -1;
		}
		at = back;
	}
	return rc;
}

/* What was met is read from now on, and what it links to. */
static void meet_all(struct object_read *k)
{
	struct py_thread *t = k->thread;
	uint64_t backs[PY_THREAD_APART];
	unsigned count = t->met_count;

	for (unsigned i = 0; i < count; i++) {
		struct py_met *met = &t->met[i];
		const uint8_t *copy = k->copies[i];

		met->shared = is_shared(k, copy);
		met->code = runs(k->layout, copy) ? frame_code(k->layout, copy) : 0;
		met->back = frame_previous(k->layout, copy);
		if (met->code)
			met->age = 0;
		backs[i] = met->code ? met->back : 0;
	}
	for (unsigned i = 0; i < count; i++) {
		if (backs[i])
			meet(t, backs[i]);
	}
	meet(t, k->newest);
	for (unsigned n = 0; n < k->count; n++)
		meet(t, k->at[n]);
}

int frame_objects_read(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		       struct py_stack *out)
{
	struct object_read k = { .reader = r, .process = p, .layout = p->layout, .thread = t };
	bool certain;
	int rc;

	if (copy_all(&k)) {
		if (errno == ESRCH || !t->met_count)
			return -1;
		t->met_count = 0; /* what lay there is gone */
		if (copy_all(&k))
			return -1;
	}
	out->lines = k.lines;
	if (!k.newest)
		return 0;
	note_owners(&k);
	learn_calls(&k);
	rc = walk(&k, &certain);
	if (!rc) {
		memcpy(out->frames, k.frames, k.count * sizeof(k.frames[0]));
		out->count = k.count;
		out->cut = k.count == OBJECT_STEPS;
		out->unstable = !certain;
	}
	meet_all(&k);
	fade(t);
	return rc;
}
