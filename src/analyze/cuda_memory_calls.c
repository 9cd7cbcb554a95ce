#include "analyze/cuda_memory_calls.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/gpu_busy.h"
#include "analyze/stats.h"
#include "base/array.h"
#include "base/bisect.h"

/* CUDA_MEMORY_CALLS: it is another call. */
static enum cuda_memory_call kind_of(enum cuda_call what)
{
	switch (what) {
	case CUDA_CALL_ALLOC:
		return CUDA_MEMORY_ALLOC;
	case CUDA_CALL_FREE:
		return CUDA_MEMORY_FREE;
	case CUDA_CALL_HOST_ALLOC:
		return CUDA_MEMORY_HOST_ALLOC;
	case CUDA_CALL_HOST_FREE:
		return CUDA_MEMORY_HOST_FREE;
	default:
		return CUDA_MEMORY_CALLS;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct cuda_memory_event *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

int cuda_memory_calls_init(struct cuda_memory_calls *c, const struct gpu_timeline *g)
{
	memset(c, 0, sizeof(*c));
	for (size_t i = 0; i < gpu_call_count(g); i++) {
		const struct gpu_call *call = gpu_call(g, i);
		enum cuda_memory_call what = kind_of(call->what);
		struct cuda_memory_event *grown;

		if (what == CUDA_MEMORY_CALLS)
			continue;
		grown = array_grow(c->items, &c->cap, c->count + 1, sizeof(*grown));
		if (!grown)
			return -1;
		c->items = grown;
		grown[c->count++] = (struct cuda_memory_event){
			.process = call->process,
			.what = what,
			.start_ns = call->start_ns,
			.length_ns = gpu_length(call->start_ns, call->end_ns),
			.bytes = call->bytes,
		};
	}
	if (c->count)
		qsort(c->items, c->count, sizeof(*c->items), by_time);
	return 0;
}

void cuda_memory_calls_release(struct cuda_memory_calls *c)
{
	free(c->items);
	memset(c, 0, sizeof(*c));
}

static size_t first_of(const struct cuda_memory_calls *c, uint32_t process)
{
	size_t at = 0;

	BISECT(at, c->count, c->items[at].process < process);
	return at;
}

void cuda_memory_calls_sum(const struct cuda_memory_calls *c, uint32_t process,
			   const struct series_span *spans, size_t n, struct cuda_memory *out)
{
	size_t at = 0;

	*out = (struct cuda_memory){ .known = true };
	for (size_t i = first_of(c, process); i < c->count; i++) {
		const struct cuda_memory_event *e = &c->items[i];
		struct cuda_memory_sum *sum = &out->calls[e->what];

		if (e->process != process)
			break;
		while (at < n && spans[at].end_ns <= e->start_ns)
			at++;
		if (at == n)
			break;
		if (spans[at].start_ns > e->start_ns)
			continue;
		sum->count++;
		sum->bytes += e->bytes;
		sum->ns = stats_add(sum->ns, e->length_ns);
	}
}
