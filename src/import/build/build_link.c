/*
 * Who did what, once everything is there.
 *
 * Device work is of the process whose call started it; where its correlation says nothing, of the
 * one that makes most calls.  Two calls of a process with one correlation (a runtime call and the
 * driver call inside it) would make the link ambiguous: the one that can have started work, or
 * else the outer one, keeps the number and the other gets one that is free.
 */
#include <stdlib.h>
#include <string.h>

#include "import/build/build_tables.h"

static bool starts_work(const struct build *b, const struct build_span *s)
{
	switch (build_call_of(b, s)) {
	case CUDA_CALL_LAUNCH:
	case CUDA_CALL_GRAPH_LAUNCH:
	case CUDA_CALL_COPY:
	case CUDA_CALL_MEMSET:
		return true;
	default:
		return false;
	}
}

/* Is x the better owner of the correlation they share? */
static bool owns(const struct build *b, const struct build_span *x, const struct build_span *y)
{
	bool x_starts = starts_work(b, x), y_starts = starts_work(b, y);

	return x_starts != y_starts ? x_starts : x->start_ns < y->start_ns;
}

static uint32_t new_correlation(struct build *b)
{
	if (b->last_correlation < UINT32_MAX - 1)
		b->last_correlation++;
	return b->last_correlation;
}

/* Where each call is, and whose. */
struct call_index {
	struct keymap calls; /* (process, correlation) to the position of the call */
	/* correlation to the process that has it; SEVERAL.  Empty where all work says whose it is.
	 */
	struct keymap owners;
	bool owners_wanted;
};

#define SEVERAL 0

static int owner_put(struct call_index *x, uint32_t correlation, uint32_t process)
{
	uint32_t known;

	if (!x->owners_wanted)
		return 0;
	known = keymap_find(&x->owners, correlation);
	if (known == process)
		return 0;
	return keymap_put(&x->owners, correlation, known == KEYMAP_NONE ? process : SEVERAL);
}

static int calls_index(struct build *b, struct call_index *x)
{
	x->owners_wanted = false;
	for (size_t i = 0; i < b->activities.count && !x->owners_wanted; i++)
		x->owners_wanted = !build_activity(b, i)->process;
	for (size_t i = 0; i < b->spans.count; i++) {
		const struct build_span *s = build_span(b, i);

		if (s->kind == BUILD_CUDA && s->detail > b->last_correlation)
			b->last_correlation = s->detail;
	}
	for (size_t i = 0; i < b->spans.count; i++) {
		struct build_span *s = build_span(b, i), *other;
		uint32_t process = b->threads[s->thread].process, at;
		uint64_t key;

		if (s->kind != BUILD_CUDA || !s->detail)
			continue;
		key = (uint64_t)process << 32 | s->detail;
		at = keymap_find(&x->calls, key);
		if (at != KEYMAP_NONE) {
			other = build_span(b, at);
			if (!owns(b, s, other)) {
				s->detail = new_correlation(b);
				continue;
			}
			other->detail = new_correlation(b);
		}
		if (keymap_put(&x->calls, key, (uint32_t)i) || owner_put(x, s->detail, process))
			return -1;
	}
	return 0;
}

static void widen(int64_t *first_ns, int64_t *last_ns, int64_t start_ns, int64_t end_ns)
{
	if (start_ns < *first_ns)
		*first_ns = start_ns;
	if (end_ns > *last_ns)
		*last_ns = end_ns;
}

static int64_t known_end(const struct build_span *s)
{
	bool moment = s->kind == BUILD_COUNTER || s->kind == BUILD_MARK || s->end_ns == BUILD_OPEN;

	return moment ? s->start_ns : s->end_ns;
}

static void spans_count(struct build *b)
{
	for (size_t i = 0; i < b->spans.count; i++) {
		const struct build_span *s = build_span(b, i);
		struct build_thread_entry *t = &b->threads[s->thread];

		t->spans++;
		t->items += s->kind == BUILD_SCOPE && s->end_ns != BUILD_OPEN ? 2 : 1;
		t->calls += s->kind == BUILD_CUDA;
		widen(&t->first_ns, &t->last_ns, s->start_ns, known_end(s));
	}
	for (uint32_t i = 1; i < b->thread_count; i++) {
		const struct build_thread_entry *t = &b->threads[i];
		struct build_process_entry *p = &b->processes[t->process];

		if (!t->spans)
			continue;
		if (!p->speaker || t->calls > b->threads[p->speaker].calls)
			p->speaker = i;
		p->spans += t->spans;
		p->calls += t->calls;
		widen(&p->first_ns, &p->last_ns, t->first_ns, t->last_ns);
	}
}

/* 0: there is none at all. */
static uint32_t main_process(const struct build *b)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < b->process_count; i++) {
		const struct build_process_entry *p = &b->processes[i];
		const struct build_process_entry *q = &b->processes[best];

		if (p->spans &&
		    (!best || p->calls > q->calls || (p->calls == q->calls && p->spans > q->spans)))
			best = i;
	}
	return best;
}

/* Where several processes have a call with this number it is the main one's. */
static uint32_t process_of(const struct call_index *x, uint32_t correlation, uint32_t main)
{
	uint32_t owner = correlation ? keymap_find(&x->owners, correlation) : KEYMAP_NONE;

	return owner == KEYMAP_NONE || owner == SEVERAL ? main : owner;
}

/* What the records of some tools do not say shows in the call: cudaMemcpyAsync(). */
static bool is_asynchronous(const struct build *b, const struct call_index *x,
			    const struct build_activity *a)
{
	uint32_t at = keymap_find(&x->calls, (uint64_t)a->process << 32 | a->correlation);
	const char *name;

	if (!a->correlation || at == KEYMAP_NONE)
		return false;
	name = build_text(b, build_span(b, at)->name);
	return strstr(name, "Async") ||
	       build_call_of(b, build_span(b, at)) == CUDA_CALL_GRAPH_LAUNCH;
}

/* A recording of ours has one device for each process; figures are of all of a process. */
static int note_devices(struct build *b)
{
	uint32_t several = 0;

	for (uint32_t i = 1; i < b->process_count; i++)
		several += b->processes[i].several;
	if (!several)
		return 0;
	return build_note(
		b,
		"%u processes used more than one GPU each: busy and idle times are of all "
		"of them together; 'inferscope query' tells them apart by `device`",
		several);
}

static int activities_assign(struct build *b, const struct call_index *x, uint32_t main)
{
	uint64_t before = 0;

	if (!main) {
		main = build_process(b, UINT64_MAX, 0);
		if (!main)
			return -1;
	}
	for (size_t i = 0; i < b->activities.count; i++) {
		struct build_activity *a = build_activity(b, i);
		struct build_process_entry *p;

		if (!a->process)
			a->process = process_of(x, a->correlation, main);
		if (a->kind != RECORD_GPU_KERNEL && !a->told)
			a->asynchronous = is_asynchronous(b, x, a);
		p = &b->processes[a->process];
		p->several = p->several || (p->activities && p->device != a->device);
		if (!p->activities++)
			p->device = a->device;
		widen(&p->first_ns, &p->last_ns, a->start_ns, a->end_ns);
	}
	if (note_devices(b))
		return -1;
	/* Somebody has to tell of it. */
	for (uint32_t i = 1; i < b->process_count; i++) {
		b->processes[i].first_activity = before;
		before += b->processes[i].activities;
		if (!b->processes[i].activities || b->processes[i].speaker)
			continue;
		b->processes[i].speaker = build_thread(b, i, UINT64_MAX - i, 0);
		if (!b->processes[i].speaker)
			return -1;
		build_thread_name(b, b->processes[i].speaker, build_name(b, "GPU", 3));
	}
	return 0;
}

/* The main process first: that is how a recording numbers them. */
static void number(struct build *b, uint32_t main)
{
	uint32_t next = 1, next_thread = 1;

	if (main)
		b->processes[main].id = next++;
	for (uint32_t i = 1; i < b->process_count; i++) {
		struct build_process_entry *p = &b->processes[i];

		if (i != main && (p->spans || p->activities))
			p->id = next++;
	}
	for (uint32_t i = 1; i < b->thread_count; i++) {
		struct build_thread_entry *t = &b->threads[i];

		if (t->spans ||
		    (b->processes[t->process].speaker == i && b->processes[t->process].activities))
			t->id = next_thread++;
	}
}

static void set_origin(struct build *b)
{
	b->origin_ns = INT64_MAX;
	b->end_ns = INT64_MIN;
	for (uint32_t i = 1; i < b->process_count; i++)
		if (b->processes[i].id)
			widen(&b->origin_ns, &b->end_ns, b->processes[i].first_ns,
			      b->processes[i].last_ns);
	if (b->window_start_ns <= b->window_end_ns)
		widen(&b->origin_ns, &b->end_ns, b->window_start_ns, b->window_end_ns);
	if (b->origin_ns > b->end_ns)
		b->origin_ns = b->end_ns = 0;
}

int build_link(struct build *b)
{
	struct call_index index;
	uint32_t main;
	int rc;

	keymap_init(&index.calls);
	keymap_init(&index.owners);
	rc = calls_index(b, &index);
	if (!rc) {
		spans_count(b);
		main = main_process(b);
		if (b->activities.count)
			rc = activities_assign(b, &index, main);
	}
	keymap_release(&index.calls);
	keymap_release(&index.owners);
	if (rc)
		return -1;
	number(b, main_process(b));
	set_origin(b);
	return 0;
}
