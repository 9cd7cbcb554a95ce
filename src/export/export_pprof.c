/*
 * pprof's profile (gzip'd protobuf, profile.proto of google/pprof): samples by thread, stack and
 * what the thread did, with their number and their time.  Memory grows with the number of
 * distinct stacks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "base/array.h"
#include "export/export.h"
#include "export/proto.h"
#include "export/thread_intervals.h"
#include "timeline/frame_lines.h"
#include "timeline/functions.h"
#include "timeline/pair_map.h"
#include "timeline/sample_walk.h"

enum profile {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_DEFAULT_TYPE = 14,
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4, LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM = 3,
	FUNCTION_FILE = 4,
	FUNCTION_LINE = 5
};

struct stack_time {
	size_t thread;
	uint32_t stack;
	enum sample_state state;
	uint64_t samples;
	int64_t ns;
};

struct pprof {
	const struct trace *trace;
	struct functions functions;
	struct frame_lines *lines;
	struct stack_time *times;
	size_t count, cap;
	struct pair_map at;        /* (thread and state, stack) -> times */
	struct pair_map strings;   /* (0, address) -> its number */
	struct pair_map locations; /* (function, line) -> id */
	uint64_t string_count, location_count;
	size_t functions_written;
	struct buf text, message, inner, list;
	gzFile out;
	bool failed; /* no memory */
	int error;
};

static void flush(struct pprof *x)
{
	if (x->text.failed)
		x->failed = true;
	else if (x->text.len && !x->error &&
		 gzwrite(x->out, x->text.data, (unsigned)x->text.len) != (int)x->text.len)
		x->error = errno ? errno : EIO;
	buf_clear(&x->text);
}

static void add(struct pprof *x, uint32_t field, const struct buf *message)
{
	proto_message(&x->text, field, message);
	if (x->text.len >= EXPORT_WRITE_BYTES)
		flush(x);
}

/* Strings of the trace and literals: the same address is the same text. */
static uint64_t string_number(struct pprof *x, const char *text)
{
	size_t known = pair_map_find(&x->strings, 0, (uint64_t)(uintptr_t)text);

	if (known != PAIR_NONE)
		return known;
	if (pair_map_put(&x->strings, 0, (uint64_t)(uintptr_t)text, x->string_count))
		x->failed = true;
	proto_string(&x->text, PROFILE_STRING, text);
	return x->string_count++;
}

static void write_functions(struct pprof *x)
{
	for (; x->functions_written < x->functions.count; x->functions_written++) {
		const struct place *f = &x->functions.items[x->functions_written];
		uint64_t name = string_number(x, f->name),
			 file = string_number(x, f->file ? f->file : "");

		buf_clear(&x->inner);
		proto_uint(&x->inner, FUNCTION_ID, x->functions_written + 1);
		proto_uint(&x->inner, FUNCTION_NAME, name);
		proto_uint(&x->inner, FUNCTION_SYSTEM, name);
		proto_uint(&x->inner, FUNCTION_FILE, file);
		proto_uint(&x->inner, FUNCTION_LINE, f->line);
		add(x, PROFILE_FUNCTION, &x->inner);
	}
}

static uint64_t location(struct pprof *x, const struct trace_frame *frame)
{
	uint32_t function = functions_find(&x->functions, frame->code), line;
	struct buf place;
	size_t known;

	if (function == FUNCTION_NONE) {
		x->failed = true;
		return 0;
	}
	write_functions(x);
	line = frame_lines_find(x->lines, x->trace, frame);
	known = pair_map_find(&x->locations, function, line);
	if (known != PAIR_NONE)
		return known;
	if (pair_map_put(&x->locations, function, line, ++x->location_count))
		x->failed = true;
	buf_init(&place);
	proto_uint(&place, LINE_FUNCTION, (uint64_t)function + 1);
	proto_uint(&place, LINE_NUMBER, line);
	buf_clear(&x->inner);
	proto_uint(&x->inner, LOCATION_ID, x->location_count);
	proto_message(&x->inner, LOCATION_LINE, &place);
	buf_release(&place);
	add(x, PROFILE_LOCATION, &x->inner);
	return x->location_count;
}

static void label(struct pprof *x, const char *key, const char *text, uint64_t number)
{
	uint64_t key_number = string_number(x, key);

	buf_clear(&x->inner);
	proto_uint(&x->inner, LABEL_KEY, key_number);
	if (text)
		proto_uint(&x->inner, LABEL_TEXT, string_number(x, text));
	else
		proto_uint(&x->inner, LABEL_NUMBER, number);
	proto_message(&x->message, SAMPLE_LABEL, &x->inner);
}

static void write_sample(struct pprof *x, const struct stack_time *s)
{
	const struct trace_thread *t = trace_thread(x->trace, s->thread);
	size_t count = 0;
	const struct trace_frame *frames = trace_stack(x->trace, s->stack, &count);

	buf_clear(&x->message);
	buf_clear(&x->list);
	for (size_t i = 0; i < count; i++)
		buf_add_varint(&x->list, location(x, &frames[i]));
	proto_message(&x->message, SAMPLE_LOCATION, &x->list);
	buf_clear(&x->list);
	buf_add_varint(&x->list, s->samples);
	buf_add_varint(&x->list, (uint64_t)s->ns);
	proto_message(&x->message, SAMPLE_VALUE, &x->list);
	if (*t->name)
		label(x, "thread", t->name, 0);
	label(x, "thread_id", NULL, t->tid);
	label(x, "process", trace_process(x->trace, process_position(x->trace, t->process))->name,
	      0);
	label(x, "state", thread_state_name(s->state), 0);
	add(x, PROFILE_SAMPLE, &x->message);
}

static void value_type(struct pprof *x, const char *type, const char *unit)
{
	uint64_t type_number = string_number(x, type), unit_number = string_number(x, unit);

	buf_clear(&x->inner);
	proto_uint(&x->inner, VALUE_TYPE, type_number);
	proto_uint(&x->inner, VALUE_UNIT, unit_number);
	add(x, PROFILE_SAMPLE_TYPE, &x->inner);
}

static void take_sample(void *ctx, const struct timed_sample *s)
{
	struct pprof *x = ctx;
	enum sample_state state = sample_state(s->sample);
	uint64_t a = (uint64_t)s->thread * 16 + (state < SAMPLE_STATES ? state : SAMPLE_UNKNOWN);
	size_t at = pair_map_find(&x->at, a, s->sample->stack);
	struct stack_time *grown;

	if (at == PAIR_NONE) {
		at = x->count;
		grown = array_grow(x->times, &x->cap, x->count + 1, sizeof(*grown));
		if (grown)
			x->times = grown;
		if (!grown || pair_map_put(&x->at, a, s->sample->stack, at)) {
			x->failed = true;
			return;
		}
		grown[x->count++] = (struct stack_time){
			.thread = s->thread,
			.stack = s->sample->stack,
			.state = state,
		};
	}
	x->times[at].samples += s->sample->count;
	x->times[at].ns += s->end_ns - s->start_ns;
}

static void write_profile(struct pprof *x)
{
	const struct trace_end *end = trace_end(x->trace);
	int64_t start_ns = trace_start(x->trace)->realtime_ns;

	string_number(x, ""); /* the first one has to be empty */
	value_type(x, "samples", "count");
	value_type(x, "wall", "nanoseconds");
	for (size_t i = 0; i < x->count && !x->failed && !x->error; i++)
		write_sample(x, &x->times[i]);
	if (start_ns > 0)
		proto_int(&x->text, PROFILE_TIME, start_ns);
	if (end && end->wall_ns > 0)
		proto_int(&x->text, PROFILE_DURATION, end->wall_ns);
	proto_uint(&x->text, PROFILE_DEFAULT_TYPE, string_number(x, "wall"));
	flush(x);
}

static int read_samples(struct pprof *x, struct err *err)
{
	const struct sample_visitor visitor = { .ctx = x, .sample = take_sample };
	struct sample_walk walk;

	if (sample_walk(&walk, x->trace, &visitor, err))
		return -1;
	if (x->failed)
		return err_set(err, "out of memory");
	if (!x->count)
		return err_set(err, "the trace has no samples, which pprof needs; --to speedscope "
				    "and --to folded show calls");
	return 0;
}

static void release(struct pprof *x)
{
	functions_release(&x->functions);
	pair_map_release(&x->at);
	pair_map_release(&x->strings);
	pair_map_release(&x->locations);
	buf_release(&x->text);
	buf_release(&x->message);
	buf_release(&x->inner);
	buf_release(&x->list);
	free(x->lines);
	free(x->times);
}

static int export_pprof(const struct trace *t, const struct export_target *to, struct err *err)
{
	struct pprof x = { .trace = t };
	int fd, rc = -1;

	pair_map_init(&x.at);
	pair_map_init(&x.strings);
	pair_map_init(&x.locations);
	buf_init(&x.text);
	buf_init(&x.message);
	buf_init(&x.inner);
	buf_init(&x.list);
	x.lines = calloc(1, sizeof(*x.lines));
	if (functions_init(&x.functions, t) || !x.lines) {
		err_set(err, "out of memory");
		goto out;
	}
	if (read_samples(&x, err))
		goto out;
	fd = fcntl(to->fd, F_DUPFD_CLOEXEC, 0); /* gzclose() closes it */
	x.out = fd < 0 ? NULL : gzdopen(fd, "wb");
	if (!x.out) {
		if (fd >= 0)
			close(fd);
		err_errno(err, "cannot write the export");
		goto out;
	}
	write_profile(&x);
	errno = 0;
	if (gzclose(x.out) != Z_OK && !x.error)
		x.error = errno ? errno : EIO;
	if (x.failed || x.message.failed || x.inner.failed || x.list.failed)
		x.error = ENOMEM;
	rc = export_finish(x.error, err);
out:
	release(&x);
	return rc;
}

const struct exporter exporter_pprof = {
	.name = "pprof",
	.suffixes = ".pb.gz .pprof",
	.write = export_pprof,
};
