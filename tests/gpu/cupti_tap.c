/*
 * A libcupti that passes everything on to the real one and writes what that one
 * tells its client to a file, in the order in which it is told.
 *
 *	INFERSCOPE_CUPTI=tap.so           CUPTI_TAP_REAL=/path/libcupti.so.13
 *	CUPTI_TAP_FILE=buffers.tap        inferscope run -- ./program
 *
 * Run on a machine with a GPU, once for each version of CUPTI (record_taps.py);
 * the files are test data, which tests/doubles/tap_cupti.c replays where there
 * is no GPU, and which tap_decode.py reads.  Little endian, nothing is padded:
 *
 *	"CUPTITAP", u32 cuptiGetVersion(), u32 2 (of this format), then entries:
 *	u32 type, u32 bytes behind this head, u64 CLOCK_MONOTONIC ns, and for type
 *
 *	1  a buffer: u64 valid bytes, the bytes; u32 records, u32 offset of each, as
 *	   cuptiActivityGetNextRecord() found them; u32 names, and for each: u64 the
 *	   pointer as it stands in the records, u32 length, the text
 *	2  a callback: u32 thread, u32 domain, u32 id, u32 site (0 enter, 1 exit),
 *	   u32 correlation, u64 context, u64 [2] the first 16 bytes of the arguments,
 *	   u32 how many of those 16 could be read
 *	3  an answer of cuptiGetStreamIdEx(): u64 context, u64 stream, u32 per thread,
 *	   u32 result, u32 id
 *	4  an answer of cuptiActivityGetNumDroppedRecords() other than 0: u64 records
 *
 * The client's threads and CUPTI's own call in here: one lock, held while writing.
 */
#define _GNU_SOURCE /* process_vm_readv */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define TAP_FORMAT 2u
#define NAMES_MAX 4096u

enum { KIND_DEVICE = 8, KIND_CONCURRENT_KERNEL = 10, DEVICE_NAME_AT = 136, KERNEL_NAME_AT = 104 };
enum tap_type { TAP_BUFFER = 1, TAP_CALL = 2, TAP_STREAM = 3, TAP_DROPPED = 4 };

struct callback_data { /* CUpti_CallbackData */
	uint32_t site;
	const char *function;
	const void *params;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation_data;
	uint32_t correlation;
};

typedef void (*request_function)(uint8_t **, size_t *, size_t *);
typedef void (*complete_function)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef void (*callback_function)(void *, int, uint32_t, const void *);

static complete_function their_complete;
static callback_function their_callback;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *find_real(const char *symbol)
{
	static void *library;

	if (!library)
		library = dlopen(getenv("CUPTI_TAP_REAL"), RTLD_NOW | RTLD_LOCAL);
	return library ? dlsym(library, symbol) : NULL;
}

/* A tap that cannot do its work says so and ends: half a recording is no test data. */
static void *real(const char *symbol)
{
	void *found = find_real(symbol);

	if (!found) {
		fprintf(stderr, "cupti_tap: no %s in %s\n", symbol, getenv("CUPTI_TAP_REAL"));
		abort();
	}
	return found;
}

/* CALL(symbol, (types), arguments...) of the real one. */
#define CALL(symbol, types, ...) (((int(*) types)real(#symbol))(__VA_ARGS__))

/* One entry, put together before it is written: its head says how long it is. */
struct entry {
	uint8_t *data;
	size_t bytes, room;
};

static void put(struct entry *e, const void *data, size_t bytes)
{
	if (e->bytes + bytes > e->room) {
		e->room = 2 * (e->bytes + bytes);
		e->data = realloc(e->data, e->room);
		if (!e->data)
			abort();
	}
	memcpy(e->data + e->bytes, data, bytes);
	e->bytes += bytes;
}

static void put_u32(struct entry *e, uint32_t value)
{
	put(e, &value, sizeof(value));
}

static void put_u64(struct entry *e, uint64_t value)
{
	put(e, &value, sizeof(value));
}

static void write_all(FILE *file, const void *data, size_t bytes)
{
	if (fwrite(data, 1, bytes, file) != bytes)
		abort();
}

/* Under the lock.  Closed, and so flushed, by the end of the process. */
static FILE *open_file(void)
{
	static FILE *file;
	uint32_t head[2] = { 0, TAP_FORMAT };

	if (file)
		return file;
	file = fopen(getenv("CUPTI_TAP_FILE"), "wb");
	if (!file)
		abort();
	CALL(cuptiGetVersion, (uint32_t *), &head[0]);
	write_all(file, "CUPTITAP", 8);
	write_all(file, head, sizeof(head));
	return file;
}

static void write_entry(enum tap_type type, struct entry *e)
{
	uint32_t head[2] = { type, (uint32_t)e->bytes };
	struct timespec t;
	uint64_t now;
	FILE *file;

	pthread_mutex_lock(&lock);
	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	file = open_file();
	write_all(file, head, sizeof(head));
	write_all(file, &now, sizeof(now));
	write_all(file, e->data, e->bytes);
	fflush(file);
	pthread_mutex_unlock(&lock);
	free(e->data);
}

static uint64_t name_in(const uint8_t *record)
{
	uint32_t kind;
	uint64_t name = 0;

	memcpy(&kind, record, sizeof(kind));
	if (kind == KIND_CONCURRENT_KERNEL)
		memcpy(&name, record + KERNEL_NAME_AT, sizeof(name));
	if (kind == KIND_DEVICE)
		memcpy(&name, record + DEVICE_NAME_AT, sizeof(name));
	return name;
}

static void put_names(struct entry *e, const uint64_t *names, uint32_t count)
{
	put_u32(e, count);
	for (uint32_t i = 0; i < count; i++) {
		const char *text = (const char *)(uintptr_t)names[i];
		uint32_t length = (uint32_t)strlen(text);

		put_u64(e, names[i]);
		put_u32(e, length);
		put(e, text, length);
	}
}

static void tap_buffer(uint8_t *buffer, size_t bytes)
{
	uint64_t names[NAMES_MAX];
	struct entry e = { 0 }, offsets = { 0 };
	uint32_t count = 0;
	void *record = NULL;

	while (!CALL(cuptiActivityGetNextRecord, (uint8_t *, size_t, void **), buffer, bytes,
		     &record)) {
		uint64_t name = name_in(record);
		uint32_t i = 0;

		put_u32(&offsets, (uint32_t)((uint8_t *)record - buffer));
		while (i < count && names[i] != name)
			i++;
		if (name && i == count && count < NAMES_MAX)
			names[count++] = name;
	}
	put_u64(&e, bytes);
	put(&e, buffer, bytes);
	put_u32(&e, (uint32_t)(offsets.bytes / sizeof(uint32_t)));
	if (offsets.bytes)
		put(&e, offsets.data, offsets.bytes);
	put_names(&e, names, count);
	write_entry(TAP_BUFFER, &e);
	free(offsets.data);
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	if (valid)
		tap_buffer(buffer, valid);
	their_complete(context, stream, buffer, bytes, valid);
}

/* How long the arguments are is known to CUDA only; the kernel reads what there is of them. */
static uint32_t read_arguments(const void *from, uint64_t to[2])
{
	struct iovec here = { to, 2 * sizeof(*to) }, there = { (void *)from, 2 * sizeof(*to) };
	ssize_t got = from ? process_vm_readv(getpid(), &here, 1, &there, 1, 0) : 0;

	return got > 0 ? (uint32_t)got : 0;
}

static void on_callback(void *user, int domain, uint32_t id, const void *argument)
{
	const struct callback_data *data = argument;
	uint64_t arguments[2] = { 0 };
	uint32_t readable = read_arguments(data->params, arguments);
	struct entry e = { 0 };

	put_u32(&e, (uint32_t)syscall(SYS_gettid));
	put_u32(&e, (uint32_t)domain);
	put_u32(&e, id);
	put_u32(&e, data->site);
	put_u32(&e, data->correlation);
	put_u64(&e, (uintptr_t)data->context);
	put(&e, arguments, sizeof(arguments));
	put_u32(&e, readable);
	write_entry(TAP_CALL, &e);
	their_callback(user, domain, id, argument);
}

EXPORT int cuptiSubscribe(void **subscriber, callback_function callback, void *user);
EXPORT int cuptiSubscribe(void **subscriber, callback_function callback, void *user)
{
	their_callback = callback;
	return CALL(cuptiSubscribe, (void **, callback_function, void *), subscriber, on_callback,
		    user);
}

EXPORT int cuptiActivityRegisterCallbacks(request_function request, complete_function complete);
EXPORT int cuptiActivityRegisterCallbacks(request_function request, complete_function complete)
{
	their_complete = complete;
	return CALL(cuptiActivityRegisterCallbacks, (request_function, complete_function), request,
		    on_complete);
}

EXPORT int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id);
EXPORT int cuptiGetStreamIdEx(void *context, void *stream, uint8_t per_thread, uint32_t *id)
{
	int (*ask)(void *, void *, uint8_t, uint32_t *);
	struct entry e = { 0 };
	int result;

	*(void **)&ask = find_real("cuptiGetStreamIdEx"); /* not every version has it */
	result = ask ? ask(context, stream, per_thread, id) : 1;
	put_u64(&e, (uintptr_t)context);
	put_u64(&e, (uintptr_t)stream);
	put_u32(&e, per_thread);
	put_u32(&e, (uint32_t)result);
	put_u32(&e, result ? 0 : *id);
	write_entry(TAP_STREAM, &e);
	return result;
}

EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped);
EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *dropped)
{
	int result = CALL(cuptiActivityGetNumDroppedRecords, (void *, uint32_t, size_t *), context,
			  stream, dropped);
	struct entry e = { 0 };

	if (!result && *dropped) {
		put_u64(&e, *dropped);
		write_entry(TAP_DROPPED, &e);
	}
	return result;
}

/* Everything else as it comes. */
#define PASS(symbol, parameters, ...)                         \
	EXPORT int symbol parameters;                         \
	EXPORT int symbol parameters                          \
	{                                                     \
		return CALL(symbol, parameters, __VA_ARGS__); \
	}

PASS(cuptiGetVersion, (uint32_t * a), a)
PASS(cuptiGetResultString, (int a, const char **b), a, b)
PASS(cuptiUnsubscribe, (void *a), a)
PASS(cuptiEnableCallback, (uint32_t a, void *b, int c, uint32_t d), a, b, c, d)
PASS(cuptiActivityEnable, (int a), a)
PASS(cuptiActivityDisable, (int a), a)
PASS(cuptiActivityRegisterTimestampCallback, (uint64_t(*a)(void)), a)
PASS(cuptiActivityGetNextRecord, (uint8_t * a, size_t b, void **c), a, b, c)
PASS(cuptiActivityFlushAll, (uint32_t a), a)
