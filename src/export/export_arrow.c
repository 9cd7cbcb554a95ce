/*
 * Apache Arrow's IPC format: a folder with a file for each table (docs/TABLES.md), or one table
 * as a file, or, into a pipe, as a stream.  Record batches are compressed with zstd, buffer by
 * buffer, so that texts that repeat take no room.
 *
 * A file is the stream between "ARROW1" and a footer that says where its batches are.  Memory is
 * that of one batch.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/array.h"
#include "base/outfile.h"
#include "export/arrow_message.h"
#include "export/export.h"

#define BATCH_ROWS 65536
#define BATCH_TEXT_BYTES ((size_t)32 << 20) /* of one column; offsets have 32 bits */
#define ZSTD_LEVEL 1

/* A column of the batch that is being filled. */
struct filling {
	struct buf validity, values, texts; /* of texts `values` are offsets */
	int64_t null_count;
};

struct arrow {
	const struct table *table;
	int fd, error;
	bool stream;
	int64_t offset; /* in the file */
	size_t rows;    /* in the batch */
	struct filling *columns;
	struct arrow_column *described;
	struct arrow_block *blocks;
	size_t block_count, block_cap;
	struct buf metadata, body;
	ZSTD_CCtx *compressor;
};

static void write_bytes(struct arrow *a, struct buf *text)
{
	a->offset += (int64_t)text->len;
	export_flush(text, a->fd, &a->error);
}

/* The metadata, with its length before it; returns how many bytes both took. */
static int32_t write_metadata(struct arrow *a)
{
	struct buf head;
	int32_t bytes = (int32_t)a->metadata.len;

	buf_init(&head);
	buf_add(&head, "\xff\xff\xff\xff", 4);
	buf_add(&head, &bytes, sizeof(bytes));
	write_bytes(a, &head);
	buf_release(&head);
	write_bytes(a, &a->metadata);
	return bytes + 8;
}

static void set_bit(struct buf *bits, size_t at, bool value)
{
	if (at % 8 == 0)
		buf_add_byte(bits, 0);
	if (value && !bits->failed)
		bits->data[at / 8] = (char)(bits->data[at / 8] | 1 << at % 8);
}

static void add_offset(struct filling *f)
{
	int32_t at = (int32_t)f->texts.len;

	buf_add(&f->values, &at, sizeof(at));
}

static void add_cell(struct arrow *a, size_t i, const struct cell *c)
{
	struct filling *f = &a->columns[i];
	bool known = c->kind != CELL_NULL;

	set_bit(&f->validity, a->rows, known);
	f->null_count += !known;
	switch (a->table->columns[i].type) {
	case COLUMN_INTEGER:
		buf_add(&f->values, &c->integer, sizeof(c->integer));
		break;
	case COLUMN_REAL:
		buf_add(&f->values, &c->real, sizeof(c->real));
		break;
	case COLUMN_BOOLEAN:
		set_bit(&f->values, a->rows, c->integer);
		break;
	case COLUMN_TEXT:
		if (known)
			buf_add_str(&f->texts, c->text);
		add_offset(f);
		break;
	}
}

static void begin_batch(struct arrow *a)
{
	a->rows = 0;
	for (size_t i = 0; i < a->table->column_count; i++) {
		struct filling *f = &a->columns[i];

		buf_clear(&f->validity);
		buf_clear(&f->values);
		buf_clear(&f->texts);
		f->null_count = 0;
		if (a->table->columns[i].type == COLUMN_TEXT)
			add_offset(f);
	}
}

/* Its length before compression comes first; -1 there says that it was not worth it. */
static void add_buffer(struct arrow *a, const struct buf *from, struct arrow_buffer *where)
{
	size_t start = a->body.len, bound = ZSTD_compressBound(from->len);
	int64_t raw = (int64_t)from->len;
	char *room;
	size_t n;

	where->offset = (int64_t)start;
	where->bytes = 0;
	if (from->failed)
		a->body.failed = true;
	if (!from->len)
		return;
	room = buf_reserve(&a->body, sizeof(raw) + bound);
	if (!room)
		return;
	n = ZSTD_compressCCtx(a->compressor, room + sizeof(raw), bound, from->data, from->len,
			      ZSTD_LEVEL);
	if (ZSTD_isError(n) || n >= from->len) {
		raw = -1;
		n = from->len;
		memcpy(room + sizeof(raw), from->data, n);
	}
	memcpy(room, &raw, sizeof(raw));
	a->body.len += sizeof(raw) + n;
	where->bytes = (int64_t)(a->body.len - start);
	while (a->body.len % 8)
		buf_add_byte(&a->body, 0);
}

static void write_batch(struct arrow *a)
{
	struct arrow_block *grown;
	struct arrow_block block = { .offset = a->offset };

	if (!a->rows)
		return;
	buf_clear(&a->body);
	for (size_t i = 0; i < a->table->column_count; i++) {
		const struct filling *f = &a->columns[i];
		struct arrow_column *d = &a->described[i];

		d->null_count = f->null_count;
		d->buffer_count = a->table->columns[i].type == COLUMN_TEXT ? 3 : 2;
		add_buffer(a, &f->validity, &d->buffers[0]);
		add_buffer(a, &f->values, &d->buffers[1]);
		if (d->buffer_count == 3)
			add_buffer(a, &f->texts, &d->buffers[2]);
	}
	block.body_bytes = (int64_t)a->body.len;
	arrow_batch_message(&a->metadata, a->table, (int64_t)a->rows, a->described,
			    block.body_bytes);
	block.metadata_bytes = write_metadata(a);
	write_bytes(a, &a->body);
	grown = array_grow(a->blocks, &a->block_cap, a->block_count + 1, sizeof(*grown));
	if (!grown) {
		a->error = ENOMEM;
		return;
	}
	a->blocks = grown;
	grown[a->block_count++] = block;
}

static bool is_full(const struct arrow *a)
{
	if (a->rows == BATCH_ROWS)
		return true;
	for (size_t i = 0; i < a->table->column_count; i++)
		if (a->columns[i].texts.len >= BATCH_TEXT_BYTES)
			return true;
	return false;
}

static int write_rows(struct arrow *a, struct table_cursor *c, struct err *err)
{
	int more = 0;

	begin_batch(a);
	while (!a->error && (more = table_next(c, err)) > 0) {
		for (size_t i = 0; i < a->table->column_count; i++) {
			struct cell cell;

			table_cell(c, i, &cell);
			add_cell(a, i, &cell);
		}
		a->rows++;
		if (is_full(a)) {
			write_batch(a);
			begin_batch(a);
		}
	}
	if (!more)
		write_batch(a);
	return more < 0 ? -1 : 0;
}

static void write_begin(struct arrow *a)
{
	struct buf magic;

	if (!a->stream) {
		buf_init(&magic);
		buf_add(&magic, "ARROW1\0\0", 8);
		write_bytes(a, &magic);
		buf_release(&magic);
	}
	arrow_schema_message(&a->metadata, a->table);
	write_metadata(a);
}

static void write_end(struct arrow *a)
{
	struct buf end;
	int32_t bytes;

	buf_init(&end);
	buf_add(&end, "\xff\xff\xff\xff\0\0\0\0", 8);
	if (!a->stream) {
		arrow_footer(&a->metadata, a->table, a->blocks, a->block_count);
		bytes = (int32_t)a->metadata.len;
		buf_add(&end, a->metadata.data, a->metadata.len);
		end.failed |= a->metadata.failed;
		buf_add(&end, &bytes, sizeof(bytes));
		buf_add(&end, "ARROW1", 6);
	}
	write_bytes(a, &end);
	buf_release(&end);
}

static int arrow_init(struct arrow *a, const struct table *t, int fd, bool stream)
{
	*a = (struct arrow){ .table = t, .fd = fd, .stream = stream };
	buf_init(&a->metadata);
	buf_init(&a->body);
	a->columns = calloc(t->column_count, sizeof(*a->columns));
	a->described = calloc(t->column_count, sizeof(*a->described));
	a->compressor = ZSTD_createCCtx();
	return a->columns && a->described && a->compressor ? 0 : -1;
}

static void arrow_release(struct arrow *a)
{
	for (size_t i = 0; a->columns && i < a->table->column_count; i++) {
		buf_release(&a->columns[i].validity);
		buf_release(&a->columns[i].values);
		buf_release(&a->columns[i].texts);
	}
	free(a->columns);
	free(a->described);
	free(a->blocks);
	buf_release(&a->metadata);
	buf_release(&a->body);
	ZSTD_freeCCtx(a->compressor);
}

static int write_table(struct table_source *s, const struct table *t, int fd, bool stream,
		       struct err *err)
{
	struct table_cursor *c = NULL;
	struct arrow a;
	int rc = -1;

	if (arrow_init(&a, t, fd, stream)) {
		err_set(err, "out of memory");
		goto out;
	}
	if (table_open(&c, t, s, err))
		goto out;
	write_begin(&a);
	if (write_rows(&a, c, err))
		goto out;
	write_end(&a);
	rc = export_finish(a.error, err);
out:
	table_close(c);
	arrow_release(&a);
	return rc;
}

static int write_file(struct table_source *s, const struct table *t, const char *folder,
		      struct err *err)
{
	struct outfile out;
	struct buf path;
	int rc = -1;

	buf_init(&path);
	buf_printf(&path, "%s/%s.arrow", folder, t->name);
	if (path.failed)
		err_set(err, "out of memory");
	else
		rc = outfile_open(&out, buf_string(&path), err);
	if (!rc) {
		rc = write_table(s, t, out.fd, false, err);
		if (rc)
			outfile_discard(&out);
		else
			rc = outfile_commit(&out, err);
	}
	buf_release(&path);
	return rc;
}

static int make_folder(const char *path, struct err *err)
{
	struct stat st;

	if (!mkdir(path, 0700))
		return 0;
	if (errno != EEXIST)
		return err_errno(err, "cannot make the folder '%s'", path);
	if (lstat(path, &st) || !S_ISDIR(st.st_mode))
		return err_set(
			err,
			"cannot write '%s': arrow writes a folder with a file for each table, and "
			"this is not a folder; choose one table with --table to write a file",
			path);
	if (st.st_uid != geteuid())
		return err_set(err, "cannot write '%s': the folder belongs to another user", path);
	return 0;
}

static int export_arrow(const struct trace *t, const struct export_target *to, struct err *err)
{
	struct table_source *source;
	int rc = 0;

	if (!to->table && make_folder(to->path, err))
		return -1;
	if (table_source_new(&source, t, err))
		return -1;
	if (to->table)
		rc = write_table(source, table_find(to->table), to->fd, to->stream, err);
	for (size_t i = 0; !to->table && table_at(i) && !rc; i++)
		rc = write_file(source, table_at(i), to->path, err);
	table_source_free(source);
	return rc;
}

const struct exporter exporter_arrow = {
	.name = "arrow",
	.suffixes = ".arrow .feather",
	.form = EXPORT_TABLES,
	.write = export_arrow,
};
