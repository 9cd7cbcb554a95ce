/*
 * CPython 3.11 and later: a thread's frames lie in chunks of memory, each right
 * behind the one that was pushed before it, only those of generators and of C
 * code that calls Python lie apart (py_frame_generators.c).
 *
 * To ask for the newest frame and then to read it takes longer than many a
 * function runs.  But a chunk is copied in one go, and the copy itself shows
 * which frames are in use: one that has called a Python function has put down how
 * full its stack of values is, one that runs, or has called C code, has -1
 * there, and one that was left has a number again.  So the chunk is followed from
 * its beginning, frame by frame, up to the last one that has -1.  Beyond that one
 * lie those that C code called and that have called others, or, far more often,
 * the remains of calls that are over: these stand at a return.
 *
 * The chunk is the first that a sample reads of a thread.  What has been
 * read is in our core's cache, and the thread has to wait for it when it writes
 * there next, half a microsecond at times: whatever is read after the first hot
 * line finds the thread more often than by chance at such a write, that is at a
 * call or a return.  Shares of short functions were wrong by up to ten points when the
 * newest frame was asked for before.
 */
#include <errno.h>
#include <string.h>

#include "capture/sampler/py_reader.h"

#define CHUNK_BYTES_MAX (64u << 10) /* of one chunk; CPython makes them of 16 kB */
#define CHUNK_SLACK 2048u           /* frames that may be pushed before we read */
#define AGAIN_BYTES 1024u           /* on either side of where it was filled to */
#define REACH_FADES 64u             /* samples for which a stack that was deep once is expected */
#define PAUSE_PIECES 4u             /* read for the time that it takes: two microseconds */
#define FRAME_WORDS_MAX 4096u
/* Called by C code. */
static bool is_entered(const struct py_layout *l, const uint8_t *frame)
{
	return l->entry && frame[l->entry] == 1;
}

/* By the address of the code, as long as that proves right. */
static struct frame_size *size_slot(const struct chunk_read *k, uint64_t code)
{
	return &k->reader->sizes[(code >> 4 ^ code >> 16) % FRAME_SIZES];
}

uint64_t frame_size_of(const struct chunk_read *k, uint64_t code)
{
	struct frame_size *known = size_slot(k, code);
	uint32_t words = k->layout->frame_size_fixed;
	uint8_t head[96];
	pid_t pid = k->process->memory.pid;

	if (known->code == code && known->pid == pid)
		return known->bytes;
	if (remote_copy(&k->process->memory, head, code, sizeof(head)) ||
	    remote_word(head, PY_OBJECT_TYPE) != k->process->where.code_type)
		return 0;
	for (int i = 0; i < 2; i++) {
		if (k->layout->frame_size[i])
			words += (uint32_t)remote_word(head, k->layout->frame_size[i]);
	}
	if (words <= k->layout->locals / 8u || words > FRAME_WORDS_MAX)
		words = 0; /* that is no frame */
	*known = (struct frame_size){ code, pid, 8 * words };
	return known->bytes;
}

static struct known_place *place_slot(const struct chunk_read *k, uint64_t instruction)
{
	return &k->reader->places[(instruction >> 1 ^ instruction >> 13) % FRAME_PLACES];
}

/* The one before it is also tried where an instruction may be followed by a word of its own. */
static enum frame_place place_of(const struct py_layout *l, uint8_t before, uint8_t instruction)
{
	if (before && l->resumes_behind && memchr(l->resumes, before, sizeof(l->resumes)))
		return PLACE_RESUMES;
	/* In 3.11 and 3.12 a call stands at the last of the words behind it, mostly a 0. */
	if (!instruction)
		return PLACE_OTHER;
	if (memchr(l->leaves, instruction, sizeof(l->leaves)))
		return PLACE_LEAVES;
	if (memchr(l->waits, instruction, sizeof(l->waits)))
		return PLACE_WAITS;
	return memchr(l->resumes, instruction, sizeof(l->resumes)) ? PLACE_RESUMES : PLACE_OTHER;
}

/* By the instruction's address: CPython may replace it, but by one that does the same. */
struct known_place *known_place_of(const struct chunk_read *k, const uint8_t *frame)
{
	uint64_t at = remote_word(frame, k->layout->instruction);
	struct known_place *known = place_slot(k, at);
	pid_t pid = k->process->memory.pid;
	uint8_t words[3];

	if (known->instruction == at && known->pid == pid)
		return known;
	*known = (struct known_place){ .pid = pid, .place = PLACE_LEAVES }; /* its code is gone */
	if (!remote_copy(&k->process->memory, words, at - 2, sizeof(words))) {
		known->instruction = at;
		known->place = (uint8_t)place_of(k->layout, words[0], words[2]);
	}
	return known;
}

enum frame_place sample_place(const struct chunk_read *k, const uint8_t *frame)
{
	return (enum frame_place)known_place_of(k, frame)->place;
}

/* A code object is gone and another one may lie in its place. */
static void forget(const struct chunk_read *k, const uint8_t *frame)
{
	size_slot(k, frame_code(k->layout, frame))->code = 0;
	place_slot(k, remote_word(frame, k->layout->instruction))->instruction = 0;
}

bool reader_add_piece(struct py_reader *r, struct piece *to, uint64_t at, size_t bytes)
{
	uint8_t *copy = reader_memory(r, bytes);

	*to = (struct piece){ at, bytes, copy };
	return copy && remote_add(&r->remote, copy, at, bytes);
}

/* Up to where the newest chunk is filled, or was lately, and a little more. */
static uint64_t newest_end(const struct py_thread *t)
{
	uint64_t end = t->chunk_top;

	if (t->reach > end && t->reach < t->chunk_end)
		end = t->reach;
	return end + CHUNK_SLACK < t->chunk_end ? end + CHUNK_SLACK : t->chunk_end;
}

/* The newest chunk and those before it.  What they say of each other may be anything. */
static void add_chunks(const struct chunk_read *k)
{
	const struct py_thread *t = k->thread;
	struct py_reader *r = k->reader;
	uint64_t at = t->chunk, end = newest_end(t), head[2];

	while (at && end > at && end - at <= CHUNK_BYTES_MAX && r->chunk_count < PY_STACK_CHUNKS &&
	       reader_add_piece(r, &r->chunks[r->chunk_count], at, end - at)) {
		r->chunk_count++;
		/* Only deep stacks have more than one; those of others are known not to. */
		if (at == t->only_chunk ||
		    remote_copy(&k->process->memory, head, at, sizeof(head)) || !head[0])
			break;
		at = head[0];
		if (remote_copy(&k->process->memory, head, at, sizeof(head)))
			break;
		end = at + head[1];
	}
}

/* What holds the newest frame, if C code has been seen to hold it there. */
static void learn_cframe(struct py_thread *t, uint64_t cframe)
{
	for (unsigned i = 0; i < t->cframe_count; i++) {
		if (t->cframes[i] == cframe)
			return;
	}
	if (t->cframe_count == PY_THREAD_CFRAMES)
		memmove(t->cframes, t->cframes + 1, sizeof(t->cframes) - sizeof(t->cframes[0]));
	else
		t->cframe_count++;
	t->cframes[t->cframe_count - 1] = cframe;
}

/* What the newest frame is asked of. */
struct top_answer {
	uint64_t cframe, tops[PY_THREAD_CFRAMES];
};

static void add_top(struct chunk_read *k, struct top_answer *a)
{
	const struct py_layout *l = k->layout;
	const struct py_thread *t = k->thread;
	struct remote *remote = &k->reader->remote;

	if (!l->has_cframe) {
		remote_add(remote, &k->top, t->state + l->frame, sizeof(k->top));
		return;
	}
	remote_add(remote, &a->cframe, t->state + l->frame, sizeof(a->cframe));
	for (unsigned i = 0; i < t->cframe_count; i++)
		remote_add(remote, &a->tops[i], t->cframes[i] + l->cframe_frame,
			   sizeof(a->tops[i]));
}

static void take_top(struct chunk_read *k, const struct top_answer *a)
{
	struct py_thread *t = k->thread;

	for (unsigned i = 0; i < t->cframe_count; i++) {
		if (t->cframes[i] == a->cframe) {
			k->top = a->tops[i];
			k->in_none = !k->top;
		}
	}
	if (a->cframe)
		learn_cframe(t, a->cframe);
}

/* The newest frames of the newest chunk: is there still what was there before? */
static bool add_again(const struct chunk_read *k)
{
	const struct py_thread *t = k->thread;
	struct py_reader *r = k->reader;
	uint64_t from = r->chunks[0].at, to = from + r->chunks[0].bytes;

	if (t->chunk_top > from + AGAIN_BYTES)
		from = t->chunk_top - AGAIN_BYTES;
	if (t->chunk_top + AGAIN_BYTES < to)
		to = t->chunk_top + AGAIN_BYTES;
	return from >= to || reader_add_piece(r, &r->again, from, to - from);
}

/*
 * The one system call.  Of a thread that is known to have frames of generators, the newest is asked
 * for after a pause, so that it is not found where it waits for what was read before.
 */
static int copy_all(struct chunk_read *k)
{
	struct py_thread *t = k->thread;
	struct py_reader *r = k->reader;
	struct top_answer answer = { 0 };
	uint64_t unused[PAUSE_PIECES];
	bool generators = apart_has_generators(t);

	r->used = 0;
	r->chunk_count = r->apart_count = 0;
	r->again = (struct piece){ 0 };
	k->top = 0;
	k->in_none = k->learnt = false;
	k->alone = 0;
	remote_clear(&r->remote);
	add_chunks(k);
	for (unsigned i = 0; generators && i < PAUSE_PIECES; i++)
		remote_add(&r->remote, &unused[i], t->chunk, sizeof(unused[i]));
	add_top(k, &answer);
	if (!apart_add(k) || (generators && r->chunk_count && !add_again(k)))
		return -1;
	k->lines += r->remote.lines;
	if (remote_read(&r->remote, &k->process->memory))
		return -1;
	take_top(k, &answer);
	if (r->chunk_count == 1)
		t->only_chunk = remote_word(r->chunks[0].copy, PY_CHUNK_PREVIOUS) ? 0 : t->chunk;
	return 0;
}

bool read_chunks(const struct chunk_read *k, uint64_t at, struct step *out)
{
	const struct py_reader *r = k->reader;

	for (unsigned i = 0; i < r->chunk_count; i++) {
		uint64_t offset = at - r->chunks[i].at;

		if (offset < PY_CHUNK_DATA || offset >= r->chunks[i].bytes ||
		    r->chunks[i].bytes - offset < frame_bytes(k->layout))
			continue;
		*out = (struct step){ at, r->chunks[i].copy + offset, r->chunks[i].bytes - offset };
		return true;
	}
	return false;
}

/* Of a stack that is too deep the outermost frames go. */
void reader_push(struct chunk_read *k, const struct step *s)
{
	const unsigned half = READER_STEPS / 2;
	struct py_reader *r = k->reader;

	if (r->step_count == READER_STEPS) {
		memmove(r->steps, r->steps + half, half * sizeof(r->steps[0]));
		r->step_count -= half;
		k->live -= k->live < half ? k->live : half;
		k->cut = true;
	}
	r->steps[r->step_count++] = *s;
}

/* Can this one, the next in the chunk, have been called by the last one? */
static bool link_to_last(struct chunk_read *k, const struct step *s)
{
	struct py_reader *r = k->reader;
	const struct py_layout *l = k->layout;
	uint64_t previous = frame_previous(l, s->copy);
	struct step last;

	if (!r->step_count)
		return true; /* what C code has called first */
	last = r->steps[r->step_count - 1];
	/* One that has called C code has called no Python itself. */
	if (previous == last.at)
		return !frame_runs(l, last.copy) || is_entered(l, s->copy);
	/* No frame that was left has -1. */
	return apart_link(k, previous, last.at, frame_runs(l, s->copy));
}

/*
 * Behind the last frame that there was room for in a chunk lie old ones, and one of them may be
 * what that frame has called before.  The first one of the next chunk is in use as long as that
 * chunk exists, and links to its caller.
 */
static void drop_old_ones(struct chunk_read *k, const struct step *first)
{
	struct py_reader *r = k->reader;
	uint64_t caller = apart_caller(k, frame_previous(k->layout, first->copy));
	unsigned count = r->step_count;

	while (count && r->steps[count - 1].at != caller)
		count--;
	if (!count)
		return;
	r->step_count = count;
	k->live = k->live < count ? k->live : count;
}

/* It has been made, and has run no instruction. */
static bool is_new(const struct py_layout *l, const uint8_t *frame)
{
	return (int64_t)(remote_word(frame, l->instruction) - frame_code(l, frame) - l->bytecode) <=
	       0;
}

/*
 * A frame evaluation function that is not CPython's own (torch.compile's) is given a frame that
 * has not begun: it has no caller yet, and may never run.  What that function calls
 * to compile it or instead of it lies behind, and was called by the frame before.  Is it so here?
 * Then *s becomes the one behind.
 */
static bool skip_unbegun(struct chunk_read *k, struct step *s, uint64_t *size)
{
	struct step behind;
	uint64_t bytes;

	if (!k->reader->step_count || !is_new(k->layout, s->copy) ||
	    !read_chunks(k, s->at + *size, &behind))
		return false;
	bytes = frame_size_of(k, frame_code(k->layout, behind.copy));
	if (!bytes || !link_to_last(k, &behind))
		return false;
	*s = behind;
	*size = bytes;
	return true;
}

/* From the beginning of the oldest chunk, as long as one frame follows the other. */
static void scan(struct chunk_read *k)
{
	struct py_reader *r = k->reader;
	unsigned chunk = r->chunk_count;

	r->step_count = 0;
	k->live = 0;
	while (chunk-- > 0) {
		const struct piece *c = &r->chunks[chunk];
		/* The first word of the first chunk is not used. */
		uint64_t at =
			c->at + PY_CHUNK_DATA + (remote_word(c->copy, PY_CHUNK_PREVIOUS) ? 0 : 8);
		struct step s;

		if (r->step_count && read_chunks(k, at, &s))
			drop_old_ones(k, &s);
		for (;;) {
			uint64_t size;

			if (!read_chunks(k, at, &s))
				break; /* the end of what was copied: on to the next chunk */
			size = frame_size_of(k, frame_code(k->layout, s.copy));
			if (!size || (!link_to_last(k, &s) && !skip_unbegun(k, &s, &size))) {
				if (!chunk)
					return;
				break;
			}
			reader_push(k, &s);
			if (frame_runs(k->layout, s.copy))
				k->live = r->step_count;
			at = s.at + size;
		}
	}
}

/*
 * Behind the last frame that runs: what a frame that has called Python is followed by is
 * what it called, until it goes on itself: one that stands at a return is then being
 * cleared away.  Whether it is still called the newest while that lasts depends on the version.
 * Where nothing runs and there is no newest, as while Python ends, all of it is over.
 */
static void follow_calls(struct chunk_read *k)
{
	struct py_reader *r = k->reader;
	bool called = !k->live;

	k->certain = k->live > 0 || k->in_none;
	if (!k->live && k->in_none)
		r->step_count = 0;
	for (unsigned i = k->live; i < r->step_count; i++) {
		const struct step *s = &r->steps[i];
		enum frame_place place;

		if (frame_is_entry(k->layout, s->copy))
			continue;
		place = sample_place(k, s->copy);
		if (place == PLACE_LEAVES && !called)
			break;
		k->live = i + 1;
		k->certain = place == PLACE_LEAVES || is_new(k->layout, s->copy);
		/* Behind one that runs a generator the chunk has nothing that it called. */
		if (k->certain || (place == PLACE_RESUMES && i + 1 < r->step_count &&
				   frame_previous(k->layout, s[1].copy) == s->at))
			break;
		called = true;
	}
	r->step_count = k->live;
}

/* How much of the newest chunk to copy the next time. */
static void learn_reach(const struct chunk_read *k)
{
	const struct py_reader *r = k->reader;
	struct py_thread *t = k->thread;
	uint64_t at = r->step_count ? r->steps[r->step_count - 1].at : 0;

	if (at - t->chunk >= t->chunk_end - t->chunk)
		at = t->chunk;
	if (at > t->reach || t->reach >= t->chunk_end || t->reach < t->chunk ||
	    ++t->reach_age > REACH_FADES) {
		t->reach = at;
		t->reach_age = 0;
	}
}

static int read_thread(struct chunk_read *k)
{
	struct py_thread *t = k->thread;

	if (copy_all(k)) {
		if (errno == ESRCH)
			return -1;
		t->apart_count = t->cframe_count = 0; /* what lay there is gone */
		if (copy_all(k))
			return -1;
	}
	scan(k);
	follow_calls(k);
	learn_reach(k);
	apart_end(k);
	return 0;
}

int frame_chunks_read(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		      struct py_stack *out)
{
	struct chunk_read k = { .reader = r, .process = p, .layout = p->layout, .thread = t };

	/* Once more with what it has taught, but only once: that is another moment. */
	if (read_thread(&k) || (k.learnt && read_thread(&k)))
		return -1;
	out->lines = k.lines;
	apart_fade(t);
	if (!k.certain && r->step_count) /* what it called lies apart, or is another one's by now */
		forget(&k, r->steps[r->step_count - 1].copy);
	out->unstable = !k.certain;
	for (unsigned i = r->step_count; i-- > 0;)
		stack_add(out, p->layout, r->steps[i].copy);
	out->cut |= k.cut;
	return 0;
}
