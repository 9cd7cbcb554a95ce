/*
 * A libcupti that replays a tap (CUPTI_REPLAY_FILE) of a real one: its version
 * number, its callbacks, its records byte by byte, each at the distance in time
 * that it had.  All times are shifted by one constant, from the clock of the
 * machine they come from to the client's; names are text of this process.
 *
 * The client's buffers are filled as far as they go: how long they are is the
 * client's affair, and where one of the tap ends says nothing.  Callbacks come in
 * the thread that calls tap_replay(), buffers in one of our own, as in reality.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "callback_data.h"
#include "tap_cupti.h"
#include "tap_file.h"

#define EXPORT __attribute__((visibility("default")))
#define IDS 1024u
#define RECORDS_MAX 65536u

enum result { OK = 0, INVALID_PARAMETER = 1, MAX_LIMIT_REACHED = 12 };

enum kind {
	KIND_COPY = 1,
	KIND_MEMSET = 2,
	KIND_DEVICE = 8,
	KIND_KERNEL = 10,
	KIND_OVERHEAD = 17,
	KIND_PEER_COPY = 22
};

/* Where records keep times and the pointer to a name; all versions agree on it.  0: nowhere. */
static const struct {
	enum kind kind;
	size_t start, end, completed, name;
} fields[] = {
	{ KIND_KERNEL, 16, 24, 32, 104 }, { KIND_COPY, 16, 24, 0, 0 },
	{ KIND_PEER_COPY, 16, 24, 0, 0 }, { KIND_MEMSET, 16, 24, 0, 0 },
	{ KIND_OVERHEAD, 24, 32, 0, 0 },  { KIND_DEVICE, 0, 0, 0, 136 },
};

typedef void (*request_function)(uint8_t **buffer, size_t *bytes, size_t *max_records);
typedef void (*complete_function)(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
				  size_t valid_bytes);

EXPORT int cuptiGetVersion(uint32_t *version);
EXPORT int cuptiGetResultString(int result, const char **text);
EXPORT int cuptiSubscribe(void **subscriber, callback function, void *user);
EXPORT int cuptiUnsubscribe(void *subscriber);
EXPORT int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t id);
EXPORT int cuptiActivityEnable(int kind);
EXPORT int cuptiActivityDisable(int kind);
EXPORT int cuptiActivityRegisterCallbacks(request_function request, complete_function complete);
EXPORT int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void));
EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n);
EXPORT int cuptiActivityFlushAll(uint32_t flag);
EXPORT int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id);

static _Atomic(callback) subscriber_function;
static void *subscriber_user;
static _Atomic bool wanted[2][IDS];
static uint64_t (*client_clock)(void);
static request_function request_buffer;
static complete_function complete_buffer;

/* The buffer that the client has; of the thread that delivers. */
static struct {
	uint8_t *data;
	size_t bytes, used, records, dropped;
	size_t offsets[RECORDS_MAX];
} client;

static const struct tap *tap(void)
{
	static const struct tap *found;

	if (!found)
		found = tap_read(getenv("CUPTI_REPLAY_FILE"));
	return found;
}

int cuptiGetVersion(uint32_t *version)
{
	if (!tap())
		return INVALID_PARAMETER;
	*version = tap()->version;
	return OK;
}

int cuptiGetResultString(int result, const char **text)
{
	(void)result;
	*text = "CUPTI_ERROR_OF_THE_REPLAY";
	return OK;
}

int cuptiSubscribe(void **subscriber, callback function, void *user)
{
	subscriber_user = user;
	atomic_store(&subscriber_function, function);
	*subscriber = &subscriber_function;
	return OK;
}

int cuptiUnsubscribe(void *subscriber)
{
	(void)subscriber;
	atomic_store(&subscriber_function, (callback)NULL);
	return OK;
}

int cuptiEnableCallback(uint32_t on, void *subscriber, int domain, uint32_t id)
{
	if (subscriber != &subscriber_function || domain < 1 || domain > 2 || id >= IDS)
		return INVALID_PARAMETER;
	atomic_store(&wanted[domain - 1][id], on);
	return OK;
}

int cuptiActivityEnable(int kind)
{
	(void)kind;
	return OK;
}

int cuptiActivityDisable(int kind)
{
	(void)kind;
	return OK;
}

int cuptiActivityRegisterCallbacks(request_function request, complete_function complete)
{
	request_buffer = request;
	complete_buffer = complete;
	return OK;
}

int cuptiActivityRegisterTimestampCallback(uint64_t (*now)(void))
{
	client_clock = now;
	return OK;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
	size_t next = 0;

	if (buffer != client.data || valid != client.used)
		return INVALID_PARAMETER;
	if (*record) {
		size_t at = (size_t)((uint8_t *)*record - buffer);

		while (next < client.records && client.offsets[next] <= at)
			next++;
	}
	if (next == client.records)
		return MAX_LIMIT_REACHED;
	*record = buffer + client.offsets[next];
	return OK;
}

/* Told once, as the real one does. */
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n)
{
	(void)context;
	(void)stream;
	*n = client.dropped;
	client.dropped = 0;
	return OK;
}

/* Buffers come in their own time; tap_replay() returns when all have come. */
int cuptiActivityFlushAll(uint32_t flag)
{
	(void)flag;
	return OK;
}

int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
	for (size_t i = 0; i < tap()->count; i++) {
		const struct tap_stream *s = &tap()->entries[i].stream;

		if (tap()->entries[i].type != TAP_STREAM || s->context != (uintptr_t)context ||
		    s->stream != (uintptr_t)stream || s->per_thread != per_thread)
			continue;
		*id = s->id;
		return (int)s->result;
	}
	return INVALID_PARAMETER;
}

static void wait_until(uint64_t time)
{
	struct timespec pause = { 0, 100000 };

	while (client_clock() < time)
		nanosleep(&pause, NULL);
}

static void shift_time(uint8_t *record, size_t at, int64_t shift)
{
	uint64_t time;

	if (!at)
		return;
	memcpy(&time, record + at, sizeof(time));
	if (time) /* 0: not known */
		time = (uint64_t)((int64_t)time + shift);
	memcpy(record + at, &time, sizeof(time));
}

static void set_name(uint8_t *record, size_t at, const struct tap_buffer *b)
{
	const char *text = NULL;
	uint64_t pointer;

	memcpy(&pointer, record + at, sizeof(pointer));
	for (uint32_t i = 0; i < b->names; i++)
		if (b->name[i].pointer == pointer)
			text = b->name[i].text;
	memcpy(record + at, &text, sizeof(text));
}

static void make_ours(uint8_t *record, size_t bytes, const struct tap_buffer *b, int64_t shift)
{
	uint32_t kind;

	memcpy(&kind, record, sizeof(kind));
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].kind != kind || fields[i].name + sizeof(uint64_t) > bytes)
			continue;
		shift_time(record, fields[i].start, shift);
		shift_time(record, fields[i].end, shift);
		shift_time(record, fields[i].completed, shift);
		if (fields[i].name)
			set_name(record, fields[i].name, b);
	}
}

static void hand_over(void)
{
	if (client.data)
		complete_buffer(NULL, 0, client.data, client.bytes, client.used);
	client.data = NULL;
}

/* Room for a record in the client's buffer, in a new one where the last is full. */
static uint8_t *place(size_t bytes)
{
	size_t max_records = 0;

	if (client.data && (client.used + bytes > client.bytes || client.records == RECORDS_MAX))
		hand_over();
	if (!client.data) {
		client.used = client.records = 0;
		request_buffer(&client.data, &client.bytes, &max_records);
		if (!client.data || client.bytes < bytes)
			abort();
	}
	client.offsets[client.records++] = client.used;
	client.used += bytes;
	return client.data + client.used - bytes;
}

static void deliver(const struct tap_buffer *b, size_t dropped, int64_t shift)
{
	for (uint32_t i = 0; i < b->records; i++) {
		uint64_t end = i + 1 < b->records ? b->offsets[i + 1] : b->bytes;
		size_t bytes = (size_t)(end - b->offsets[i]);
		uint8_t *record = place(bytes);

		memcpy(record, b->data + b->offsets[i], bytes);
		make_ours(record, bytes, b, shift);
	}
	client.dropped += dropped;
	hand_over();
}

/* What was dropped is told behind the buffer with which the client learnt it. */
static size_t dropped_behind(const struct tap_entry *e)
{
	const struct tap_entry *end = tap()->entries + tap()->count;

	while (++e < end && e->type != TAP_BUFFER)
		if (e->type == TAP_DROPPED)
			return (size_t)e->dropped;
	return 0;
}

static void *deliver_all(void *argument)
{
	int64_t shift = *(int64_t *)argument;

	for (size_t i = 0; i < tap()->count; i++) {
		const struct tap_entry *e = &tap()->entries[i];

		if (e->type != TAP_BUFFER)
			continue;
		wait_until((uint64_t)((int64_t)e->time_ns + shift));
		deliver(&e->buffer, dropped_behind(e), shift);
	}
	return NULL;
}

static void call(const struct tap_call *c)
{
	callback function = atomic_load(&subscriber_function);
	uint64_t correlation_data = 0;
	struct callback_data data = {
		.callbackSite = c->site,
		.functionName = "",
		.functionParams = c->readable == sizeof(c->arguments) ? c->arguments : NULL,
		.context = (void *)(uintptr_t)c->context,
		.contextUid = 1,
		.correlationData = &correlation_data,
		.correlationId = c->correlation,
	};

	if (function && c->domain - 1 < 2 && c->id < IDS &&
	    atomic_load(&wanted[c->domain - 1][c->id]))
		function(subscriber_user, (int)c->domain, c->id, &data);
}

/* Which calls are inside which is a matter of the thread; we have one to make them in. */
static bool has_one_thread(void)
{
	uint32_t thread = 0;

	for (size_t i = 0; i < tap()->count; i++) {
		const struct tap_entry *e = &tap()->entries[i];

		if (e->type == TAP_CALL && thread && e->call.thread != thread)
			return false;
		if (e->type == TAP_CALL)
			thread = e->call.thread;
	}
	return true;
}

int tap_replay(int64_t *shift)
{
	pthread_t worker;

	if (!tap() || !client_clock || !complete_buffer || !has_one_thread())
		return -1;
	*shift = (int64_t)client_clock() - (int64_t)tap()->entries[0].time_ns;
	if (pthread_create(&worker, NULL, deliver_all, shift))
		return -1;
	for (size_t i = 0; i < tap()->count; i++) {
		const struct tap_entry *e = &tap()->entries[i];

		if (e->type != TAP_CALL)
			continue;
		wait_until((uint64_t)((int64_t)e->time_ns + *shift));
		call(&e->call);
	}
	pthread_join(worker, NULL);
	return 0;
}
