/* links: is_format is_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "trace_sample.h"

static void everything_written_is_read_back(void **state)
{
	struct memory_file f;
	struct trace *t;
	struct err err;
	const struct trace_thread *thread;

	(void)state;
	memory_file_init(&f);
	sample_write(f.fd);
	must(trace_open(&t, f.path, &err));
	assert_null(trace_damage(t));
	assert_string_equal(trace_info(t, "command", 0), "python3");
	assert_string_equal(trace_info(t, "command", 1), "main.py");
	assert_null(trace_info(t, "command", 2));
	assert_null(trace_info(t, "cwd", 0));
	assert_int_equal(trace_info_count(t), 2);
	assert_int_equal(trace_note_count(t), 1);
	assert_string_equal(trace_note(t, 0), "a note");

	assert_int_equal(trace_process_count(t), 1);
	assert_int_equal(trace_process(t, 0)->pid, 4711);
	assert_int_equal(trace_process(t, 0)->parent_pid, 4710);
	assert_int_equal(trace_process(t, 0)->python_version, 0x030c03f0);
	assert_int_equal(trace_process(t, 0)->end_ns, 1800);
	assert_string_equal(trace_process(t, 0)->name, "main.py");

	assert_int_equal(trace_thread_count(t), 2);
	thread = trace_thread(t, 0);
	assert_int_equal(thread->id, 1);
	assert_int_equal(thread->tid, 4711);
	assert_int_equal(thread->start_ns, 10);
	assert_int_equal(thread->end_ns, 1700);
	assert_int_equal(thread->produced, 18);
	assert_int_equal(thread->lost, 10);
	assert_string_equal(thread->name, "MainThread");
	assert_int_equal(trace_thread(t, 1)->tid, 4712);
	assert_string_equal(trace_thread(t, 1)->name, "");

	assert_string_equal(trace_string(t, SAMPLE_NAME_ID), "step");
	assert_null(trace_string(t, SAMPLE_CODE_ID));
	assert_string_equal(trace_code(t, SAMPLE_CODE_ID)->name, "outer");
	assert_string_equal(trace_code(t, SAMPLE_CODE_ID)->file, "main.py");
	assert_int_equal(trace_code(t, SAMPLE_CODE_ID)->line, 42);
	assert_null(trace_code(t, 12345));
	assert_false(trace_has_layers(t));

	assert_int_equal(trace_end(t)->wall_ns, 12345);
	assert_int_equal(trace_end(t)->exit_status, 3);
	assert_int_equal(trace_event_count(t), SAMPLE_EVENTS);
	assert_int_equal(trace_byte_count(t), memory_file_bytes(&f));
	trace_close(t);
	close(f.fd);
}

static void a_layer_has_a_class_a_root_and_a_name(void **state)
{
	static const char root[] = "\0\4GPT2", attn[] = "\7\4Attnh.3.attn", cut[] = "\7\40Attn";
	struct trace_end end = { .wall_ns = 1 };
	struct memory_file f;
	struct trace_writer *w;
	struct trace *t;
	struct err err;

	(void)state;
	memory_file_init(&f);
	must(trace_writer_new(&w, f.fd, &err));
	must(trace_write_def(w, DEF_LAYER, 7, root, sizeof(root) - 1, &err));
	must(trace_write_def(w, DEF_LAYER, 8, attn, sizeof(attn) - 1, &err));
	must(trace_write_def(w, DEF_LAYER, 9, cut, sizeof(cut) - 1, &err));
	must(trace_write_end(w, &end, &err));
	trace_writer_free(w);
	must(trace_open(&t, f.path, &err));
	assert_null(trace_damage(t));
	assert_int_equal(trace_layer(t, 7)->root, 0);
	assert_string_equal(trace_layer(t, 7)->class_name, "GPT2");
	assert_string_equal(trace_layer(t, 7)->name, "");
	assert_int_equal(trace_layer(t, 8)->root, 7);
	assert_string_equal(trace_layer(t, 8)->class_name, "Attn");
	assert_string_equal(trace_layer(t, 8)->name, "h.3.attn");
	assert_null(trace_layer(t, 9));
	assert_null(trace_string(t, 7));
	trace_close(t);
	close(f.fd);
}

static void events_come_back_in_batches_with_the_loss_between(void **state)
{
	static const uint8_t kinds[] = { RECORD_CALL,   RECORD_SCOPE_BEGIN, RECORD_GC_BEGIN,
					 RECORD_GC_END, RECORD_SCOPE_END,   RECORD_RETURN };
	struct memory_file f;
	struct event_batch b;
	struct trace *t;
	struct err err;

	(void)state;
	memory_file_init(&f);
	sample_write(f.fd);
	must(trace_open(&t, f.path, &err));
	assert_int_equal(trace_batch_count(t, 0), 2);
	assert_int_equal(trace_batch_count(t, 1), 0);
	event_batch_init(&b);

	must(trace_batch_read(t, 0, 0, &b, &err));
	assert_int_equal(b.count, 6);
	assert_int_equal(b.first_index, 0);
	assert_memory_equal(b.kinds, kinds, sizeof(kinds));
	assert_int_equal(b.ids[0], SAMPLE_CODE_ID);
	assert_int_equal(b.ids[2], 2);
	assert_int_equal(b.ids[5], SAMPLE_CODE_ID);
	for (int i = 0; i < 6; i++)
		assert_int_equal(b.times_ns[i], 1000 + 100 * i);
	assert_int_equal(b.payload_at[1], 0);
	assert_int_equal(b.payload_at[2], 2);
	assert_int_equal(b.payload_at[6], 4);
	assert_int_equal(b.payload[b.payload_at[3]], 5);

	must(trace_batch_read(t, 0, 1, &b, &err));
	assert_int_equal(b.count, 2);
	assert_int_equal(b.first_index, 16);
	assert_int_equal(b.ids[0], SAMPLE_CODE_ID);
	assert_int_equal(b.times_ns[0], 1450);
	assert_int_equal(b.times_ns[1], 1600);
	event_batch_release(&b);
	trace_close(t);
	close(f.fd);
}

struct many {
	uint32_t threads;
	uint64_t per_thread;
};

/* Event i of a thread, from its index alone, so that the reader can tell what it must get. */
static void expected(uint32_t thread, uint64_t i, uint8_t *kind, uint32_t *id, int64_t *time_ns)
{
	uint64_t h = (i * 4 + thread) * 0x9e3779b97f4a7c15u;

	h ^= h >> 29;
	*kind = (uint8_t)(1 + h % 7);
	*id = h & 0x100 ? (uint32_t)(h >> 32) : (uint32_t)(h >> 32) % 50;
	*time_ns = (int64_t)(i * 300 + (h >> 16) % 500) - 200; /* goes back now and then */
}

static void many_written(int fd, const struct many *m)
{
	struct trace_process process = { .id = 5, .pid = 1, .name = "p" };
	struct trace_end end = { .wall_ns = 1 };
	struct trace_writer *w;
	struct err err;

	must(trace_writer_new(&w, fd, &err));
	must(trace_write_process(w, &process, &err));
	for (uint32_t i = 0; i < m->threads; i++) {
		struct trace_thread thread = { .id = 1000 - i, .process = 5, .tid = i };

		must(trace_write_thread(w, &thread, &err));
	}
	for (uint64_t i = 0; i < m->per_thread; i++) {
		for (uint32_t thread = 0; thread < m->threads; thread++) {
			uint8_t kind;
			uint32_t id;
			int64_t time_ns;

			expected(thread, i, &kind, &id, &time_ns);
			must(trace_write_event(w, 1000 - thread, i, kind, id, time_ns, NULL, 0,
					       &err));
		}
		if (i % 7777 == 0)
			must(trace_writer_flush(w, (int64_t)i * 300, 1000000, &err));
	}
	must(trace_write_end(w, &end, &err));
	trace_writer_free(w);
}

static void threads_that_write_by_turns_keep_their_own_order(void **state)
{
	const struct many m = { .threads = 3, .per_thread = 70000 };
	struct memory_file f;
	struct event_batch b;
	struct trace *t;
	struct err err;

	(void)state;
	memory_file_init(&f);
	many_written(f.fd, &m);
	must(trace_open(&t, f.path, &err));
	assert_null(trace_damage(t));
	assert_int_equal(trace_event_count(t), m.threads * m.per_thread);
	event_batch_init(&b);
	for (size_t at = 0; at < m.threads; at++) {
		uint32_t thread = 1000 - trace_thread(t, at)->id;
		uint64_t next = 0;

		assert_int_equal(trace_thread(t, at)->produced, m.per_thread);
		assert_int_equal(trace_thread(t, at)->lost, 0);
		for (size_t n = 0; n < trace_batch_count(t, at); n++) {
			must(trace_batch_read(t, at, n, &b, &err));
			assert_int_equal(b.first_index, next);
			for (size_t i = 0; i < b.count; i++) {
				uint8_t kind;
				uint32_t id;
				int64_t time_ns;

				expected(thread, next++, &kind, &id, &time_ns);
				assert_int_equal(b.kinds[i], kind);
				assert_int_equal(b.ids[i], id);
				assert_int_equal(b.times_ns[i], time_ns);
			}
		}
		assert_int_equal(next, m.per_thread);
	}
	event_batch_release(&b);
	trace_close(t);
	close(f.fd);
}

static void times_and_ids_at_their_limits_survive(void **state)
{
	const int64_t limit = ((int64_t)1 << 62) - 1;
	struct trace_process process = { .id = 0 };
	struct trace_thread thread = { .id = UINT32_MAX, .process = 0 };
	struct trace_writer *w;
	struct memory_file f;
	struct event_batch b;
	struct trace *t;
	struct err err;

	(void)state;
	memory_file_init(&f);
	must(trace_writer_new(&w, f.fd, &err));
	must(trace_write_process(w, &process, &err));
	must(trace_write_thread(w, &thread, &err));
	must(trace_write_event(w, UINT32_MAX, 0, RECORD_CALL, UINT32_MAX, limit, NULL, 0, &err));
	must(trace_write_event(w, UINT32_MAX, 1, RECORD_RETURN, UINT32_MAX, -limit, NULL, 0, &err));
	must(trace_write_event(w, UINT32_MAX, 2, RECORD_RETURN, UINT32_MAX, 0, NULL, 0, &err));
	must(trace_write_event(w, UINT32_MAX, 3, RECORD_YIELD, 0, 0, NULL, 0, &err));
	assert_int_equal(
		trace_write_event(w, UINT32_MAX, 4, RECORD_CALL, 1, limit + 1, NULL, 0, &err), -1);
	assert_int_equal(
		trace_write_event(w, UINT32_MAX, 4, RECORD_CALL, 1, INT64_MIN, NULL, 0, &err), -1);
	must(trace_writer_flush(w, 0, 0, &err));
	trace_writer_free(w);
	must(trace_open(&t, f.path, &err));
	event_batch_init(&b);
	must(trace_batch_read(t, 0, 0, &b, &err));
	assert_int_equal(b.count, 4);
	assert_int_equal(b.times_ns[0], limit);
	assert_int_equal(b.times_ns[1], -limit);
	assert_int_equal(b.ids[0], UINT32_MAX);
	assert_int_equal(b.ids[1], UINT32_MAX);
	assert_int_equal(b.ids[2], UINT32_MAX);
	assert_int_equal(b.ids[3], 0);
	event_batch_release(&b);
	trace_close(t);
	close(f.fd);
}

static void misuse_is_refused_and_the_writer_lives_on(void **state)
{
	struct trace_process process = { .id = 1 };
	struct trace_thread thread = { .id = 1, .process = 1 };
	char big[RECORD_PAYLOAD_MAX + 1] = { 0 };
	struct trace_writer *w;
	struct memory_file f;
	struct trace *t;
	struct err err;

	(void)state;
	memory_file_init(&f);
	must(trace_writer_new(&w, f.fd, &err));
	assert_int_equal(trace_write_thread(w, &thread, &err), -1);
	must(trace_write_process(w, &process, &err));
	assert_int_equal(trace_write_event(w, 1, 0, RECORD_CALL, 1, 0, NULL, 0, &err), -1);
	must(trace_write_thread(w, &thread, &err));
	must(trace_write_event(w, 1, 5, RECORD_CALL, 1, 0, NULL, 0, &err));
	assert_int_equal(trace_write_event(w, 1, 5, RECORD_CALL, 1, 0, NULL, 0, &err), -1);
	assert_int_equal(trace_write_event(w, 1, 6, RECORD_CALL, 1, 0, big, 1, &err), -1);
	assert_int_equal(trace_write_event(w, 1, 6, RECORD_MARK, 1, 0, big, sizeof(big), &err), -1);
	must(trace_write_event(w, 1, 6, RECORD_MARK, 1, 0, big, sizeof(big) - 1, &err));
	must(trace_writer_flush(w, 0, 0, &err));
	trace_writer_free(w);
	must(trace_open(&t, f.path, &err));
	assert_int_equal(trace_event_count(t), 2);
	assert_int_equal(trace_thread(t, 0)->produced, 7);
	assert_int_equal(trace_thread(t, 0)->lost, 5);
	trace_close(t);
	close(f.fd);
}

/* Text is cleaned when it is read: a name from a program is any bytes. */
static void broken_text_becomes_valid_utf8(void **state)
{
	struct trace_writer *w;
	struct memory_file f;
	struct trace *t;
	struct err err;

	(void)state;
	memory_file_init(&f);
	must(trace_writer_new(&w, f.fd, &err));
	must(trace_write_def(w, DEF_STRING, 1, "a\xff\0b\xc3\xa9\xc3", 7, &err));
	must(trace_writer_flush(w, 0, 0, &err));
	trace_writer_free(w);
	must(trace_open(&t, f.path, &err));
	assert_string_equal(trace_string(t, 1), "a\xef\xbf\xbd\xef\xbf\xbd"
						"b\xc3\xa9\xef\xbf\xbd");
	trace_close(t);
	close(f.fd);
}

static void a_full_disk_leaves_whole_blocks_and_one_answer(void **state)
{
	char path[] = "/tmp/test_trace_XXXXXX";
	struct rlimit old, small = { 0 };
	struct trace_process process = { .id = 1 };
	struct trace_thread thread = { .id = 1, .process = 1 };
	struct trace_writer *w;
	struct trace *t;
	struct err err, again;
	uint64_t bytes;
	int fd = mkstemp(path);
	int rc = 0;

	(void)state;
	assert_true(fd >= 0);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_cur = 1000000;
	small.rlim_max = old.rlim_max;
	must(trace_writer_new(&w, fd, &err));
	must(trace_write_process(w, &process, &err));
	must(trace_write_thread(w, &thread, &err));
	setrlimit(RLIMIT_FSIZE, &small);
	for (uint64_t i = 0; !rc && i < 1000000; i++)
		rc = trace_write_event(w, 1, i, RECORD_CALL, (uint32_t)(i * i * 2654435761u),
				       (int64_t)(i * i), NULL, 0, &err);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(err.text, strerror(EFBIG)));
	bytes = trace_writer_bytes(w);
	assert_int_equal(trace_write_note(w, "too late", &again), -1);
	assert_string_equal(err.text, again.text);
	assert_int_equal(trace_writer_flush(w, 0, 0, &again), -1);
	trace_writer_free(w);
	assert_int_equal(lseek(fd, 0, SEEK_END), bytes);
	close(fd);
	must(trace_open(&t, path, &err));
	assert_non_null(strstr(trace_damage(t), "has no end"));
	assert_true(trace_event_count(t) > 0);
	trace_close(t);
	unlink(path);
}

static void a_trace_can_be_read_while_it_is_written(void **state)
{
	struct trace_process process = { .id = 1 };
	struct trace_thread thread = { .id = 1, .process = 1 };
	struct trace_writer *w;
	struct memory_file f;
	struct trace *t;
	struct err err;

	(void)state;
	memory_file_init(&f);
	must(trace_writer_new(&w, f.fd, &err));
	must(trace_write_process(w, &process, &err));
	must(trace_write_thread(w, &thread, &err));
	must(trace_write_event(w, 1, 0, RECORD_CALL, 1, 100, NULL, 0, &err));
	must(trace_writer_flush(w, 150, 100, &err)); /* too young */
	must(trace_open(&t, f.path, &err));
	assert_int_equal(trace_event_count(t), 0);
	trace_close(t);
	must(trace_writer_flush(w, 200, 100, &err));
	must(trace_open(&t, f.path, &err));
	assert_int_equal(trace_event_count(t), 1);
	assert_null(trace_end(t));
	assert_non_null(trace_damage(t));
	assert_true(trace_start(t)->monotonic_ns == trace_writer_start(w)->monotonic_ns);
	assert_true(trace_start(t)->realtime_ns == trace_writer_start(w)->realtime_ns);
	trace_close(t);
	trace_writer_free(w);
	close(f.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_written_is_read_back),
		cmocka_unit_test(a_layer_has_a_class_a_root_and_a_name),
		cmocka_unit_test(events_come_back_in_batches_with_the_loss_between),
		cmocka_unit_test(threads_that_write_by_turns_keep_their_own_order),
		cmocka_unit_test(times_and_ids_at_their_limits_survive),
		cmocka_unit_test(misuse_is_refused_and_the_writer_lives_on),
		cmocka_unit_test(broken_text_becomes_valid_utf8),
		cmocka_unit_test(a_full_disk_leaves_whole_blocks_and_one_answer),
		cmocka_unit_test(a_trace_can_be_read_while_it_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
