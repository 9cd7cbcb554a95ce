#include "capture/py_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STATE_BYTES 320u            /* no field of a thread state that we read lies behind */
#define CHUNK_BYTES_MAX (64u << 10) /* of one chunk; CPython makes them of 16 kB */
#define CHUNK_SLACK 1024u           /* frames that may be pushed before we read */
#define COPIES_BYTES (512u << 10)   /* of all chunks */
#define ATTEMPTS 12                 /* to follow a stack that changes under our hands */

enum { BEFORE, AFTER }; /* copies: the newest frame is asked for in between */

/* A piece of the workload's memory, copied twice. */
struct piece {
	uint64_t at;
	size_t bytes;
	const uint8_t *copies[2];
};

/* A frame on the way from the newest to the outermost, as it was in both copies. */
struct step {
	uint64_t at;
	bool apart; /* in no chunk */
	const uint8_t *copies[2];
};

struct py_reader {
	struct remote remote;
	struct piece pieces[PY_STACK_CHUNKS + PY_STACK_FRAMES];
	unsigned piece_count, chunk_count;
	struct step steps[2 * PY_STACK_FRAMES]; /* entry frames of C code are among them */
	unsigned step_count;
	bool late; /* frames were found that the first system call had not read */
	uint64_t cframe, top;
	size_t used; /* of `memory` */
	uint8_t memory[COPIES_BYTES];
	uint8_t states[PY_THREADS_MAX][STATE_BYTES];
};

struct py_reader *py_reader_new(void)
{
	return calloc(1, sizeof(struct py_reader));
}

void py_reader_free(struct py_reader *r)
{
	free(r);
}

void py_process_release(struct py_process *p)
{
	for (size_t i = 0; i < p->thread_count; i++)
		free(p->threads[i].apart);
	free(p->threads);
	p->threads = NULL;
	p->thread_count = p->thread_cap = 0;
}

/* Of a frame: up to the last field that is read. */
static size_t frame_bytes(const struct py_layout *l)
{
	return l->state ? l->state + 1u : 80u;
}

/* --- threads --- */

static void thread_fill(struct py_thread *t, const struct py_process *p, const uint8_t *state)
{
	const struct py_layout *l = p->layout;

	t->top = remote_word(state, l->frame);
	t->has_gil = p->gil_holder == t->state;
	if (l->chunk) { /* where it is filled up to, and its end, lie behind it */
		t->chunk = remote_word(state, l->chunk);
		t->chunk_top = remote_word(state, l->chunk + 8u);
		t->chunk_end = remote_word(state, l->chunk + 16u);
	}
}

static uint32_t thread_tid(const struct py_process *p, const uint8_t *state)
{
	const struct py_layout *l = p->layout;
	uint32_t tid = 0;

	if (l->native)
		return (uint32_t)remote_word(state, l->native);
	if (remote_copy(p->pid, &tid, remote_word(state, l->ident) + p->where.thread_id_at,
			sizeof(tid)))
		return 0;
	return tid;
}

/* What has been learnt about the thread with this state, moved; else a new one. */
static struct py_thread thread_take(struct py_thread *old, size_t count, const struct py_process *p,
				    uint64_t at, const uint8_t *state)
{
	uint64_t ident = remote_word(state, p->layout->ident);
	struct py_thread t = { .state = at, .ident = ident };

	for (size_t i = 0; i < count; i++) {
		if (old[i].state == at && old[i].ident == ident) {
			t = old[i];
			memset(&old[i], 0, sizeof(old[i]));
			break;
		}
	}
	/* A thread that is being made may not know its number yet. */
	if (!t.tid)
		t.tid = thread_tid(p, state);
	return t;
}

/* Follows the list one by one, because it is not as it was last time. */
static int threads_follow(struct py_process *p, uint64_t at)
{
	struct py_thread *old = p->threads, *list = calloc(PY_THREADS_MAX, sizeof(*list));
	size_t old_count = p->thread_count, n = 0;
	uint8_t state[STATE_BYTES];

	if (!list) {
		errno = ENOMEM;
		return -1;
	}
	for (; at && n < PY_THREADS_MAX; n++) {
		if (remote_copy(p->pid, state, at, sizeof(state)))
			break; /* it ended just now: the others come next time */
		list[n] = thread_take(old, old_count, p, at, state);
		thread_fill(&list[n], p, state);
		at = remote_word(state, p->layout->next);
	}
	for (size_t i = 0; i < old_count; i++)
		free(old[i].apart);
	free(old);
	p->threads = list;
	p->thread_count = n;
	return 0;
}

/* Is the list as we know it? */
static bool threads_same(const struct py_reader *r, const struct py_process *p, uint64_t head)
{
	for (size_t i = 0; i < p->thread_count; i++) {
		const struct py_thread *t = &p->threads[i];

		if (t->state != head || !t->tid ||
		    remote_word(r->states[i], p->layout->ident) != t->ident)
			return false;
		head = remote_word(r->states[i], p->layout->next);
	}
	return !head || p->thread_count == PY_THREADS_MAX;
}

int py_threads_read(struct py_reader *r, struct py_process *p)
{
	uint8_t gil[PY_GIL_LOCKED + sizeof(uint64_t)] = { 0 };
	uint64_t head = 0;

	remote_clear(&r->remote);
	remote_add(&r->remote, &head, p->where.interpreter + p->layout->threads, sizeof(head));
	if (p->where.gil)
		remote_add(&r->remote, gil, p->where.gil, sizeof(gil));
	for (size_t i = 0; i < p->thread_count; i++)
		remote_add(&r->remote, r->states[i], p->threads[i].state, STATE_BYTES);
	if (remote_read(&r->remote, p->pid)) {
		if (errno != EFAULT || !p->thread_count)
			return -1;
		/* One of them is gone: its state can no longer be read. */
		if (remote_copy(p->pid, &head, p->where.interpreter + p->layout->threads,
				sizeof(head)))
			return -1;
		return threads_follow(p, head);
	}
	p->gil_holder =
		(uint32_t)remote_word(gil, PY_GIL_LOCKED) ? remote_word(gil, PY_GIL_HOLDER) : 0;
	if (!threads_same(r, p, head))
		return threads_follow(p, head);
	for (size_t i = 0; i < p->thread_count; i++)
		thread_fill(&p->threads[i], p, r->states[i]);
	return 0;
}

/* --- stacks --- */

/* Room for a copy; NULL: all is used. */
static uint8_t *memory_take(struct py_reader *r, size_t bytes)
{
	uint8_t *at = r->memory + r->used;

	bytes = (bytes + 7) & ~(size_t)7;
	if (bytes > sizeof(r->memory) - r->used)
		return NULL;
	r->used += bytes;
	return at;
}

static bool piece_add(struct py_reader *r, uint64_t at, size_t bytes)
{
	struct piece *p = &r->pieces[r->piece_count];
	uint8_t *first, *second;

	if (r->piece_count == sizeof(r->pieces) / sizeof(r->pieces[0]))
		return false;
	first = memory_take(r, bytes);
	second = memory_take(r, bytes);
	if (!first || !second)
		return false;
	*p = (struct piece){ at, bytes, { first, second } };
	r->piece_count++;
	return true;
}

/*
 * The newest chunk, up to where it is filled and a little more, and those before it.
 * What they say of each other may be anything.
 */
static void chunks_add(struct py_reader *r, const struct py_process *p, const struct py_thread *t)
{
	uint64_t at = t->chunk, head[2];
	uint64_t end = t->chunk_top + CHUNK_SLACK < t->chunk_end ? t->chunk_top + CHUNK_SLACK
								 : t->chunk_end;

	while (at && end > at && end - at <= CHUNK_BYTES_MAX && r->chunk_count < PY_STACK_CHUNKS &&
	       piece_add(r, at, end - at)) {
		r->chunk_count++;
		/* Only deep stacks have more than one. */
		if (remote_copy(p->pid, head, at, sizeof(head)) || !head[0])
			break;
		at = head[0];
		if (remote_copy(p->pid, head, at, sizeof(head)))
			break;
		end = at + head[1];
	}
}

static void add_top(struct py_reader *r, const struct py_process *p, const struct py_thread *t)
{
	const struct py_layout *l = p->layout;

	if (l->has_cframe) {
		remote_add(&r->remote, &r->cframe, t->state + l->frame, 8);
		remote_add(&r->remote, &r->top, t->top + l->cframe_frame, 8);
	} else {
		remote_add(&r->remote, &r->top, t->state + l->frame, 8);
	}
}

static void add_pieces(struct py_reader *r, int copy)
{
	for (unsigned i = 0; i < r->piece_count; i++)
		remote_add(&r->remote, (uint8_t *)(uintptr_t)r->pieces[i].copies[copy],
			   r->pieces[i].at, r->pieces[i].bytes);
}

/* The system call that it is all about. */
static int copy_twice(struct py_reader *r, const struct py_process *p, const struct py_thread *t)
{
	r->piece_count = r->chunk_count = 0;
	r->used = 0;
	if (p->layout->chunk)
		chunks_add(r, p, t);
	for (unsigned i = 0; i < t->apart_count; i++)
		piece_add(r, t->apart[i], frame_bytes(p->layout));
	remote_clear(&r->remote);
	add_pieces(r, BEFORE);
	add_top(r, p, t);
	add_pieces(r, AFTER);
	return remote_read(&r->remote, p->pid);
}

/* Where the frame at `at` has been copied to.  Frames that are apart come in order: `hint`. */
static bool step_find(const struct py_reader *r, struct step *s, size_t bytes, unsigned *hint)
{
	for (unsigned n = 0; n < r->piece_count; n++) {
		unsigned i = n < r->chunk_count
				     ? n
				     : r->chunk_count + (n - r->chunk_count + *hint) %
								(r->piece_count - r->chunk_count);
		const struct piece *piece = &r->pieces[i];
		uint64_t offset = s->at - piece->at;

		if (offset > piece->bytes || piece->bytes - offset < bytes)
			continue;
		s->copies[BEFORE] = piece->copies[BEFORE] + offset;
		s->copies[AFTER] = piece->copies[AFTER] + offset;
		s->apart = n >= r->chunk_count;
		if (s->apart)
			*hint = i - r->chunk_count + 1;
		return true;
	}
	return false;
}

static bool runs(const struct py_layout *l, const uint8_t *frame)
{
	uint8_t state = l->state ? frame[l->state] : 0;

	return !l->state || (state < 8 && l->runs >> state & 1);
}

/* Follows the newer copy to the outermost frame; what it lacks is read one by one. */
static int walk(struct py_reader *r, const struct py_process *p)
{
	const struct py_layout *l = p->layout;
	size_t bytes = frame_bytes(l);
	uint64_t at = r->top, landmark = 0, newer = UINT64_MAX;
	unsigned hint = 0;

	r->step_count = 0;
	r->late = false;
	while (at) {
		struct step *s = &r->steps[r->step_count];

		/* Round and round: that is no stack.  The landmark moves on ever more slowly. */
		if (at == landmark)
			return -1;
		if (!(r->step_count & (r->step_count - 1)))
			landmark = at;

		if (r->step_count == sizeof(r->steps) / sizeof(r->steps[0]))
			return 0; /* deeper than we look */
		s->at = at;
		if (!step_find(r, s, bytes, &hint)) {
			uint8_t *to = memory_take(r, bytes);

			if (!to || remote_copy(p->pid, to, at, bytes))
				return -1;
			s->copies[BEFORE] = s->copies[AFTER] = to;
			s->apart = r->late = true;
		}
		/* One that was left links to anything, and a caller lies below whom it called. */
		if (!runs(l, s->copies[AFTER]) || (!s->apart && r->chunk_count == 1 && at >= newer))
			return -1;
		if (!s->apart)
			newer = at;
		r->step_count++;
		at = remote_word(s->copies[AFTER], l->previous);
	}
	return 0;
}

/* Another copy of what lies apart, where the first ones were not complete. */
static int copy_late(struct py_reader *r, const struct py_process *p)
{
	size_t bytes = frame_bytes(p->layout);

	remote_clear(&r->remote);
	for (unsigned i = 0; i < r->step_count; i++) {
		struct step *s = &r->steps[i];
		uint8_t *to;

		if (!s->apart)
			continue;
		to = memory_take(r, bytes);
		if (!to || !remote_add(&r->remote, to, s->at, bytes))
			return -1;
		s->copies[BEFORE] = to; /* only to be compared with */
	}
	return remote_read(&r->remote, p->pid);
}

/* For the next look: most frames will still be there. */
static void remember_apart(const struct py_reader *r, struct py_thread *t)
{
	unsigned n = 0;

	if (!t->apart)
		t->apart = malloc(PY_STACK_FRAMES * sizeof(*t->apart));
	for (unsigned i = 0; t->apart && i < r->step_count && n < PY_STACK_FRAMES / 2; i++) {
		if (r->steps[i].apart)
			t->apart[n++] = r->steps[i].at;
	}
	t->apart_count = n;
}

enum likeness { OTHER, MOVED, SAME };

static enum likeness compare(const struct py_layout *l, const struct step *s)
{
	const uint8_t *a = s->copies[BEFORE], *b = s->copies[AFTER];
	uint64_t mask = l->bytecode ? UINT64_MAX : UINT32_MAX; /* an index is 32 bits */

	if (remote_word(a, l->code) != remote_word(b, l->code) ||
	    remote_word(a, l->previous) != remote_word(b, l->previous) || !runs(l, a))
		return OTHER;
	return (remote_word(a, l->instruction) & mask) == (remote_word(b, l->instruction) & mask)
		       ? SAME
		       : MOVED;
}

static bool is_entry(const struct py_layout *l, const struct step *s)
{
	return l->owner && s->copies[AFTER][l->owner] == PY_OWNED_BY_C_STACK;
}

/*
 * From the outermost inwards, as far as the two copies agree, and one further: a
 * frame that has moved on in its function is still that function's, and what it
 * called just then is as good a guess as there is.
 */
static void keep_agreed(const struct py_reader *r, const struct py_layout *l, struct py_stack *out)
{
	unsigned first = r->step_count;
	enum likeness like = SAME;

	while (first && like == SAME) {
		like = compare(l, &r->steps[--first]);
		if (is_entry(l, &r->steps[first]))
			like = SAME;
	}
	/* That it moves on does not matter where nothing is called by it. */
	out->unstable = first || like == OTHER;
	if (first && like == MOVED)
		first--;
	out->count = 0;
	out->cut = false;
	for (unsigned i = first; i < r->step_count; i++) {
		const uint8_t *frame = r->steps[i].copies[AFTER];

		if (is_entry(l, &r->steps[i]))
			continue;
		if (out->count == PY_STACK_FRAMES) {
			out->cut = true;
			return;
		}
		out->frames[out->count].code = remote_word(frame, l->code) & ~(uint64_t)l->tags;
		out->frames[out->count++].instruction = remote_word(frame, l->instruction);
	}
}

/*
 * Frames that are objects come and go so fast in a busy thread that the newest one
 * is never still there when it is read.  What was seen last time is then the way in
 * from the other end: as far as those frames still run, they are the stack.
 */
static int keep_known(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		      struct py_stack *out)
{
	const struct py_layout *l = p->layout;
	uint64_t outer = 0;
	unsigned first = t->apart_count;

	if (l->chunk || !t->apart_count || copy_twice(r, p, t) || r->piece_count != t->apart_count)
		return -1;
	while (first) {
		const struct piece *piece = &r->pieces[first - 1];
		const struct step s = { .copies = { piece->copies[BEFORE], piece->copies[AFTER] } };

		if (!runs(l, s.copies[AFTER]) || compare(l, &s) != SAME ||
		    remote_word(s.copies[AFTER], l->previous) != outer)
			break;
		r->steps[--first] = s;
		outer = piece->at;
	}
	r->step_count = t->apart_count - first;
	memmove(r->steps, r->steps + first, r->step_count * sizeof(r->steps[0]));
	if (!r->step_count)
		return -1;
	keep_agreed(r, l, out);
	out->unstable = true;
	return 0;
}

int py_stack_read(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		  struct py_stack *out)
{
	out->count = 0;
	out->unstable = out->cut = false;
	if (!t->top)
		return 0;
	for (int i = 0; i < ATTEMPTS; i++) {
		if (copy_twice(r, p, t)) {
			if (errno != EFAULT)
				return -1;
			t->apart_count = 0; /* what lay there is gone */
			continue;
		}
		if (p->layout->has_cframe && r->cframe != t->top) {
			t->top = r->cframe; /* C code has called Python, or returned */
			if (!t->top)
				return 0;
			continue;
		}
		if (walk(r, p) || (r->late && copy_late(r, p)))
			continue;
		remember_apart(r, t);
		keep_agreed(r, p->layout, out);
		return 0;
	}
	return keep_known(r, p, t, out);
}

uint32_t py_frame_offset(const struct py_layout *l, const struct py_frame *f)
{
	int64_t offset;

	if (l->bytecode)
		offset = (int64_t)(f->instruction - f->code - l->bytecode);
	else
		offset = (int64_t)(int32_t)f->instruction * l->unit;
	/* A function that has not begun is before its first instruction. */
	return offset > 0 && offset < INT32_MAX ? (uint32_t)offset : 0;
}
