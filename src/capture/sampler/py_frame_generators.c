/*
 * CPython 3.11 and later: frames that lie in no chunk.  Those of generators and
 * coroutines are part of their objects, and where C code calls Python a frame
 * without a function lies on the C stack, between the two.
 *
 * They are found by the links of the frames behind them.  Where one is itself the
 * newest, no frame links to it:
 *
 *   - A frame that stands at an instruction that runs a generator has it on its own
 *     stack of values, and so in the copy of the chunk: that is certain.
 *   - One that runs may have called C code that runs one.  Then the thread's newest frame is asked
 * for, some microseconds later (sooner it would wait for what we have read), and believed if the
 *     frame in question has stayed what it was.
 *
 * Those of the latest samples are copied together with the chunks; another one is read
 * by itself, a system call later, and copied from then on.
 */
#include "capture/sampler/py_reader.h"

#define APART_BYTES 256u /* with the first of its values */
#define APART_AGE_MAX 8u
#define BETWEEN_MAX 64u /* in a row */
#define MISSES_MAX 16u  /* searches for a generator that found none */

/* To what will be read of the thread. */
bool apart_add(struct chunk_read *k)
{
	struct py_thread *t = k->thread;
	struct py_reader *r = k->reader;

	for (r->apart_count = 0; r->apart_count < t->apart_count; r->apart_count++) {
		const struct py_apart *a = &t->apart[r->apart_count];

		if (!reader_add_piece(r, &r->apart[r->apart_count], a->at,
				      a->entry ? frame_bytes(k->layout) : APART_BYTES))
			return false;
	}
	return true;
}

bool apart_has_generators(const struct py_thread *t)
{
	for (unsigned i = 0; i < t->apart_count; i++) {
		if (!t->apart[i].entry)
			return true;
	}
	return false;
}

/* Forgets what has not been of use for a while. */
void apart_fade(struct py_thread *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < t->apart_count; i++) {
		if (t->apart[i].age >= APART_AGE_MAX)
			continue;
		t->apart[n] = t->apart[i];
		t->apart[n++].age++;
	}
	t->apart_count = n;
}

static bool find_copied(const struct chunk_read *k, uint64_t at, struct step *out)
{
	const struct py_reader *r = k->reader;

	for (unsigned i = 0; i < r->apart_count; i++) {
		if (r->apart[i].at == at) {
			*out = (struct step){ at, r->apart[i].copy, r->apart[i].bytes };
			k->thread->apart[i].age = 0;
			return true;
		}
	}
	return false;
}

/* A generator's, whatever it is doing by now. */
static bool is_generator(const struct chunk_read *k, const struct step *s)
{
	const struct py_layout *l = k->layout;

	return (!l->owner || s->copy[l->owner] == PY_OWNED_BY_GENERATOR) &&
	       frame_size_of(k, frame_code(l, s->copy));
}

/* Frames that were left link to whatever lies there by now: only what is a frame is learnt. */
static void learn(struct chunk_read *k, const struct step *s)
{
	struct py_thread *t = k->thread;
	bool entry = frame_is_entry(k->layout, s->copy);

	if (!entry && !is_generator(k, s))
		return;
	for (unsigned i = 0; i < t->apart_count; i++) {
		if (t->apart[i].at == s->at)
			return;
	}
	if (t->apart_count == PY_THREAD_APART)
		return;
	t->apart[t->apart_count++] = (struct py_apart){ .at = s->at, .entry = entry };
	/* That of C code stays what it was until the code returns: no need to read it again. */
	k->learnt |= !entry;
}

static bool read_alone(struct chunk_read *k, uint64_t at, struct step *out)
{
	uint8_t *copy =
		k->alone++ < READER_ALONE_MAX ? reader_memory(k->reader, APART_BYTES) : NULL;

	*out = (struct step){ at, copy, APART_BYTES };
	return copy && !remote_copy(&k->process->memory, copy, at, APART_BYTES);
}

static bool find(struct chunk_read *k, uint64_t at, struct step *out)
{
	if (find_copied(k, at, out))
		return true;
	if (!read_alone(k, at, out))
		return false;
	learn(k, out);
	return true;
}

/*
 * Follows the links from `at` outwards, over frames that lie apart, to one in a chunk:
 * returns its address, 0: they do not lead there.  `found` gets those in between.
 */
static uint64_t follow(struct chunk_read *k, uint64_t at, struct step *found, unsigned *count)
{
	struct step inside;

	for (*count = 0; at && !read_chunks(k, at, &inside); (*count)++) {
		if (*count == BETWEEN_MAX || !find(k, at, &found[*count]))
			return 0;
		at = frame_previous(k->layout, found[*count].copy);
	}
	return at;
}

uint64_t apart_caller(struct chunk_read *k, uint64_t previous)
{
	struct step found[BETWEEN_MAX];
	unsigned count;

	return follow(k, previous, found, &count);
}

static void push_outermost_first(struct chunk_read *k, const struct step *found, unsigned count)
{
	while (count-- > 0)
		reader_push(k, &found[count]);
}

/*
 * Does `from` lead to the frame at `to`, the last one so far?  Pushes what lies apart
 * between them.  From a frame that is in use it does, even if the link is no more by
 * now: a generator that waits has none.
 */
bool apart_link(struct chunk_read *k, uint64_t from, uint64_t to, bool in_use)
{
	struct step found[BETWEEN_MAX];
	unsigned count, still = 0;

	if (follow(k, from, found, &count) != to) {
		if (!in_use)
			return false;
		while (still < count && is_generator(k, &found[still]))
			still++;
		count = still;
	}
	push_outermost_first(k, found, count);
	return true;
}

static uint64_t value_of(const struct chunk_read *k, const struct step *s, size_t index)
{
	return remote_word(s->copy, k->layout->locals + 8 * index);
}

/* Whose frame this value is, if it is a generator's at all. */
static bool generator_of(struct chunk_read *k, uint64_t value, struct step *out)
{
	uint64_t at = value + k->layout->generator;

	if (!value || value & 7 || (!find_copied(k, at, out) && !read_alone(k, at, out)))
		return false;
	return is_generator(k, out);
}

/*
 * Of a frame that runs it is not known how many values it has, and behind the last lie
 * old ones.  But at one instruction it is always as many: which of them is the generator
 * shows as soon as one is found running.
 */
static bool generator_among(struct chunk_read *k, const struct step *s, size_t count,
			    struct step *out)
{
	struct known_place *known = known_place_of(k, s->copy);

	if (known->generator > count ||
	    (!known->generator && known->misses >= MISSES_MAX && ++known->misses % MISSES_MAX))
		return false;
	if (known->generator)
		return generator_of(k, value_of(k, s, known->generator - 1u), out);
	for (size_t i = count; i-- > 0 && i < UINT8_MAX;) {
		if (!generator_of(k, value_of(k, s, i), out) || !frame_runs(k->layout, out->copy))
			continue;
		known->generator = (uint8_t)(i + 1);
		return true;
	}
	known->misses++;
	return false;
}

/* What a frame runs that stands at an instruction that runs generators: the last of its values. */
static bool generator_run_by(struct chunk_read *k, const struct step *s, struct step *out)
{
	const struct py_layout *l = k->layout;
	/* 0: nothing is known of its code, which may be gone by now. */
	uint64_t bytes = frame_size_of(k, frame_code(l, s->copy));
	size_t depth = (uint32_t)remote_word(s->copy, l->depth);
	size_t count;

	bytes = bytes < s->bytes ? bytes : s->bytes;
	if (bytes <= l->locals)
		return false;
	count = (bytes - l->locals) / 8;
	if (frame_runs(l, s->copy))
		return generator_among(k, s, count, out);
	return depth && depth <= count && generator_of(k, value_of(k, s, depth - 1), out);
}

/* The frame that was the newest in the chunks is what it was, all the while. */
static bool has_stayed(const struct chunk_read *k, const struct step *s)
{
	const struct piece *again = &k->reader->again;
	uint64_t offset = s->at - again->at;
	const uint8_t *copy;

	if (offset >= again->bytes || again->bytes - offset < frame_bytes(k->layout))
		return false;
	copy = again->copy + offset;
	return frame_runs(k->layout, copy) == frame_runs(k->layout, s->copy) &&
	       frame_code(k->layout, copy) == frame_code(k->layout, s->copy) &&
	       frame_previous(k->layout, copy) == frame_previous(k->layout, s->copy) &&
	       remote_word(copy, k->layout->instruction) ==
		       remote_word(s->copy, k->layout->instruction);
}

/* The steps end with the newest frame, wherever it lies. */
void apart_end(struct chunk_read *k)
{
	struct py_reader *r = k->reader;
	struct step found[BETWEEN_MAX], base, last;
	unsigned count = 0, inner = 0;

	if (!r->step_count)
		return;
	base = r->steps[r->step_count - 1];
	for (last = base; count < BETWEEN_MAX; count++) {
		if (sample_place(k, last.copy) != PLACE_RESUMES ||
		    !generator_run_by(k, &last, &found[0]))
			break;
		last = found[0];
		reader_push(k, &last);
		k->certain = true;
	}
	if (!frame_runs(k->layout, last.copy) || follow(k, k->top, found, &count) != base.at ||
	    !has_stayed(k, &base))
		return;
	/* Up to the last one: a generator that runs may have called C code that runs another. */
	while (inner < count && found[inner].at != last.at)
		inner++;
	if (inner < count || last.at == base.at)
		push_outermost_first(k, found, inner);
}
