/*
 * A program that uses NVTX in one of the ways that argv[1] names: tests/python/test_nvtx.py.
 * Linked with a library that has NVTX's functions (NVIDIA's own or tests/doubles), or
 * compiled with NVIDIA's headers (WITH_HEADERS).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#ifdef WITH_HEADERS
#include <nvtx3/nvToolsExt.h>
typedef nvtxEventAttributes_t attributes;
typedef nvtxResourceAttributes_t resource;
#define AS_TEXT NVTX_MESSAGE_TYPE_ASCII
#define AS_WIDE NVTX_MESSAGE_TYPE_UNICODE
#define AS_REGISTERED NVTX_MESSAGE_TYPE_REGISTERED
#define TEXT(a) (a).message.ascii
#define WIDE(a) (a).message.unicode
#define REGISTERED(a) (a).message.registered
#define TYPE(a) (a).messageType
#define PAYLOAD_TYPE(a) (a).payloadType
#define INT64(a) (a).payload.llValue
#define SIZE(a) (a).size
#else
#include "agent/nvtx/nvtx_abi.h"
typedef struct nvtx_attributes attributes;
typedef struct nvtx_resource resource;
typedef nvtx_domain nvtxDomainHandle_t;
typedef nvtx_string nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;
#define AS_TEXT NVTX_MESSAGE_CHAR
#define AS_WIDE NVTX_MESSAGE_WIDE
#define AS_REGISTERED NVTX_MESSAGE_REGISTERED
#define TEXT(a) (a).message.text
#define WIDE(a) (a).message.wide
#define REGISTERED(a) (a).message.registered
#define TYPE(a) (a).message_type
#define PAYLOAD_TYPE(a) (a).payload_type
#define INT64(a) (a).payload.int64
#define SIZE(a) (a).bytes
void nvtxMarkEx(const attributes *a);
void nvtxMarkA(const char *text);
void nvtxMarkW(const wchar_t *text);
uint64_t nvtxRangeStartA(const char *text);
uint64_t nvtxRangeStartW(const wchar_t *text);
uint64_t nvtxRangeStartEx(const attributes *a);
void nvtxRangeEnd(uint64_t range);
int nvtxRangePushA(const char *text);
int nvtxRangePushW(const wchar_t *text);
int nvtxRangePushEx(const attributes *a);
int nvtxRangePop(void);
void nvtxNameCategoryA(uint32_t category, const char *name);
void nvtxNameCategoryW(uint32_t category, const wchar_t *name);
void nvtxNameOsThreadA(uint32_t tid, const char *name);
void nvtxDomainMarkEx(nvtx_domain domain, const attributes *a);
uint64_t nvtxDomainRangeStartEx(nvtx_domain domain, const attributes *a);
void nvtxDomainRangeEnd(nvtx_domain domain, uint64_t range);
int nvtxDomainRangePushEx(nvtx_domain domain, const attributes *a);
int nvtxDomainRangePop(nvtx_domain domain);
void nvtxDomainNameCategoryA(nvtx_domain domain, uint32_t category, const char *name);
nvtx_string nvtxDomainRegisterStringA(nvtx_domain domain, const char *text);
nvtx_string nvtxDomainRegisterStringW(nvtx_domain domain, const wchar_t *text);
nvtx_domain nvtxDomainCreateA(const char *name);
nvtx_domain nvtxDomainCreateW(const wchar_t *name);
void nvtxDomainDestroy(nvtx_domain domain);
#endif

static attributes with_text(const char *text)
{
	attributes a;

	memset(&a, 0, sizeof(a));
	a.version = 3;
	SIZE(a) = sizeof(a);
	TYPE(a) = AS_TEXT;
	TEXT(a) = text;
	return a;
}

/* Everything that a call can say. */
static void everything(void)
{
	nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
	nvtxDomainHandle_t wide = nvtxDomainCreateW(L"weit \u2192");
	attributes a = with_text("read");

	nvtxNameCategoryA(3, "input");
	nvtxDomainNameCategoryA(domain, 3, "kernels");
	printf("%d ", nvtxRangePushA("outer"));
	printf("%d ", nvtxRangePushW(L"inn\u00e9r \U0001f600"));
	nvtxMarkA("here");
	nvtxMarkW(L"th\u00e9re");
	a.category = 3;
	PAYLOAD_TYPE(a) = 2;
	INT64(a) = -42;
	printf("%d ", nvtxRangePushEx(&a));
	TYPE(a) = AS_REGISTERED;
	REGISTERED(a) = nvtxDomainRegisterStringA(domain, "registered");
	printf("%d ", nvtxDomainRangePushEx(domain, &a));
	REGISTERED(a) = nvtxDomainRegisterStringW(wide, L"w\u00eede");
	a.category = 4; /* it has no name */
	PAYLOAD_TYPE(a) = 3;
	a.payload = (__typeof__(a.payload)){ 0 };
	memcpy(&a.payload, &(double){ 0.25 }, 8);
	printf("%d ", nvtxDomainRangePushEx(wide, &a));
	nvtxDomainMarkEx(wide, &a);
	printf("%d ", nvtxDomainRangePop(domain)); /* not the newest */
	printf("%d ", nvtxRangePop());
	printf("%d ", nvtxDomainRangePop(wide));
	printf("%d ", nvtxRangePop());
	printf("%d\n", nvtxRangePop());
	nvtxDomainDestroy(domain);
}

static void *other_thread(void *range)
{
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "helper");
	nvtxRangePushA("in the other thread");
	nvtxRangeEnd(*(nvtxRangeId_t *)range);
	nvtxRangePop();
	printf("%s\n", nvtxRangePop() < 0 ? "nothing to pop" : "popped another thread's");
	return NULL;
}

static void threads(void)
{
	nvtxRangeId_t first = nvtxRangeStartA("request"), second = nvtxRangeStartW(L"request");
	pthread_t thread;

	nvtxRangePushA("main");
	if (pthread_create(&thread, NULL, other_thread, &first))
		abort();
	pthread_join(thread, NULL);
	nvtxRangePop();
	nvtxRangeEnd(second);
}

static void forks(void)
{
	nvtxRangeId_t range = nvtxRangeStartA("of the parent");
	int status;
	pid_t child;

	nvtxRangePushA("around the fork");
	fflush(stdout);
	child = fork();
	if (!child) {
		nvtxRangePop();
		nvtxRangeEnd(range);
		nvtxRangePushA("of the child");
		nvtxRangePop();
		range = nvtxRangeStartA("request of the child");
		nvtxRangeEnd(range);
		_exit(0);
	}
	waitpid(child, &status, 0);
	nvtxRangePop();
	nvtxRangeEnd(range);
}

/* What no program should do. */
static void hostile(void)
{
	static char huge[1 << 20];
	static wchar_t huge_wide[1 << 16];
	attributes a = with_text(NULL);

	memset(huge, 'x', sizeof(huge) - 1);
	for (size_t i = 0; i < sizeof(huge_wide) / sizeof(*huge_wide) - 1; i++)
		huge_wide[i] = 0x1f600;
	nvtxRangePop();
	nvtxRangeEnd(0);
	nvtxRangePushA(NULL);
	nvtxRangePushW(NULL);
	nvtxRangePushEx(NULL);
	nvtxRangePushEx(&a);
	SIZE(a) = 4;
	nvtxRangePushEx(&a);
	SIZE(a) = sizeof(a);
	TYPE(a) = AS_REGISTERED;
	REGISTERED(a) = (nvtxStringHandle_t)-1;
	nvtxRangePushEx(&a);
	REGISTERED(a) = (nvtxStringHandle_t)(uintptr_t)77;
	nvtxRangePushEx(&a);
	TYPE(a) = 4711;
	PAYLOAD_TYPE(a) = 4711;
	nvtxRangePushEx(&a);
	nvtxDomainRangePushEx((nvtxDomainHandle_t)-1, &a);
	nvtxRangePushA(huge);
	nvtxRangePushW(huge_wide);
	nvtxRangePushA("\xff\xfe invalid \xc3");
	nvtxRangePushW((const wchar_t[]){ 0xd800, 0x7fffffff, -1, 'x', 0 });
	nvtxDomainCreateA(NULL);
	nvtxDomainCreateA(huge);
	nvtxDomainRegisterStringA(NULL, NULL);
	nvtxDomainRegisterStringA(NULL, huge);
	nvtxNameCategoryA(5, NULL);
	nvtxNameCategoryA(0, "none");
	nvtxNameCategoryA(5, huge);
	a = with_text("with a long category");
	a.category = 5;
	nvtxRangePushEx(&a);
	nvtxDomainDestroy(NULL);
	nvtxNameOsThreadA(1, "not mine");
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), NULL);
	while (nvtxRangePop() >= 0)
		;
	nvtxDomainRangePop((nvtxDomainHandle_t)-1);
	puts("alive");
}

/* Pushes that are never popped, and one pair among them. */
static void leaks(void)
{
	for (int i = 0; i < 5000; i++)
		nvtxRangePushA("leaked");
	nvtxRangePushA("kept");
	nvtxRangePop();
	puts("done");
}

static void names(int count)
{
	char name[64];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "request %d", i);
		nvtxRangePushA(name);
		nvtxRangePop();
		nvtxDomainRegisterStringA(NULL, name);
	}
	puts("done");
}

/* Names as PyTorch's emit_nvtx() makes them, and some that only look like it. */
static void operators(int count)
{
	char huge[512] = "aten::huge, op_id = 1";

	memset(huge + strlen(huge), 'x', sizeof(huge) - strlen(huge) - 1);
	for (int i = 0; i < count; i++) {
		char name[64];

		snprintf(name, sizeof(name), "aten::linear, op_id = %d", i);
		nvtxRangePushA(name);
		snprintf(name, sizeof(name),
			 "aten::add, seq = %d, op_id = 7, sizes = [[8, 256], []]", i);
		nvtxRangeEnd(nvtxRangeStartA(name));
		nvtxRangePushA(huge);
		nvtxRangePushA("load, seq = x");
		nvtxRangePop();
		nvtxRangePop();
		nvtxRangePop();
		nvtxMarkA("a, b");
	}
	puts("done");
}

static void *many_ranges(void *unused)
{
	attributes a = with_text("with attributes");
	nvtxDomainHandle_t domain = nvtxDomainCreateA("shared");

	(void)unused;
	for (int i = 0; i < 1000; i++) {
		char name[32];

		snprintf(name, sizeof(name), "name %d", i % 50);
		REGISTERED(a) = nvtxDomainRegisterStringA(domain, name);
		TYPE(a) = AS_REGISTERED;
		a.category = (uint32_t)i % 7 + 1;
		nvtxDomainNameCategoryA(domain, a.category, i % 2 ? "one" : "other");
		nvtxDomainRangePushEx(domain, &a);
		nvtxRangeEnd(nvtxRangeStartA("started"));
		nvtxDomainRangePop(domain);
	}
	return NULL;
}

static void at_once(void)
{
	pthread_t all[8];

	for (int i = 0; i < 8; i++) {
		if (pthread_create(&all[i], NULL, many_ranges, NULL))
			abort();
	}
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], NULL);
	puts("done");
}

static int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Steps of a millisecond that are full of ranges as short as can be. */
static void storm(int milliseconds)
{
	for (int i = 0; i < milliseconds; i++) {
		int64_t end_ns;

		nvtxRangePushA("step");
		end_ns = monotonic_ns() + 1000000;
		do {
			nvtxRangePushA("short");
			nvtxRangePop();
			nvtxRangeEnd(nvtxRangeStartA("short request"));
			nvtxMarkA("often");
		} while (monotonic_ns() < end_ns);
		nvtxRangePop();
	}
}

/* At work: what waits earns nothing that could be spent on ranges again. */
static void pairs(int milliseconds)
{
	for (int i = 0; i < milliseconds; i++) {
		int64_t end_ns;

		nvtxRangePushA("pair");
		end_ns = monotonic_ns() + 1000000;
		while (monotonic_ns() < end_ns)
			;
		nvtxRangePop();
	}
}

static void storms(int milliseconds)
{
	storm(milliseconds);
	pairs(2500); /* longer than anything is left out */
	storm(milliseconds);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "everything";
	int number = argc > 2 ? atoi(argv[2]) : 0;

	if (!strcmp(how, "everything"))
		everything();
	else if (!strcmp(how, "threads"))
		threads();
	else if (!strcmp(how, "forks"))
		forks();
	else if (!strcmp(how, "hostile"))
		hostile();
	else if (!strcmp(how, "leaks"))
		leaks();
	else if (!strcmp(how, "names"))
		names(number);
	else if (!strcmp(how, "operators"))
		operators(number);
	else if (!strcmp(how, "at once"))
		at_once();
	else if (!strcmp(how, "storm"))
		storm(number);
	else if (!strcmp(how, "storms"))
		storms(number);
	else if (!strcmp(how, "pairs"))
		pairs(number);
	else
		return 2;
	return 0;
}
