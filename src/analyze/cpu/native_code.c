#include "analyze/cpu/thread_states.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/figures/stats.h"
#include "base/array.h"
#include "timeline/kernel_names.h"

#define NAME_MAX_BYTES 4096 /* C++ can make longer ones, but they are unreadable */

void native_code_init(struct native_code *n, int64_t from_ns, int64_t until_ns)
{
	memset(n, 0, sizeof(*n));
	n->from_ns = from_ns;
	n->until_ns = until_ns;
	pair_map_init(&n->at);
}

void native_code_release(struct native_code *n)
{
	free(n->items);
	pair_map_release(&n->at);
	memset(n, 0, sizeof(*n));
}

static uint32_t python_function(const struct native_sample_at *l,
				const struct sample_window *window, const struct trace *t)
{
	const struct window_thread *thread = sample_window_thread(window, (uint32_t)l->thread);
	const struct window_sample *sample =
		thread ? sample_window_at(window, thread, l->time_ns) : NULL;

	return sample && sample->start_ns <= l->time_ns ? window_sample_innermost(t, sample) : 0;
}

int native_code_add(struct native_code *n, const struct native_sample_at *l,
		    const struct sample_window *window, const struct trace *t)
{
	uint32_t code = window ? python_function(l, window, t) : 0;
	size_t at = pair_map_find(&n->at, l->place, code);

	if (at == PAIR_NONE) {
		struct native_totals *grown =
			array_grow(n->items, &n->cap, n->count + 1, sizeof(*grown));

		if (!grown)
			return -1;
		n->items = grown;
		at = n->count;
		if (pair_map_put(&n->at, l->place, code, at))
			return -1;
		grown[n->count++] = (struct native_totals){ .place = l->place, .code = code };
	}
	n->items[at].samples++;
	n->items[at].in_steps += l->time_ns >= n->from_ns && l->time_ns < n->until_ns;
	return 0;
}

/* Is it the same native function? */
static int by_function(const struct analysis_native_row *x, const struct analysis_native_row *y)
{
	int order = compare_texts(x->symbol, y->symbol);

	return order ? order : compare_texts(x->library, y->library);
}

static int by_names(const void *a, const void *b)
{
	const struct analysis_native_row *x = a, *y = b;
	int order = by_function(x, y);

	if (!order)
		order = compare_texts(x->python.name, y->python.name);
	if (!order)
		order = compare_texts(x->python.file, y->python.file);
	return order                             ? order
	       : x->python.line < y->python.line ? -1
						 : x->python.line > y->python.line;
}

static int most_first(const void *a, const void *b)
{
	const struct analysis_native_row *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return by_names(a, b);
}

/* NULL where it is unknown, or there is no memory. */
static const char *readable_name(struct arena *texts, const char *symbol)
{
	char name[NAME_MAX_BYTES];
	char *kept;
	size_t bytes;

	if (!symbol || symbol[0] != '_' || symbol[1] != 'Z')
		return symbol;
	bytes = kernel_demangle(symbol, name, sizeof(name));
	kept = arena_alloc(texts, bytes + 1);
	if (kept)
		memcpy(kept, name, bytes + 1);
	return kept;
}

static struct analysis_native_row row_of(const struct native_totals *n, const struct trace *t)
{
	const struct trace_native *place = trace_native(t, n->place);
	const struct trace_code *code = trace_code(t, n->code);
	struct analysis_native_row row = { .samples = n->samples, .in_steps = n->in_steps };

	if (place) {
		row.symbol = trace_string(t, place->symbol);
		row.library = trace_string(t, place->library);
	}
	if (code)
		row.python = (struct place){ code->name, code->file, code->line };
	return row;
}

/* One library's rows together, and in them one function's. */
static int by_library(const void *a, const void *b)
{
	const struct analysis_native_row *x = a, *y = b;
	int order = compare_texts(x->library, y->library);

	return order ? order : by_names(a, b);
}

static void rank_library(struct analysis_native *out, const struct analysis_native_row *row)
{
	size_t at = out->library_count;

	while (at && most_first(row, &out->libraries[at - 1]) < 0)
		at--;
	if (at == NATIVE_LIBRARIES)
		return;
	if (out->library_count < NATIVE_LIBRARIES)
		out->library_count++;
	memmove(&out->libraries[at + 1], &out->libraries[at],
		(out->library_count - 1 - at) * sizeof(*out->libraries));
	out->libraries[at] = *row;
}

/* Reorders the rows. */
static void find_libraries(struct analysis_native *out)
{
	qsort(out->rows, out->count, sizeof(*out->rows), by_library);
	for (size_t i = 0, next = 0; i < out->count; i = next) {
		struct analysis_native_row sum = { .library = out->rows[i].library };
		uint64_t most = 0, function = 0;
		const char *name = NULL;

		for (; next < out->count && !compare_texts(sum.library, out->rows[next].library);
		     next++) {
			const struct analysis_native_row *r = &out->rows[next];

			if (next == i || by_function(r, r - 1))
				function = 0;
			function += r->samples;
			sum.samples += r->samples;
			if (function > most) {
				most = function;
				name = r->symbol;
			}
		}
		if (most > sum.samples / 2)
			sum.symbol = name;
		rank_library(out, &sum);
	}
}

int native_code_finish(const struct native_code *n, const struct trace *t,
		       struct analysis_native *out)
{
	size_t rows = 0;

	arena_init(&out->texts);
	out->rows = calloc(n->count + 1, sizeof(*out->rows));
	if (!out->rows)
		return -1;
	for (size_t i = 0; i < n->count; i++) {
		out->rows[i] = row_of(&n->items[i], t);
		out->samples += n->items[i].samples;
	}
	/* Many places are one function. */
	qsort(out->rows, n->count, sizeof(*out->rows), by_names);
	for (size_t i = 0; i < n->count; i++) {
		if (rows && !by_names(&out->rows[rows - 1], &out->rows[i])) {
			out->rows[rows - 1].samples += out->rows[i].samples;
			out->rows[rows - 1].in_steps += out->rows[i].in_steps;
		} else {
			out->rows[rows++] = out->rows[i];
		}
	}
	out->count = rows;
	find_libraries(out);
	qsort(out->rows, rows, sizeof(*out->rows), most_first);
	for (size_t i = 0; i < rows; i++)
		out->rows[i].symbol = readable_name(&out->texts, out->rows[i].symbol);
	for (size_t i = 0; i < out->library_count; i++)
		out->libraries[i].symbol = readable_name(&out->texts, out->libraries[i].symbol);
	return 0;
}
