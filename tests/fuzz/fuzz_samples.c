/* links: is_report */
/*
 * Any looks at threads, through the analysis of what they did and waited for.  The
 * bytes are orders for the trace writer, four each.  Beyond memory safety it checks
 * that what is found adds up: all waiting for the GIL is somebody's, waiting for
 * locks is no more than was seen, every native sample is in the table.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/trace_writer.h"
#include "report/report.h"

#define THREADS 4u
#define CODES 4u
#define STACKS 8u /* ids behind those of the codes; the last one is never defined */

static void require(int ok)
{
	if (!ok)
		abort();
}

static void write_definitions(struct trace_writer *w)
{
	static const char codes[CODES][8] = { "\x07\x01"
					      "aa.py",
					      "\x07\x01"
					      "ba.py",
					      "\x07\x01"
					      "ca.py",
					      "\x07\x01"
					      "da.py" };
	struct err err;

	for (uint32_t id = 1; id <= CODES; id++)
		require(!trace_write_def(w, DEF_CODE, id, codes[id - 1], 7, &err));
	for (uint32_t s = 0; s + 1 < STACKS; s++) {
		/* One to three frames; code 5 is unknown. */
		const char frames[] = { (char)(1 + s % 5), 2, (char)(1 + s / 2), 2, 1, 2 };

		require(!trace_write_def(w, DEF_STACK, CODES + 1 + s, frames, 2 + 2 * (s % 3),
					 &err));
	}
	require(!trace_write_def(w, DEF_NATIVE, 100, "\x01\x02", 2, &err));
}

static void write_looks(struct trace_writer *w, const uint8_t *data, size_t size)
{
	int64_t now_ns[THREADS] = { 0 };
	struct err err;

	for (; size >= 4; data += 4, size -= 4) {
		uint32_t thread = data[0] % THREADS;
		int64_t step_ns = (int64_t)(data[2] & 63) * 100000 << (data[2] >> 6) * 4;
		struct sample s = {
			.thread = data[0] & 64 ? 99 : thread,
			.stack = data[1] % (CODES + STACKS + 2),
			.flags = data[3] & 0x1f,
			.count = 1 + (data[3] >> 6),
			.first_ns = now_ns[thread],
			.last_ns = now_ns[thread] + step_ns,
			.lock = data[3] & 0x20 ? 0x10 + data[1] % 3 : 0,
		};

		s.flags |= s.lock ? SAMPLE_WAITS_FOR_LOCK : 0;
		if (data[0] & 128) {
			s.flags |= SAMPLE_NATIVE | (data[0] & 32 ? SAMPLE_AWAY : 0);
			s.stack = data[1] & 1 ? 100 : 101;
		} else {
			now_ns[thread] += step_ns + (data[0] & 16 ? 400000000 : 1000000);
		}
		if (now_ns[thread] > INT64_C(1) << 50)
			return;
		require(!trace_write_sample(w, 1, &s, &err));
	}
}

static void write_trace(int fd, const uint8_t *data, size_t size)
{
	const struct trace_process p = { .id = 1, .pid = 1, .end_ns = -1, .name = "main" };
	const struct trace_end end = { .wall_ns = 1000 };
	struct trace_writer *w = NULL;
	struct err err;

	require(!trace_writer_new(&w, fd, &err));
	require(!trace_write_process(w, &p, &err));
	for (uint32_t id = 0; id < THREADS; id++) {
		const struct trace_thread t = {
			.id = id, .process = 1, .end_ns = TRACE_UNKNOWN_NS, .name = "t"
		};

		require(!trace_write_thread(w, &t, &err));
	}
	write_definitions(w);
	write_looks(w, data, size);
	require(!trace_write_end(w, &end, &err));
	trace_writer_free(w);
}

static int64_t sum_of(const struct analysis_waits *w)
{
	int64_t sum_ns = 0;

	for (size_t i = 0; i < w->count; i++) {
		require(w->items[i].ns > 0);
		sum_ns += w->items[i].ns;
	}
	return sum_ns;
}

static void check(const struct analysis *a)
{
	int64_t gil_ns = 0, lock_ns = 0;
	uint64_t native = 0;

	for (size_t i = 0; i < a->thread_count; i++) {
		gil_ns += a->threads[i].states.ns[SAMPLE_GIL_WAIT];
		lock_ns += a->threads[i].states.ns[SAMPLE_LOCK_WAIT];
	}
	require(sum_of(&a->gil) == a->gil.total_ns && a->gil.total_ns == gil_ns);
	require(sum_of(&a->locks) == a->locks.total_ns && a->locks.total_ns == lock_ns);
	for (size_t i = 0; i < a->native.count; i++)
		native += a->native.rows[i].samples;
	require(native == a->native.samples);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct analysis *a = NULL;
	struct trace *t = NULL;
	struct buf text;
	struct err err;
	char path[64];

	require(fd >= 0);
	write_trace(fd, data, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	require(!trace_open(&t, path, &err));
	require(!trace_damage(t));
	require(!analysis_new(&a, t, &err));
	check(a);
	buf_init(&text);
	report_markdown.render(&text, a, DETAIL_FULL);
	report_json.render(&text, a, DETAIL_FULL);
	require(!text.failed);
	buf_release(&text);
	analysis_free(a);
	trace_close(t);
	close(fd);
	return 0;
}
