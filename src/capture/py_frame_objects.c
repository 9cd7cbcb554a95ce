/*
 * CPython 3.8 to 3.10: a frame is an object that lies anywhere and links to its
 * caller; where it was left, it keeps what is in it for a while.
 *
 * The frames of the last look are read in one system call, the newest one asked
 * for, and the same frames read again: those that ran at both times and still
 * link to each other ran in between.  New frames are read one by one and then
 * again together.
 */
#include <errno.h>
#include <string.h>

#include "capture/py_reader.h"

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
	return remote_read(&r->remote, p->pid);
}

enum likeness { OTHER, MOVED, SAME };

static enum likeness compare(const struct py_layout *l, const uint8_t *a, const uint8_t *b)
{
	if (frame_code(l, a) != frame_code(l, b) || frame_previous(l, a) != frame_previous(l, b) ||
	    !runs(l, a) || !runs(l, b))
		return OTHER;
	return (uint32_t)remote_word(a, l->instruction) == (uint32_t)remote_word(b, l->instruction)
		       ? SAME
		       : MOVED;
}

/* The copy of a frame that is among the known ones, from `hint` on; NULL: it is not. */
static const uint8_t *find_known(const struct py_thread *t, const struct object_copies *known,
				 uint64_t at, unsigned *hint)
{
	for (unsigned n = 0; n < t->apart_count; n++) {
		unsigned i = (*hint + n) % t->apart_count;

		if (t->apart[i] == at) {
			*hint = i + 1;
			return known[i].copies[AFTER];
		}
	}
	return NULL;
}

/* From the newest frame outwards; what is not known is read one by one. */
static int walk(struct py_reader *r, const struct py_process *p, const struct py_thread *t,
		const struct object_copies *known, uint64_t at)
{
	const struct py_layout *l = p->layout;
	uint64_t landmark = 0;
	unsigned hint = 0;

	r->step_count = 0;
	while (at && r->step_count < PY_THREAD_APART) {
		struct step *s = &r->steps[r->step_count];
		const uint8_t *copy = find_known(t, known, at, &hint);

		/* Round and round: that is no stack.  The landmark moves on ever more slowly. */
		if (at == landmark)
			return -1;
		if (!(r->step_count & (r->step_count - 1)))
			landmark = at;
		if (!copy) {
			uint8_t *to = reader_memory(r, frame_bytes(l));

			if (!to || remote_copy(p->pid, to, at, frame_bytes(l)))
				return -1;
			copy = to;
		}
		if (!runs(l, copy)) /* one that was left links to anything */
			return -1;
		*s = (struct step){ at, copy };
		r->step_count++;
		at = frame_previous(l, copy);
	}
	return 0;
}

/* All frames of the walk again. */
static int copy_again(struct py_reader *r, const struct py_process *p, const uint8_t **again)
{
	size_t bytes = frame_bytes(p->layout);

	remote_clear(&r->remote);
	for (unsigned i = 0; i < r->step_count; i++) {
		uint8_t *to = reader_memory(r, bytes);

		again[i] = to;
		if (!to || !remote_add(&r->remote, to, r->steps[i].at, bytes))
			return -1;
	}
	return remote_read(&r->remote, p->pid);
}

/*
 * From the outermost inwards, as far as the two copies agree, and one further: a
 * frame that has moved on in its function is still that function's, and what it
 * called just then is as good a guess as there is.
 */
static void keep_agreed(const struct py_reader *r, const struct py_layout *l,
			const uint8_t *const *again, struct py_stack *out)
{
	unsigned first = r->step_count;
	enum likeness like = SAME;

	while (first && like == SAME) {
		first--;
		like = compare(l, r->steps[first].copy, again[first]);
	}
	/* That it moves on does not matter where nothing is called by it. */
	out->unstable = first || like == OTHER;
	if (first && like == MOVED)
		first--;
	for (unsigned i = first; i < r->step_count; i++)
		stack_add(out, l, r->steps[i].copy);
}

/*
 * In a busy thread the newest frame may never be there any more when it is read.
 * What was seen last time is then the way in from the other end: as far as those
 * frames still run, they are the stack.
 */
static int keep_known(const struct py_layout *l, const struct py_thread *t,
		      const struct object_copies *known, struct py_stack *out)
{
	uint64_t outer = 0;
	unsigned first = t->apart_count;

	while (first) {
		const uint8_t *const *copies = known[first - 1].copies;

		if (compare(l, copies[BEFORE], copies[AFTER]) == OTHER ||
		    frame_previous(l, copies[AFTER]) != outer)
			break;
		outer = t->apart[--first];
	}
	if (first == t->apart_count)
		return -1;
	for (unsigned i = first; i < t->apart_count; i++)
		stack_add(out, l, known[i].copies[AFTER]);
	out->unstable = true;
	return 0;
}

int frame_objects_read(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		       struct py_stack *out)
{
	struct object_copies known[PY_THREAD_APART];
	const uint8_t *again[PY_THREAD_APART];
	uint64_t top = 0;

	for (int i = 0; i < ATTEMPTS; i++) {
		if (copy_known(r, p, t, known, &top)) {
			bool gone = errno == EFAULT && t->apart_count;

			t->apart_count = 0; /* what lay there is gone */
			if (!gone || copy_known(r, p, t, known, &top))
				return -1;
		}
		if (!top)
			return 0;
		if (walk(r, p, t, known, top) || copy_again(r, p, again))
			continue;
		out->cut = frame_previous(p->layout, r->steps[r->step_count - 1].copy) != 0;
		keep_agreed(r, p->layout, again, out);
		for (unsigned n = 0; n < r->step_count; n++)
			t->apart[n] = r->steps[n].at;
		t->apart_count = r->step_count;
		return 0;
	}
	return t->apart_count ? keep_known(p->layout, t, known, out) : -1;
}
