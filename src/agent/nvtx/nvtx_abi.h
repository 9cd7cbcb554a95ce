/*
 * The part of NVTX that the agent uses: our own declarations of how a program's NVTX
 * and a tool meet.
 *
 * Each program or library that uses NVTX has a copy of its own.  At its first call the
 * copy loads the library that NVTX_INJECTION64_PATH names and calls its
 * InitializeInjectionNvtx2() with a function that gives out tables by number.  One of
 * them leads, module by module, to the places in which the copy keeps its function
 * pointers: a tool puts its own there.  Versions 2 and 3 do it alike.
 * tests/python/test_nvtx_abi.py compares everything here with the real headers.
 */
#ifndef AGENT_NVTX_NVTX_ABI_H
#define AGENT_NVTX_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum nvtx_table { NVTX_TABLE_CALLBACKS = 1, NVTX_TABLE_VERSION = 3 };
enum nvtx_module { NVTX_MODULE_CORE = 1, NVTX_MODULE_CORE2 = 5 };

/* Places in the table of NVTX_MODULE_CORE. */
enum nvtx_core {
	NVTX_CORE_MARK_EX = 1,
	NVTX_CORE_MARK_A = 2,
	NVTX_CORE_MARK_W = 3,
	NVTX_CORE_START_EX = 4,
	NVTX_CORE_START_A = 5,
	NVTX_CORE_START_W = 6,
	NVTX_CORE_END = 7,
	NVTX_CORE_PUSH_EX = 8,
	NVTX_CORE_PUSH_A = 9,
	NVTX_CORE_PUSH_W = 10,
	NVTX_CORE_POP = 11,
	NVTX_CORE_NAME_CATEGORY_A = 12,
	NVTX_CORE_NAME_CATEGORY_W = 13,
	NVTX_CORE_NAME_THREAD_A = 14,
	NVTX_CORE_NAME_THREAD_W = 15,
};

/* ... and of NVTX_MODULE_CORE2: the same with domains. */
enum nvtx_core2 {
	NVTX_CORE2_MARK_EX = 1,
	NVTX_CORE2_START_EX = 2,
	NVTX_CORE2_END = 3,
	NVTX_CORE2_PUSH_EX = 4,
	NVTX_CORE2_POP = 5,
	NVTX_CORE2_RESOURCE_CREATE = 6,
	NVTX_CORE2_RESOURCE_DESTROY = 7,
	NVTX_CORE2_NAME_CATEGORY_A = 8,
	NVTX_CORE2_NAME_CATEGORY_W = 9,
	NVTX_CORE2_REGISTER_STRING_A = 10,
	NVTX_CORE2_REGISTER_STRING_W = 11,
	NVTX_CORE2_DOMAIN_CREATE_A = 12,
	NVTX_CORE2_DOMAIN_CREATE_W = 13,
	NVTX_CORE2_DOMAIN_DESTROY = 14,
	NVTX_CORE2_INITIALIZE = 15,
};

typedef void (*nvtx_function)(void); /* of any type */

struct nvtx_callbacks { /* NVTX_TABLE_CALLBACKS */
	size_t bytes;
	/* 1: *places has *count entries, the first of which is unused. */
	int (*module)(int module, nvtx_function ***places, unsigned *count);
};

struct nvtx_version { /* NVTX_TABLE_VERSION */
	size_t bytes;
	uint32_t version, reserved;
	void (*tool_is_for)(uint32_t version);
};

typedef const void *(*nvtx_tables)(uint32_t table);

enum nvtx_message {
	NVTX_MESSAGE_NONE = 0,
	NVTX_MESSAGE_CHAR = 1,
	NVTX_MESSAGE_WIDE = 2,
	NVTX_MESSAGE_REGISTERED = 3,
};

enum nvtx_payload {
	NVTX_PAYLOAD_NONE = 0,
	NVTX_PAYLOAD_UINT64 = 1,
	NVTX_PAYLOAD_INT64 = 2,
	NVTX_PAYLOAD_DOUBLE = 3,
	NVTX_PAYLOAD_UINT32 = 4,
	NVTX_PAYLOAD_INT32 = 5,
	NVTX_PAYLOAD_FLOAT = 6,
};

#define NVTX_COLOUR_ARGB 1
#define NVTX_RESOURCE_THREAD 0x10003 /* the number that gettid() gives */
#define NVTX_NOT_TRACKED (-2)        /* what push and pop return without a tool */
#define NVTX_VERSION_OURS 3u

/* What a program holds of ours: numbers, never addresses.  NULL: the default domain. */
typedef struct nvtx_domain_handle *nvtx_domain;
typedef struct nvtx_string_handle *nvtx_string;

struct nvtx_attributes { /* nvtxEventAttributes_v2 */
	uint16_t version, bytes;
	uint32_t category;
	int32_t colour_type;
	uint32_t colour;
	int32_t payload_type;
	int32_t reserved;
	union {
		uint64_t uint64;
		int64_t int64;
		double real;
		uint32_t uint32;
		int32_t int32;
		float single;
	} payload;
	int32_t message_type;
	union {
		const char *text;
		const wchar_t *wide;
		nvtx_string registered;
	} message;
};

struct nvtx_resource { /* nvtxResourceAttributes_v0 */
	uint16_t version, bytes;
	int32_t type;
	union {
		const void *pointer;
		uint64_t number;
	} identifier;
	int32_t message_type;
	union {
		const char *text;
		const wchar_t *wide;
		nvtx_string registered;
	} message;
};

#endif
