/* links: is_rules is_report is_analyze is_timeline is_format is_base */
/*
 * From a trace file to finished reports: the time a user waits after the
 * workload has ended.  The events are those of a recursive program (fib, which
 * is nothing but calls) and of a loop over 300 functions, half each, on two
 * threads, with a scope around every thousand calls.
 * Prints "name value unit" lines (bench/README.md).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/buf.h"
#include "base/varint.h"
#include "format/trace_writer.h"
#include "report/report.h"
#include "rules/judge.h"

#define FUNCTIONS 300u
#define ROUNDS 3

struct program {
	struct trace_writer *writer;
	uint32_t thread;
	uint64_t index, limit;
	uint64_t state; /* of the random numbers */
	int64_t now_ns;
};

static void die(const char *what)
{
	fprintf(stderr, "bench_analysis: %s\n", what);
	exit(1);
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void emit(struct program *p, uint8_t kind, uint32_t id, const void *payload, size_t bytes)
{
	struct err err;

	p->state = p->state * 6364136223846793005u + 1442695040888963407u;
	p->now_ns += 60 + (int64_t)(p->state >> 58);
	if (trace_write_event(p->writer, p->thread, p->index++, kind, id, p->now_ns, payload, bytes,
			      &err))
		die(err.text);
}

static void fib(struct program *p, unsigned n)
{
	if (p->index >= p->limit)
		return;
	emit(p, RECORD_CALL, 1, NULL, 0);
	if (n >= 2) {
		fib(p, n - 1);
		fib(p, n - 2);
	}
	emit(p, RECORD_RETURN, 1, NULL, 0);
}

static void loop(struct program *p)
{
	for (uint64_t instance = 1; p->index < p->limit; instance++) {
		uint8_t payload[VARINT_MAX + 1];
		size_t n = varint_put(payload, instance);

		payload[n] = 0; /* no task */
		emit(p, RECORD_SCOPE_BEGIN, 1000, payload, n + 1);
		for (uint32_t i = 0; i < 1000; i++) {
			uint32_t outer = 2 + (uint32_t)(p->state >> 33) % FUNCTIONS;

			emit(p, RECORD_CALL, outer, NULL, 0);
			emit(p, RECORD_CALL, 2 + i % FUNCTIONS, NULL, 0);
			emit(p, RECORD_RETURN, 2 + i % FUNCTIONS, NULL, 0);
			emit(p, RECORD_RETURN, outer, NULL, 0);
		}
		emit(p, RECORD_SCOPE_END, 1000, payload, n);
	}
}

static void define(struct trace_writer *w)
{
	struct buf b;
	struct err err;

	buf_init(&b);
	for (uint32_t id = 1; id < FUNCTIONS + 2; id++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "Module.function_%u", id);

		buf_clear(&b);
		buf_add_varint(&b, id);
		buf_add_varint(&b, (uint64_t)n);
		buf_add_str(&b, name);
		buf_add_str(&b, "/srv/app/model.py");
		if (trace_write_def(w, DEF_CODE, id, b.data, b.len, &err))
			die(err.text);
	}
	if (trace_write_def(w, DEF_STRING, 1000, "request", 7, &err))
		die(err.text);
	buf_release(&b);
}

static void record(int fd, uint64_t events)
{
	const struct trace_process process = { .id = 1, .pid = 1, .end_ns = -1, .name = "bench" };
	struct program p = { .limit = events / 2, .state = 1 };
	struct trace_end end = { 0 };
	struct err err;

	if (trace_writer_new(&p.writer, fd, &err) || trace_write_process(p.writer, &process, &err))
		die(err.text);
	define(p.writer);
	for (p.thread = 1; p.thread <= 2; p.thread++) {
		struct trace_thread t = { .id = p.thread, .process = 1, .end_ns = -1, .name = "" };

		if (trace_write_thread(p.writer, &t, &err))
			die(err.text);
		p.index = 0;
		p.now_ns = 0;
		if (p.thread == 1)
			while (p.index < p.limit)
				fib(&p, 25);
		else
			loop(&p);
	}
	end.wall_ns = p.now_ns;
	if (trace_write_end(p.writer, &end, &err))
		die(err.text);
	trace_writer_free(p.writer);
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	int fd = memfd_create("bench_analysis", 0);
	double best = 1e9;
	struct rusage usage;
	char path[64];

	if (fd < 0)
		die("no memory");
	record(fd, events);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (int round = 0; round < ROUNDS; round++) {
		double start = seconds();
		struct analysis *a = NULL;
		struct trace *t;
		struct err err;
		struct buf out;

		buf_init(&out);
		if (trace_open(&t, path, &err) || analysis_new(&a, t, &err) || judge(a, NULL, &err))
			die(err.text);
		report_markdown.render(&out, a, DETAIL_NORMAL);
		report_json.render(&out, a, DETAIL_NORMAL);
		best = fmin(best, seconds() - start);
		events = a->trust.events;
		if (a->trust.dropped || a->trust.unended_scopes || out.failed)
			die("the analysis is not complete");
		analysis_free(a);
		trace_close(t);
		buf_release(&out);
	}
	getrusage(RUSAGE_SELF, &usage);
	printf("analysis.events %.1f Mevents/s\n", (double)events / best * 1e-6);
	printf("analysis.time %.2f s\n", best);
	printf("analysis.peak_memory %.1f MB\n", (double)usage.ru_maxrss / 1024);
	return 0;
}
