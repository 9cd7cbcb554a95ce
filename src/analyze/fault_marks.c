#include "analyze/fault_marks.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int fault_marks_add(struct fault_marks *m, const struct fault_at *f)
{
	struct fault_mark *grown = array_grow(m->items, &m->cap, m->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	m->items = grown;
	grown[m->count++] = (struct fault_mark){
		f->time_ns,
		f->process,
		(uint32_t)f->thread,
		f->count,
		f->major ? FAULT_MAJOR : FAULT_MINOR,
	};
	return 0;
}

static int by_process_and_time(const void *a, const void *b)
{
	const struct fault_mark *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

void fault_marks_sort(struct fault_marks *m)
{
	if (m->count)
		qsort(m->items, m->count, sizeof(*m->items), by_process_and_time);
}

static size_t first_of(const struct fault_marks *m, uint64_t process)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->items[mid].process < process)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct fault_mark *fault_marks_of(const struct fault_marks *m, uint32_t process,
					size_t *count)
{
	size_t first = first_of(m, process);

	*count = first_of(m, (uint64_t)process + 1) - first;
	return m->items ? m->items + first : NULL;
}

void fault_marks_release(struct fault_marks *m)
{
	free(m->items);
	memset(m, 0, sizeof(*m));
}
