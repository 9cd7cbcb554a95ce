/*
 * CPython 3.11 and later: a thread's frames lie in chunks of memory, each right
 * behind the one that was pushed before it, only those of generators and of C
 * code that calls Python lie apart.
 *
 * To ask for the newest frame and then to read it takes longer than many a
 * function runs.  But a chunk is copied in one go, and the copy tells by itself
 * which frames are in use: one that has called a Python function has put down how
 * full its stack of values is, one that runs, or has called C code, has -1
 * there, and one that was left has a number again.  So the chunk is followed from
 * its beginning, frame by frame, up to the last one that has -1.  Beyond that one
 * lie those that C code called and that have called others, or, far more often,
 * the remains of calls that are over: these stand at a return.
 * What lies apart is found by the links of those behind it, or, where it is
 * itself the newest, by asking after all: it must run before and after.
 */
#include <errno.h>
#include <string.h>

#include "capture/py_reader.h"

#define CHUNK_BYTES_MAX (64u << 10) /* of one chunk; CPython makes them of 16 kB */
#define CHUNK_SLACK 2048u           /* frames that may be pushed before we read */
#define FRAME_WORDS_MAX 4096u
#define BETWEEN_MAX 64u /* frames in a row that lie apart */

/* One look. */
struct chunk_look {
	struct py_reader *reader;
	const struct py_process *process;
	const struct py_layout *layout;
	struct py_thread *thread;
	uint64_t top;     /* the newest frame when it was asked for; 0: unknown */
	unsigned running; /* steps up to the last frame that runs */
	bool certain;     /* that is the newest one */
	bool cut;         /* outer frames are missing */
};

/* Or is about to begin: then it has called nobody either. */
static bool is_running(const struct py_layout *l, const uint8_t *frame)
{
	int64_t offset =
		(int64_t)(remote_word(frame, l->instruction) - frame_code(l, frame) - l->bytecode);

	return (int32_t)remote_word(frame, l->depth) == -1 || offset <= 0;
}

/* Called by C code. */
static bool is_entered(const struct py_layout *l, const uint8_t *frame)
{
	return l->entry && frame[l->entry] == 1;
}

/* In bytes; 0: unknown.  By the address of the code, as long as that proves right. */
static uint64_t size_of_frames(const struct chunk_look *k, uint64_t code)
{
	struct frame_size *known = &k->reader->sizes[(code >> 4 ^ code >> 16) % FRAME_SIZES];
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
	*known = (struct frame_size){ code, pid, words < FRAME_WORDS_MAX ? 8 * words : 0 };
	return known->bytes;
}

/* A code object is gone and another one lies in its place. */
static void forget_size(const struct chunk_look *k, uint64_t code)
{
	k->reader->sizes[(code >> 4 ^ code >> 16) % FRAME_SIZES].code = 0;
}

static bool add_piece(struct py_reader *r, struct piece *to, uint64_t at, size_t bytes)
{
	uint8_t *copy = reader_memory(r, bytes);

	*to = (struct piece){ at, bytes, copy };
	return copy && remote_add(&r->remote, copy, at, bytes);
}

/*
 * The newest chunk, up to where it is filled and a little more, and those before it.
 * What they say of each other may be anything.
 */
static void add_chunks(const struct chunk_look *k)
{
	const struct py_thread *t = k->thread;
	struct py_reader *r = k->reader;
	uint64_t at = t->chunk, head[2];
	uint64_t end = t->chunk_top + CHUNK_SLACK < t->chunk_end ? t->chunk_top + CHUNK_SLACK
								 : t->chunk_end;

	while (at && end > at && end - at <= CHUNK_BYTES_MAX && r->chunk_count < PY_STACK_CHUNKS &&
	       add_piece(r, &r->chunks[r->chunk_count], at, end - at)) {
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

/* The one system call. */
static int copy_all(struct chunk_look *k)
{
	const struct py_layout *l = k->layout;
	struct py_thread *t = k->thread;
	struct py_reader *r = k->reader;
	uint64_t cframe = 0, tops[PY_THREAD_CFRAMES] = { 0 };

	r->used = 0;
	r->chunk_count = r->apart_count = 0;
	k->top = 0;
	remote_clear(&r->remote);
	for (unsigned i = 0; i < t->apart_count; i++) {
		struct piece before;

		if (!add_piece(r, &before, t->apart[i], frame_bytes(l)))
			return -1;
		r->apart_before[i] = before.copy;
	}
	if (l->has_cframe) {
		remote_add(&r->remote, &cframe, t->state + l->frame, sizeof(cframe));
		for (unsigned i = 0; i < t->cframe_count; i++)
			remote_add(&r->remote, &tops[i], t->cframes[i] + l->cframe_frame,
				   sizeof(tops[i]));
	} else {
		remote_add(&r->remote, &k->top, t->state + l->frame, sizeof(k->top));
	}
	add_chunks(k);
	for (unsigned i = 0; i < t->apart_count; i++) {
		if (!add_piece(r, &r->apart[i], t->apart[i], frame_bytes(l)))
			break;
		r->apart_count++;
	}
	if (remote_read(&r->remote, &k->process->memory))
		return -1;
	for (unsigned i = 0; i < t->cframe_count; i++) {
		if (t->cframes[i] == cframe)
			k->top = tops[i];
	}
	if (cframe)
		learn_cframe(t, cframe);
	if (r->chunk_count == 1)
		t->only_chunk = remote_word(r->chunks[0].copy, PY_CHUNK_PREVIOUS) ? 0 : t->chunk;
	return 0;
}

static const uint8_t *find_in_chunks(const struct chunk_look *k, uint64_t at)
{
	const struct py_reader *r = k->reader;

	for (unsigned i = 0; i < r->chunk_count; i++) {
		uint64_t offset = at - r->chunks[i].at;

		if (offset >= PY_CHUNK_DATA && offset < r->chunks[i].bytes &&
		    r->chunks[i].bytes - offset >= frame_bytes(k->layout))
			return r->chunks[i].copy + offset;
	}
	return NULL;
}

/* A frame that lies apart is read now where it was not copied; the next look will copy it. */
static const uint8_t *find_apart(const struct chunk_look *k, uint64_t at)
{
	struct py_thread *t = k->thread;
	struct py_reader *r = k->reader;
	uint8_t *copy;

	for (unsigned i = 0; i < r->apart_count; i++) {
		if (r->apart[i].at == at)
			return r->apart[i].copy;
	}
	copy = reader_memory(r, frame_bytes(k->layout));
	if (!copy || remote_copy(&k->process->memory, copy, at, frame_bytes(k->layout)))
		return NULL;
	if (t->apart_count == PY_THREAD_APART)
		t->apart_count = PY_THREAD_APART / 2; /* the oldest stay: they are the outer ones */
	t->apart[t->apart_count++] = at;
	return copy;
}

/*
 * Follows the links from `at` over frames that lie apart to the one at `to`: `found`
 * gets them, outermost last.  Returns how many, -1: they do not lead there.
 */
static int between(const struct chunk_look *k, uint64_t at, uint64_t to, struct step *found)
{
	int n = 0;

	while (at != to) {
		const uint8_t *copy;

		if (!at || n == (int)BETWEEN_MAX || find_in_chunks(k, at))
			return -1;
		copy = find_apart(k, at);
		if (!copy)
			return -1;
		found[n++] = (struct step){ at, copy };
		at = frame_previous(k->layout, copy);
	}
	return n;
}

/* Of a stack that is too deep the outermost frames go. */
static void push(struct chunk_look *k, const struct step *s)
{
	const unsigned half = READER_STEPS / 2;
	struct py_reader *r = k->reader;

	if (r->step_count == READER_STEPS) {
		memmove(r->steps, r->steps + half, half * sizeof(r->steps[0]));
		r->step_count -= half;
		k->running -= k->running < half ? k->running : half;
		k->cut = true;
	}
	r->steps[r->step_count++] = *s;
}

static void push_between(struct chunk_look *k, const struct step *found, int count)
{
	while (count-- > 0)
		push(k, &found[count]);
}

/*
 * Can `frame`, the next one in the chunk, have been called by the last one?  Pushes
 * what lies apart between them.
 */
static bool link_to_last(struct chunk_look *k, const uint8_t *frame)
{
	struct py_reader *r = k->reader;
	const struct step *last = r->step_count ? &r->steps[r->step_count - 1] : NULL;
	struct step found[BETWEEN_MAX];
	uint64_t previous = frame_previous(k->layout, frame);
	int count;

	if (!last)
		return true; /* what C code has called first */
	/* One that has called C code has called no Python itself. */
	if (previous == last->at)
		return !is_running(k->layout, last->copy) || is_entered(k->layout, frame);
	count = between(k, previous, last->at, found);
	push_between(k, found, count);
	return count >= 0;
}

/* From the beginning of the oldest chunk, as long as one frame follows the other. */
static void scan(struct chunk_look *k)
{
	struct py_reader *r = k->reader;
	unsigned chunk = r->chunk_count;

	r->step_count = 0;
	k->running = 0;
	while (chunk-- > 0) {
		const struct piece *c = &r->chunks[chunk];
		/* The first word of the first chunk is not used. */
		uint64_t at =
			c->at + PY_CHUNK_DATA + (remote_word(c->copy, PY_CHUNK_PREVIOUS) ? 0 : 8);

		for (;;) {
			struct step s = { at, find_in_chunks(k, at) };
			uint64_t size;

			if (!s.copy)
				break; /* the end of what was copied: on to the next chunk */
			size = size_of_frames(k, frame_code(k->layout, s.copy));
			if (!size || !link_to_last(k, s.copy)) {
				if (!chunk)
					return;
				break;
			}
			push(k, &s);
			if (is_running(k->layout, s.copy))
				k->running = r->step_count;
			at += size;
		}
	}
}

static bool is_left(const struct py_layout *l, uint8_t instruction)
{
	/* In 3.11 and 3.12 a call stands at the last of the words behind it, mostly a 0. */
	return instruction && memchr(l->leaves, instruction, sizeof(l->leaves));
}

/* The instructions of the steps from `first` on; a return where they cannot be read. */
static void read_instructions(const struct chunk_look *k, unsigned first, uint8_t *out)
{
	struct py_reader *r = k->reader;

	memset(out, k->layout->leaves[0], r->step_count);
	remote_clear(&r->remote);
	for (unsigned i = first; i < r->step_count; i++)
		remote_add(&r->remote, &out[i],
			   remote_word(r->steps[i].copy, k->layout->instruction), 1);
	remote_read(&r->remote, &k->process->memory);
}

/*
 * Behind the last frame that runs: what a frame that has called Python is followed
 * by is what it called, and what stands at a return is the end of it.
 */
static void follow_calls(struct chunk_look *k)
{
	struct py_reader *r = k->reader;
	uint8_t instructions[READER_STEPS];
	bool called = !k->running;

	k->certain = k->running > 0;
	if (k->running == r->step_count)
		return;
	read_instructions(k, k->running, instructions);
	for (unsigned i = k->running; i < r->step_count; i++) {
		const uint8_t *frame = r->steps[i].copy;
		bool left = is_left(k->layout, instructions[i]);

		if (frame_is_entry(k->layout, frame))
			continue;
		if (left && !called)
			return;
		k->running = i + 1;
		k->certain = left; /* it is returning */
		if (left)
			return;
		called = true;
	}
}

/* Of the frame at `at`: how many steps there are up to it; 0: it is not among them. */
static unsigned steps_to(const struct py_reader *r, uint64_t at)
{
	for (unsigned i = r->step_count; i > 0; i--) {
		if (r->steps[i - 1].at == at)
			return i;
	}
	return 0;
}

/* Of a frame that lies apart: before the chunks were copied and after. */
static bool ran_all_the_while(const struct chunk_look *k, const struct step *s)
{
	const struct py_reader *r = k->reader;

	for (unsigned i = 0; i < r->apart_count; i++) {
		const uint8_t *before = r->apart_before[i];

		if (r->apart[i].at == s->at)
			return is_running(k->layout, before) && is_running(k->layout, s->copy) &&
			       frame_code(k->layout, before) == frame_code(k->layout, s->copy) &&
			       frame_previous(k->layout, before) ==
				       frame_previous(k->layout, s->copy);
	}
	return false;
}

/*
 * The newest frame may lie apart, a generator's: then it was called by one of the
 * steps, and not by one before the last that runs.  True: the steps end with it now.
 */
static bool end_with_top(struct chunk_look *k)
{
	struct py_reader *r = k->reader;
	struct step found[BETWEEN_MAX];
	uint64_t at = k->top;
	unsigned n = 0, steps;

	while (at && n < BETWEEN_MAX && !find_in_chunks(k, at)) {
		found[n].at = at;
		found[n].copy = find_apart(k, at);
		if (!found[n].copy)
			return false;
		at = frame_previous(k->layout, found[n++].copy);
	}
	steps = at ? steps_to(r, at) : 0;
	if (!n || !ran_all_the_while(k, &found[0]) || steps < k->running || !steps)
		return false;
	r->step_count = steps;
	push_between(k, found, (int)n);
	return true;
}

static void end_with_running(struct chunk_look *k, struct py_stack *out)
{
	struct py_reader *r = k->reader;

	if (!k->certain) { /* what it called lies apart, or is another one's by now */
		out->unstable = true;
		if (r->step_count)
			forget_size(k, frame_code(k->layout, r->steps[r->step_count - 1].copy));
	}
	r->step_count = k->running;
}

int frame_chunks_read(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		      struct py_stack *out)
{
	struct chunk_look k = { .reader = r, .process = p, .layout = p->layout, .thread = t };

	if (copy_all(&k)) {
		if (errno != EFAULT)
			return -1;
		t->apart_count = t->cframe_count = 0; /* what lay there is gone */
		if (copy_all(&k))
			return -1;
	}
	scan(&k);
	follow_calls(&k);
	if (!end_with_top(&k))
		end_with_running(&k, out);
	for (unsigned i = r->step_count; i-- > 0;)
		stack_add(out, p->layout, r->steps[i].copy);
	out->cut |= k.cut;
	return 0;
}
