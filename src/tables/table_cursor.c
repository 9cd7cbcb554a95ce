#include "tables/table_cursor.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json.h"

int table_open(struct table_cursor **out, const struct table *t, struct table_source *s,
	       struct err *err)
{
	struct table_cursor *c = calloc(1, t->cursor_bytes);

	if (!c)
		return err_set(err, "out of memory");
	c->table = t;
	c->source = s;
	buf_init(&c->text);
	if (t->open && t->open(c, err)) {
		table_close(c);
		return -1;
	}
	*out = c;
	return 0;
}

int table_next(struct table_cursor *c, struct err *err)
{
	return c->failed ? err_set(err, "out of memory") : c->table->next(c, err);
}

bool table_can_seek(const struct table *t)
{
	return t->seek != NULL;
}

bool table_seek(struct table_cursor *c, int64_t id)
{
	return c->table->seek && id >= 0 && c->table->seek(c, id);
}

void table_cell(struct table_cursor *c, size_t column, struct cell *out)
{
	*out = (struct cell){ CELL_NULL, 0, 0, NULL };
	c->table->cell(c, column, out);
}

void table_close(struct table_cursor *c)
{
	if (!c)
		return;
	if (c->table->close)
		c->table->close(c);
	buf_release(&c->text);
	free(c);
}

struct buf *cell_compose(struct table_cursor *c)
{
	buf_clear(&c->text);
	return &c->text;
}

void cell_composed(struct table_cursor *c, struct cell *out)
{
	const char *text = buf_string(&c->text);

	if (c->text.failed)
		c->failed = true;
	else
		cell_text(out, text);
}

void args_add_value(struct json *j, const struct trace_arg *a)
{
	switch (a->type) {
	case ARG_NONE:
	case ARG_CUT:
		json_null(j);
		break;
	case ARG_FALSE:
	case ARG_TRUE:
		json_bool(j, a->type == ARG_TRUE);
		break;
	case ARG_INT:
		json_int(j, a->integer);
		break;
	case ARG_FLOAT:
		json_double(j, a->real);
		break;
	case ARG_STRING:
		json_text(j, a->text, a->text_bytes);
		break;
	case ARG_OBJECT:
		json_object_begin(j);
		json_key(j, "type");
		json_text(j, a->text, a->text_bytes);
		json_object_end(j);
		break;
	}
}

void args_add_json(struct json *j, const uint8_t *args, size_t bytes)
{
	struct trace_args all;
	struct trace_arg a;

	trace_args_init(&all, args, bytes);
	json_object_begin(j);
	while (trace_args_next(&all, &a)) {
		if (a.type == ARG_CUT)
			continue;
		json_key_text(j, a.key, a.key_bytes);
		args_add_value(j, &a);
	}
	json_object_end(j);
}

void cell_args(struct table_cursor *c, const uint8_t *args, size_t bytes, struct cell *out)
{
	struct json j;

	if (!args || !bytes)
		return;
	json_init(&j, cell_compose(c), JSON_COMPACT);
	args_add_json(&j, args, bytes);
	cell_composed(c, out);
}

void row_queue_init(struct row_queue *q, size_t row_bytes)
{
	memset(q, 0, sizeof(*q));
	q->row_bytes = row_bytes;
}

void row_queue_release(struct row_queue *q)
{
	free(q->rows);
	memset(q, 0, sizeof(*q));
}

void row_queue_push(struct row_queue *q, const void *row)
{
	char *grown;

	if (q->at == q->count)
		q->at = q->count = 0;
	grown = array_grow(q->rows, &q->cap, q->count + 1, q->row_bytes);
	if (!grown) {
		q->failed = true;
		return;
	}
	q->rows = grown;
	memcpy(grown + q->count++ * q->row_bytes, row, q->row_bytes);
}

const void *row_queue_pop(struct row_queue *q)
{
	return q->at < q->count ? q->rows + q->at++ * q->row_bytes : NULL;
}

int position_next(struct table_cursor *c, struct err *err)
{
	struct position_cursor *p = (struct position_cursor *)c;

	(void)err;
	if (p->at >= p->count)
		return 0;
	p->at++;
	return 1;
}

bool position_seek(struct table_cursor *c, int64_t id)
{
	struct position_cursor *p = (struct position_cursor *)c;

	if (id < 0 || (uint64_t)id >= p->count)
		return false;
	p->at = (size_t)id + 1;
	return true;
}

void cell_thread(const struct table_cursor *c, size_t thread, size_t which, struct cell *out)
{
	const struct trace_thread *t = trace_thread(source_trace(c->source), thread);

	cell_int(out, which == CELL_THREAD ? t->id
		      : which == CELL_PID  ? source_pid(c->source, t->process)
					   : t->tid);
}

int walked_open(struct walked *w, const struct timeline_visitor *v, size_t row_bytes,
		struct err *err)
{
	row_queue_init(&w->queue, row_bytes);
	w->timeline = source_timeline(w->base.source, err);
	return w->timeline ? timeline_reader_new(&w->reader, w->timeline, v, err) : -1;
}

void walked_close(struct table_cursor *c)
{
	struct walked *w = (struct walked *)c;

	timeline_reader_free(w->reader);
	row_queue_release(&w->queue);
}

int walked_next(struct walked *w, const void **row, struct err *err)
{
	int rc = 1;

	while (!(*row = row_queue_pop(&w->queue)) && rc > 0) {
		rc = timeline_reader_next(w->reader, err);
		if (w->queue.failed)
			return err_set(err, "out of memory");
	}
	if (*row)
		w->id++;
	return *row ? 1 : rc;
}

void cell_step(struct table_cursor *c, size_t thread, int64_t time_ns, struct cell *out)
{
	const struct step_index *x = source_steps(c->source, NULL);
	size_t step;

	if (!x) {
		c->failed = true;
		return;
	}
	step = step_index_at(x, thread, time_ns);
	if (step != STEP_INDEX_NONE)
		cell_uint(out, step);
}
