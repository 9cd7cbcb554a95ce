/*
 * NVTX's functions, as a program calls them.
 *
 * Pushed ranges stand on a stack of their thread that serves all domains: a pop ends
 * the newest of its own domain, wherever that is.  The stack begins empty with each
 * recording and each process, so a pop of what was pushed before finds nothing, and
 * says nothing.  A started range needs no memory of ours: its number says all that
 * its end must know.
 */
#include "agent/nvtx_ranges.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/budget.h"
#include "agent/hot.h"
#include "agent/nvtx_names.h"
#include "agent/session.h"
#include "base/varint.h"

#define STACK_MAX 1024u /* of a program that pushes and does not pop, the newest stay */
#define NO_RANGE (-1)   /* what a pop of nothing returns */

/* "payload", its value, and what is in front of them */
#define KEY "payload"
#define ARG_MAX (1 + 1 + sizeof(KEY) + VARINT_MAX)
#define BEGIN_MAX (2 * VARINT_MAX + ARG_MAX)

/* Instances of started ranges: apart from those of session_next_instance(). */
#define STARTED (1ull << 48)

struct open_range {
	uint64_t instance;
	uint32_t id; /* of its DEF_NVTX */
	uint32_t domain, level;
};

struct nvtx_stack {
	uint32_t count;
	struct open_range open[STACK_MAX];
};

/* The calling thread's ring; NULL: nothing is recorded, or no ranges are. */
static struct ring *ring_here(void)
{
	struct ring *r = session_ring();

	return r && r->wants_nvtx ? r : NULL;
}

static uint32_t number_of(const void *handle)
{
	uintptr_t number = (uintptr_t)handle;

	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

static void *handle_of(uint32_t number)
{
	return (void *)(uintptr_t)number;
}

/* ---- what a program says of an event ---- */

static bool has_message(const struct nvtx_attributes *a)
{
	return a && a->bytes >= offsetof(struct nvtx_attributes, message) + sizeof(a->message);
}

/* `wide` is room for a name that must be converted; it outlives the event. */
static void describe(struct nvtx_event *e, const struct nvtx_attributes *a,
		     char wide[NVTX_NAME_MAX + 1])
{
	if (!has_message(a))
		return;
	e->category = a->category;
	e->colour = a->colour_type == NVTX_COLOUR_ARGB ? a->colour : 0;
	switch (a->message_type) {
	case NVTX_MESSAGE_CHAR:
		e->text = a->message.text;
		break;
	case NVTX_MESSAGE_REGISTERED:
		e->registered = number_of(a->message.registered);
		break;
	case NVTX_MESSAGE_WIDE:
		nvtx_narrow(wide, a->message.wide);
		e->text = wide;
		break;
	default:
		break;
	}
}

static size_t put_integer(uint8_t *to, int64_t value)
{
	*to = ARG_INT;
	return varint_put(to + 2 + strlen(KEY), zigzag(value));
}

static size_t put_real(uint8_t *to, double value)
{
	*to = ARG_FLOAT;
	memcpy(to + 2 + strlen(KEY), &value, sizeof(value));
	return sizeof(value);
}

/* The payload as metadata, coded as enum arg_type says; 0: it has none, or one of a later NVTX. */
static size_t put_payload(uint8_t *to, const struct nvtx_attributes *a)
{
	size_t n;

	if (!has_message(a))
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
	to[1] = (uint8_t)strlen(KEY);
	memcpy(to + 2, KEY, strlen(KEY));
	return 2 + strlen(KEY) + n;
}

/* ---- records ---- */

static void write_begin(struct ring *r, uint32_t id, uint64_t instance,
			const struct nvtx_attributes *a)
{
	uint8_t payload[BEGIN_MAX];
	size_t n = varint_put(payload, instance);

	payload[n++] = 0; /* no task */
	n += put_payload(payload + n, a);
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
	r->ranges = malloc(sizeof(*r->ranges));
	if (r->ranges)
		r->ranges->count = 0;
	return r->ranges;
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

static int push(const struct nvtx_event *e, const struct nvtx_attributes *a)
{
	struct ring *r = ring_here();
	struct nvtx_stack *s = r ? r->ranges : NULL;
	struct open_range *top;
	int64_t outer;

	if (!s && (!r || !(s = stack_new(r))))
		return NVTX_NOT_TRACKED;
	if (s->count == STACK_MAX)
		stack_forget_half(s);
	outer = stack_find(s, e->domain);
	top = &s->open[s->count++];
	top->domain = e->domain;
	top->level = outer < 0 ? 0 : s->open[outer].level + 1;
	top->id = nvtx_id(r, e);
	top->instance = session_next_instance(r);
	write_begin(r, top->id, top->instance, a);
	return (int)top->level;
}

static int pop(uint32_t domain)
{
	struct ring *r = ring_here();
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
	write_end(r, range.id, range.instance);
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

static uint64_t start(const struct nvtx_event *e, const struct nvtx_attributes *a)
{
	struct ring *r = ring_here();
	uint32_t number, id;

	if (!r)
		return 0;
	first_started();
	number = atomic_fetch_add(&next_started, 1);
	id = nvtx_id(r, e);
	write_begin(r, id, STARTED | number, a);
	return (uint64_t)id << 32 | number;
}

static void end(uint64_t range)
{
	struct ring *r = ring_here();
	uint32_t number = (uint32_t)range;

	/* Of no recording, or of one before this; the count may have gone round. */
	if (!range || !r || (int32_t)(number - first_started()) < 0)
		return;
	write_end(r, (uint32_t)(range >> 32), STARTED | number);
}

/* ---- marks ---- */

static void mark(const struct nvtx_event *e, const struct nvtx_attributes *a)
{
	struct ring *r = ring_here();
	uint8_t payload[1 + ARG_MAX] = { 0 }; /* no task */

	if (!r)
		return;
	ring_push_payload(r, RECORD_MARK, nvtx_id(r, e), payload,
			  (uint32_t)(1 + put_payload(payload + 1, a)));
	budget_count(r, 1);
}

/* ---- the interface: Ex with attributes, A with a text, W with a wide one ---- */

#define WITH_ATTRIBUTES(what, event_kind, in_domain)                           \
	char wide[NVTX_NAME_MAX + 1];                                          \
	struct nvtx_event e = { .kind = (event_kind), .domain = (in_domain) }; \
                                                                               \
	describe(&e, a, wide);                                                 \
	what(&e, a)

static void mark_in(nvtx_domain domain, const struct nvtx_attributes *a)
{
	WITH_ATTRIBUTES(mark, NVTX_MARKED, number_of(domain));
}

static int push_in(nvtx_domain domain, const struct nvtx_attributes *a)
{
	WITH_ATTRIBUTES(return push, NVTX_PUSHED, number_of(domain));
}

static uint64_t start_in(nvtx_domain domain, const struct nvtx_attributes *a)
{
	WITH_ATTRIBUTES(return start, NVTX_STARTED, number_of(domain));
}

static int pop_in(nvtx_domain domain)
{
	return pop(number_of(domain));
}

static void end_in(nvtx_domain domain, uint64_t range)
{
	(void)domain;
	end(range);
}

static void mark_ex(const struct nvtx_attributes *a)
{
	mark_in(NULL, a);
}

static int push_ex(const struct nvtx_attributes *a)
{
	return push_in(NULL, a);
}

static uint64_t start_ex(const struct nvtx_attributes *a)
{
	return start_in(NULL, a);
}

static void mark_text(const char *text)
{
	mark(&(struct nvtx_event){ .kind = NVTX_MARKED, .text = text }, NULL);
}

static int push_text(const char *text)
{
	return push(&(struct nvtx_event){ .kind = NVTX_PUSHED, .text = text }, NULL);
}

static uint64_t start_text(const char *text)
{
	return start(&(struct nvtx_event){ .kind = NVTX_STARTED, .text = text }, NULL);
}

static int pop_newest(void)
{
	return pop(0);
}

/* Calls one of the functions for text with a wide one. */
#define WITH_WIDE(what, text)           \
	char narrow[NVTX_NAME_MAX + 1]; \
                                        \
	nvtx_narrow(narrow, text);      \
	what(narrow)

static void mark_wide(const wchar_t *text)
{
	WITH_WIDE(mark_text, text);
}

static int push_wide(const wchar_t *text)
{
	WITH_WIDE(return push_text, text);
}

static uint64_t start_wide(const wchar_t *text)
{
	WITH_WIDE(return start_text, text);
}

/* ---- names ---- */

static void name_category_in(nvtx_domain domain, uint32_t category, const char *name)
{
	nvtx_name_category(number_of(domain), category, name);
}

static void name_category_wide_in(nvtx_domain domain, uint32_t category, const wchar_t *name)
{
	char narrow[NVTX_NAME_MAX + 1];

	nvtx_narrow(narrow, name);
	name_category_in(domain, category, narrow);
}

static void name_category(uint32_t category, const char *name)
{
	name_category_in(NULL, category, name);
}

static void name_category_wide(uint32_t category, const wchar_t *name)
{
	name_category_wide_in(NULL, category, name);
}

/* Threads that name themselves: another one's entry is its own to write. */
static void name_thread(uint32_t tid, const char *name)
{
	struct ring *r = ring_here();

	if (r && name && tid == (uint32_t)syscall(SYS_gettid))
		session_name_thread(r, name);
}

static void name_thread_wide(uint32_t tid, const wchar_t *name)
{
	char narrow[NVTX_NAME_MAX + 1];

	if (name) {
		nvtx_narrow(narrow, name);
		name_thread(tid, narrow);
	}
}

static void *resource_create(nvtx_domain domain, const struct nvtx_resource *resource)
{
	(void)domain;
	if (!resource || resource->bytes < sizeof(*resource) ||
	    resource->type != NVTX_RESOURCE_THREAD || resource->identifier.number > UINT32_MAX)
		return NULL;
	if (resource->message_type == NVTX_MESSAGE_CHAR)
		name_thread((uint32_t)resource->identifier.number, resource->message.text);
	else if (resource->message_type == NVTX_MESSAGE_WIDE)
		name_thread_wide((uint32_t)resource->identifier.number, resource->message.wide);
	return NULL;
}

static void resource_destroy(void *resource)
{
	(void)resource;
}

static nvtx_string register_string(nvtx_domain domain, const char *text)
{
	(void)domain;
	return handle_of(nvtx_name_number(text, NVTX_NAME_MAX));
}

static nvtx_string register_wide(nvtx_domain domain, const wchar_t *text)
{
	char narrow[NVTX_NAME_MAX + 1];

	if (!text)
		return NULL;
	nvtx_narrow(narrow, text);
	return register_string(domain, narrow);
}

static nvtx_domain domain_create(const char *name)
{
	return handle_of(nvtx_name_number(name, NVTX_SHORT_NAME));
}

static nvtx_domain domain_create_wide(const wchar_t *name)
{
	char narrow[NVTX_NAME_MAX + 1];

	if (!name)
		return NULL;
	nvtx_narrow(narrow, name);
	return domain_create(narrow);
}

/* Its name stays: somebody may have created it too, or still use it. */
static void domain_destroy(nvtx_domain domain)
{
	(void)domain;
}

static void initialize(const void *reserved)
{
	(void)reserved;
}

#define FUNCTION(f) ((nvtx_function)(f))

const nvtx_function nvtx_core[] = {
	[NVTX_CORE_MARK_EX] = FUNCTION(mark_ex),
	[NVTX_CORE_MARK_A] = FUNCTION(mark_text),
	[NVTX_CORE_MARK_W] = FUNCTION(mark_wide),
	[NVTX_CORE_START_EX] = FUNCTION(start_ex),
	[NVTX_CORE_START_A] = FUNCTION(start_text),
	[NVTX_CORE_START_W] = FUNCTION(start_wide),
	[NVTX_CORE_END] = FUNCTION(end),
	[NVTX_CORE_PUSH_EX] = FUNCTION(push_ex),
	[NVTX_CORE_PUSH_A] = FUNCTION(push_text),
	[NVTX_CORE_PUSH_W] = FUNCTION(push_wide),
	[NVTX_CORE_POP] = FUNCTION(pop_newest),
	[NVTX_CORE_NAME_CATEGORY_A] = FUNCTION(name_category),
	[NVTX_CORE_NAME_CATEGORY_W] = FUNCTION(name_category_wide),
	[NVTX_CORE_NAME_THREAD_A] = FUNCTION(name_thread),
	[NVTX_CORE_NAME_THREAD_W] = FUNCTION(name_thread_wide),
};

const nvtx_function nvtx_core2[] = {
	[NVTX_CORE2_MARK_EX] = FUNCTION(mark_in),
	[NVTX_CORE2_START_EX] = FUNCTION(start_in),
	[NVTX_CORE2_END] = FUNCTION(end_in),
	[NVTX_CORE2_PUSH_EX] = FUNCTION(push_in),
	[NVTX_CORE2_POP] = FUNCTION(pop_in),
	[NVTX_CORE2_RESOURCE_CREATE] = FUNCTION(resource_create),
	[NVTX_CORE2_RESOURCE_DESTROY] = FUNCTION(resource_destroy),
	[NVTX_CORE2_NAME_CATEGORY_A] = FUNCTION(name_category_in),
	[NVTX_CORE2_NAME_CATEGORY_W] = FUNCTION(name_category_wide_in),
	[NVTX_CORE2_REGISTER_STRING_A] = FUNCTION(register_string),
	[NVTX_CORE2_REGISTER_STRING_W] = FUNCTION(register_wide),
	[NVTX_CORE2_DOMAIN_CREATE_A] = FUNCTION(domain_create),
	[NVTX_CORE2_DOMAIN_CREATE_W] = FUNCTION(domain_create_wide),
	[NVTX_CORE2_DOMAIN_DESTROY] = FUNCTION(domain_destroy),
	[NVTX_CORE2_INITIALIZE] = FUNCTION(initialize),
};
