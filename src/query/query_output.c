#include "query/query_output.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/plain_text.h"

#define WRITE_FROM (64u << 10) /* bytes */
#define ROWS_FOR_WIDTHS 500u
#define WIDTH_MAX 60u /* columns of a cell; longer ones are cut */
#define GAP 2u

void query_output_init(struct query_output *o, enum query_format format, int fd)
{
	*o = (struct query_output){ .format = format, .fd = fd };
	buf_init(&o->text);
	buf_init(&o->waiting);
	json_init(&o->json, &o->text, JSON_COMPACT);
}

void query_output_release(struct query_output *o)
{
	for (size_t i = 0; o->names && i < o->column_count; i++)
		free(o->names[i]);
	free(o->names);
	free(o->widths);
	free(o->numbers);
	buf_release(&o->text);
	buf_release(&o->waiting);
}

static int write_out(struct query_output *o, size_t from, struct err *err)
{
	const char *at = o->text.data;
	size_t left = o->text.len;

	if (o->text.failed || o->waiting.failed)
		return err_set(err, "out of memory");
	if (left < from)
		return 0;
	while (left) {
		ssize_t done = write(o->fd, at, left);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return err_errno(err, "cannot write the rows");
		at += done;
		left -= (size_t)done;
	}
	buf_clear(&o->text);
	return 0;
}

/* Columns of one name would be one key of an object: the second one is "name:2". */
static char *unique_name(const struct query_output *o, const char *name)
{
	struct buf b;
	char *copy;

	buf_init(&b);
	for (size_t nth = 1, again = 1; again; nth++) {
		again = 0;
		buf_clear(&b);
		buf_add_str(&b, name);
		if (nth > 1)
			buf_printf(&b, ":%zu", nth);
		for (size_t i = 0; i < o->column_count; i++)
			again |= !strcmp(o->names[i], buf_string(&b));
	}
	copy = b.failed ? NULL : strdup(buf_string(&b));
	buf_release(&b);
	return copy;
}

/* Quoted where it has to be. */
static void add_csv(struct buf *out, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		buf_add_str(out, text);
		return;
	}
	buf_add_byte(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_add_byte(out, '"');
		buf_add_byte(out, (uint8_t)*text);
	}
	buf_add_byte(out, '"');
}

/* 17 digits give every number back; fewer where they do. */
static void add_real(struct buf *out, double value)
{
	struct json j;

	if (!isfinite(value)) {
		buf_add_str(out, isnan(value) ? "" : value > 0 ? "Inf" : "-Inf");
		return;
	}
	json_init(&j, out, JSON_COMPACT);
	json_double(&j, value);
}

/* For people: the digits that matter. */
static void add_short_real(struct buf *out, double value)
{
	double size = fabs(value);

	if (!isfinite(value))
		add_real(out, value);
	else if (size >= 1e15 || (size > 0 && size < 1e-4))
		buf_printf(out, "%.6g", value);
	else
		buf_printf(out, "%.*f", size >= 1000 ? 1 : size >= 1 ? 3 : 6, value);
}

static void add_plain(struct buf *out, const struct cell *c, bool brief)
{
	if (c->kind == CELL_INTEGER)
		buf_printf(out, "%" PRId64, c->integer);
	else if (c->kind == CELL_REAL && brief)
		add_short_real(out, c->real);
	else if (c->kind == CELL_REAL)
		add_real(out, c->real);
	else if (c->kind == CELL_TEXT)
		buf_add_str(out, c->text);
}

static int take_columns(void *ctx, const char *const *names, size_t count, struct err *err)
{
	struct query_output *o = ctx;

	o->names = calloc(count + 1, sizeof(*o->names));
	o->widths = calloc(count + 1, sizeof(*o->widths));
	o->numbers = calloc(count + 1, sizeof(*o->numbers));
	if (!o->names || !o->widths || !o->numbers)
		return err_set(err, "out of memory");
	for (size_t i = 0; i < count; i++) {
		o->names[i] = unique_name(o, names[i]);
		if (!o->names[i])
			return err_set(err, "out of memory");
		o->column_count++;
		o->widths[i] = text_width(o->names[i]);
		o->numbers[i] = true;
	}
	if (o->format == QUERY_JSON)
		buf_add_byte(&o->text, '[');
	for (size_t i = 0; o->format == QUERY_CSV && i < count; i++) {
		if (i)
			buf_add_byte(&o->text, ',');
		add_csv(&o->text, o->names[i]);
	}
	if (o->format == QUERY_CSV)
		buf_add_byte(&o->text, '\n');
	return write_out(o, WRITE_FROM, err);
}

static void add_cell(struct query_output *o, size_t column, const char *text)
{
	size_t width = text_width(text), room = o->widths[column];
	size_t padding = width < room ? room - width : 0;
	bool last = column + 1 == o->column_count;

	if (o->numbers[column])
		text_add_padding(&o->text, padding);
	/* A figure that is cut is another one. */
	if (o->numbers[column])
		text_add_clean(&o->text, text);
	else
		text_add_clipped(&o->text, text, room);
	if (!o->numbers[column] && !last)
		text_add_padding(&o->text, padding);
	if (!last)
		text_add_padding(&o->text, GAP);
	else
		buf_add_byte(&o->text, '\n');
}

/* The head, and the rows that waited for it. */
static void settle(struct query_output *o)
{
	const char *at = buf_string(&o->waiting);

	o->settled = true;
	for (size_t i = 0; i < o->column_count; i++) {
		if (!o->waiting_rows)
			o->numbers[i] = false;
		add_cell(o, i, o->names[i]);
	}
	for (size_t i = 0; i < o->column_count; i++) {
		for (size_t k = 0; k < o->widths[i]; k++)
			buf_add_byte(&o->text, '-');
		if (i + 1 < o->column_count)
			text_add_padding(&o->text, GAP);
	}
	buf_add_byte(&o->text, '\n');
	for (size_t row = 0; row < o->waiting_rows; row++) {
		for (size_t i = 0; i < o->column_count; i++) {
			add_cell(o, i, at);
			at += strlen(at) + 1;
		}
	}
	buf_clear(&o->waiting);
}

static void take_table_row(struct query_output *o, const struct cell *cells)
{
	struct buf text;

	buf_init(&text);
	for (size_t i = 0; i < o->column_count; i++) {
		size_t width;

		buf_clear(&text);
		add_plain(&text, &cells[i], true);
		if (o->settled) {
			add_cell(o, i, buf_string(&text));
			continue;
		}
		if (cells[i].kind == CELL_TEXT)
			o->numbers[i] = false;
		width = text_width(buf_string(&text));
		if (width > WIDTH_MAX)
			width = WIDTH_MAX;
		if (width > o->widths[i])
			o->widths[i] = width;
		buf_add(&o->waiting, buf_string(&text), text.len + 1);
	}
	o->text.failed |= text.failed;
	buf_release(&text);
	if (!o->settled && ++o->waiting_rows == ROWS_FOR_WIDTHS)
		settle(o);
}

static void take_csv_row(struct query_output *o, const struct cell *cells)
{
	for (size_t i = 0; i < o->column_count; i++) {
		if (i)
			buf_add_byte(&o->text, ',');
		if (cells[i].kind == CELL_TEXT)
			add_csv(&o->text, cells[i].text);
		else
			add_plain(&o->text, &cells[i], false);
	}
	buf_add_byte(&o->text, '\n');
}

/* Each object on a line of its own. */
static void take_json_row(struct query_output *o, const struct cell *cells)
{
	buf_add_str(&o->text, o->rows > 1 ? ",\n" : "\n");
	json_init(&o->json, &o->text, JSON_COMPACT);
	json_object_begin(&o->json);
	for (size_t i = 0; i < o->column_count; i++) {
		json_key(&o->json, o->names[i]);
		if (cells[i].kind == CELL_INTEGER)
			json_int(&o->json, cells[i].integer);
		else if (cells[i].kind == CELL_REAL)
			json_double(&o->json, cells[i].real);
		else
			json_string(&o->json, cells[i].kind == CELL_TEXT ? cells[i].text : NULL);
	}
	json_object_end(&o->json);
}

static int take_row(void *ctx, const struct cell *cells, size_t count, struct err *err)
{
	static void (*const takers[])(struct query_output *, const struct cell *) = {
		[QUERY_TABLE] = take_table_row,
		[QUERY_CSV] = take_csv_row,
		[QUERY_JSON] = take_json_row,
	};
	struct query_output *o = ctx;

	(void)count;
	o->rows++;
	takers[o->format](o, cells);
	return write_out(o, WRITE_FROM, err);
}

struct query_sink query_output_sink(struct query_output *o)
{
	return (struct query_sink){ .ctx = o, .columns = take_columns, .row = take_row };
}

int query_output_finish(struct query_output *o, struct err *err)
{
	if (o->format == QUERY_TABLE && !o->settled)
		settle(o);
	if (o->format == QUERY_JSON)
		buf_add_str(&o->text, o->rows ? "\n]\n" : "]\n");
	return write_out(o, 0, err);
}
