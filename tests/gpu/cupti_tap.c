/*
 * A libcupti that passes everything on to the real one and writes each
 * activity buffer to a file as it is handed over.
 *
 *	INFERSCOPE_CUPTI=libcupti_tap.so  CUPTI_TAP_REAL=/path/libcupti.so.13
 *	CUPTI_TAP_FILE=buffers.tap        inferscope run ...
 *
 * Run on a machine with a GPU, once for each version of CUPTI; the files are
 * test data, which a double replays where there is no GPU.  Little endian:
 *
 *	"CUPTITAP", u32 version of CUPTI, u32 0, then for each buffer:
 *	u64 bytes, the bytes, u32 number of names, and for each name:
 *	u64 the pointer as it stands in the records, u32 length, the text
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { KIND_DEVICE = 8, KIND_CONCURRENT_KERNEL = 10, DEVICE_NAME_AT = 136, KERNEL_NAME_AT = 104 };

typedef void (*request_function)(uint8_t **, size_t *, size_t *);
typedef void (*complete_function)(void *, uint32_t, uint8_t *, size_t, size_t);

static complete_function their_complete;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *file;

static void *real(const char *symbol)
{
	static void *library;
	void *found;

	if (!library)
		library = dlopen(getenv("CUPTI_TAP_REAL"), RTLD_NOW | RTLD_LOCAL);
	found = library ? dlsym(library, symbol) : NULL;
	if (!found) {
		fprintf(stderr, "cupti_tap: no %s in %s\n", symbol, getenv("CUPTI_TAP_REAL"));
		abort();
	}
	return found;
}

#define CALL(symbol, ...) ((int (*)())real(symbol))(__VA_ARGS__)

static void open_file(void)
{
	uint32_t version = 0, zero = 0;

	if (file)
		return;
	file = fopen(getenv("CUPTI_TAP_FILE"), "wb");
	if (!file)
		abort();
	CALL("cuptiGetVersion", &version);
	fwrite("CUPTITAP", 8, 1, file);
	fwrite(&version, 4, 1, file);
	fwrite(&zero, 4, 1, file);
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

static void write_buffer(uint8_t *buffer, uint64_t bytes)
{
	static uint64_t names[65536];
	uint8_t *record = NULL;
	uint32_t count = 0;

	while (!CALL("cuptiActivityGetNextRecord", buffer, (size_t)bytes, &record)) {
		uint64_t name = name_in(record);
		uint32_t i = 0;

		while (i < count && names[i] != name)
			i++;
		if (name && i == count && count < 65536)
			names[count++] = name;
	}
	fwrite(&bytes, 8, 1, file);
	fwrite(buffer, (size_t)bytes, 1, file);
	fwrite(&count, 4, 1, file);
	for (uint32_t i = 0; i < count; i++) {
		const char *text = (const char *)(uintptr_t)names[i];
		uint32_t length = (uint32_t)strlen(text);

		fwrite(&names[i], 8, 1, file);
		fwrite(&length, 4, 1, file);
		fwrite(text, length, 1, file);
	}
	fflush(file);
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	pthread_mutex_lock(&lock);
	open_file();
	if (valid)
		write_buffer(buffer, valid);
	pthread_mutex_unlock(&lock);
	their_complete(context, stream, buffer, bytes, valid);
}

EXPORT int cuptiActivityRegisterCallbacks(request_function request, complete_function complete);
EXPORT int cuptiActivityRegisterCallbacks(request_function request, complete_function complete)
{
	their_complete = complete;
	return CALL("cuptiActivityRegisterCallbacks", request, on_complete);
}

/* Everything else as it comes. */
#define PASS(symbol, parameters, ...)              \
	EXPORT int symbol parameters;              \
	EXPORT int symbol parameters               \
	{                                          \
		return CALL(#symbol, __VA_ARGS__); \
	}

PASS(cuptiGetVersion, (uint32_t * a), a)
PASS(cuptiGetResultString, (int a, const char **b), a, b)
PASS(cuptiSubscribe, (void **a, void *b, void *c), a, b, c)
PASS(cuptiUnsubscribe, (void *a), a)
PASS(cuptiEnableCallback, (uint32_t a, void *b, int c, uint32_t d), a, b, c, d)
PASS(cuptiActivityEnable, (int a), a)
PASS(cuptiActivityDisable, (int a), a)
PASS(cuptiActivityRegisterTimestampCallback, (void *a), a)
PASS(cuptiActivityGetNextRecord, (uint8_t * a, size_t b, void **c), a, b, c)
PASS(cuptiActivityGetNumDroppedRecords, (void *a, uint32_t b, size_t *c), a, b, c)
PASS(cuptiActivityFlushAll, (uint32_t a), a)
