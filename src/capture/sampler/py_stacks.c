#include "capture/sampler/py_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/sampler/py_reader.h"

struct py_reader *py_reader_new(void)
{
	return calloc(1, sizeof(struct py_reader));
}

void py_reader_free(struct py_reader *r)
{
	free(r);
}

uint8_t *reader_memory(struct py_reader *r, size_t bytes)
{
	uint8_t *at = r->memory + r->used;

	bytes = (bytes + 7) & ~(size_t)7;
	if (bytes > sizeof(r->memory) - r->used)
		return NULL;
	r->used += bytes;
	return at;
}

void py_process_release(struct py_process *p)
{
	free(p->threads);
	p->threads = NULL;
	p->thread_count = 0;
}

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
	if (remote_copy(&p->memory, &tid, remote_word(state, l->ident) + p->where.thread_id_at,
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
		if (remote_copy(&p->memory, state, at, sizeof(state)))
			break; /* it ended just now: the others come next time */
		list[n] = thread_take(old, old_count, p, at, state);
		thread_fill(&list[n], p, state);
		at = remote_word(state, p->layout->next);
	}
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
	if (remote_read(&r->remote, &p->memory)) {
		if (errno != EFAULT || !p->thread_count)
			return -1;
		/* One of them is gone: its state can no longer be read. */
		if (remote_copy(&p->memory, &head, p->where.interpreter + p->layout->threads,
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

void stack_add(struct py_stack *out, const struct py_layout *l, const uint8_t *frame)
{
	if (frame_is_entry(l, frame))
		return;
	if (out->count == PY_STACK_FRAMES) {
		out->cut = true;
		return;
	}
	out->frames[out->count].code = frame_code(l, frame);
	out->frames[out->count++].instruction = remote_word(frame, l->instruction);
}

int py_stack_read(struct py_reader *r, const struct py_process *p, struct py_thread *t,
		  struct py_stack *out)
{
	out->count = 0;
	out->unstable = out->cut = false;
	out->lines = 0;
	r->used = 0;
	if (!t->top)
		return 0;
	return p->layout->chunk ? frame_chunks_read(r, p, t, out)
				: frame_objects_read(r, p, t, out);
}

uint64_t py_thread_place(const struct py_process *p, const struct py_thread *t,
			 struct py_frame *top)
{
	const struct py_layout *l = p->layout;
	uint64_t at = t->top, place = t->chunk_top;
	uint8_t frame[PY_FRAME_BYTES];

	*top = (struct py_frame){ 0 };
	if (l->has_cframe && at &&
	    remote_copy(&p->memory, &at, t->top + l->cframe_frame, sizeof(at)))
		return 0;
	if (!at || remote_copy(&p->memory, frame, at, frame_bytes(l)))
		return 0;
	*top = (struct py_frame){ .code = frame_code(l, frame),
				  .instruction = remote_word(frame, l->instruction) };
	place = (place ^ at) * 0x9fb21c651e98df25ull;
	place = (place ^ frame_code(l, frame)) * 0x9fb21c651e98df25ull;
	place = (place ^ frame_previous(l, frame)) * 0x9fb21c651e98df25ull;
	return (place ^ remote_word(frame, l->instruction)) | 1;
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
