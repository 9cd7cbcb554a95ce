#include "agent/nvtx/nvtx.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/session.h"

static uint32_t number_of(const void *handle)
{
	uintptr_t number = (uintptr_t)handle;

	return number <= UINT32_MAX ? (uint32_t)number : 0;
}

static void *handle_of(uint32_t number)
{
	return (void *)(uintptr_t)number;
}

/* `wide` is room for a name that must be converted; it outlives the event. */
static void describe(struct nvtx_event *e, const struct nvtx_attributes *a,
		     char wide[NVTX_NAME_MAX + 1])
{
	if (!nvtx_has_message(a))
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

/* ---- the interface: Ex with attributes, A with a text, W with a wide one ---- */

#define WITH_ATTRIBUTES(what, event_kind, in_domain)                           \
	char wide[NVTX_NAME_MAX + 1];                                          \
	struct nvtx_event e = { .kind = (event_kind), .domain = (in_domain) }; \
                                                                               \
	describe(&e, a, wide);                                                 \
	what(&e, a)

static void mark_in(nvtx_domain domain, const struct nvtx_attributes *a)
{
	WITH_ATTRIBUTES(nvtx_mark, NVTX_MARKED, number_of(domain));
}

static int push_in(nvtx_domain domain, const struct nvtx_attributes *a)
{
	WITH_ATTRIBUTES(return nvtx_push, NVTX_PUSHED, number_of(domain));
}

static uint64_t start_in(nvtx_domain domain, const struct nvtx_attributes *a)
{
	WITH_ATTRIBUTES(return nvtx_start, NVTX_STARTED, number_of(domain));
}

static int pop_in(nvtx_domain domain)
{
	return nvtx_pop(number_of(domain));
}

static void end_in(nvtx_domain domain, uint64_t range)
{
	(void)domain;
	nvtx_end(range);
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
	nvtx_mark(&(struct nvtx_event){ .kind = NVTX_MARKED, .text = text }, NULL);
}

static int push_text(const char *text)
{
	return nvtx_push(&(struct nvtx_event){ .kind = NVTX_PUSHED, .text = text }, NULL);
}

static uint64_t start_text(const char *text)
{
	return nvtx_start(&(struct nvtx_event){ .kind = NVTX_STARTED, .text = text }, NULL);
}

static int pop_newest(void)
{
	return nvtx_pop(0);
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
	struct ring *r = nvtx_ring();

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

/*
 * Its name stays: another part of the program may have created it too, or may still use it.
 */
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
	[NVTX_CORE_END] = FUNCTION(nvtx_end),
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
