/*
 * What include/inferscope.h finds in the agent: scopes, marks and counters of
 * native code.  Any thread, no GIL, no Python.
 *
 * Native code does not know asyncio tasks: its scopes belong to their thread.
 */
#define INFERSCOPE_DISABLE /* the declarations only: this file is the implementation that it \
			      searches */
#include "inferscope.h"

#include <stdlib.h>
#include <string.h>

#include "agent/core/delayed_start.h"
#include "agent/core/intern.h"
#include "agent/core/session.h"
#include "base/varint.h"

__attribute__((visibility("default"))) const struct inferscope_api *
inferscope_agent(unsigned version);

extern const char inferscope_agent_version[];
__attribute__((visibility("default"))) const char inferscope_agent_version[] = INFERSCOPE_VERSION;

#define NAME_MAX_BYTES 4096u

INTERN(known, INTERN_SLOTS); /* names, by their bytes */

/*
 * The id of a name; 0 where it could not be defined.  Found by its contents, not by
 * its address: a program may build another name in the same place.
 */
static uint32_t name_id(struct ring *r, const char *name)
{
	size_t bytes;
	uint64_t hash;
	uint32_t id;

	name = name ? name : "";
	bytes = strnlen(name, NAME_MAX_BYTES);
	hash = intern_mix_bytes(0, name, bytes);
	id = intern_find(&known, hash);

	if (id)
		return id;
	id = session_next_id(r->session);
	if (!ring_define(r, DEF_STRING, id, name, (uint32_t)bytes, NULL, 0))
		return 0;
	intern_put(&known, hash, id);
	return id;
}

static inferscope_scope scope_begin(const char *name)
{
	inferscope_scope scope = { 0, 0, 0 };
	struct ring *r = session_ring();
	uint8_t payload[VARINT_MAX + 1];
	size_t n;

	if (!r)
		return scope;
	scope.instance = session_next_instance(r);
	scope.name = name_id(r, name);
	scope.recording = session_epoch;
	n = varint_put(payload, scope.instance);
	payload[n++] = 0; /* no task */
	ring_push_payload(r, RECORD_SCOPE_BEGIN, scope.name, payload, (uint32_t)n);
	return scope;
}

static void scope_end(inferscope_scope scope)
{
	struct ring *r = session_ring();
	uint8_t payload[VARINT_MAX];

	if (r && scope.recording == session_epoch)
		ring_push_payload(r, RECORD_SCOPE_END, scope.name, payload,
				  (uint32_t)varint_put(payload, scope.instance));
}

static void mark(const char *name)
{
	struct ring *r = session_ring();
	const uint8_t no_task = 0;

	if (r)
		ring_push_payload(r, RECORD_MARK, name_id(r, name), &no_task, 1);
}

static void counter(const char *name, double value)
{
	struct ring *r = session_ring();

	if (r)
		ring_push_payload(r, RECORD_COUNTER, name_id(r, name), &value, sizeof(value));
}

static void thread_name(const char *name)
{
	struct ring *r = session_ring();

	if (r && name)
		session_name_thread(r, name);
}

static int is_recording(void)
{
	return session_on() != NULL;
}

static const struct inferscope_api api = {
	.session = (void *const *)&session_current,
	.begin = scope_begin,
	.end = scope_end,
	.mark = mark,
	.counter = counter,
	.thread_name = thread_name,
	.is_recording = is_recording,
};

static void join(void)
{
	if (!session_on())
		session_join(getenv(SHM_ENV), 0);
}

/*
 * Joins the recording of the environment, if none is on; one that lies ahead when it
 * begins.  NULL: a header of a later version.
 */
const struct inferscope_api *inferscope_agent(unsigned version)
{
	if (version > INFERSCOPE_API_VERSION)
		return NULL;
	if (!session_on() && !delayed_start_wait(DELAYED_START_NATIVE, getenv(SHM_ENV), join))
		join();
	return &api;
}
