#include "timeline/cuda_decode.h"

#include <string.h>

#include "base/varint.h"

/* Copies exist to and from arrays too; here an array is device memory. */
static const enum gpu_copy copies[] = {
	[1] = GPU_COPY_HOST_TO_DEVICE,   [2] = GPU_COPY_DEVICE_TO_HOST,
	[3] = GPU_COPY_HOST_TO_DEVICE,   [4] = GPU_COPY_DEVICE_TO_HOST,
	[5] = GPU_COPY_DEVICE_TO_DEVICE, [6] = GPU_COPY_DEVICE_TO_DEVICE,
	[7] = GPU_COPY_DEVICE_TO_DEVICE, [8] = GPU_COPY_DEVICE_TO_DEVICE,
	[9] = GPU_COPY_HOST_TO_HOST,     [10] = GPU_COPY_PEER,
};

/* 6 and 7 are variables that live where 3 and 5 do. */
static const enum gpu_memory memories[] = {
	[1] = GPU_MEMORY_PAGEABLE, [2] = GPU_MEMORY_PINNED,  [3] = GPU_MEMORY_DEVICE,
	[4] = GPU_MEMORY_ARRAY,    [5] = GPU_MEMORY_MANAGED, [6] = GPU_MEMORY_DEVICE,
	[7] = GPU_MEMORY_MANAGED,
};

static enum cuda_call call_of(uint64_t n)
{
	return n <= CUDA_CALL_GRAPH_BUILD ? (enum cuda_call)n : CUDA_CALL_OTHER;
}

static enum gpu_copy copy_of(uint64_t n)
{
	return n < sizeof(copies) / sizeof(*copies) ? copies[n] : GPU_COPY_UNKNOWN;
}

static enum gpu_memory memory_of(uint64_t n)
{
	return n < sizeof(memories) / sizeof(*memories) ? memories[n] : GPU_MEMORY_UNKNOWN;
}

/* Bytes that go on, of eight. */
#define GOES_ON UINT64_C(0x8080808080808080)

/* varint_get(), without a loop for the short ones and for times of the clock, which take nine
 * bytes. */
static inline const uint8_t *get(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
	uint64_t word;

	if (end - p < 9)
		return p < end && *p < 0x80 ? (*value = *p, p + 1) : varint_get(p, end, value);
	if (*p < 0x80) {
		*value = *p;
		return p + 1;
	}
	memcpy(&word, p, sizeof(word)); /* both architectures are little endian */
	if ((word & GOES_ON) != GOES_ON || p[8] >= 0x80)
		return varint_get(p, end, value);
	word &= ~GOES_ON;
	word = (word & UINT64_C(0x007f007f007f007f)) | (word & UINT64_C(0x7f007f007f007f00)) >> 1;
	word = (word & UINT64_C(0x00003fff00003fff)) | (word & UINT64_C(0x3fff00003fff0000)) >> 2;
	word = (word & UINT64_C(0x000000000fffffff)) | (word & UINT64_C(0x0fffffff00000000)) >> 4;
	*value = word | (uint64_t)p[8] << 56;
	return p + 9;
}

size_t payload_fields(struct payload *p, uint64_t *fields, size_t n)
{
	size_t got = 0;

	memset(fields, 0, n * sizeof(*fields));
	while (got < n) {
		p->at = get(p->at, p->end, &fields[got]);
		if (!p->at)
			break;
		got++;
	}
	return got;
}

bool cuda_entry_decode(struct cuda_entry *out, const struct event_batch *b, size_t i)
{
	enum { WHAT, CORRELATION, STACK, BYTES, STREAM, FIELDS };
	struct payload p = event_payload(b, i);
	uint64_t f[FIELDS];

	if (payload_fields(&p, f, FIELDS) < STREAM)
		return false;
	*out = (struct cuda_entry){
		.what = call_of(f[WHAT]),
		.correlation = cut_to_u32(f[CORRELATION]),
		.stack = cut_to_u32(f[STACK]),
		.stream = f[STREAM] && f[STREAM] <= STREAM_UNKNOWN ? (uint32_t)(f[STREAM] - 1)
								   : STREAM_UNKNOWN,
		.bytes = f[BYTES],
	};
	return true;
}

/* Moves p behind n varints; false: it ends before. */
static bool skip(struct payload *p, size_t n)
{
	uint64_t unused;

	while (n-- && p->at)
		p->at = get(p->at, p->end, &unused);
	return p->at != NULL;
}

bool work_record_decode(struct work_record *out, const struct event_batch *b, size_t i)
{
	struct payload p = event_payload(b, i);
	uint64_t times[2], correlation;

	if (payload_fields(&p, times, 2) < 2)
		return false;
	out->where = p;
	if (!skip(&p, 3))
		return false;
	out->where.end = p.at;
	if (payload_fields(&p, &correlation, 1) < 1)
		return false;
	out->start_ns = times[0];
	out->duration_ns = times[1];
	out->correlation = cut_to_u32(correlation);
	out->what = p;
	if (p.end - p.at > (ptrdiff_t)WORK_WHAT_MAX)
		out->what.end = p.at + WORK_WHAT_MAX;
	return true;
}

static void kernel_set(struct gpu_work *w, const uint64_t *f)
{
	for (size_t k = 0; k < 3; k++) {
		w->grid[k] = cut_to_u32(f[k]);
		w->block[k] = cut_to_u32(f[3 + k]);
	}
	w->registers = cut_to_u32(f[6]);
	w->static_shared_bytes = cut_to_u32(f[7]);
	w->dynamic_shared_bytes = cut_to_u32(f[8]);
	w->graph = cut_to_u32(f[9]);
	w->graph_node = f[10];
}

static void copy_set(struct gpu_work *w, const uint64_t *f, uint32_t id)
{
	w->copy = copy_of(id);
	w->bytes = f[0];
	w->source = memory_of(f[1]);
	w->destination = memory_of(f[2]);
	w->asynchronous = f[3] != 0;
	w->graph = cut_to_u32(f[4]);
	w->graph_node = f[5];
}

static void memset_set(struct gpu_work *w, const uint64_t *f, uint32_t id)
{
	w->bytes = f[0];
	w->destination = memory_of(id);
	w->asynchronous = f[2] != 0;
	w->graph = cut_to_u32(f[3]);
	w->graph_node = f[4];
}

void work_decode(struct gpu_work *out, const struct work_record *r, uint8_t kind, uint32_t id)
{
	struct payload where = r->where, what = r->what;
	uint64_t place[3], f[11];

	payload_fields(&where, place, 3);
	payload_fields(&what, f, 11);
	*out = (struct gpu_work){
		.device = cut_to_u32(place[0]),
		.context = cut_to_u32(place[1]),
		.stream = cut_to_u32(place[2]),
		.capture = GPU_NONE,
	};
	switch (kind) {
	case RECORD_GPU_KERNEL:
		out->kind = GPU_KERNEL;
		kernel_set(out, f);
		break;
	case RECORD_GPU_COPY:
		out->kind = GPU_COPY;
		copy_set(out, f, id);
		break;
	case RECORD_GPU_MEMSET:
		out->kind = GPU_MEMSET;
		memset_set(out, f, id);
		break;
	default:
		out->kind = GPU_GRAPH;
		out->graph = cut_to_u32(f[0]);
		break;
	}
}
