#include "analyze/cpu/thread_states.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "timeline/code_owner.h"

void sample_window_release(struct sample_window *w)
{
	free(w->items);
	free(w->threads);
	memset(w, 0, sizeof(*w));
}

int sample_window_add(struct sample_window *w, const struct window_sample *l)
{
	struct window_sample *grown = array_grow(w->items, &w->cap, w->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	w->items = grown;
	grown[w->count++] = *l;
	return 0;
}

void sample_window_clear(struct sample_window *w)
{
	w->count = w->thread_count = 0;
}

static int by_thread_and_time(const void *a, const void *b)
{
	const struct window_sample *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

int sample_window_sort(struct sample_window *w)
{
	if (w->count)
		qsort(w->items, w->count, sizeof(*w->items), by_thread_and_time);
	w->thread_count = 0;
	for (size_t i = 0; i < w->count; i++) {
		struct window_thread *grown;

		if (w->thread_count &&
		    w->threads[w->thread_count - 1].thread == w->items[i].thread) {
			w->threads[w->thread_count - 1].count++;
			continue;
		}
		grown = array_grow(w->threads, &w->thread_cap, w->thread_count + 1, sizeof(*grown));
		if (!grown)
			return -1;
		w->threads = grown;
		grown[w->thread_count++] = (struct window_thread){ w->items[i].thread, i, 1 };
	}
	return 0;
}

const struct window_thread *sample_window_thread(const struct sample_window *w, uint32_t thread)
{
	size_t at = 0;

	BISECT(at, w->thread_count, w->threads[at].thread < thread);
	return at < w->thread_count && w->threads[at].thread == thread ? &w->threads[at] : NULL;
}

const struct window_sample *sample_window_at(const struct sample_window *w,
					     const struct window_thread *t, int64_t time_ns)
{
	size_t at = t->first;

	/* A thread's samples do not overlap: their ends are in order. */
	BISECT(at, t->first + t->count, w->items[at].end_ns <= time_ns);
	return at < t->first + t->count ? &w->items[at] : NULL;
}

const struct window_sample *sample_window_next(const struct sample_window *w,
					       const struct window_thread *t,
					       const struct window_sample *l)
{
	size_t next = (size_t)(l - w->items) + 1;

	return next < t->first + t->count ? &w->items[next] : NULL;
}

uint32_t window_sample_innermost(const struct trace *t, const struct window_sample *l)
{
	size_t count;
	const struct trace_frame *frames = trace_stack(t, l->stack, &count);

	for (size_t i = 0; frames && i < count; i++) {
		if (frames[i].code)
			return frames[i].code;
	}
	return 0;
}

bool window_sample_contains(const struct trace *t, const struct window_sample *l, uint32_t code)
{
	size_t count;
	const struct trace_frame *frames = trace_stack(t, l->stack, &count);

	for (size_t i = 0; frames && i < count; i++) {
		if (frames[i].code == code)
			return true;
	}
	return false;
}

/* Frames, counted from the outermost, in which two stacks are in the same functions. */
static size_t shared_depth(const struct trace_frame *a, size_t a_count, const struct trace_frame *b,
			   size_t b_count)
{
	size_t least = a_count < b_count ? a_count : b_count, n = 0;

	while (n < least && a[a_count - 1 - n].code == b[b_count - 1 - n].code)
		n++;
	return n;
}

/* How many of the outermost frames of its first stack a thread had all the time; 0: none. */
static size_t common_depth(const struct sample_window *w, const struct trace *t,
			   const struct window_thread *thread, int64_t start_ns, int64_t end_ns,
			   const struct trace_frame **first, size_t *first_count)
{
	size_t depth = 0;

	*first = NULL;
	for (const struct window_sample *l = sample_window_at(w, thread, start_ns);
	     l && l->start_ns < end_ns; l = sample_window_next(w, thread, l)) {
		size_t count = 0, shared;
		const struct trace_frame *frames = trace_stack(t, l->stack, &count);

		if (!frames || !count)
			return 0;
		if (!*first) {
			*first = frames;
			*first_count = depth = count;
			continue;
		}
		shared = shared_depth(*first, *first_count, frames, count);
		if (shared < depth)
			depth = shared;
	}
	return depth;
}

uint32_t sample_window_common(const struct sample_window *w, const struct trace *t,
			      const struct window_thread *thread, int64_t start_ns, int64_t end_ns)
{
	const struct trace_frame *first;
	size_t count = 0, depth = common_depth(w, t, thread, start_ns, end_ns, &first, &count);

	return depth ? first[count - depth].code : 0;
}

uint32_t sample_window_users(const struct sample_window *w, const struct trace *t,
			     const struct window_thread *thread, int64_t start_ns, int64_t end_ns)
{
	const struct trace_frame *first;
	size_t count = 0, depth = common_depth(w, t, thread, start_ns, end_ns, &first, &count);

	for (size_t i = count - depth; i < count; i++) {
		const struct trace_code *code = trace_code(t, first[i].code);

		if (code && user_frame(code->name, code->file))
			return first[i].code;
	}
	return depth ? first[count - depth].code : 0;
}

static uint32_t innermost_users(const struct trace *t, const struct window_sample *l)
{
	size_t count;
	const struct trace_frame *frames = trace_stack(t, l->stack, &count);

	for (size_t i = 0; frames && i < count; i++) {
		const struct trace_code *code = trace_code(t, frames[i].code);

		if (code && user_frame(code->name, code->file))
			return frames[i].code;
	}
	return 0;
}

/*
 * Boyer and Moore's vote, by time: what has more than half of it wins, and where nothing has, one
 * of the frequent ones does.
 */
uint32_t sample_window_mostly(const struct sample_window *w, const struct trace *t,
			      const struct window_thread *thread, int64_t start_ns, int64_t end_ns)
{
	uint32_t most = 0;
	int64_t lead_ns = 0;

	for (const struct window_sample *l = sample_window_at(w, thread, start_ns);
	     l && l->start_ns < end_ns; l = sample_window_next(w, thread, l)) {
		uint32_t code = innermost_users(t, l);
		int64_t ns = window_sample_overlap_ns(l, start_ns, end_ns);

		if (code == most) {
			lead_ns += ns;
		} else if (ns > lead_ns) {
			most = code;
			lead_ns = ns - lead_ns;
		} else {
			lead_ns -= ns;
		}
	}
	return most;
}
