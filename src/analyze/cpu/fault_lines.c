#include "analyze/cpu/thread_states.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"

void fault_lines_init(struct fault_lines *f)
{
	memset(f, 0, sizeof(*f));
	pair_map_init(&f->at);
}

void fault_lines_release(struct fault_lines *f)
{
	free(f->items);
	pair_map_release(&f->at);
	memset(f, 0, sizeof(*f));
}

static uint32_t stack_of(const struct fault_at *fault, const struct sample_window *window)
{
	const struct window_thread *thread =
		window ? sample_window_thread(window, (uint32_t)fault->thread) : NULL;
	const struct window_sample *sample =
		thread ? sample_window_at(window, thread, fault->time_ns) : NULL;

	return sample && sample->start_ns <= fault->time_ns ? sample->stack : 0;
}

int fault_lines_add(struct fault_lines *f, const struct fault_at *fault,
		    const struct sample_window *window)
{
	uint32_t stack = stack_of(fault, window);
	size_t at = pair_map_find(&f->at, 0, stack);

	if (at == PAIR_NONE) {
		struct fault_totals *grown =
			array_grow(f->items, &f->cap, f->count + 1, sizeof(*grown));

		if (!grown)
			return -1;
		f->items = grown;
		at = f->count;
		if (pair_map_put(&f->at, 0, stack, at))
			return -1;
		grown[f->count++] = (struct fault_totals){ .stack = stack };
	}
	if (fault->time_ns > f->items[at].last_ns)
		f->items[at].last_ns = fault->time_ns;
	if (fault->major)
		f->items[at].major += fault->count;
	else
		f->items[at].minor += fault->count;
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct memory_line *x = a, *y = b;
	int order = compare_texts(x->place.name, y->place.name);

	if (!order)
		order = compare_texts(x->place.file, y->place.file);
	if (order)
		return order;
	return x->place.line < y->place.line ? -1 : x->place.line > y->place.line;
}

static int most_first(const void *a, const void *b)
{
	const struct memory_line *x = a, *y = b;
	uint64_t m = x->minor + x->major, n = y->minor + y->major;

	if (m != n)
		return m > n ? -1 : 1;
	return by_place(a, b);
}

int fault_lines_finish(const struct fault_lines *f, struct analysis *a)
{
	struct memory_line *lines = calloc(f->count + 1, sizeof(*lines));
	size_t n = 0;

	if (!lines)
		return -1;
	for (size_t i = 0; i < f->count; i++) {
		struct place innermost = { 0 }, user = { 0 };

		if (f->items[i].stack)
			gpu_stack_places(a->gpu.timeline, f->items[i].stack, &innermost, &user);
		lines[i] = (struct memory_line){
			.place = user,
			.minor = f->items[i].minor,
			.major = f->items[i].major,
			.last_ns = f->items[i].last_ns,
		};
		a->memory.seen_minor += lines[i].minor;
		a->memory.seen_major += lines[i].major;
	}
	/* Many stacks have one line in common. */
	qsort(lines, f->count, sizeof(*lines), by_place);
	for (size_t i = 0; i < f->count; i++) {
		if (n && !by_place(&lines[n - 1], &lines[i])) {
			lines[n - 1].minor += lines[i].minor;
			lines[n - 1].major += lines[i].major;
			if (lines[i].last_ns > lines[n - 1].last_ns)
				lines[n - 1].last_ns = lines[i].last_ns;
		} else {
			lines[n++] = lines[i];
		}
	}
	qsort(lines, n, sizeof(*lines), most_first);
	a->memory.lines = lines;
	a->memory.line_count = n;
	return 0;
}
