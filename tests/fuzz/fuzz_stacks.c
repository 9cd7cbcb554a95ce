/* links: is_capture */
/*
 * Any memory, read as that of a Python: what a window answers, or what the kernel
 * finds in a process that changes meanwhile, may be anything.  Every address holds
 * some byte of the input, some cannot be read, and bytes move between two reads.
 * Beyond memory safety it checks the bounds that the callers rely on.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture/sampler/py_codes.h"
#include "capture/sampler/py_stacks.h"
#include "capture/sampler/sampler_parts.h"
#include "format/record.h"

#define HEAD 4u   /* bytes of the input that are orders */
#define SAMPLES 3 /* at each thread: what the last one taught is used by the next */
#define THREADS 8 /* more are not looked at */
#define READS_MAX 20000u

static struct {
	const uint8_t *bytes;
	size_t size;
	uint8_t moves, by, holes;
	unsigned reads;
} image;

static void require(int ok)
{
	if (!ok)
		abort();
}

static bool has_hole(uint64_t at, size_t bytes)
{
	for (uint64_t page = at >> 12; image.holes && bytes && page <= (at + bytes - 1) >> 12;
	     page++) {
		if (page % 256 == image.holes)
			return true;
	}
	return false;
}

/* In place of the one in window.c: the linker takes the first. */
int window_read(struct window *w, const struct iovec *to, const struct iovec *from, unsigned count)
{
	uint64_t moved = image.moves ? (uint64_t)image.by * (image.reads / image.moves) : 0;

	(void)w;
	require(image.reads++ < READS_MAX); /* it comes to an end */
	for (unsigned i = 0; i < count; i++) {
		uint64_t at = (uintptr_t)from[i].iov_base;
		uint8_t *copy = to[i].iov_base;
		size_t left = to[i].iov_len, first = (size_t)((at + moved) % image.size);

		if (has_hole(at, left)) {
			errno = EFAULT;
			return -1;
		}
		while (left) {
			size_t n = image.size - first < left ? image.size - first : left;

			memcpy(copy, image.bytes + first, n);
			copy += n;
			left -= n;
			first = 0;
		}
	}
	return 0;
}

static uint32_t last_id;

static uint32_t next_id(void *context)
{
	(void)context;
	return ++last_id;
}

static void define(void *context, uint8_t kind, uint32_t id, const void *payload, size_t bytes)
{
	uint8_t last = 0;

	(void)context;
	require(kind == DEF_CODE || kind == DEF_LINES || kind == DEF_STACK);
	require(id && id <= last_id && bytes && bytes <= DEF_PAYLOAD_MAX);
	memcpy(&last, (const uint8_t *)payload + bytes - 1, 1);
}

static void sample(struct py_reader *reader, struct py_process *p, struct py_codes *codes,
		   struct stack_ids *stacks, int64_t now_ns)
{
	const struct py_definitions d = { NULL, next_id, define };
	static struct py_stack stack;
	struct py_frame top;
	uint32_t ids[PY_STACK_FRAMES];

	if (py_threads_read(reader, p))
		return;
	require(p->thread_count <= PY_THREADS_MAX);
	for (size_t i = 0; i < p->thread_count && i < THREADS; i++) {
		py_thread_place(p, &p->threads[i], &top);
		if (py_stack_read(reader, p, &p->threads[i], &stack))
			continue;
		require(stack.count <= PY_STACK_FRAMES);
		if (!py_codes_find(codes, p, &stack, ids, now_ns, &d) && stack.count)
			stack_ids_find(stacks, p->layout, stack.frames, ids, stack.count, &d);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct py_reader *reader;
	struct py_process p = { 0 };
	struct py_codes codes;
	struct stack_ids stacks = { 0 };

	if (size < HEAD + 8)
		return 0;
	if (!reader)
		reader = py_reader_new();
	require(reader != NULL);
	p.layout = py_layout_find(0x03080000u + (uint32_t)(data[0] % 6) * 0x10000u);
	require(p.layout != NULL);
	image.moves = data[1];
	image.by = data[2];
	image.holes = data[3];
	image.bytes = data + HEAD;
	image.size = size - HEAD;
	image.reads = 0;
	last_id = 0;
	p.memory.window = (struct window *)(void *)&image; /* not NULL: all goes through it */
	p.where.readable = 1;
	p.where.interpreter = 4096;
	p.where.gil = 8192;
	p.where.thread_id_at = 16;
	memcpy(&p.where.code_type, data + HEAD, sizeof(p.where.code_type));
	py_codes_init(&codes);
	for (int i = 0; i < SAMPLES; i++)
		sample(reader, &p, &codes, &stacks, (int64_t)i * 200000000);
	py_process_release(&p);
	py_codes_release(&codes);
	stack_ids_release(&stacks);
	return 0;
}
