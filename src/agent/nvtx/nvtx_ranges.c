/*
 * Pushed ranges stand on a stack of their thread that serves all domains: a pop ends
 * the newest of its own domain, wherever that is.  The stack begins empty with each
 * recording and each process, so a pop of what was pushed before finds nothing, and
 * says nothing.  A started range needs no memory of ours: its number says all that
 * its end must know.
 */
#include "agent/nvtx/nvtx.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core/hot.h"
#include "agent/core/session.h"
#include "agent/overhead/budget.h"
#include "base/varint.h"

#define STACK_MAX 1024u /* of a program that pushes and does not pop, the newest stay */
#define NO_RANGE (-1)   /* what a pop of nothing returns */

/* The keys of the metadata, and what they take: type, length, key, value. */
static const uint8_t key[] = { 'p', 'a', 'y', 'l', 'o', 'a', 'd' };
static const uint8_t about_key[] = { 'a', 'b', 'o', 'u', 't' };
#define ABOUT_MAX 255u /* bytes; longer ones are cut */
#define VALUE_AT (2 + sizeof(key))
#define ARG_MAX (VALUE_AT + VARINT_MAX)
#define ABOUT_ARG_MAX (2 + sizeof(about_key) + VARINT_MAX + ABOUT_MAX)
#define BEGIN_MAX (VARINT_MAX + 1 + ARG_MAX + ABOUT_ARG_MAX)

/* Instances of started ranges: apart from those of session_next_instance(). */
#define STARTED (1ull << 48)

struct open_range {
	uint64_t instance; /* 0: it is omitted */
	uint64_t since_ns; /* CLOCK_MONOTONIC; 0: it is not measured */
	uint32_t id;       /* of its DEF_NVTX */
	uint32_t domain, level;
};

struct nvtx_stack {
	struct nvtx_budget_check due_at;
	uint32_t count;
	uint32_t started;  /* a started range that is measured; 0: none */
	uint64_t since_ns; /* when it began */
	struct open_range open[STACK_MAX];
};

struct ring *nvtx_ring(void)
{
	struct ring *r = session_ring();

	return r && r->wants_nvtx ? r : NULL;
}

static size_t put_integer(uint8_t *to, int64_t value)
{
	*to = ARG_INT;
	return varint_put(to + VALUE_AT, zigzag(value));
}

static size_t put_real(uint8_t *to, double value)
{
	*to = ARG_FLOAT;
	memcpy(to + VALUE_AT, &value, sizeof(value));
	return sizeof(value);
}

/* The payload as metadata, coded as enum arg_type says; 0: it has none, or one of a later NVTX. */
static size_t put_payload(uint8_t *to, const struct nvtx_attributes *a)
{
	size_t n;

	if (!nvtx_has_message(a))
		return 0;
	switch (a->payload_type) {
	case NVTX_PAYLOAD_UINT64:
		n = a->payload.uint64 <= INT64_MAX ? put_integer(to, a->payload.int64)
						   : put_real(to, (double)a->payload.uint64);
		break;
	case NVTX_PAYLOAD_INT64:
		n = put_integer(to, a->payload.int64);
		break;
	case NVTX_PAYLOAD_DOUBLE:
		n = put_real(to, a->payload.real);
		break;
	case NVTX_PAYLOAD_UINT32:
		n = put_integer(to, a->payload.uint32);
		break;
	case NVTX_PAYLOAD_INT32:
		n = put_integer(to, a->payload.int32);
		break;
	case NVTX_PAYLOAD_FLOAT:
		n = put_real(to, (double)a->payload.single);
		break;
	default:
		return 0;
	}
	to[1] = sizeof(key);
	memcpy(to + 2, key, sizeof(key));
	return VALUE_AT + n;
}

/* What a text says behind the name, as metadata. */
static COLD size_t put_about(uint8_t *to, const char *about)
{
	size_t bytes = strnlen(about, ABOUT_MAX), n = 2;

	to[0] = ARG_STRING;
	to[1] = sizeof(about_key);
	memcpy(to + n, about_key, sizeof(about_key));
	n += sizeof(about_key);
	n += varint_put(to + n, bytes);
	memcpy(to + n, about, bytes);
	return n + bytes;
}

/* The metadata of an event: room for both. */
static size_t put_args(uint8_t *to, const struct nvtx_attributes *a, const char *about)
{
	size_t n = put_payload(to, a);

	return about ? n + put_about(to + n, about) : n;
}

/* ---- records ---- */

static void write_begin(struct ring *r, uint32_t id, uint64_t instance,
			const struct nvtx_attributes *a, const char *about)
{
	uint8_t payload[BEGIN_MAX];
	size_t n = varint_put(payload, instance);

	payload[n++] = 0; /* no task */
	n += put_args(payload + n, a, about);
	ring_push_payload(r, RECORD_SCOPE_BEGIN, id, payload, (uint32_t)n);
	budget_count(r, 1);
}

static void write_end(struct ring *r, uint32_t id, uint64_t instance)
{
	uint8_t payload[VARINT_MAX];

	ring_push_payload(r, RECORD_SCOPE_END, id, payload,
			  (uint32_t)varint_put(payload, instance));
	budget_count(r, 1);
}

/* ---- push and pop ---- */

static COLD struct nvtx_stack *stack_new(struct ring *r)
{
	struct nvtx_stack *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	s->due_at = (struct nvtx_budget_check){ 0 };
	s->started = 0;
	s->count = 0;
	r->ranges = s;
	nvtx_throttle_start();
	return s;
}

/* A thread's stack, and its ring; NULL: nothing is recorded, or there is no memory. */
static struct nvtx_stack *stack_here(struct ring **r)
{
	*r = nvtx_ring();
	return !*r ? NULL : (*r)->ranges ? (*r)->ranges : stack_new(*r);
}

/*
 * Is what has this id recorded?  Where not, to know that is all it costs, about a quarter
 * of a record.
 */
static bool is_recorded(struct ring *r, struct nvtx_stack *s, uint32_t id)
{
	bool throttled = nvtx_is_throttled(id);

	if (throttled && !(s->due_at.events & 3))
		budget_count(r, 1);
	s->due_at.recorded += !throttled;
	return !throttled;
}

/* The place of the newest range of a domain; -1: it has none open in this thread. */
static int64_t stack_find(const struct nvtx_stack *s, uint32_t domain)
{
	int64_t at = (int64_t)s->count - 1;

	while (at >= 0 && s->open[at].domain != domain)
		at--;
	return at;
}

/* The outermost ones of a program that does not pop them stay open for good. */
static COLD void stack_forget_half(struct nvtx_stack *s)
{
	s->count = STACK_MAX / 2;
	memmove(s->open, s->open + STACK_MAX - s->count, s->count * sizeof(*s->open));
}

int nvtx_push(const struct nvtx_event *e, const struct nvtx_attributes *a)
{
	struct ring *r;
	struct nvtx_stack *s = stack_here(&r);
	struct open_range *top;
	const char *about;
	bool over;
	int64_t outer;

	if (!s)
		return NVTX_NOT_TRACKED;
	over = nvtx_budget_check_due(&s->due_at) && nvtx_budget_check_now(r, &s->due_at);
	if (s->count == STACK_MAX)
		stack_forget_half(s);
	outer = stack_find(s, e->domain);
	top = &s->open[s->count++];
	top->domain = e->domain;
	top->level = outer < 0 ? 0 : s->open[outer].level + 1;
	top->id = nvtx_id(r, e, &about);
	top->instance = 0;
	top->since_ns = 0;
	if (!is_recorded(r, s, top->id))
		return (int)top->level;
	if (over)
		top->since_ns = stamp_monotonic();
	top->instance = session_next_instance(r);
	write_begin(r, top->id, top->instance, a, about);
	return (int)top->level;
}

int nvtx_pop(uint32_t domain)
{
	struct ring *r = nvtx_ring();
	struct nvtx_stack *s = r ? r->ranges : NULL;
	int64_t at = s ? stack_find(s, domain) : -1;
	struct open_range range;

	if (!r)
		return NVTX_NOT_TRACKED;
	if (at < 0)
		return NO_RANGE;
	range = s->open[at];
	s->count--;
	memmove(&s->open[at], &s->open[at + 1], (s->count - (size_t)at) * sizeof(range));
	if (range.instance)
		write_end(r, range.id, range.instance);
	if (range.since_ns)
		nvtx_throttle_evaluate(r, range.id, stamp_monotonic() - range.since_ns);
	return (int)range.level;
}

/* ---- start and end ---- */

/*
 * The number that a program gets for a started range: its id above, below one of a
 * count of ours, which is what its instance is made of.
 */
static _Atomic uint32_t next_started = 1;

/* session_epoch, and below it the first of next_started in this recording and process. */
static _Atomic uint64_t started_since;

static uint64_t recording_from(uint32_t first)
{
	return (uint64_t)session_epoch << 32 | first;
}

/* Before a number is taken: all numbers of a recording come after its first. */
static uint32_t first_started(void)
{
	uint64_t since = atomic_load(&started_since);
	uint64_t here = recording_from(atomic_load(&next_started));

	if (since >> 32 != session_epoch &&
	    atomic_compare_exchange_strong(&started_since, &since, here))
		since = here;
	return (uint32_t)since;
}

void nvtx_ranges_forked(void)
{
	atomic_store(&started_since, recording_from(atomic_load(&next_started)));
}

static uint32_t take_number(void)
{
	uint32_t number;

	first_started();
	do
		number = atomic_fetch_add(&next_started, 1);
	while (!number); /* says that the range is omitted */
	return number;
}

uint64_t nvtx_start(const struct nvtx_event *e, const struct nvtx_attributes *a)
{
	struct ring *r;
	struct nvtx_stack *s = stack_here(&r);
	uint32_t number, id;
	const char *about;
	bool over;

	if (!s)
		return 0;
	over = nvtx_budget_check_due(&s->due_at) && nvtx_budget_check_now(r, &s->due_at);
	id = nvtx_id(r, e, &about);
	if (!is_recorded(r, s, id))
		return (uint64_t)id << 32;
	number = take_number();
	if (over) {
		s->started = number;
		s->since_ns = stamp_monotonic();
	}
	write_begin(r, id, STARTED | number, a, about);
	return (uint64_t)id << 32 | number;
}

void nvtx_end(uint64_t range)
{
	struct ring *r = nvtx_ring();
	uint32_t number = (uint32_t)range, id = (uint32_t)(range >> 32);

	/* Of no recording, or of one before this; the count may have gone round. */
	if (!number || !r || (int32_t)(number - first_started()) < 0)
		return;
	write_end(r, id, STARTED | number);
	if (r->ranges && r->ranges->started == number) { /* else it ends in another thread */
		r->ranges->started = 0;
		nvtx_throttle_evaluate(r, id, stamp_monotonic() - r->ranges->since_ns);
	}
}

/* ---- marks ---- */

void nvtx_mark(const struct nvtx_event *e, const struct nvtx_attributes *a)
{
	struct ring *r;
	struct nvtx_stack *s = stack_here(&r);
	uint8_t payload[1 + ARG_MAX + ABOUT_ARG_MAX];
	const char *about;
	uint32_t id;
	bool over;

	if (!s)
		return;
	over = nvtx_budget_check_due(&s->due_at) && nvtx_budget_check_now(r, &s->due_at);
	id = nvtx_id(r, e, &about);
	if (!is_recorded(r, s, id))
		return;
	payload[0] = 0; /* no task */
	ring_push_payload(r, RECORD_MARK, id, payload,
			  (uint32_t)(1 + put_args(payload + 1, a, about)));
	budget_count(r, 1);
	if (over)
		nvtx_throttle_evaluate(r, id, 0);
}
