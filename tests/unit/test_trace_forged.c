/* links: is_format is_base z */
/*
 * Files made by hand with good checksums: what later versions may add is taken,
 * what breaks a rule of docs/FORMAT.md is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>
#include <zlib.h>

#include "format/trace_layout.h"
#include "trace_sample.h"

static int file_setup(void **state)
{
	static struct memory_file file;

	memory_file_init(&file);
	*state = &file;
	return 0;
}

static int file_teardown(void **state)
{
	struct memory_file *file = *state;

	return close(file->fd);
}

struct forged {
	uint8_t bytes[4096];
	size_t count;
};

static void forge_header(struct forged *f)
{
	memset(f, 0, sizeof(*f));
	memcpy(f->bytes, TRACE_MAGIC, 8);
	put_le(f->bytes + 8, TRACE_VERSION, 4);
	put_le(f->bytes + 12, TRACE_HEADER_BYTES, 4);
	put_le(f->bytes + 44, crc32(0, f->bytes, 44), 4);
	f->count = TRACE_HEADER_BYTES;
}

static void forge_block(struct forged *f, const struct block_header *h, const void *payload,
			size_t bytes)
{
	uint8_t *head = f->bytes + f->count;

	put_le(head, BLOCK_MAGIC, 4);
	put_le(head + 4, h->type, 2);
	put_le(head + 6, h->codec, 2);
	put_le(head + 8, bytes, 4);
	put_le(head + 12, h->raw_bytes ? h->raw_bytes : bytes, 4);
	put_le(head + 16, h->thread, 8);
	put_le(head + 24, h->first_index, 8);
	put_le(head + 32, h->count, 4);
	put_le(head + 40, crc32(0, head, 40), 4);
	put_le(head + 44, crc32(0, payload, (uInt)bytes), 4);
	memcpy(head + BLOCK_HEADER_BYTES, payload, bytes);
	f->count += BLOCK_HEADER_BYTES + bytes;
}

/* A process 1 and its thread 1. */
static void forge_thread(struct forged *f)
{
	struct block_header process = { .type = BLOCK_PROCESS, .count = 1 };
	struct block_header thread = { .type = BLOCK_THREAD, .count = 1 };

	forge_block(f, &process, "\x07\1\0\0\0\0\0\0", 8);
	forge_block(f, &thread, "\x08\1\1\0\0\0\0\0\0", 9);
}

static struct trace *forged_open(struct memory_file *file, const struct forged *f)
{
	struct trace *t;
	struct err err;

	memory_file_fill(file, f->bytes, f->count);
	must(trace_open(&t, file->path, &err));
	return t;
}

static void what_later_versions_add_is_stepped_over(void **state)
{
	struct block_header unknown = { .type = 999, .codec = 77, .count = 12 };
	struct block_header defs = { .type = BLOCK_DEFS, .count = 2 };
	struct block_header end = { .type = BLOCK_END, .count = 1 };
	struct block_header events = { .type = BLOCK_EVENTS, .thread = 1, .count = 3 };
	/* Kinds 100 (no payload), 0xee (two bytes of it), CALL. */
	static const char columns[] = "\0\0\0\0\0\0\0\0"
				      "\3\0\0\0"
				      "\3\0\0\0"
				      "\1\0\0\0"
				      "\2\0\0\0"
				      "\x64\xee\x01"
				      "\0\2\2"
				      "\5\6\7"
				      "\2"
				      "ab";
	struct forged f;
	struct trace *t;
	struct event_batch b;
	struct err err;

	forge_header(&f);
	forge_block(&f, &unknown, "whatever", 8);
	forge_thread(&f);
	forge_block(&f, &defs,
		    "\x03\xf0\x05"
		    "x\x03\x81\x06"
		    "y",
		    8); /* an unknown kind, a string */
	forge_block(&f, &events, columns, sizeof(columns) - 1);
	forge_block(&f, &end, "\x05\0\0\1\2\3", 6); /* three bytes more than are known */
	t = forged_open(*state, &f);
	assert_null(trace_damage(t));
	assert_null(trace_string(t, 5));
	assert_string_equal(trace_string(t, 6), "y");
	event_batch_init(&b);
	must(trace_batch_read(t, 0, 0, &b, &err));
	assert_int_equal(b.kinds[1], 0xee);
	assert_int_equal(b.payload_at[2] - b.payload_at[1], 2);
	assert_int_equal(b.ids[2], 7);
	assert_int_equal(b.times_ns[2], 2);
	event_batch_release(&b);
	trace_close(t);
}

static void forged_blocks_are_refused(void **state)
{
	static const char one[] = "\0\0\0\0\0\0\0\0"
				  "\1\0\0\0"
				  "\1\0\0\0"
				  "\0\0\0\0"
				  "\0\0\0\0"
				  "\1"
				  "\0"
				  "\5";
	static const struct {
		struct block_header header;
		const char *payload;
		size_t bytes;
		const char *text;
	} cases[] = {
		{ { .type = BLOCK_EVENTS, .thread = 2, .count = 1 },
		  one,
		  27,
		  "of an unknown thread" },
		{ { .type = BLOCK_EVENTS, .thread = 1ull << 32 | 1, .count = 1 },
		  one,
		  27,
		  "of an unknown thread" },
		{ { .type = BLOCK_EVENTS, .thread = 1, .count = 0 }, one, 27, "impossible sizes" },
		{ { .type = BLOCK_EVENTS, .thread = 1, .count = 2 }, one, 27, "impossible sizes" },
		{ { .type = BLOCK_EVENTS, .thread = 1, .count = 0x55555555 },
		  one,
		  27,
		  "impossible sizes" },
		{ { .type = BLOCK_EVENTS, .thread = 1, .count = 1, .first_index = UINT64_MAX },
		  one,
		  27,
		  "impossible sizes" },
		{ { .type = BLOCK_NOTE, .count = 1, .raw_bytes = 17u << 20 },
		  "\1a",
		  2,
		  "impossible sizes" },
		{ { .type = BLOCK_NOTE, .count = 1, .raw_bytes = 1 },
		  "\1a",
		  2,
		  "impossible sizes" },
		{ { .type = BLOCK_NOTE, .count = 1, .codec = 2 }, "\1a", 2, "unknown codec" },
		{ { .type = BLOCK_NOTE, .count = 1, .codec = 1, .raw_bytes = 9 },
		  "\1a",
		  2,
		  "decompressed" },
		{ { .type = BLOCK_NOTE, .count = 2 }, "\1a", 2, "longer than its block" },
		{ { .type = BLOCK_NOTE, .count = 1 }, "\2a", 2, "longer than its block" },
		{ { .type = BLOCK_NOTE, .count = 1 }, "\1ab", 3, "longer than its entries" },
		{ { .type = BLOCK_INFO, .count = 1 }, "\2\5a", 3, "is invalid" },
		{ { .type = BLOCK_PROCESS, .count = 1 }, "\3\1\2\3", 4, "is invalid" },
		{ { .type = BLOCK_THREAD, .count = 1 }, "\x08\3\7\0\0\0\0\0\0", 9, "is invalid" },
		{ { .type = BLOCK_DEFS, .count = 1 }, "\1\x82", 2, "is invalid" },
		{ { .type = BLOCK_END, .count = 1 }, "\1\1", 2, "is invalid" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct forged f;
		struct trace *t;

		forge_header(&f);
		forge_thread(&f);
		forge_block(&f, &cases[i].header, cases[i].payload, cases[i].bytes);
		t = forged_open(*state, &f);
		if (!trace_damage(t) || !strstr(trace_damage(t), cases[i].text))
			fail_msg("case %zu: %s", i, trace_damage(t));
		assert_int_equal(trace_thread_count(t), 1);
		trace_close(t);
	}
}

static void a_bad_definition_is_merely_undefined(void **state)
{
	struct block_header h = { .type = BLOCK_DEFS, .count = 2 };
	struct forged f;
	struct trace *t;

	forge_header(&f);
	forge_block(&f, &h, "\4\x82\1\1\2\3\x81\2a", 9); /* a name longer than its entry */
	t = forged_open(*state, &f);
	assert_non_null(strstr(trace_damage(t), "has no end"));
	assert_null(trace_code(t, 1));
	assert_string_equal(trace_string(t, 2), "a");
	trace_close(t);
}

/* One event each: its kind, its time, its id and so on, in columns of the lengths claimed. */
static void forged_columns_are_refused(void **state)
{
	static const struct {
		const char *what;
		uint32_t times, ids, lengths, payload; /* bytes claimed */
		const char *columns;
		size_t bytes; /* there are */
	} cases[] = {
		{ "payload without a length", 1, 1, 0, 1, "\1\0\5x", 4 },
		{ "times left over", 2, 1, 0, 0, "\1\0\0\5", 4 },
		{ "a time cut off", 1, 1, 0, 0, "\1\x80\5", 3 },
		{ "ids left over", 1, 2, 0, 0, "\1\0\5\5", 4 },
		{ "an id cut off", 1, 1, 0, 0, "\4\0\x80", 3 },
		{ "a length without payload", 1, 1, 1, 0, "\x8b\0\5\1", 4 },
		{ "a kind that needs a length", 1, 1, 0, 0, "\x8b\0\5", 3 },
		{ "an id of 36 bits", 1, 6, 0, 0, "\1\0\x80\x80\x80\x80\x80\1", 8 },
		{ "columns past the end", UINT32_MAX, 1, 0, 0, "\1\0\5", 3 },
		{ "too far back in time", 10, 1, 0, 0, "\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\5",
		  12 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct block_header h = { .type = BLOCK_EVENTS, .thread = 1, .count = 1 };
		uint8_t payload[64] = { 0 };
		struct forged f;
		struct trace *t;
		struct event_batch b;
		struct err err;

		put_le(payload + 8, cases[i].times, 4);
		put_le(payload + 12, cases[i].ids, 4);
		put_le(payload + 16, cases[i].lengths, 4);
		put_le(payload + 20, cases[i].payload, 4);
		memcpy(payload + EVENTS_PREFIX_BYTES, cases[i].columns, cases[i].bytes);
		forge_header(&f);
		forge_thread(&f);
		forge_block(&f, &h, payload, EVENTS_PREFIX_BYTES + cases[i].bytes);
		t = forged_open(*state, &f);
		assert_int_equal(trace_event_count(t), 1);
		event_batch_init(&b);
		if (trace_batch_read(t, 0, 0, &b, &err) != -1)
			fail_msg("accepted: %s", cases[i].what);
		assert_non_null(strstr(err.text, "are inconsistent"));
		assert_int_equal(b.count, 0);
		event_batch_release(&b);
		trace_close(t);
	}
}

static void events_that_repeat_are_refused(void **state)
{
	static const char one[] = "\0\0\0\0\0\0\0\0"
				  "\1\0\0\0"
				  "\1\0\0\0"
				  "\0\0\0\0"
				  "\0\0\0\0"
				  "\1"
				  "\0"
				  "\5";
	struct block_header h = { .type = BLOCK_EVENTS, .thread = 1, .count = 1, .first_index = 3 };
	struct forged f;
	struct trace *t;

	forge_header(&f);
	forge_thread(&f);
	forge_block(&f, &h, one, 27);
	forge_block(&f, &h, one, 27);
	t = forged_open(*state, &f);
	assert_non_null(strstr(trace_damage(t), "out of order"));
	assert_int_equal(trace_event_count(t), 1);
	assert_int_equal(trace_thread(t, 0)->produced, 4);
	assert_int_equal(trace_thread(t, 0)->lost, 3);
	trace_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_later_versions_add_is_stepped_over),
		cmocka_unit_test(forged_blocks_are_refused),
		cmocka_unit_test(a_bad_definition_is_merely_undefined),
		cmocka_unit_test(forged_columns_are_refused),
		cmocka_unit_test(events_that_repeat_are_refused),
	};

	return cmocka_run_group_tests(tests, file_setup, file_teardown);
}
