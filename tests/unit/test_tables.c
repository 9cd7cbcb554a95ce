/* links: is_tables is_report */
/* The trace as tables: every cell keeps its column's word, and rows agree with the timeline. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "story.h"
#include "tables/table.h"
#include "timeline/gpu.h"
#include "timeline/timeline.h"

static const char program[] =
	"info gpu on\n"
	"process 1 100 serve.py 0 90000000\n"
	"thread 1 1 100 MainThread 0 90000000 5 7000 800\n"
	"thread 2 1 102 - 1000000 90000000 0\n"
	"code infer /srv/serve.py 40\n"
	"code old /srv/serve.py 60\n"
	"stack 1 infer:44\n"
	"layer 1 0 Net -\n"
	"layer 2 1 Linear fc\n"
	"nvtx 1 copy io 3 -\n"
	"device 1 0 600000 NVIDIA H200\n"
	"look 1 1 3000000 3200000 3 1\n"
	"look 1 1 3300000 3500000 3 2\n"
	"native 1 3100000 memcpy libc.so.6\n"
	"fault 1 3150000 4 memset libc.so.6\n"
	"series 1 rss_bytes 4096@10000000 8192@20000000\n"
	"1: +infer@1000000 [request#1/9@1100000 <1@1200000 <2@1300000\n"
	"1: {cudaLaunchKernel#1:1/1@1400000 }1@1405000 </2@1500000\n"
	"1: {cudaLaunchKernel#2:1/0@1600000 }2@1605000 </1@1700000\n"
	"1: {cudaMemcpyAsync#3:3=64/1@1800000 }3@1810000 {cudaMemsetAsync#4:4/1@1820000 "
	"}4@1830000\n"
	"1: ]#1@1900000 =done/9@1950000 counter:depth=2.5@1960000 (2@1970000 )2@1980000:12\n"
	"1: lost:5 -infer@2000000\n"
	"2: kernel:gemm#1@2100000:1500000+100000/7 kernel:relu#2@2100000:1650000+50000/7\n"
	"2: copy:1,1,3,64#3@2100000:1820000+1000/7 memset:32#4@2100000:1840000+500/7\n"
	"2: kernel:untimed#9@2100000:0+0/7\n";

struct opened {
	char path[32];
	struct trace *trace;
	struct table_source *source;
	struct err err;
};

static void open_story(struct opened *o, const char *story)
{
	strcpy(o->path, "/tmp/tables-XXXXXX");
	story_write(o->path, story);
	assert_int_equal(trace_open(&o->trace, o->path, &o->err), 0);
	assert_int_equal(table_source_new(&o->source, o->trace, &o->err), 0);
}

static void close_story(struct opened *o)
{
	table_source_free(o->source);
	trace_close(o->trace);
	unlink(o->path);
}

static void check_cell(const struct column *column, const struct cell *c)
{
	switch (c->kind) {
	case CELL_NULL:
		break;
	case CELL_INTEGER:
		assert_true(column->type == COLUMN_INTEGER || column->type == COLUMN_BOOLEAN);
		if (column->type == COLUMN_BOOLEAN)
			assert_in_range(c->integer, 0, 1);
		break;
	case CELL_REAL:
		assert_int_equal(column->type, COLUMN_REAL);
		break;
	case CELL_TEXT:
		assert_int_equal(column->type, COLUMN_TEXT);
		assert_non_null(c->text);
		break;
	}
}

static size_t read_table(struct opened *o, const struct table *t)
{
	struct table_cursor *c;
	size_t rows = 0;
	int rc;

	assert_int_equal(table_open(&c, t, o->source, &o->err), 0);
	while ((rc = table_next(c, &o->err)) > 0) {
		rows++;
		for (size_t i = 0; i < t->column_count; i++) {
			struct cell cell;

			table_cell(c, i, &cell);
			check_cell(&t->columns[i], &cell);
		}
	}
	assert_int_equal(rc, 0);
	assert_int_equal(table_next(c, &o->err), 0); /* the end stays the end */
	table_close(c);
	return rows;
}

static void every_table_has_rows_and_cells_of_their_types(void **state)
{
	/* Neither a graph as a whole nor a thread without a CPU is in the story. */
	static const char *const empty[] = { "graphs", "off_cpu", "findings" };
	struct opened o;

	(void)state;
	open_story(&o, program);
	for (size_t i = 0; table_at(i); i++) {
		size_t rows = read_table(&o, table_at(i));
		bool none = false;

		for (size_t k = 0; k < sizeof(empty) / sizeof(*empty); k++)
			none |= !strcmp(empty[k], table_at(i)->name);
		if (!none && !rows)
			fail_msg("%s has no rows", table_at(i)->name);
	}
	close_story(&o);
}

static void kernel_text(struct table_cursor *c, const char *column, char out[256])
{
	struct cell cell;

	table_cell(c, table_column_find(table_find("kernels"), column), &cell);
	switch (cell.kind) {
	case CELL_NULL:
		strcpy(out, "-");
		break;
	case CELL_INTEGER:
		snprintf(out, 256, "%" PRId64, cell.integer);
		break;
	case CELL_REAL:
		snprintf(out, 256, "%g", cell.real);
		break;
	case CELL_TEXT:
		snprintf(out, 256, "%s", cell.text);
		break;
	}
}

static void kernels_know_their_launch_layer_step_and_line(void **state)
{
	static const char *const columns[] = { "name",  "start_ns", "duration_ns", "launch_ns",
					       "layer", "function", "line",        "stream" };
	static const char *const wanted[] = {
		"untimed - - - - - - 7",
		"gemm 1500000 100000 1400000 fc infer 44 7",
		"relu 1650000 50000 1600000 Net - - 7",
	};
	struct table_cursor *c;
	struct opened o;

	(void)state;
	open_story(&o, program);
	assert_int_equal(table_open(&c, table_find("kernels"), o.source, &o.err), 0);
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		char line[1024] = "", text[256];

		assert_int_equal(table_next(c, &o.err), 1);
		for (size_t k = 0; k < sizeof(columns) / sizeof(*columns); k++) {
			kernel_text(c, columns[k], text);
			snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s",
				 k ? " " : "", text);
		}
		assert_string_equal(line, wanted[i]);
	}
	assert_int_equal(table_next(c, &o.err), 0);
	table_close(c);
	close_story(&o);
}

static void a_row_can_be_reached_by_its_id(void **state)
{
	struct opened o;

	(void)state;
	open_story(&o, program);
	for (size_t i = 0; table_at(i); i++) {
		const struct table *t = table_at(i);
		size_t id = table_column_find(t, "id");
		struct table_cursor *in_order, *direct;
		struct cell a, b;

		if (!table_can_seek(t) || id == t->column_count)
			continue;
		assert_int_equal(table_open(&in_order, t, o.source, &o.err), 0);
		assert_int_equal(table_open(&direct, t, o.source, &o.err), 0);
		while (table_next(in_order, &o.err) > 0) {
			table_cell(in_order, id, &a);
			assert_true(table_seek(direct, a.integer));
			table_cell(direct, id, &b);
			assert_int_equal(a.integer, b.integer);
		}
		assert_false(table_seek(direct, INT64_MAX));
		assert_false(table_seek(direct, -1));
		table_close(in_order);
		table_close(direct);
	}
	close_story(&o);
}

static void launches_of_a_layer_are_those_inside_it(void **state)
{
	const struct table *t = table_find("layers");
	static const int64_t kernels[] = { 1, 2 }, gpu_ns[] = { 100000, 150000 };
	struct table_cursor *c;
	struct opened o;
	struct cell cell;

	(void)state;
	open_story(&o, program);
	assert_int_equal(table_open(&c, t, o.source, &o.err), 0);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(table_next(c, &o.err), 1);
		table_cell(c, table_column_find(t, "kernels"), &cell);
		assert_int_equal(cell.integer, kernels[i]);
		table_cell(c, table_column_find(t, "gpu_ns"), &cell);
		assert_int_equal(cell.integer, gpu_ns[i]);
	}
	table_close(c);
	close_story(&o);
}

static void cursors_of_one_table_do_not_disturb_each_other(void **state)
{
	const struct table *t = table_find("spans");
	struct table_cursor *a, *b;
	struct opened o;
	struct cell x, y;

	(void)state;
	open_story(&o, program);
	assert_int_equal(table_open(&a, t, o.source, &o.err), 0);
	assert_int_equal(table_next(a, &o.err), 1);
	table_cell(a, table_column_find(t, "start_ns"), &x);
	assert_int_equal(table_open(&b, t, o.source, &o.err), 0);
	while (table_next(b, &o.err) > 0)
		table_cell(b, 0, &y);
	table_cell(a, table_column_find(t, "start_ns"), &y);
	assert_int_equal(x.integer, y.integer);
	table_close(a);
	table_close(b);
	close_story(&o);
}

static void an_empty_trace_has_empty_tables(void **state)
{
	struct opened o;

	(void)state;
	open_story(&o, "");
	for (size_t i = 0; table_at(i); i++) {
		size_t rows = read_table(&o, table_at(i));

		/* The run as a whole is a kind of step. */
		if (rows && strcmp(table_at(i)->name, "metrics") != 0 &&
		    strcmp(table_at(i)->name, "step_kinds") != 0)
			fail_msg("%s has %zu rows", table_at(i)->name, rows);
	}
	close_story(&o);
}

static void names_of_tables_and_columns_are_unique_words(void **state)
{
	(void)state;
	for (size_t i = 0; table_at(i); i++) {
		const struct table *t = table_at(i);

		assert_ptr_equal(table_find(t->name), t);
		for (size_t k = 0; k < t->column_count; k++) {
			const char *name = t->columns[k].name;

			assert_int_equal(table_column_find(t, name), k);
			assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789"),
					 strlen(name));
			assert_null(strchr(t->columns[k].meaning, '|'));
		}
	}
	assert_null(table_find("no such table"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_has_rows_and_cells_of_their_types),
		cmocka_unit_test(kernels_know_their_launch_layer_step_and_line),
		cmocka_unit_test(a_row_can_be_reached_by_its_id),
		cmocka_unit_test(launches_of_a_layer_are_those_inside_it),
		cmocka_unit_test(cursors_of_one_table_do_not_disturb_each_other),
		cmocka_unit_test(an_empty_trace_has_empty_tables),
		cmocka_unit_test(names_of_tables_and_columns_are_unique_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
