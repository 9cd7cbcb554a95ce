/*
 * The small facts of a trace: every block type but EVENTS holds `count`
 * entries, each a varint length and that many bytes.  What an entry has beyond
 * the fields known here was written by a later version and is ignored.
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/varint.h"
#include "format/trace_reader.h"

/* What is left of an entry; `bad` once a field did not fit, or there was no memory for it. */
struct cursor {
	const uint8_t *at, *end;
	bool bad, no_memory;
};

/* An entry that is sound, as far as it was read, finds no memory. */
static int fail_memory(struct cursor *c)
{
	c->no_memory |= !c->bad;
	c->bad = true;
	return -1;
}

static uint64_t take_varint(struct cursor *c, uint64_t max)
{
	uint64_t value = 0;
	const uint8_t *next = c->bad ? NULL : varint_get(c->at, c->end, &value);

	if (!next || value > max) {
		c->bad = true;
		return 0;
	}
	c->at = next;
	return value;
}

static uint32_t take_u32(struct cursor *c)
{
	return (uint32_t)take_varint(c, UINT32_MAX);
}

static int64_t take_time(struct cursor *c)
{
	int64_t value = unzigzag(take_varint(c, UINT64_MAX));

	if (value <= -TRACE_TIME_LIMIT || value >= TRACE_TIME_LIMIT)
		c->bad = true;
	return value;
}

/* The next n bytes; NULL when there are fewer. */
static const char *take_bytes(struct cursor *c, size_t n)
{
	const uint8_t *at = c->at;

	if (c->bad || (size_t)(c->end - at) < n) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return (const char *)at;
}

/* n bytes as text of the trace; `same` is taken instead where it says the same. */
static const char *take_text(struct trace *t, struct cursor *c, size_t n, const char *same)
{
	const char *from = take_bytes(c, n);
	char *text;

	if (!from)
		return NULL;
	if (same && strlen(same) == n && !memcmp(same, from, n))
		return same;
	if (!n)
		return "";
	text = arena_alloc(&t->texts, utf8_clean_bytes(from, n) + 1);
	if (text)
		utf8_clean(text, from, n);
	else
		fail_memory(c);
	return text;
}

static const char *take_prefixed_text(struct trace *t, struct cursor *c, const char *same)
{
	size_t n = (size_t)take_varint(c, BLOCK_RAW_MAX);

	return take_text(t, c, n, same);
}

static const char *take_rest(struct trace *t, struct cursor *c)
{
	return take_text(t, c, (size_t)(c->end - c->at), NULL);
}

static int load_info(struct trace *t, struct cursor *c)
{
	struct info_entry e;
	struct info_entry *slot;

	e.key = take_prefixed_text(t, c, NULL);
	e.value = take_rest(t, c);
	slot = c->bad ? NULL : table_add(&t->infos, sizeof(*slot));
	if (!slot)
		return fail_memory(c);
	*slot = e;
	return 0;
}

static int load_note(struct trace *t, struct cursor *c)
{
	const char *text = take_rest(t, c);
	const char **slot = c->bad ? NULL : table_add(&t->notes, sizeof(*slot));

	if (!slot)
		return fail_memory(c);
	*slot = text;
	return 0;
}

/* The entry of an id in a table, or NULL. */
static void *entry_find(const struct table *table, const struct idmap *at, uint32_t id,
			size_t bytes_each)
{
	uint32_t i = idmap_find(at, id);

	return i == IDMAP_NONE ? NULL : (char *)table->items + i * bytes_each;
}

/* The earlier entry of an id, or a new one that it is bound to. */
static void *entry_for(struct table *table, struct idmap *at, uint32_t id, size_t bytes_each)
{
	void *entry = entry_find(table, at, id, bytes_each);

	if (entry)
		return entry;
	if (table->count >= IDMAP_NONE)
		return NULL;
	entry = table_add(table, bytes_each);
	if (entry && idmap_put(at, id, (uint32_t)table->count - 1)) {
		table->count--;
		entry = NULL;
	}
	return entry;
}

/* The entry of one without an agent ends with its name, and has no version of a Python. */
static int load_process_into(struct trace *t, struct table *table, struct idmap *at, bool watched,
			     struct cursor *c)
{
	struct trace_process p = { 0 };
	struct trace_process *earlier, *slot;

	p.id = take_u32(c);
	p.pid = take_u32(c);
	p.parent_pid = take_u32(c);
	if (!watched)
		p.python_version = take_u32(c);
	p.start_ns = take_time(c);
	p.end_ns = take_time(c);
	earlier = entry_find(table, at, p.id, sizeof(*slot));
	p.name = take_prefixed_text(t, c, earlier ? earlier->name : NULL);
	p.accounted = !watched && !c->bad && c->at < c->end;
	if (p.accounted) {
		p.overhead_ns = take_time(c);
		p.event_cost_ps = take_u32(c);
		p.throttled_functions = take_varint(c, TRACE_INDEX_LIMIT);
	}
	if (p.accounted && !c->bad && c->at < c->end) {
		p.gpu_overhead_ns = take_time(c);
		p.graph_overhead_ns = take_time(c);
	}
	slot = c->bad ? NULL : entry_for(table, at, p.id, sizeof(*slot));
	if (!slot)
		return fail_memory(c);
	*slot = p;
	return 0;
}

static int load_process(struct trace *t, struct cursor *c)
{
	return load_process_into(t, &t->processes, &t->process_at, false, c);
}

static int load_observed(struct trace *t, struct cursor *c)
{
	return load_process_into(t, &t->watched, &t->watched_at, true, c);
}

static int load_thread(struct trace *t, struct cursor *c)
{
	struct trace_thread p = { 0 };
	struct thread_entry *earlier, *slot;

	p.id = take_u32(c);
	p.process = take_u32(c);
	p.tid = take_u32(c);
	p.start_ns = take_time(c);
	p.end_ns = take_time(c);
	p.produced = take_varint(c, TRACE_INDEX_LIMIT);
	p.lost = take_varint(c, TRACE_INDEX_LIMIT);
	earlier = entry_find(&t->threads, &t->thread_at, p.id, sizeof(*slot));
	p.name = take_prefixed_text(t, c, earlier ? earlier->public.name : NULL);
	p.timed = !c->bad && c->at < c->end;
	if (p.timed) {
		p.on_cpu_ns = take_time(c);
		p.queued_ns = take_time(c);
	}
	if (c->bad || idmap_find(&t->process_at, p.process) == IDMAP_NONE)
		return -1;
	slot = entry_for(&t->threads, &t->thread_at, p.id, sizeof(*slot));
	if (!slot)
		return fail_memory(c);
	slot->public = p;
	return 0;
}

/* To the end of the entry: innermost frame first. */
static void take_frames(struct trace *t, struct cursor *c, struct def_entry *e)
{
	size_t at_most = (size_t)(c->end - c->at) / 2; /* a frame is two varints */
	struct trace_frame *frames;

	if (at_most > STACK_FRAMES_MAX)
		at_most = STACK_FRAMES_MAX;
	frames = arena_alloc(&t->texts, at_most * sizeof(*frames));
	e->stack.frames = frames;
	if (!frames)
		fail_memory(c);
	while (!c->bad && c->at < c->end) {
		struct trace_frame f = { .code = take_u32(c) };

		f.offset = take_u32(c);
		if (!c->bad && e->stack.count < at_most)
			frames[e->stack.count++] = f;
	}
}

/* They have the id of the code that they belong to, hence a table of their own. */
static int load_lines(struct trace *t, struct cursor *c, uint32_t code)
{
	struct trace_lines lines = { .python_minor = take_u32(c) };
	struct trace_lines *slot;
	uint8_t *table;

	if (c->bad)
		return 0;
	lines.bytes = (size_t)(c->end - c->at);
	table = arena_alloc(&t->texts, lines.bytes);
	slot = table ? entry_for(&t->lines, &t->lines_at, code, sizeof(*slot)) : NULL;
	if (!slot)
		return fail_memory(c);
	memcpy(table, c->at, lines.bytes);
	lines.table = table;
	*slot = lines;
	return 0;
}

static const struct trace_nvtx *take_nvtx(struct trace *t, struct cursor *c)
{
	struct trace_nvtx *n = arena_alloc(&t->texts, sizeof(*n));

	if (!n) {
		fail_memory(c);
		return NULL;
	}
	/* A kind of a later version is taken for a range like any other. */
	n->kind = (enum nvtx_kind)take_varint(c, UINT8_MAX);
	n->colour = take_u32(c);
	n->category = take_u32(c);
	n->domain = take_prefixed_text(t, c, NULL);
	n->category_name = take_prefixed_text(t, c, NULL);
	n->name = take_rest(t, c);
	return n;
}

static int load_def(struct trace *t, struct cursor *c)
{
	const char *kind = take_bytes(c, 1);
	uint32_t id = take_u32(c);
	struct def_entry e = { 0 };
	struct def_entry *slot;

	if (c->bad)
		return -1;
	e.kind = (uint8_t)*kind;
	if (e.kind == DEF_LINES)
		return load_lines(t, c, id);
	if (e.kind == DEF_STACK) {
		take_frames(t, c, &e);
	} else if (e.kind == DEF_CODE) {
		e.code.line = take_u32(c);
		e.code.name = take_prefixed_text(t, c, NULL);
		e.code.file = take_rest(t, c);
	} else if (e.kind == DEF_NATIVE) {
		e.native.symbol = take_u32(c);
		e.native.library = take_u32(c);
	} else if (e.kind == DEF_NVTX) {
		e.nvtx = take_nvtx(t, c);
	} else if (e.kind == DEF_LAYER) {
		e.layer.root = take_u32(c);
		e.layer.class_name = take_prefixed_text(t, c, NULL);
		e.layer.name = take_rest(t, c);
	} else if (e.kind == DEF_STRING) {
		e.code.name = take_rest(t, c);
	} else {
		return 0;
	}
	if (c->bad) /* one bad definition of a program's must not end the trace */
		return c->no_memory ? -1 : 0;
	slot = entry_for(&t->defs, &t->def_at, id, sizeof(*slot));
	if (!slot)
		return fail_memory(c);
	*slot = e;
	t->has_layers |= e.kind == DEF_LAYER;
	return 0;
}

static int load_end(struct trace *t, struct cursor *c)
{
	int64_t status;

	t->end.wall_ns = take_time(c);
	status = unzigzag(take_varint(c, UINT64_MAX));
	if (c->bad || status < INT32_MIN || status > INT32_MAX)
		return -1;
	t->end.exit_status = (int32_t)status;
	t->has_end = true;
	return 0;
}

static int (*const loaders[])(struct trace *, struct cursor *) = {
	[BLOCK_INFO] = load_info,        [BLOCK_NOTE] = load_note, [BLOCK_PROCESS] = load_process,
	[BLOCK_THREAD] = load_thread,    [BLOCK_DEFS] = load_def,  [BLOCK_END] = load_end,
	[BLOCK_WATCHED] = load_observed,
};

int trace_tables_load(struct trace *t, uint16_t type, uint32_t count, const uint8_t *data,
		      size_t bytes, const char **why)
{
	struct cursor block = { .at = data, .end = data + bytes };

	for (uint32_t i = 0; i < count; i++) {
		size_t n = (size_t)take_varint(&block, BLOCK_RAW_MAX);
		struct cursor entry = { .at = block.at };

		if (!take_bytes(&block, n)) {
			*why = "an entry is longer than its block";
			return -1;
		}
		entry.end = block.at;
		if (loaders[type](t, &entry)) {
			*why = entry.no_memory ? TRACE_NO_MEMORY : "an entry is invalid";
			return -1;
		}
	}
	if (block.at != block.end) {
		*why = "a block is longer than its entries";
		return -1;
	}
	return 0;
}
