/*
 * What the device did: CUPTI fills buffers, we turn their records into ours.
 * Runs in CUPTI's own thread, or in one that flushes.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/core/intern.h"
#include "agent/core/session.h"
#include "agent/gpu/cupti.h"
#include "agent/gpu/gpu_recording.h"
#include "base/varint.h"
#include "format/stamp.h"

/*
 * A buffer reaches us when it is full and all its work is done.  Small ones
 * arrive sooner, so a killed process loses less; large ones cost less.  So each
 * is made to last for a tenth of a second or so: 40 kernels, or 2500.
 */
#define BUFFER_BYTES_MIN ((size_t)8 << 10)
#define BUFFER_BYTES_MAX ((size_t)512 << 10)
#define BUFFER_NS_MIN 50000000
#define BUFFER_NS_MAX 200000000
#define KERNEL_NAME_MAX 4096u

static const int kinds[] = {
	CUPTI_KIND_DEVICE, CUPTI_KIND_CONCURRENT_KERNEL, CUPTI_KIND_COPY, CUPTI_KIND_PEER_COPY,
	CUPTI_KIND_MEMSET, CUPTI_KIND_OVERHEAD,
};

INTERN(kernel_names, INTERN_SLOTS);
static _Atomic uint32_t first_device = UINT32_MAX;

/* NFR-2: one device per process. */
static bool device_is_allowed(uint32_t device)
{
	uint32_t first = UINT32_MAX;

	if (atomic_compare_exchange_strong_explicit(&first_device, &first, device,
						    memory_order_relaxed, memory_order_relaxed) ||
	    first == device)
		return true;
	gpu_stop("this process uses a second GPU: its GPU recording ends here; give each process "
		 "one GPU with CUDA_VISIBLE_DEVICES");
	return false;
}

static uint32_t kernel_name_id(struct ring *r, const char *name)
{
	size_t n = name ? strnlen(name, KERNEL_NAME_MAX) : 0;
	uint64_t hash = n, word;
	uint32_t id;

	if (!n)
		return 0;
	for (size_t i = 0; i + 8 <= n; i += 8) {
		memcpy(&word, name + i, 8);
		hash = intern_mix(hash, word);
	}
	word = 0;
	memcpy(&word, name + n / 8 * 8, n % 8);
	hash = intern_mix(hash, word);
	id = intern_find(&kernel_names, hash);
	if (id)
		return id;
	id = session_next_id(r->session);
	if (!ring_define(r, DEF_STRING, id, name, (uint32_t)n, NULL, 0))
		return 0;
	intern_put(&kernel_names, hash, id);
	return id;
}

/* A payload being put together. */
struct payload {
	size_t bytes;
	uint8_t data[32 * VARINT_MAX];
};

static void put(struct payload *p, uint64_t value)
{
	p->bytes += varint_put(p->data + p->bytes, value);
}

static void put_span(struct payload *p, uint64_t start, uint64_t end)
{
	bool known = start && end >= start;

	put(p, known ? start : 0);
	put(p, known ? end - start : 0);
}

static void put_place(struct payload *p, uint32_t device, uint32_t context, uint32_t stream,
		      uint32_t correlation)
{
	put(p, device);
	put(p, context);
	put(p, stream);
	put(p, correlation);
}

static void push(struct ring *r, uint8_t kind, uint32_t id, const struct payload *p)
{
	ring_push_payload(r, kind, id, p->data, (uint32_t)p->bytes);
}

static void on_kernel(struct ring *r, const struct cupti_kernel *k)
{
	struct payload p = { 0 };

	put_span(&p, k->start, k->end);
	put_place(&p, k->device, k->context, k->stream, k->correlation);
	for (int i = 0; i < 3; i++)
		put(&p, (uint32_t)k->grid[i]);
	for (int i = 0; i < 3; i++)
		put(&p, (uint32_t)k->block[i]);
	put(&p, k->registers);
	put(&p, (uint32_t)k->static_shared);
	put(&p, (uint32_t)k->dynamic_shared);
	put(&p, k->graph);
	put(&p, k->graph_node);
	push(r, RECORD_GPU_KERNEL, kernel_name_id(r, k->name), &p);
}

/* What both kinds of copies say behind their times and place. */
static void push_copy(struct ring *r, uint32_t id, struct payload *p, uint64_t bytes,
		      enum gpu_memory source, enum gpu_memory destination, bool asynchronous,
		      uint32_t graph, uint64_t graph_node)
{
	put(p, bytes);
	put(p, source);
	put(p, destination);
	put(p, asynchronous);
	put(p, graph);
	put(p, graph_node);
	push(r, RECORD_GPU_COPY, id, p);
}

static void on_copy(struct ring *r, const struct cupti_copy *c)
{
	struct payload p = { 0 };

	put_span(&p, c->start, c->end);
	put_place(&p, c->device, c->context, c->stream, c->correlation);
	push_copy(r, c->copy, &p, c->bytes, c->source, c->destination, c->flags & 1u, c->graph,
		  c->graph_node);
}

static void on_peer_copy(struct ring *r, const struct cupti_peer_copy *c)
{
	struct payload p = { 0 };

	put_span(&p, c->start, c->end);
	put_place(&p, c->device, c->context, c->stream, c->correlation);
	push_copy(r, GPU_COPY_PEER, &p, c->bytes, c->source, c->destination, c->flags & 1u,
		  c->graph, c->graph_node);
}

static void on_memset(struct ring *r, const struct cupti_memset *m)
{
	struct payload p = { 0 };

	put_span(&p, m->start, m->end);
	put_place(&p, m->device, m->context, m->stream, m->correlation);
	put(&p, m->bytes);
	put(&p, m->value);
	put(&p, m->flags & 1u);
	put(&p, m->graph);
	put(&p, m->graph_node);
	push(r, RECORD_GPU_MEMSET, m->memory, &p);
}

/* A replay of a CUDA graph as a whole. */
static void on_graph(struct ring *r, const struct cupti_graph *g)
{
	struct payload p = { 0 };

	put_span(&p, g->start, g->end);
	put_place(&p, g->device, g->context, g->stream, g->correlation);
	put(&p, g->graph);
	push(r, RECORD_GPU_GRAPH, 0, &p);
}

static void on_overhead(struct ring *r, const struct cupti_overhead *o)
{
	struct payload p = { 0 };

	put_span(&p, o->start, o->end);
	push(r, RECORD_GPU_OVERHEAD, o->overhead, &p);
}

static void on_device(struct ring *r, const struct cupti_device *d)
{
	struct payload p = { 0 };
	size_t n = d->name ? strnlen(d->name, 128) : 0;

	put(&p, d->memory_bytes);
	put(&p, d->bandwidth_kb_s);
	put(&p, d->multiprocessors);
	put(&p, d->core_clock_khz);
	put(&p, 10 * d->major + d->minor);
	if (n)
		memcpy(p.data + p.bytes, d->name, n);
	p.bytes += n;
	push(r, RECORD_GPU_DEVICE, d->id, &p);
}

/* What a buffer held. */
struct totals {
	uint64_t records, nodes; /* of them nodes of CUDA graphs */
	uint64_t device_ns;
};

static void count(struct totals *t, uint64_t graph_node, uint64_t start, uint64_t end)
{
	t->nodes += graph_node != 0;
	t->device_ns += start && end > start ? end - start : 0;
}

static void on_record(struct ring *r, const struct cupti_activity *a, struct totals *t)
{
	const struct cupti_kernel *kernel = (const void *)a;
	const struct cupti_copy *copy = (const void *)a;
	const struct cupti_peer_copy *peer = (const void *)a;
	const struct cupti_memset *set = (const void *)a;
	const struct cupti_graph *graph = (const void *)a;

	switch (a->kind) {
	case CUPTI_KIND_CONCURRENT_KERNEL:
		if (device_is_allowed(kernel->device))
			on_kernel(r, kernel);
		count(t, kernel->graph_node, kernel->start, kernel->end);
		break;
	case CUPTI_KIND_COPY:
		if (device_is_allowed(copy->device))
			on_copy(r, copy);
		count(t, copy->graph_node, copy->start, copy->end);
		break;
	case CUPTI_KIND_PEER_COPY:
		if (device_is_allowed(peer->device))
			on_peer_copy(r, peer);
		count(t, peer->graph_node, peer->start, peer->end);
		break;
	case CUPTI_KIND_MEMSET:
		if (device_is_allowed(set->device))
			on_memset(r, set);
		count(t, set->graph_node, set->start, set->end);
		break;
	case CUPTI_KIND_GRAPH:
		if (device_is_allowed(graph->device))
			on_graph(r, graph);
		count(t, 0, graph->start, graph->end);
		break;
	case CUPTI_KIND_OVERHEAD:
		on_overhead(r, (const void *)a);
		break;
	case CUPTI_KIND_DEVICE:
		on_device(r, (const void *)a);
		break;
	default:
		break;
	}
}

/* From how long the last one lasted. */
static size_t next_buffer_bytes(void)
{
	static _Atomic size_t bytes = BUFFER_BYTES_MIN;
	static _Atomic uint64_t last_ns;
	uint64_t now = stamp_monotonic();
	uint64_t lasted = now - atomic_exchange_explicit(&last_ns, now, memory_order_relaxed);
	size_t n = atomic_load_explicit(&bytes, memory_order_relaxed);

	if (lasted < BUFFER_NS_MIN && n < BUFFER_BYTES_MAX)
		n *= 2;
	else if (lasted > BUFFER_NS_MAX && n > BUFFER_BYTES_MIN)
		n /= 2;
	atomic_store_explicit(&bytes, n, memory_order_relaxed);
	return n;
}

static _Atomic unsigned out;     /* buffers that CUPTI has */
static _Atomic unsigned in_hand; /* ... that are being read */
static _Atomic bool by_force;

static void on_request(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	size_t n = next_buffer_bytes();

	*buffer = NULL;
	*max_records = 0;
	*bytes = posix_memalign((void **)buffer, 8, n) ? 0 : n;
	if (*bytes)
		atomic_fetch_add(&out, 1);
}

bool gpu_activity_in_hand(void)
{
	return atomic_load(&in_hand) != 0;
}

/* CUPTI has no buffer of ours, and none is being read. */
static bool all_is_fetched(void)
{
	return !atomic_load(&out) && !gpu_activity_in_hand();
}

int gpu_activity_fetch(bool all)
{
	int result = cupti.FlushAll(0);

	if (!all || all_is_fetched())
		return result;
	atomic_store(&by_force, true);
	result = cupti.FlushAll(CUPTI_FLUSH_FORCED);
	atomic_store(&by_force, false);
	return result;
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	struct cupti_activity *a = NULL;
	struct totals totals = { 0 };
	size_t dropped = 0;
	int result = CUPTI_OK;
	struct ring *r;

	(void)bytes;
	atomic_fetch_add(&in_hand, 1);
	atomic_fetch_sub(&out, 1);
	r = session_ring();
	if (r)
		session_name_thread(r, "CUPTI");
	while (r && valid && gpu_is_on() && !(result = cupti.GetNextRecord(buffer, valid, &a))) {
		on_record(r, a, &totals);
		totals.records++;
	}
	gpu_cost_count(totals.records - totals.nodes, totals.nodes, totals.device_ns);
	if (result && result != CUPTI_NO_MORE_RECORDS)
		gpu_stop_for("the GPU recording ends here: CUPTI's records cannot be read", result);
	if (r && !cupti.GetDropped(context, stream, &dropped) && dropped)
		ring_push(r, RECORD_GPU_DROPPED, (uint32_t)dropped);
	if (!atomic_load(&by_force))
		free(buffer);
	atomic_fetch_sub(&in_hand, 1);
}

static uint64_t timestamp(void)
{
	return stamp_monotonic();
}

int gpu_activity_start(bool whole_graphs)
{
	int result = cupti.RegisterTimestamp(timestamp);

	if (!result)
		result = cupti.RegisterCallbacks(on_request, on_complete);
	for (size_t i = 0; !result && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		result = cupti.ActivityEnable(kinds[i]);
	if (!result && whole_graphs)
		result = cupti.ActivityEnable(CUPTI_KIND_GRAPH);
	return result;
}

void gpu_activity_stop(void)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cupti.ActivityDisable(kinds[i]);
}
