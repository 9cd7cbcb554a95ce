/*
 * What the phases of trace events mean in our records: complete events and B with E are functions,
 * asynchronous ones scopes of their own task, instants marks, counters counters.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "format/torch_scopes.h"
#include "import/chrome.h"

/* An event that has begun. */
struct chrome_begin {
	int64_t ts_ns;
	uint32_t thread;
	uint32_t name, category;
	uint32_t below; /* 1 + the one around it; of a free one: the next */
	uint32_t task;
	bool async;
};

int chrome_init(struct chrome *c, struct build *b)
{
	memset(c, 0, sizeof(*c));
	c->build = b;
	keymap_init(&c->unmapped_at);
	keymap_init(&c->categories);
	keymap_init(&c->functions);
	keymap_init(&c->python);
	keymap_init(&c->stacks);
	keymap_init(&c->asyncs);
	keymap_init(&c->async_ids);
	buf_init(&c->text);
	buf_init(&c->tool);
	c->empty_name = build_name(b, "(no name)", 9);
	c->operator_file = build_name(b, IMPORT_OPERATORS, strlen(IMPORT_OPERATORS));
	return c->empty_name && c->operator_file ? 0 : -1;
}

void chrome_release(struct chrome *c)
{
	keymap_release(&c->unmapped_at);
	keymap_release(&c->categories);
	keymap_release(&c->functions);
	keymap_release(&c->python);
	keymap_release(&c->stacks);
	keymap_release(&c->asyncs);
	keymap_release(&c->async_ids);
	buf_release(&c->text);
	buf_release(&c->tool);
	free(c->unmapped);
	free(c->begins);
}

static bool same_key(const struct chrome_key *x, const struct chrome_key *y)
{
	return x->value == y->value && x->text == y->text && x->given == y->given;
}

/* One number for each that differs. */
static uint64_t key_bits(const struct chrome_key *k)
{
	return (k->value * 2 + k->text) * 2 + !k->given;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ a >> 29) * 0xbf58476d1ce4e5b9u;
	return (a ^ a >> 32) * 0x94d049bb133111ebu + b;
}

/* Of a string: 0, the name tells. */
static uint32_t short_number(const struct chrome_key *k)
{
	return k->text || k->value > UINT32_MAX ? 0 : (uint32_t)k->value;
}

uint32_t chrome_thread(struct chrome *c, const struct chrome_event *e)
{
	uint64_t key;
	uint32_t process;

	if (c->last_thread && same_key(&e->pid, &c->last_pid) && same_key(&e->tid, &c->last_tid))
		return c->last_thread;
	key = mix(key_bits(&e->pid), 1);
	process = build_process(c->build, key, short_number(&e->pid));
	if (!process)
		return 0;
	c->last_thread =
		build_thread(c->build, process, mix(key, key_bits(&e->tid)), short_number(&e->tid));
	c->last_pid = e->pid;
	c->last_tid = e->tid;
	/* Metadata may tell a better name, before or after. */
	if (c->last_thread && e->tid.text)
		build_thread_called(c->build, c->last_thread, (uint32_t)e->tid.value);
	if (e->pid.text)
		build_process_called(c->build, process, (uint32_t)e->pid.value);
	return c->last_thread;
}

int chrome_count_unmapped(struct chrome *c, const struct chrome_event *e)
{
	const char phase[] = { 'p', 'h', ' ', e->phase };
	struct chrome_unmapped *grown;
	uint32_t what = e->category, at;

	if (!what)
		what = build_name(c->build, phase, sizeof(phase));
	at = keymap_find(&c->unmapped_at, what);
	if (at == KEYMAP_NONE) {
		grown = array_grow(c->unmapped, &c->unmapped_cap, c->unmapped_count + 1,
				   sizeof(*grown));
		c->unmapped = grown ? grown : c->unmapped;
		if (!grown || !what)
			return -1;
		at = (uint32_t)c->unmapped_count;
		grown[c->unmapped_count++] = (struct chrome_unmapped){ .what = what };
		if (keymap_put(&c->unmapped_at, what, at))
			return -1;
	}
	c->unmapped[at].count++;
	return 0;
}

static uint32_t name_or_empty(const struct chrome *c, uint32_t name)
{
	return name ? name : c->empty_name;
}

/* VizTracer: "func (/path/file.py:12)". */
static uint32_t generic_function(struct chrome *c, uint32_t name)
{
	uint32_t known = keymap_find(&c->functions, name), line = 0, function;
	const char *text = build_text(c->build, name), *open, *colon, *end;

	if (known != KEYMAP_NONE)
		return known;
	end = text + strlen(text);
	open = strstr(text, " (");
	for (const char *next = open; next; next = strstr(next + 1, " ("))
		open = next;
	colon = strrchr(text, ':');
	if (open && colon && colon > open && end[-1] == ')') {
		const char *p = colon + 1;

		while (*p >= '0' && *p <= '9' && line < UINT32_MAX / 10)
			line = 10 * line + (uint32_t)(*p++ - '0');
		if (p == colon + 1 || p != end - 1)
			open = NULL;
	} else {
		open = NULL;
	}
	if (open) {
		uint32_t file = build_name(c->build, open + 2, (size_t)(colon - open - 2));
		uint32_t own = build_name(c->build, text, (size_t)(open - text));

		function = file && own ? build_function(c->build, own, file, line) : 0;
	} else {
		function = build_function(c->build, name, 0, 0);
	}
	if (!function || keymap_put(&c->functions, name, function))
		return 0;
	return function;
}

static int add_span(struct chrome *c, uint32_t thread, uint32_t name, int64_t start_ns,
		    int64_t end_ns)
{
	struct build_span s = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.thread = thread,
		.name = generic_function(c, name_or_empty(c, name)),
		.kind = BUILD_FUNCTION,
	};

	return s.name ? build_span_add(c->build, &s) : -1;
}

static int add_complete(struct chrome *c, const struct chrome_event *e)
{
	int rc = kineto_event_add(c, e);
	uint32_t thread;

	if (rc)
		return rc < 0 ? -1 : 0;
	thread = chrome_thread(c, e);
	return thread ? add_span(c, thread, e->name, e->ts_ns, e->ts_ns + e->dur_ns) : -1;
}

static int begin_push(struct chrome *c, struct keymap *stacks, uint64_t key,
		      struct chrome_begin begin)
{
	uint32_t top = keymap_find(stacks, key), at = c->free_begin;
	struct chrome_begin *grown;

	if (at) {
		c->free_begin = c->begins[--at].below;
	} else {
		grown = array_grow(c->begins, &c->begin_cap, c->begin_count + 1, sizeof(*grown));
		c->begins = grown ? grown : c->begins;
		if (!grown || c->begin_count >= UINT32_MAX - 1)
			return -1;
		at = (uint32_t)c->begin_count++;
	}
	begin.below = top == KEYMAP_NONE ? 0 : top;
	c->begins[at] = begin;
	return keymap_put(stacks, key, at + 1);
}

/* 1 + the place of the innermost; 0: none is open. */
static uint32_t begin_top(const struct keymap *stacks, uint64_t key)
{
	uint32_t top = keymap_find(stacks, key);

	return top == KEYMAP_NONE ? 0 : top;
}

static struct chrome_begin begin_free(struct chrome *c, uint32_t at)
{
	struct chrome_begin begin = c->begins[at - 1];

	c->begins[at - 1] = (struct chrome_begin){ .below = c->free_begin };
	c->free_begin = at;
	return begin;
}

static int add_begin(struct chrome *c, const struct chrome_event *e)
{
	struct chrome_begin begin = { .ts_ns = e->ts_ns, .name = e->name };

	begin.thread = chrome_thread(c, e);
	return begin.thread ? begin_push(c, &c->stacks, begin.thread, begin) : -1;
}

/* An end closes the innermost begin of its thread, whatever the two are called. */
static int add_end(struct chrome *c, const struct chrome_event *e)
{
	uint32_t thread = chrome_thread(c, e), top = begin_top(&c->stacks, thread);
	struct chrome_begin begin;

	if (!thread)
		return -1;
	if (!top) {
		c->counts.lone_ends++;
		return 0;
	}
	begin = begin_free(c, top);
	if (keymap_put(&c->stacks, thread, begin.below))
		return -1;
	return add_span(c, thread, begin.name ? begin.name : e->name, begin.ts_ns,
			e->ts_ns < begin.ts_ns ? begin.ts_ns : e->ts_ns);
}

/* Operations are distinguished by category and id; those of b, n and e from those of S, T, F. */
static uint64_t async_key(const struct chrome_event *e)
{
	return mix(key_bits(&e->id), (uint64_t)e->category << 8 | (e->phase >= 'a'));
}

static uint32_t task_of(struct chrome *c, uint64_t key)
{
	uint32_t task = keymap_find(&c->async_ids, key);

	if (task != KEYMAP_NONE)
		return task;
	task = ++c->async_count;
	return keymap_put(&c->async_ids, key, task) ? 0 : task;
}

static int add_scope(struct chrome *c, const struct chrome_begin *b, int64_t end_ns)
{
	const struct build_span s = {
		.start_ns = b->ts_ns,
		.end_ns = end_ns,
		.thread = b->thread,
		.name = name_or_empty(c, b->name),
		.detail = b->task,
		.kind = BUILD_SCOPE,
	};

	return build_span_add(c->build, &s);
}

static int add_async_begin(struct chrome *c, const struct chrome_event *e)
{
	uint64_t key = async_key(e);
	struct chrome_begin begin = { .ts_ns = e->ts_ns, .name = e->name, .async = true };

	begin.thread = chrome_thread(c, e);
	begin.task = task_of(c, key);
	return begin.thread && begin.task ? begin_push(c, &c->asyncs, key, begin) : -1;
}

/* The innermost begin of the same name; of the older kind, which does not nest, the only one. */
static int add_async_end(struct chrome *c, const struct chrome_event *e)
{
	uint64_t key = async_key(e);
	uint32_t at = begin_top(&c->asyncs, key), above = 0;
	struct chrome_begin begin;

	for (unsigned i = 0; at && i < 64; i++) {
		if (e->phase == 'F' || !e->name || c->begins[at - 1].name == e->name)
			break;
		above = at;
		at = c->begins[at - 1].below;
	}
	if (!at || (e->phase != 'F' && e->name && c->begins[at - 1].name != e->name)) {
		c->counts.lone_ends++;
		return 0;
	}
	begin = begin_free(c, at);
	if (above)
		c->begins[above - 1].below = begin.below;
	else if (keymap_put(&c->asyncs, key, begin.below))
		return -1;
	return add_scope(c, &begin, e->ts_ns < begin.ts_ns ? begin.ts_ns : e->ts_ns);
}

static int add_mark(struct chrome *c, const struct chrome_event *e, bool async)
{
	struct build_span s = {
		.start_ns = e->ts_ns,
		.end_ns = e->ts_ns,
		.name = name_or_empty(c, e->name),
		.kind = BUILD_MARK,
	};

	s.thread = chrome_thread(c, e);
	if (async)
		s.detail = task_of(c, async_key(e));
	return s.thread && (s.detail || !async) ? build_span_add(c->build, &s) : -1;
}

/* "name" of one series, "name.series" of several. */
static uint32_t counter_name(struct chrome *c, const struct chrome_event *e, size_t i)
{
	const char *series = build_text(c->build, e->args.values[i].name);

	if (e->args.value_count == 1)
		return name_or_empty(c, e->name);
	buf_clear(&c->text);
	buf_add_str(&c->text, build_text(c->build, name_or_empty(c, e->name)));
	buf_add_byte(&c->text, '.');
	buf_add_str(&c->text, series);
	return c->text.failed ? 0 : build_name(c->build, c->text.data, c->text.len);
}

static int add_counter(struct chrome *c, const struct chrome_event *e)
{
	struct build_span s = { .start_ns = e->ts_ns, .kind = BUILD_COUNTER };

	s.thread = chrome_thread(c, e);
	for (size_t i = 0; s.thread && i < e->args.value_count; i++) {
		s.name = counter_name(c, e, i);
		s.value = e->args.values[i].value;
		if (!s.name || build_span_add(c->build, &s))
			return -1;
	}
	return s.thread ? 0 : -1;
}

static bool is_named(const struct chrome *c, const struct chrome_event *e, const char *name)
{
	return !strcmp(build_text(c->build, e->name), name);
}

static int add_metadata(struct chrome *c, const struct chrome_event *e)
{
	bool process = is_named(c, e, "process_name");
	uint32_t thread;

	if (!process && !is_named(c, e, "thread_name"))
		return 0; /* orders and colours of a viewer */
	thread = chrome_thread(c, e);
	if (!thread)
		return -1;
	if (process)
		build_process_name(c->build, build_process_of(c->build, thread), e->args.name);
	else
		build_thread_name(c->build, thread, e->args.name);
	return 0;
}

/* Times that cannot be are omitted; a duration that goes backwards is none. */
static bool time_is_usable(struct chrome *c, struct chrome_event *e)
{
	if (e->phase == 'M')
		return true;
	if (!e->has_ts || e->bad_time) {
		c->counts.bad_times++;
		return false;
	}
	if (e->phase != 'X')
		return true;
	c->counts.no_duration += !e->has_dur;
	if (e->dur_ns < 0) {
		c->counts.negative++;
		e->dur_ns = 0;
	}
	return true;
}

int chrome_event_add(struct chrome *c, const struct chrome_event *given)
{
	struct chrome_event e = *given;

	if (!e.phase) {
		c->counts.no_phase++;
		return 0;
	}
	if (!time_is_usable(c, &e))
		return 0;
	switch (e.phase) {
	case 'X':
		return add_complete(c, &e);
	case 'B':
		return add_begin(c, &e);
	case 'E':
		return add_end(c, &e);
	case 'b':
	case 'S':
		return add_async_begin(c, &e);
	case 'e':
	case 'F':
		return add_async_end(c, &e);
	case 'i':
	case 'I':
	case 'P':
	case 'R':
		if (kineto_instant_is_known(c, &e))
			return chrome_count_unmapped(c, &e);
		return add_mark(c, &e, false);
	case 'n':
	case 'T':
	case 'p':
		return add_mark(c, &e, true);
	case 'C':
		return add_counter(c, &e);
	case 'M':
		return add_metadata(c, &e);
	default: /* flows, objects, memory dumps, clocks, contexts */
		return chrome_count_unmapped(c, &e);
	}
}

static int close_begins(struct chrome *c)
{
	for (size_t i = 0; i < c->begin_count; i++) {
		const struct chrome_begin *b = &c->begins[i];

		if (!b->thread)
			continue; /* free */
		c->counts.unclosed++;
		if (b->async ? add_scope(c, b, BUILD_OPEN)
			     : add_span(c, b->thread, b->name, b->ts_ns, BUILD_OPEN))
			return -1;
	}
	return 0;
}

static int note_count(struct chrome *c, uint64_t count, const char *what)
{
	return count ? build_note(c->build, "%llu events %s", (unsigned long long)count, what) : 0;
}

static int by_count(const void *a, const void *b)
{
	const struct chrome_unmapped *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return (x->what > y->what) - (x->what < y->what);
}

#define UNMAPPED_SHOWN 8

static int note_unmapped(struct chrome *c)
{
	uint64_t all = 0;

	if (!c->unmapped_count)
		return 0;
	qsort(c->unmapped, c->unmapped_count, sizeof(*c->unmapped), by_count);
	buf_clear(&c->text);
	for (size_t i = 0; i < c->unmapped_count; i++) {
		all += c->unmapped[i].count;
		if (i < UNMAPPED_SHOWN)
			buf_printf(&c->text, "%s%s %llu", i ? ", " : "",
				   build_text(c->build, c->unmapped[i].what),
				   (unsigned long long)c->unmapped[i].count);
	}
	if (c->unmapped_count > UNMAPPED_SHOWN)
		buf_add_str(&c->text, ", and others");
	return build_note(c->build, "%llu of %llu events have no counterpart here: %s",
			  (unsigned long long)all, (unsigned long long)c->counts.events,
			  buf_string(&c->text));
}

int chrome_finish(struct chrome *c)
{
	const struct chrome_counts *n = &c->counts;

	kineto_finish(c);
	if (close_begins(c) || note_unmapped(c) ||
	    note_count(c, n->bad_times, "have no usable time and were omitted") ||
	    note_count(c, n->no_phase, "have no phase (\"ph\") and were omitted") ||
	    note_count(c, n->negative, "have a negative duration, which counts as 0") ||
	    note_count(c, n->no_duration, "have no duration, which counts as 0") ||
	    note_count(c, n->lone_ends, "end something that never began, and were omitted") ||
	    note_count(c, n->unclosed, "begin something that never ends"))
		return -1;
	return 0;
}
