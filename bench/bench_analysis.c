/* links: is_rules is_report is_analyze is_timeline is_format is_base */
/*
 * From a trace file to finished reports: the time a user waits after the
 * workload has ended, and what it takes.  Three programs:
 *   analysis  a recursive one (fib, which is nothing but calls) and a loop over 300 functions,
 *             half each, on two threads, with a scope around every thousand calls
 *   service   steps of a hundred launches with a Python call around each, on a GPU that waits for
 *             them, and a sample every millisecond
 *   requests  the same steps, every 500 of their events on a thread of its own
 * Prints "name value unit" lines (bench/README.md).  `bench_analysis EVENTS PROGRAM FILE` writes
 * the trace of one of them instead.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

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

/* Of this thread's CPU: on a busy machine the wall would tell about others. */
static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
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

static void add_varints(struct buf *b, size_t n, const uint64_t *values)
{
	for (size_t i = 0; i < n; i++)
		buf_add_varint(b, values[i]);
}

/* A launch from some Python function, which the device begins some microseconds later. */
static void launch(struct program *p, struct program *device, struct buf *b, uint32_t correlation)
{
	uint64_t epoch = (uint64_t)trace_writer_start(p->writer)->monotonic_ns;
	uint64_t begin;

	emit(p, RECORD_CALL, 2 + correlation % FUNCTIONS, NULL, 0);
	p->now_ns += 3000;
	buf_clear(b);
	add_varints(b, 4,
		    (uint64_t[4]){ CUDA_CALL_LAUNCH, correlation, 2000 + correlation % 50, 0 });
	emit(p, RECORD_CUDA_ENTER, 1001, b->data, b->len);
	p->now_ns += 4000;
	emit(p, RECORD_CUDA_EXIT, correlation, NULL, 0);
	emit(p, RECORD_RETURN, 2 + correlation % FUNCTIONS, NULL, 0);
	begin = epoch + (uint64_t)p->now_ns + 2000;
	buf_clear(b);
	add_varints(b, 6, (uint64_t[6]){ begin, 2500, 0, 1, 7, correlation });
	add_varints(b, 11, (uint64_t[11]){ 32, 1, 1, 256, 1, 1, 40, 1024, 0, 0, 0 });
	device->now_ns = p->now_ns;
	emit(device, RECORD_GPU_KERNEL, 1002 + correlation % 3, b->data, b->len);
}

static void define_service(struct trace_writer *w)
{
	static const char *const names[] = { "cudaLaunchKernel", "gemm", "softmax", "add" };
	struct buf b;
	struct err err;

	buf_init(&b);
	for (uint32_t i = 0; i < 4; i++) {
		if (trace_write_def(w, DEF_STRING, 1001 + i, names[i], strlen(names[i]), &err))
			die(err.text);
	}
	for (uint32_t i = 0; i < 50; i++) {
		buf_clear(&b);
		add_varints(&b, 4, (uint64_t[4]){ 2 + i, 8, 1, 4 });
		if (trace_write_def(w, DEF_STACK, 2000 + i, b.data, b.len, &err))
			die(err.text);
	}
	buf_release(&b);
}

/* A step of some launches, with the device behind the thread. */
static void step(struct program *p, struct program *device, struct buf *b, uint64_t instance,
		 uint32_t *correlation, uint32_t launches)
{
	uint8_t payload[VARINT_MAX + 1];
	size_t n = varint_put(payload, instance);

	payload[n] = 0; /* no task */
	emit(p, RECORD_SCOPE_BEGIN, 1000, payload, n + 1);
	for (uint32_t i = 0; i < launches; i++)
		launch(p, device, b, ++*correlation);
	p->now_ns += 20000;
	emit(p, RECORD_SCOPE_END, 1000, payload, n);
}

static void service(struct program *p)
{
	struct program device = { .writer = p->writer, .thread = 2, .state = 2 };
	uint32_t correlation = 0;
	int64_t sample_ns = 0;
	struct err err;
	struct buf b;

	buf_init(&b);
	define_service(p->writer);
	for (uint64_t instance = 1; p->index + device.index < p->limit; instance++) {
		step(p, &device, &b, instance, &correlation, 100);
		for (; sample_ns < p->now_ns; sample_ns += 1000000) {
			const struct sample s = { .thread = 1,
						  .stack = 2000 +
							   (uint32_t)(sample_ns / 1000000) % 50,
						  .flags = SAMPLE_RUNNING | SAMPLE_HAS_GIL,
						  .count = 1,
						  .first_ns = sample_ns,
						  .last_ns = sample_ns };

			if (trace_write_sample(p->writer, 1, &s, &err))
				die(err.text);
		}
	}
	buf_release(&b);
}

static void requests(struct program *p)
{
	struct program device = { .writer = p->writer, .thread = 2, .state = 2 };
	uint32_t correlation = 0;
	uint64_t instance = 0;
	struct err err;
	struct buf b;

	buf_init(&b);
	define_service(p->writer);
	for (uint32_t id = 3; device.index * 5 < p->limit; id++) {
		struct trace_thread t = { .id = id, .process = 1, .end_ns = -1, .name = "" };
		struct program one = { .writer = p->writer, .thread = id, .now_ns = p->now_ns };

		if (trace_write_thread(p->writer, &t, &err))
			die(err.text);
		while (one.index < 500)
			step(&one, &device, &b, ++instance, &correlation, 20);
		p->now_ns = one.now_ns;
	}
	buf_release(&b);
}

static void calls(struct program *p)
{
	p->limit /= 2;
	while (p->index < p->limit)
		fib(p, 25);
	p->thread = 2;
	p->index = 0;
	p->now_ns = 0;
	loop(p);
}

static void record(int fd, uint64_t events, void (*run)(struct program *p))
{
	const struct trace_process process = {
		.id = 1, .pid = 1, .end_ns = -1, .name = "bench", .python_version = 0x030c0100
	};
	struct program p = { .limit = events, .state = 1, .thread = 1 };
	struct trace_end end = { 0 };
	struct err err;

	if (trace_writer_new(&p.writer, fd, &err) || trace_write_process(p.writer, &process, &err))
		die(err.text);
	define(p.writer);
	for (uint32_t id = 1; id <= 2; id++) {
		struct trace_thread t = { .id = id, .process = 1, .end_ns = -1, .name = "" };

		if (trace_write_thread(p.writer, &t, &err))
			die(err.text);
	}
	run(&p);
	end.wall_ns = p.now_ns;
	if (trace_write_end(p.writer, &end, &err))
		die(err.text);
	trace_writer_free(p.writer);
}

/* In a process of its own: the peak of its memory is that of this program alone. */
static void measure(const char *name, uint64_t events, int least, int most,
		    void (*run)(struct program *p))
{
	const struct analysis_options options = { .undrawn = true }; /* there is no HTML */
	int fd = memfd_create("bench_analysis", 0);
	double best = 1e9;
	struct rusage usage;
	char path[64];

	if (fd < 0)
		die("no memory");
	record(fd, events, run);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (int round = 0; round < ROUNDS; round++) {
		double start = seconds();
		struct analysis *a = NULL;
		struct trace *t;
		struct err err;
		struct buf out;

		buf_init(&out);
		if (trace_open(&t, path, &err) || analysis_new_with(&a, t, &options, &err) ||
		    judge(a, NULL, &err))
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
	printf("%s.events %.1f Mevents/s >= %d\n", name, (double)events / best * 1e-6, least);
	printf("%s.time %.2f s\n", name, best);
	printf("%s.peak_memory %.1f MB\n", name, (double)usage.ru_maxrss / 1024);
	printf("%s.memory_per_event %.1f bytes <= %d\n", name,
	       (double)usage.ru_maxrss * 1024 / (double)events, most);
}

static const struct {
	const char *name;
	int least; /* million events a second */
	int most;  /* bytes an event; five of them are a kernel with its launch */
	void (*run)(struct program *p);
} programs[] = {
	{ "analysis", 12, 2, calls },
	{ "service", 10, 24, service },
	{ "requests", 5, 24, requests },
};

#define PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static void write_trace(const char *name, uint64_t events, const char *path)
{
	for (size_t i = 0; i < PROGRAMS; i++) {
		int fd = strcmp(programs[i].name, name)
				 ? -1
				 : open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		if (fd < 0)
			continue;
		record(fd, events, programs[i].run);
		close(fd);
		return;
	}
	die("no such program, or the file cannot be written");
}

int main(int argc, char **argv)
{
	uint64_t events = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	int status;

	if (argc > 3) {
		write_trace(argv[2], events, argv[3]);
		return 0;
	}
	for (size_t i = 0; i < PROGRAMS; i++) {
		pid_t child = fork();

		if (child < 0)
			die("no process");
		if (!child) {
			measure(programs[i].name, events, programs[i].least, programs[i].most,
				programs[i].run);
			exit(0);
		}
		if (waitpid(child, &status, 0) != child || status)
			die(programs[i].name);
	}
	return 0;
}
