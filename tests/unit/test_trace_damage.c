/* links: is_format is_base */
/* Files that are cut, flipped or foreign: never a crash, never wrong data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "format/trace_layout.h"
#include "trace_sample.h"

struct sample_file {
	struct memory_file file;
	uint8_t *bytes;
	size_t count;
};

static int sample_setup(void **state)
{
	static struct sample_file s;

	memory_file_init(&s.file);
	sample_write(s.file.fd);
	s.count = memory_file_bytes(&s.file);
	s.bytes = malloc(s.count);
	if (!s.bytes || pread(s.file.fd, s.bytes, s.count, 0) != (ssize_t)s.count)
		return -1;
	*state = &s;
	return 0;
}

static int sample_teardown(void **state)
{
	struct sample_file *s = *state;

	close(s->file.fd);
	free(s->bytes);
	return 0;
}

/* Reads everything there is; returns the number of events that could be read. */
static uint64_t read_through(const struct trace *t)
{
	struct event_batch b;
	struct err err;
	uint64_t events = 0;

	event_batch_init(&b);
	for (size_t thread = 0; thread < trace_thread_count(t); thread++) {
		assert_true(trace_thread(t, thread)->produced >= trace_thread(t, thread)->lost);
		for (size_t i = 0; i < trace_batch_count(t, thread); i++) {
			must(trace_batch_read(t, thread, i, &b, &err));
			events += b.count;
		}
	}
	event_batch_release(&b);
	assert_int_equal(events, trace_event_count(t));
	return events;
}

static void cut_at_every_byte_it_is_read_up_to_there(void **state)
{
	struct sample_file *s = *state;
	uint64_t before = 0;

	for (size_t n = 0; n < s->count; n++) {
		struct trace *t;
		struct err err;
		uint64_t events;

		memory_file_fill(&s->file, s->bytes, n);
		if (n < TRACE_HEADER_BYTES) {
			assert_int_equal(trace_open(&t, s->file.path, &err), -1);
			assert_non_null(
				strstr(err.text, n ? "ends inside its header" : "is empty"));
			continue;
		}
		must(trace_open(&t, s->file.path, &err));
		assert_non_null(trace_damage(t));
		assert_null(trace_end(t));
		events = read_through(t);
		assert_true(events >= before);
		before = events;
		trace_close(t);
	}
	assert_int_equal(before, SAMPLE_EVENTS);
}

/* No bit of the file is without a checksum over it. */
static void every_flipped_bit_is_noticed(void **state)
{
	struct sample_file *s = *state;

	for (size_t bit = 0; bit < 8 * s->count; bit++) {
		struct trace *t;
		struct err err;

		s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		memory_file_fill(&s->file, s->bytes, s->count);
		if (!trace_open(&t, s->file.path, &err)) {
			assert_non_null(trace_damage(t));
			read_through(t);
			trace_close(t);
		}
		s->bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

#define LONG_EVENTS 4000u

static uint32_t long_id(uint64_t index)
{
	return (uint32_t)(index * index) % 1000;
}

/* Compressed blocks, a thousand events each. */
static size_t long_write(struct memory_file *f, uint8_t **bytes)
{
	struct trace_process process = { .id = 1 };
	struct trace_thread thread = { .id = 1, .process = 1 };
	struct trace_writer *w;
	struct err err;
	size_t count;

	must(trace_writer_new(&w, f->fd, &err));
	must(trace_write_process(w, &process, &err));
	must(trace_write_thread(w, &thread, &err));
	for (uint64_t i = 0; i < LONG_EVENTS; i++) {
		must(trace_write_event(w, 1, i, RECORD_CALL, long_id(i), (int64_t)i * 50, NULL, 0,
				       &err));
		if (i % 1000 == 999)
			must(trace_writer_flush(w, 0, 0, &err));
	}
	trace_writer_free(w);
	count = memory_file_bytes(f);
	*bytes = malloc(count);
	if (!*bytes || pread(f->fd, *bytes, count, 0) != (ssize_t)count)
		abort();
	return count;
}

static void long_check(const struct trace *t)
{
	struct event_batch b;
	struct err err;
	uint64_t next = 0;

	event_batch_init(&b);
	for (size_t n = 0; trace_thread_count(t) && n < trace_batch_count(t, 0); n++) {
		must(trace_batch_read(t, 0, n, &b, &err));
		assert_int_equal(b.first_index, next);
		for (size_t i = 0; i < b.count; i++, next++) {
			assert_int_equal(b.ids[i], long_id(next));
			assert_int_equal(b.times_ns[i], next * 50);
		}
	}
	event_batch_release(&b);
}

static void random_flips_never_change_an_event(void **state)
{
	struct memory_file f;
	uint64_t random = 1;
	uint8_t *whole, *flipped;
	unsigned opened = 0;
	size_t count;

	(void)state;
	memory_file_init(&f);
	count = long_write(&f, &whole);
	flipped = malloc(count);
	assert_non_null(flipped);
	for (int round = 0; round < 3000; round++) {
		struct trace *t;
		struct err err;

		memcpy(flipped, whole, count);
		for (int i = 0; i < 4; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			flipped[(size_t)(random >> 20) % count] ^= (uint8_t)(random >> 56);
		}
		memory_file_fill(&f, flipped, count);
		if (trace_open(&t, f.path, &err))
			continue;
		opened++;
		long_check(t);
		trace_close(t);
	}
	assert_true(opened > 1000);
	free(flipped);
	free(whole);
	close(f.fd);
}

static void damage_names_its_offset(void **state)
{
	struct sample_file *s = *state;
	size_t last = s->count - 4;
	char offset[64];
	struct trace *t;
	struct err err;

	while (memcmp(s->bytes + last, "ISCB", 4) != 0)
		last--;
	s->bytes[s->count - 1] ^= 1;
	memory_file_fill(&s->file, s->bytes, s->count);
	s->bytes[s->count - 1] ^= 1;
	must(trace_open(&t, s->file.path, &err));
	snprintf(offset, sizeof(offset), "at offset %zu of %zu", last, s->count);
	assert_non_null(strstr(trace_damage(t), offset));
	assert_non_null(strstr(trace_damage(t), "checksum"));
	assert_int_equal(read_through(t), SAMPLE_EVENTS);
	trace_close(t);
}

/* After trace_open() has accepted it, the file is cut or overwritten by another program. */
static void a_file_that_changes_under_the_reader_is_an_error(void **state)
{
	struct sample_file *s = *state;
	struct event_batch b;
	struct trace *t;
	struct err err;

	memory_file_fill(&s->file, s->bytes, s->count);
	must(trace_open(&t, s->file.path, &err));
	if (ftruncate(s->file.fd, 100))
		abort();
	event_batch_init(&b);
	assert_int_equal(trace_batch_read(t, 0, 0, &b, &err), -1);
	assert_non_null(strstr(err.text, "ends inside"));
	assert_int_equal(b.count, 0);
	if (ftruncate(s->file.fd, (off_t)s->count))
		abort();
	assert_int_equal(trace_batch_read(t, 0, 0, &b, &err), -1);
	assert_non_null(strstr(err.text, "checksum"));
	event_batch_release(&b);
	trace_close(t);
}

static void open_fails_with(const char *path, const char *text)
{
	struct trace *t;
	struct err err = { "" };

	assert_int_equal(trace_open(&t, path, &err), -1);
	if (!strstr(err.text, text))
		fail_msg("\"%s\" does not say \"%s\"", err.text, text);
	assert_null(strchr(err.text, '\n'));
}

static void what_is_no_trace_is_named(void **state)
{
	struct sample_file *s = *state;
	static const struct {
		const char *bytes;
		size_t count;
		const char *text;
	} cases[] = {
		{ "\x7f\x45LF", 4, "is not an InferScope trace" },
		{ " \n{\"traceEvents\": []}", 20, "looks like a JSON file" },
		{ "[", 1, "looks like a JSON file" },
		{ "\x1f\x8b\x08", 3, "looks like a gzip file" },
		{ "SQLite format 3\0xxxx", 20, "looks like an SQLite database" },
		{ "ISCTRAPS", 8, "is not an InferScope trace" },
		{ "ISCTRACE\x02\0\0\0", 12, "newer InferScope: format 2, this one reads up to 1" },
		{ "ISCTRACE\0\0\0\0", 12, "ends inside its header" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		memory_file_fill(&s->file, cases[i].bytes, cases[i].count);
		open_fails_with(s->file.path, cases[i].text);
	}
	open_fails_with("/nowhere/x.isc", "cannot open /nowhere/x.isc: No such file");
	open_fails_with("/tmp", "/tmp is a directory");
	open_fails_with("/dev/null", "is not a regular file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte_it_is_read_up_to_there),
		cmocka_unit_test(every_flipped_bit_is_noticed),
		cmocka_unit_test(random_flips_never_change_an_event),
		cmocka_unit_test(damage_names_its_offset),
		cmocka_unit_test(a_file_that_changes_under_the_reader_is_an_error),
		cmocka_unit_test(what_is_no_trace_is_named),
	};

	return cmocka_run_group_tests(tests, sample_setup, sample_teardown);
}
