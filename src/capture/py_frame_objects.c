/*
 * CPython 3.8 to 3.10: a frame is an object that lies anywhere and links to its
 * caller; where it was left, it keeps what is in it for a while.
 *
 * A function that is called again and again has its frame at the same place, so the
 * frames of the latest looks are most likely those of this one.  One system call reads
 * them all, asks for the newest, and reads them again: within a few hundred
 * nanoseconds, less than a call may take.  The newest frame is what runs, even
 * if it was left before it was read; around it are those that it links to, as far as
 * they ran and stayed the same function's.
 */
#include <errno.h>
#include <string.h>

#include "capture/py_reader.h"

#define RECENT 24u /* frames of earlier looks that are read beside those of the last */
#define ATTEMPTS 2 /* more would choose among the moments: those in which little changes */

enum { BEFORE, AFTER };

struct object_copies {
	const uint8_t *copies[2]; /* of each frame that was known */
};

static bool runs(const struct py_layout *l, const uint8_t *frame)
{
	uint8_t state = frame[l->state];

	return state < 8 && l->runs >> state & 1;
}

/* Both copies of all known frames, and the newest frame's address in between. */
static int copy_known(struct py_reader *r, const struct py_process *p, const struct py_thread *t,
		      struct object_copies *known, uint64_t *top)
{
	size_t bytes = frame_bytes(p->layout);

	r->used = 0;
	remote_clear(&r->remote);
	for (int copy = BEFORE; copy <= AFTER; copy++) {
		for (unsigned i = 0; i < t->apart_count; i++) {
			uint8_t *to = reader_memory(r, bytes);

			known[i].copies[copy] = to;
			if (!to || !remote_add(&r->remote, to, t->apart[i], bytes))
				return -1;
		}
		if (copy == BEFORE)
			remote_add(&r->remote, top, t->state + p->layout->frame, sizeof(*top));
	}
	return remote_read(&r->remote, &p->memory);
}

/* Another function's frame lies where it lay. */
static bool changed(const struct py_layout *l, const struct object_copies *c)
{
	return frame_code(l, c->copies[BEFORE]) != frame_code(l, c->copies[AFTER]);
}

/* As it was while it ran; NULL: it did not. */
static const uint8_t *running_copy(const struct py_layout *l, const struct object_copies *c)
{
	if (changed(l, c))
		return NULL;
	if (runs(l, c->copies[AFTER]))
		return c->copies[AFTER];
	return runs(l, c->copies[BEFORE]) ? c->copies[BEFORE] : NULL;
}

/* Which of the known frames it is, looked for from `hint` on; apart_count: none. */
static unsigned find_known(const struct py_thread *t, uint64_t at, unsigned hint)
{
	for (unsigned n = 0; n < t->apart_count; n++) {
		unsigned i = (hint + n) % t->apart_count;

		if (t->apart[i] == at)
			return i;
	}
	return t->apart_count;
}

/* A frame that was not known is read by itself: a system call later. */
static const uint8_t *copy_alone(struct py_reader *r, const struct py_process *p, uint64_t at)
{
	uint8_t *to = reader_memory(r, frame_bytes(p->layout));

	return to && !remote_copy(&p->memory, to, at, frame_bytes(p->layout)) ? to : NULL;
}

/* The copy to go by; NULL: not a frame of this stack. */
static const uint8_t *copy_of(struct py_reader *r, const struct py_process *p,
			      const struct object_copies *known, uint64_t at, bool newest)
{
	const struct py_layout *l = p->layout;
	const uint8_t *copy = known ? running_copy(l, known) : copy_alone(r, p, at);

	if (known && !copy && newest && !changed(l, known))
		copy = known->copies[AFTER]; /* came and went in between */
	/* One that was left links to anything, in the end to nothing; the newest did run. */
	return copy && (runs(l, copy) || (newest && frame_previous(l, copy))) ? copy : NULL;
}

/* From the newest frame outwards.  -1: it cannot be followed to the end. */
static int walk(struct py_reader *r, const struct py_process *p, const struct py_thread *t,
		const struct object_copies *known, uint64_t at)
{
	uint64_t landmark = 0;
	unsigned hint = 0;

	r->step_count = 0;
	while (at && r->step_count < PY_THREAD_APART - RECENT) {
		unsigned i = find_known(t, at, hint);
		const struct object_copies *c = i < t->apart_count ? &known[i] : NULL;
		const uint8_t *copy = copy_of(r, p, c, at, !r->step_count);

		/* Round and round: that is no stack.  The landmark moves on ever more slowly. */
		if (at == landmark || !copy)
			return -1;
		if (!(r->step_count & (r->step_count - 1)))
			landmark = at;
		hint = c ? i + 1 : hint;
		r->steps[r->step_count++] = (struct step){ at, copy };
		at = frame_previous(p->layout, copy);
	}
	return 0;
}

static void remember(struct py_thread *t, const uint64_t *stack, unsigned count)
{
	uint64_t before[PY_THREAD_APART];
	unsigned n = count;

	memcpy(before, t->apart, t->apart_count * sizeof(before[0]));
	memcpy(t->apart, stack, count * sizeof(stack[0]));
	for (unsigned i = 0; i < t->apart_count && n < count + RECENT; i++) {
		bool again = false;

		for (unsigned k = 0; k < count && !again; k++)
			again = before[i] == stack[k];
		if (!again)
			t->apart[n++] = before[i];
	}
	t->apart_count = n;
	t->stack_count = count;
}

/* A newest frame that could not be placed will be known the next time. */
static void remember_newest(struct py_thread *t, uint64_t top)
{
	unsigned count = t->stack_count;

	if (find_known(t, top, 0) < t->apart_count)
		return;
	if (t->apart_count == PY_THREAD_APART || t->apart_count >= count + RECENT)
		t->apart_count = count + RECENT - 1;
	memmove(&t->apart[count + 1], &t->apart[count],
		(t->apart_count - count) * sizeof(t->apart[0]));
	t->apart[count] = top;
	t->apart_count++;
}

/*
 * In a busy thread the newest frame may never be there any more when it is read.
 * What was seen last time is then the way in from the other end: as far as those
 * frames still run, they are the stack.
 */
static int keep_known(const struct py_layout *l, const struct py_thread *t,
		      const struct object_copies *known, struct py_stack *out)
{
	unsigned first = t->stack_count;
	uint64_t outer = 0;

	while (first) {
		const struct object_copies *c = &known[first - 1];

		if (changed(l, c) || !runs(l, c->copies[BEFORE]) || !runs(l, c->copies[AFTER]) ||
		    frame_previous(l, c->copies[AFTER]) != outer)
			break;
		outer = t->apart[--first];
	}
	if (first == t->stack_count)
		return -1;
	for (unsigned i = first; i < t->stack_count; i++)
		stack_add(out, l, known[i].copies[AFTER]);
	out->unstable = true;
	return 0;
}

static void keep_walk(const struct py_reader *r, const struct py_layout *l, struct py_thread *t,
		      struct py_stack *out)
{
	uint64_t stack[PY_THREAD_APART];

	for (unsigned n = 0; n < r->step_count; n++) {
		stack_add(out, l, r->steps[n].copy);
		stack[n] = r->steps[n].at;
	}
	out->cut = frame_previous(l, r->steps[r->step_count - 1].copy) != 0;
	out->unstable = !runs(l, r->steps[0].copy);
	remember(t, stack, r->step_count);
}

int frame_objects_read(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		       struct py_stack *out)
{
	struct object_copies known[PY_THREAD_APART];
	uint64_t top = 0;

	for (int i = 0; i < ATTEMPTS; i++) {
		if (copy_known(r, p, t, known, &top)) {
			bool gone = errno == EFAULT && t->apart_count;

			t->apart_count = t->stack_count = 0; /* what lay there is gone */
			if (!gone || copy_known(r, p, t, known, &top))
				return -1;
		}
		if (!top)
			return 0;
		if (!walk(r, p, t, known, top)) {
			keep_walk(r, p->layout, t, out);
			return 0;
		}
		if (i + 1 < ATTEMPTS)
			remember_newest(t, top);
	}
	return t->stack_count ? keep_known(p->layout, t, known, out) : -1;
}
