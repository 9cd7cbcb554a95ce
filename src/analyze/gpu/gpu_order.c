#include "analyze/gpu/gpu_sections.h"

#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"

#define BY_LESS(x, y)                              \
	do {                                       \
		if ((x) != (y))                    \
			return (x) < (y) ? -1 : 1; \
	} while (0)
#define BY_MORE(x, y) BY_LESS(y, x)
#define BY_TEXT(x, y)                                       \
	do {                                                \
		int order_ = (x) == (y) ? 0 : strcmp(x, y); \
		if (order_)                                 \
			return order_;                      \
	} while (0)

static void take_longest(int64_t *longest_ns, int64_t ns)
{
	if (ns > *longest_ns)
		*longest_ns = ns;
}

int gpu_kernel_identity(const void *a, const void *b)
{
	const struct gpu_kernel_figures *x = a, *y = b;

	BY_TEXT(x->full_name, y->full_name);
	return 0;
}

void gpu_kernel_add(void *into, const void *from)
{
	struct gpu_kernel_figures *x = into;
	const struct gpu_kernel_figures *y = from;

	x->count += y->count;
	x->total_ns = stats_add(x->total_ns, y->total_ns);
	take_longest(&x->longest_ns, y->longest_ns);
}

int gpu_kernel_brief_identity(const void *a, const void *b)
{
	const struct gpu_kernel_figures *x = a, *y = b;

	BY_TEXT(x->name, y->name);
	return 0;
}

void gpu_kernel_join(void *into, const void *from)
{
	struct gpu_kernel_figures *x = into;
	const struct gpu_kernel_figures *y = from;

	gpu_kernel_add(into, from);
	x->variants += y->variants;
	if (strcmp(y->full_name, x->full_name) < 0)
		x->full_name = y->full_name; /* whichever came first */
}

int gpu_kernel_order(const void *a, const void *b)
{
	const struct gpu_kernel_figures *x = a, *y = b;

	BY_MORE(x->total_ns, y->total_ns);
	BY_MORE(x->count, y->count);
	return gpu_kernel_identity(a, b);
}

int gpu_copy_identity(const void *a, const void *b)
{
	const struct gpu_copy_figures *x = a, *y = b;

	BY_TEXT(x->kind, y->kind);
	BY_TEXT(x->source, y->source);
	BY_TEXT(x->destination, y->destination);
	BY_LESS(x->asynchronous, y->asynchronous);
	return 0;
}

void gpu_copy_add(void *into, const void *from)
{
	struct gpu_copy_figures *x = into;
	const struct gpu_copy_figures *y = from;

	x->count += y->count;
	x->bytes += y->bytes;
	x->total_ns = stats_add(x->total_ns, y->total_ns);
}

int gpu_copy_order(const void *a, const void *b)
{
	const struct gpu_copy_figures *x = a, *y = b;

	BY_MORE(x->total_ns, y->total_ns);
	BY_MORE(x->bytes, y->bytes);
	return gpu_copy_identity(a, b);
}

int gpu_call_identity(const void *a, const void *b)
{
	const struct gpu_call_figures *x = a, *y = b;

	BY_TEXT(x->name, y->name);
	return 0;
}

void gpu_call_add(void *into, const void *from)
{
	struct gpu_call_figures *x = into;
	const struct gpu_call_figures *y = from;

	x->count += y->count;
	x->total_ns = stats_add(x->total_ns, y->total_ns);
	take_longest(&x->longest_ns, y->longest_ns);
}

int gpu_call_order(const void *a, const void *b)
{
	const struct gpu_call_figures *x = a, *y = b;

	BY_MORE(x->total_ns, y->total_ns);
	BY_MORE(x->count, y->count);
	return gpu_call_identity(a, b);
}

int gpu_line_identity(const void *a, const void *b)
{
	const struct gpu_line_figures *x = a, *y = b;

	BY_TEXT(x->file, y->file);
	BY_LESS(x->line, y->line);
	BY_TEXT(x->function, y->function);
	return 0;
}

void gpu_line_add(void *into, const void *from)
{
	struct gpu_line_figures *x = into;
	const struct gpu_line_figures *y = from;

	x->calls += y->calls;
	x->gpu_ns = stats_add(x->gpu_ns, y->gpu_ns);
	x->captured_ns = stats_add(x->captured_ns, y->captured_ns);
	x->api_ns = stats_add(x->api_ns, y->api_ns);
	take_longest(&x->longest_ns, y->longest_ns);
}

int gpu_line_order(const void *a, const void *b)
{
	const struct gpu_line_figures *x = a, *y = b;

	BY_MORE(x->gpu_ns, y->gpu_ns);
	BY_MORE(x->calls, y->calls);
	return gpu_line_identity(a, b);
}

int gpu_sync_order(const void *a, const void *b)
{
	const struct gpu_line_figures *x = a, *y = b;

	BY_MORE(x->api_ns, y->api_ns);
	BY_MORE(x->calls, y->calls);
	return gpu_line_identity(a, b);
}

int gpu_most_calls_first(const void *a, const void *b)
{
	const struct gpu_line_figures *x = ((const struct gpu_line_ref *)a)->line;
	const struct gpu_line_figures *y = ((const struct gpu_line_ref *)b)->line;

	BY_MORE(x->calls, y->calls);
	return gpu_line_order(x, y);
}

int gpu_stream_order(const void *a, const void *b)
{
	const struct gpu_stream_figures *x = a, *y = b;

	BY_MORE(x->busy_ns, y->busy_ns);
	BY_LESS(x->device, y->device);
	BY_LESS(x->context, y->context);
	BY_LESS(x->stream, y->stream);
	return 0;
}

int gpu_section_order(const void *a, const void *b)
{
	const struct gpu_section *x = a, *y = b;

	BY_MORE(x->busy_ns, y->busy_ns);
	BY_LESS(x->process, y->process);
	return 0;
}

int gpu_change_order(const void *a, const void *b)
{
	const struct gpu_change *x = ((const struct gpu_change_ref *)a)->change;
	const struct gpu_change *y = ((const struct gpu_change_ref *)b)->change;

	BY_LESS(x->process, y->process);
	BY_LESS(x->time_ns, y->time_ns);
	BY_LESS(x, y); /* they lie in one array */
	return 0;
}

const struct gpu_change_ref *gpu_changes_of(const struct gpu_change_ref *changes, size_t n,
					    uint32_t process, size_t *count)
{
	size_t at = 0, end;

	BISECT(at, n, changes[at].change->process < process);
	for (end = at; end < n && changes[end].change->process == process;)
		end++;
	*count = end - at;
	return changes + at;
}
