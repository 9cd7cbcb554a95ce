/* links: is_format is_base */
/*
 * Trace file: events written, events read, bytes per event.
 *
 * The events are those of a synthetic program: functions that call a fixed
 * list of others, with loops and branches drawn at random, and durations with
 * a log-normal noise, which is what makes real time stamps hard to compress.
 * Prints "name value unit" lines (bench/README.md).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "format/trace_writer.h"

#define FUNCTIONS 400u
#define CALLEES 6u
#define DEPTH_MAX 30u
#define THREADS 4u
#define RING_BLOCK 1365u /* events drained from one thread at a time */
#define ROUNDS 5

struct event {
	int64_t time_ns;
	uint32_t id;
	uint8_t kind;
};

struct program {
	uint64_t state; /* of the random numbers */
	uint32_t callees[FUNCTIONS][CALLEES];
	double cost_ns[FUNCTIONS];
	struct event *events;
	size_t count, limit;
	double now_ns;
};

static uint32_t draw(struct program *p)
{
	p->state = p->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(p->state >> 33);
}

static double draw_noise(struct program *p)
{
	double sum = -6.0;

	for (int i = 0; i < 12; i++)
		sum += draw(p) / 2147483648.0;
	return exp(0.3 * sum);
}

static void emit(struct program *p, uint8_t kind, uint32_t function)
{
	if (p->count == p->limit)
		return;
	p->now_ns += p->cost_ns[function] * draw_noise(p);
	p->events[p->count++] = (struct event){
		.time_ns = (int64_t)p->now_ns,
		.id = 1000 + function,
		.kind = kind,
	};
}

static void call(struct program *p, uint32_t function, unsigned depth)
{
	emit(p, RECORD_CALL, function);
	for (unsigned i = 0; i < CALLEES && depth < DEPTH_MAX; i++) {
		uint32_t callee = p->callees[function][i];
		uint32_t times = draw(p) % 10 ? 1 : 1 + draw(p) % 4;

		if (callee <= function)
			continue; /* downwards only: the program ends */
		while (times-- && p->count < p->limit)
			call(p, callee, depth + 1);
	}
	emit(p, draw(p) % 1000 ? RECORD_RETURN : RECORD_UNWIND, function);
}

static void program_run(struct program *p)
{
	for (uint32_t f = 0; f < FUNCTIONS; f++) {
		p->cost_ns[f] = 60 + 400 * draw_noise(p) * (draw(p) % 20 ? 1 : 30);
		for (unsigned i = 0; i < CALLEES; i++)
			p->callees[f][i] = draw(p) % 3 ? 0 : f + draw(p) % 60 + 1;
		for (unsigned i = 0; i < CALLEES; i++) {
			if (p->callees[f][i] >= FUNCTIONS)
				p->callees[f][i] = 0;
		}
	}
	while (p->count < p->limit)
		call(p, draw(p) % 8, 0);
}

/* CPU time: one thread does it all, and the machine may be busy with something else. */
static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_trace: %s\n", what);
	exit(1);
}

static uint64_t write_all(int fd, const struct program *p)
{
	struct trace_process process = { .id = 1, .pid = 1, .end_ns = 1, .name = "bench" };
	struct trace_end end = { .wall_ns = 1 };
	struct trace_writer *w;
	struct err err;
	uint64_t next[THREADS] = { 0 };
	uint64_t bytes;

	if (trace_writer_new(&w, fd, &err) || trace_write_process(w, &process, &err))
		die(err.text);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct trace_thread thread = { .id = i, .process = 1, .tid = i, .name = "t" };

		if (trace_write_thread(w, &thread, &err))
			die(err.text);
	}
	for (size_t i = 0; i < p->count; i++) {
		const struct event *e = &p->events[i];
		uint32_t thread = (uint32_t)(i / RING_BLOCK % THREADS);

		if (trace_write_event(w, thread, next[thread]++, e->kind, e->id, e->time_ns, NULL,
				      0, &err))
			die(err.text);
	}
	if (trace_write_end(w, &end, &err))
		die(err.text);
	bytes = trace_writer_bytes(w);
	trace_writer_free(w);
	return bytes;
}

static uint64_t read_all(const char *path)
{
	struct event_batch batch;
	struct trace *t;
	struct err err;
	uint64_t sum = 0;

	if (trace_open(&t, path, &err))
		die(err.text);
	if (trace_damage(t))
		die(trace_damage(t));
	event_batch_init(&batch);
	for (size_t thread = 0; thread < trace_thread_count(t); thread++) {
		for (size_t i = 0; i < trace_batch_count(t, thread); i++) {
			if (trace_batch_read(t, thread, i, &batch, &err))
				die(err.text);
			sum += batch.count;
		}
	}
	event_batch_release(&batch);
	trace_close(t);
	return sum;
}

int main(int argc, char **argv)
{
	struct program p = { .state = 1 };
	double write_best = 1e9, read_best = 1e9, open_best = 1e9;
	char path[64];
	uint64_t bytes = 0;
	int fd = memfd_create("bench_trace", 0);

	p.limit = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	p.events = calloc(p.limit, sizeof(*p.events));
	if (!p.events || fd < 0)
		die("no memory");
	program_run(&p);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (int round = 0; round < ROUNDS; round++) {
		double t0 = seconds(), t1, t2, t3;
		struct trace *t;
		struct err err;

		bytes = write_all(fd, &p);
		t1 = seconds();
		if (read_all(path) != p.count)
			die("events are missing");
		t2 = seconds();
		if (trace_open(&t, path, &err))
			die(err.text);
		trace_close(t);
		t3 = seconds();
		write_best = fmin(write_best, t1 - t0);
		read_best = fmin(read_best, t2 - t1);
		open_best = fmin(open_best, t3 - t2);
	}
	printf("trace.write %.1f Mevents/s\n", (double)p.count / write_best * 1e-6);
	printf("trace.read %.1f Mevents/s\n", (double)p.count / read_best * 1e-6);
	printf("trace.open %.2f ms/Mevents\n", open_best * 1e9 / (double)p.count);
	printf("trace.size %.2f bytes/event\n", (double)bytes / (double)p.count);
	free(p.events);
	return 0;
}
