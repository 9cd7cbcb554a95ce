/*
 * A tap read for a replay: what a real libcupti told its client, entry by entry.
 * tests/gpu/cupti_tap.c writes such files and has the format.
 */
#ifndef DOUBLES_TAP_FILE_H
#define DOUBLES_TAP_FILE_H

#include <stddef.h>
#include <stdint.h>

enum tap_type { TAP_BUFFER = 1, TAP_CALL = 2, TAP_STREAM = 3, TAP_DROPPED = 4 };

struct tap_name {
	uint64_t pointer;
	char *text;
};

struct tap_buffer {
	const uint8_t *data;
	uint64_t bytes;
	uint32_t records, names;
	uint32_t *offsets;
	struct tap_name *name;
};

struct tap_call {
	uint32_t thread, domain, id, site, correlation;
	uint64_t context, arguments[2];
	uint32_t readable; /* bytes of the arguments */
};

struct tap_stream {
	uint64_t context, stream;
	uint32_t per_thread, result, id;
};

struct tap_entry {
	enum tap_type type;
	uint64_t time_ns; /* CLOCK_MONOTONIC of the machine it comes from */
	union {
		struct tap_buffer buffer;
		struct tap_call call;
		struct tap_stream stream;
		uint64_t dropped;
	};
};

struct tap {
	uint32_t version; /* cuptiGetVersion() */
	size_t count;
	struct tap_entry *entries;
};

/*
 * NULL, after a line on stderr: no such file, or it is damaged.  Lives as long as
 * the process, as the names that CUPTI's records point to do.
 */
const struct tap *tap_read(const char *path);

#endif
