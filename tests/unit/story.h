/*
 * Traces told in a few lines of text, for tests: story_write() puts them into a
 * trace file through the real writer.  Times are nanoseconds.
 *
 *   info KEY VALUE             note TEXT               end WALL STATUS
 *   process ID PID NAME START END [OVERHEAD EVENT_PS LEFT_OUT]
 *   thread ID PROCESS TID NAME START END LOST [ON_CPU QUEUED]   ("-": no name)
 *   code NAME FILE LINE        code ids are given in the order of first use; a file in angle
 *                              brackets may have blanks;
 *                              without this line: app.py, line 10 * id;
 *                              f' is another id for the function f
 *   nvtx KIND NAME DOMAIN CATEGORY CATEGORY_NAME   NAME is NVTX's ("-": empty; as f')
 *   ID: EVENT...               events of a thread, in order:
 *     +f@T >f@T *f@T           called, resumed, thrown into
 *     -f@T ~f@T !f@T           left by return, yield, exception
 *     %f@T                     f lets another tool have the thread's calls
 *     |N@T ^f@T                a pause since N us; f runs when it is over
 *     +?99@T                   the code id 99, never defined
 *     (G@T )G@T:N              collection of generation G, N objects freed
 *     [name#I/K@T ]#I@T        scope, instance I in task K; "a:_b_c" is "a: b c"
 *     =name/K@T                mark
 *     counter:name=V@T         a counter's value
 *     out:f@T out:@T           f is left out of the trace; nothing is any more
 *     short:name@T short:-@T   NVTX's name is left out; nothing of NVTX is any more
 *     unwinding:0@T            exits by exceptions are not recorded; 1: they are again
 *     lost:N                   N events are missing here
 *     {name#C:W/S@T }C@T       CUDA call of class W (enum cuda_call) with correlation C
 *                              from stack S (0: none); its end.
 *                              W.Q: a wait for stream Q; W=N: of N bytes
 *     kernel:name#C@T:B+D/Q    on the device, told at T: began at B, took D, on stream Q
 *                              (B 0: without times)
 *     copy:K,F,G,N#C@T:B+D/Q   N bytes, enum gpu_copy K from enum gpu_memory F to G, asynchronous
 *     memset:N#C@T:B+D/Q
 *     kernel:name!G,N#C@...    a node N of CUDA graph G; so have copies and memsets
 *     made:N/S@T cloned:N,M@T  node N is made, from stack S (0: none), or as a copy of M
 *     graph:G#C@T:B+D/Q        a whole graph launch
 *     dropped:N@T              by CUPTI
 *     overhead:B+D@T           CUPTI's own
 *     <L@T </L@T <-L@T         layer L begins, ends, is folded from here on (0: none is)
 *   layer L ROOT CLASS NAME    below layer ROOT; of a root ROOT is 0 and NAME "-"
 *   stack S NAME:LINE...       the lines of stack S, innermost first
 *   look ID S FIRST LAST N FLAGS [LOCK]   N looks at a thread that found stack S (0: none);
 *                              enum sample_flag, hexadecimal
 *   native ID T SYMBOL FILE    the kernel's sample of a thread (0: one without Python)
 *   fault ID T N SYMBOL FILE   a page fault of a thread, one of N; majorfault: one that waited
 *   series PROCESS NAME[/I] V@T...   points of a series (format/series.h) of a process (0: the
 *                              machine), instance I
 *   gpu ID STATE T TEXT        the GPU recording changed (enum gpu_state), told by thread ID
 *   device ID N T NAME         device N was seen
 *
 * A line that makes no sense fails the test.
 */
#ifndef TESTS_STORY_H
#define TESTS_STORY_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "format/trace_writer.h"

struct story {
	struct trace_writer *writer;
	char *names[256];          /* "c" + code name or "s" + string, by id - 1 */
	uint32_t first_lines[256]; /* of code, by id - 1 */
	bool has_lines[256];
	uint32_t name_count;
	uint64_t index[64]; /* produced, by thread id */
	uint32_t process_of[64];
	uint32_t places;
	struct err err;
};

#define story_require(ok, what)                                            \
	do {                                                               \
		if (!(ok)) {                                               \
			fprintf(stderr, "story: cannot read: %s\n", what); \
			abort();                                           \
		}                                                          \
	} while (0)

static void story_check(struct story *s, int rc)
{
	if (rc) {
		fprintf(stderr, "story: %s\n", s->err.text);
		abort();
	}
}

static uint32_t story_find(struct story *s, char type, const char *name, bool *is_new)
{
	char key[256];

	snprintf(key, sizeof(key), "%c%s", type, name);
	for (uint32_t i = 0; i < s->name_count; i++) {
		if (!strcmp(s->names[i], key)) {
			*is_new = false;
			return i + 1;
		}
	}
	story_require(s->name_count < 256, name);
	s->names[s->name_count++] = strdup(key);
	*is_new = true;
	return s->name_count;
}

static uint32_t story_define_code(struct story *s, const char *name, const char *file,
				  uint32_t line)
{
	bool is_new;
	uint32_t id = story_find(s, 'c', name, &is_new);
	size_t bytes = strcspn(name, "'");
	struct buf b;

	if (!is_new)
		return id;
	buf_init(&b);
	s->first_lines[id - 1] = line ? line : 10 * id;
	buf_add_varint(&b, s->first_lines[id - 1]);
	buf_add_varint(&b, bytes);
	buf_add(&b, name, bytes);
	buf_add_str(&b, file);
	story_check(s, trace_write_def(s->writer, DEF_CODE, id, b.data, b.len, &s->err));
	buf_release(&b);
	return id;
}

static uint32_t story_code(struct story *s, const char *name)
{
	if (name[0] == '?')
		return (uint32_t)strtoul(name + 1, NULL, 10);
	return story_define_code(s, name, "app.py", 0);
}

static uint32_t story_string(struct story *s, const char *text)
{
	bool is_new;
	uint32_t id = story_find(s, 's', text, &is_new);

	if (is_new)
		story_check(
			s, trace_write_def(s->writer, DEF_STRING, id, text, strlen(text), &s->err));
	return id;
}

#include "story_nvtx.h"

static uint8_t story_call_kind(char c)
{
	switch (c) {
	case '+':
		return RECORD_CALL;
	case '>':
		return RECORD_RESUME;
	case '*':
		return RECORD_THROW;
	case '-':
		return RECORD_RETURN;
	case '~':
		return RECORD_YIELD;
	case '!':
		return RECORD_UNWIND;
	case '%':
		return RECORD_DISPLACED;
	case '^':
		return RECORD_RUNNING;
	default:
		return 0;
	}
}

#define STORY_STACKS 1000u   /* ids of stacks begin behind it */
#define STORY_PLACES 200000u /* likewise of places in native code */
#define STORY_LAYERS 300000u /* likewise of layers */
#define STORY_LINES 120u     /* of a function */

/* As CPython 3.9 has it: each instruction, of two bytes, is on the line after the one before it. */
static void story_define_lines(struct story *s, uint32_t code)
{
	struct buf b;

	if (s->has_lines[code - 1])
		return;
	s->has_lines[code - 1] = true;
	buf_init(&b);
	buf_add_varint(&b, 9);
	for (uint32_t i = 0; i < STORY_LINES; i++)
		buf_add(&b, "\2\1", 2);
	story_check(s, trace_write_def(s->writer, DEF_LINES, code, b.data, b.len, &s->err));
	buf_release(&b);
}

static void story_stack(struct story *s, char *line)
{
	char *save, *token = strtok_r(line + strlen("stack "), " ", &save);
	uint32_t id = (uint32_t)strtoul(token, NULL, 10);
	struct buf b;

	buf_init(&b);
	while ((token = strtok_r(NULL, " ", &save))) {
		uint32_t number, code, first;
		char name[128];

		story_require(sscanf(token, "%127[^:]:%u", name, &number) == 2, token);
		code = story_code(s, name);
		first = s->first_lines[code - 1];
		story_require(number >= first && number - first <= STORY_LINES, token);
		story_define_lines(s, code);
		buf_add_varint(&b, code);
		buf_add_varint(&b, 2 * (number - first));
	}
	story_check(s, trace_write_def(s->writer, DEF_STACK, STORY_STACKS + id, b.data, b.len,
				       &s->err));
	buf_release(&b);
}

#include "story_gpu.h"

static void story_event(struct story *s, uint32_t thread, const char *token)
{
	uint64_t instance = 0, task = 0, freed = 0;
	char name[128] = "";
	int64_t time_ns = 0;
	double value;
	unsigned generation;
	uint8_t kind = story_call_kind(token[0]);
	uint32_t id = 0;
	struct buf b;

	if (sscanf(token, "lost:%" SCNu64, &freed) == 1) {
		s->index[thread] += freed;
		return;
	}
	if (story_gpu_event(s, thread, token))
		return;
	buf_init(&b);
	if (token[0] == '<') {
		kind = story_layer_event(token, &id, &time_ns);
	} else if (kind && sscanf(token + 1, "%127[^@]@%" SCNd64, name, &time_ns) == 2) {
		id = story_code(s, name);
	} else if (sscanf(token, "|%u@%" SCNd64, &id, &time_ns) == 2) {
		kind = RECORD_PAUSED;
	} else if (sscanf(token, "out:@%" SCNd64, &time_ns) == 1) {
		kind = RECORD_LEFT_OUT;
	} else if (sscanf(token, "out:%127[^@]@%" SCNd64, name, &time_ns) == 2) {
		kind = RECORD_LEFT_OUT;
		id = story_code(s, name);
	} else if (sscanf(token, "short:%127[^@]@%" SCNd64, name, &time_ns) == 2) {
		kind = RECORD_NVTX_LEFT_OUT;
		id = strcmp(name, "-") ? story_string(s, name) : 0;
	} else if (sscanf(token, "unwinding:%u@%" SCNd64, &id, &time_ns) == 2) {
		kind = RECORD_UNWINDING;
	} else if (sscanf(token, "(%u@%" SCNd64, &generation, &time_ns) == 2) {
		kind = RECORD_GC_BEGIN;
		id = generation;
	} else if (sscanf(token, ")%u@%" SCNd64 ":%" SCNu64, &generation, &time_ns, &freed) == 3) {
		kind = RECORD_GC_END;
		id = generation;
		buf_add_varint(&b, freed);
	} else if (sscanf(token, "[%127[^#]#%" SCNu64 "/%" SCNu64 "@%" SCNd64, name, &instance,
			  &task, &time_ns) == 4) {
		kind = RECORD_SCOPE_BEGIN;
		for (char *at = strstr(name, ":_"); at && *at; at++)
			*at = *at == '_' ? ' ' : *at;
		id = story_string(s, name);
		buf_add_varint(&b, instance);
		buf_add_varint(&b, task);
	} else if (sscanf(token, "]#%" SCNu64 "@%" SCNd64, &instance, &time_ns) == 2) {
		kind = RECORD_SCOPE_END;
		buf_add_varint(&b, instance);
	} else if (sscanf(token, "=%127[^/]/%" SCNu64 "@%" SCNd64, name, &task, &time_ns) == 3) {
		kind = RECORD_MARK;
		id = story_string(s, name);
		buf_add_varint(&b, task);
	} else if (sscanf(token, "counter:%127[^=]=%lf@%" SCNd64, name, &value, &time_ns) == 3) {
		kind = RECORD_COUNTER;
		id = story_string(s, name);
		buf_add(&b, &value, sizeof(value));
	} else {
		story_require(false, token);
	}
	story_check(s, trace_write_event(s->writer, thread, s->index[thread]++, kind, id, time_ns,
					 b.data, b.len, &s->err));
	buf_release(&b);
}

static void story_process(struct story *s, const char *line)
{
	struct trace_process p = { .python_version = 0x030c0100 };
	char name[128];

	int fields =
		sscanf(line, "process %u %u %127s %" SCNd64 " %" SCNd64 " %" SCNd64 " %u %" SCNu64,
		       &p.id, &p.pid, name, &p.start_ns, &p.end_ns, &p.overhead_ns,
		       &p.event_cost_ps, &p.throttled_functions);

	story_require(fields == 5 || fields == 8, line);
	p.accounted = fields == 8;
	p.name = name;
	story_check(s, trace_write_process(s->writer, &p, &s->err));
}

/* Written twice: before its events, and with what it produced behind them. */
static void story_thread(struct story *s, const char *line, bool ended)
{
	struct trace_thread t = { 0 };
	char name[64];
	int fields = sscanf(line,
			    "thread %u %u %u %63s %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNd64
			    " %" SCNd64,
			    &t.id, &t.process, &t.tid, name, &t.start_ns, &t.end_ns, &t.lost,
			    &t.on_cpu_ns, &t.queued_ns);

	story_require((fields == 7 || fields == 9) && t.id < 64, line);
	t.timed = fields == 9;
	t.name = strcmp(name, "-") ? name : "";
	s->process_of[t.id] = t.process;
	t.produced = s->index[t.id];
	if (!ended) {
		t.end_ns = TRACE_UNKNOWN_NS;
		t.lost = 0;
	}
	story_check(s, trace_write_thread(s->writer, &t, &s->err));
}

static void story_look(struct story *s, const char *line)
{
	struct sample l = { 0 };

	story_require(sscanf(line, "look %u %u %" SCNd64 " %" SCNd64 " %u %x %" SCNx64, &l.thread,
			     &l.stack, &l.first_ns, &l.last_ns, &l.count, &l.flags, &l.lock) >= 6 &&
			      l.thread < 64,
		      line);
	l.stack += l.stack ? STORY_STACKS : 0;
	l.flags |= l.lock ? SAMPLE_WAITS_FOR_LOCK : 0;
	story_check(s, trace_write_sample(s->writer, s->process_of[l.thread], &l, &s->err));
}

/* A place of its own for each sample, as unlikely as that is. */
static void story_native(struct story *s, const char *line)
{
	struct sample l = { .flags = SAMPLE_NATIVE | SAMPLE_RUNNING, .count = 1 };
	char symbol[128], library[128];
	struct buf b;

	story_require(sscanf(line, "native %u %" SCNd64 " %127s %127s", &l.thread, &l.first_ns,
			     symbol, library) == 4 &&
			      l.thread < 64,
		      line);
	buf_init(&b);
	buf_add_varint(&b, story_string(s, symbol));
	buf_add_varint(&b, story_string(s, library));
	l.last_ns = l.first_ns;
	l.stack = STORY_PLACES + s->places++;
	story_check(s, trace_write_def(s->writer, DEF_NATIVE, l.stack, b.data, b.len, &s->err));
	story_check(s, trace_write_sample(s->writer, l.thread ? s->process_of[l.thread] : 1, &l,
					  &s->err));
	buf_release(&b);
}

static void story_fault(struct story *s, const char *line)
{
	struct sample l = { .flags = SAMPLE_NATIVE | SAMPLE_FAULT };
	char word[16], symbol[128], library[128];
	struct buf b;

	story_require(sscanf(line, "%15s %u %" SCNd64 " %u %127s %127s", word, &l.thread,
			     &l.first_ns, &l.count, symbol, library) == 6 &&
			      l.thread < 64,
		      line);
	l.flags |= word[0] == 'm' ? SAMPLE_MAJOR : 0;
	buf_init(&b);
	buf_add_varint(&b, story_string(s, symbol));
	buf_add_varint(&b, story_string(s, library));
	l.last_ns = l.first_ns;
	l.stack = STORY_PLACES + s->places++;
	story_check(s, trace_write_def(s->writer, DEF_NATIVE, l.stack, b.data, b.len, &s->err));
	story_check(s, trace_write_sample(s->writer, l.thread ? s->process_of[l.thread] : 1, &l,
					  &s->err));
	buf_release(&b);
}

static void story_series(struct story *s, char *line)
{
	char *save, *token = strtok_r(line + strlen("series "), " ", &save);
	struct series_point p = { .process = (uint32_t)strtoul(token, NULL, 10) };
	const struct series_quantity *q;
	char *slash;

	token = strtok_r(NULL, " ", &save);
	story_require(token, line);
	slash = strchr(token, '/');
	if (slash) {
		p.instance = (uint32_t)strtoul(slash + 1, NULL, 10);
		*slash = 0;
	}
	q = series_quantity_named(token);
	story_require(q, token);
	p.kind = q->kind;
	while ((token = strtok_r(NULL, " ", &save))) {
		story_require(sscanf(token, "%" SCNd64 "@%" SCNd64, &p.value, &p.time_ns) == 2,
			      token);
		story_check(s, trace_write_point(s->writer, &p, &s->err));
	}
}

static void story_line(struct story *s, char *line)
{
	char a[128], b[256];
	struct trace_end end;
	uint32_t number;
	int at = 0;

	if (sscanf(line, "info %127s %255[^\n]", a, b) == 2)
		story_check(s, trace_write_info(s->writer, a, b, &s->err));
	else if (sscanf(line, "note %255[^\n]", b) == 1)
		story_check(s, trace_write_note(s->writer, b, &s->err));
	else if (!strncmp(line, "process ", 8))
		story_process(s, line);
	else if (!strncmp(line, "thread ", 7))
		story_thread(s, line, false);
	else if (sscanf(line, "code %127s <%250[^>]> %u", a, b + 1, &number) == 3)
		story_define_code(s, a, strcat(memset(b, '<', 1), ">"), number);
	else if (sscanf(line, "code %127s %255s %u", a, b, &number) == 3)
		story_define_code(s, a, b, number);
	else if (!strncmp(line, "nvtx ", 5))
		story_nvtx(s, line);
	else if (!strncmp(line, "stack ", 6))
		story_stack(s, line);
	else if (!strncmp(line, "layer ", 6))
		story_layer(s, line);
	else if (!strncmp(line, "look ", 5))
		story_look(s, line);
	else if (!strncmp(line, "series ", 7))
		story_series(s, line);
	else if (!strncmp(line, "native ", 7))
		story_native(s, line);
	else if (!strncmp(line, "fault ", 6) || !strncmp(line, "majorfault ", 11))
		story_fault(s, line);
	else if (story_gpu_line(s, line))
		return;
	else if (sscanf(line, "end %" SCNd64 " %d", &end.wall_ns, &end.exit_status) == 2)
		story_check(s, trace_write_end(s->writer, &end, &s->err));
	else if (sscanf(line, "%u:%n", &number, &at) == 1 && at && number < 64)
		for (char *save, *t = strtok_r(line + at, " \t", &save); t;
		     t = strtok_r(NULL, " \t", &save))
			story_event(s, number, t);
	else
		story_require(line[0] == '#' || line[0] == 0, line);
}

/* Writes the story to a new file; `path` ends in XXXXXX and is filled in. */
static void story_write(char *path, const char *text)
{
	struct story s = { 0 };
	char *copy = strdup(text), *save;
	const char *end_line = NULL;
	int fd = mkstemp(path);

	story_require(fd >= 0, path);
	story_check(&s, trace_writer_new(&s.writer, fd, &s.err));
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, "end ", 4))
			end_line = text + (line - copy);
		else
			story_line(&s, line);
	}
	story_check(&s, trace_writer_flush(s.writer, 0, 0, &s.err));
	free(copy);
	copy = strdup(text);
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (!strncmp(line, "thread ", 7))
			story_thread(&s, line, true);
	free(copy);
	if (end_line) {
		copy = strndup(end_line, strcspn(end_line, "\n"));
		story_line(&s, copy);
		free(copy);
	} else {
		story_check(&s, trace_writer_flush(s.writer, 0, 0, &s.err));
	}
	trace_writer_free(s.writer);
	close(fd);
	for (uint32_t i = 0; i < s.name_count; i++)
		free(s.names[i]);
}

#endif
