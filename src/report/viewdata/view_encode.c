#include "report/viewdata/view_encode.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/varint.h"
#include "report/viewdata/view_rows.h"
#include "report/viewdata/view_tree.h"

#define FULL 255 /* covered as a whole */
#define DEFLATE_LEVEL 4

void view_part_merge(struct view_part *into, const struct view_part *part)
{
	if (!into->count) {
		*into = *part;
		return;
	}
	into->end_ns = part->end_ns;
	into->covered_ns += part->covered_ns;
	into->count += part->count;
	if (part->longest_ns > into->longest_ns) {
		into->longest_ns = part->longest_ns;
		into->label = part->label;
	}
	into->link_row = VIEW_ROW_NONE;
}

void view_piece_init(struct view_piece *p)
{
	memset(p, 0, sizeof(*p));
	buf_init(&p->starts);
	buf_init(&p->lengths);
	buf_init(&p->labels);
	buf_init(&p->merged);
	buf_init(&p->inside);
	buf_init(&p->links);
}

void view_piece_release(struct view_piece *p)
{
	buf_release(&p->starts);
	buf_release(&p->lengths);
	buf_release(&p->labels);
	buf_release(&p->merged);
	buf_release(&p->inside);
	buf_release(&p->links);
}

void view_piece_add(struct view_piece *p, const struct view_part *part)
{
	int64_t length_ns = part->end_ns - part->start_ns;

	if (!p->count)
		p->first_ns = p->last_ns = part->start_ns;
	p->count++;
	buf_add_varint(&p->starts, (uint64_t)(part->start_ns - p->last_ns));
	buf_add_varint(&p->lengths, (uint64_t)length_ns);
	buf_add_varint(&p->labels, part->label);
	buf_add_varint(&p->merged, part->count > 1 ? part->count : 0);
	if (part->count > 1)
		buf_add_byte(&p->merged, length_ns > 0 ? (uint8_t)((double)part->covered_ns * FULL /
								   (double)length_ns)
						       : FULL);
	buf_add_varint(&p->inside, (uint64_t)part->inside_ns);
	if (part->link_row != VIEW_ROW_NONE) {
		buf_add_varint(&p->links, (uint64_t)part->link_row + 1);
		buf_add_varint(&p->links, zigzag(part->link_start_ns - part->start_ns));
	} else {
		buf_add_varint(&p->links, 0);
	}
	p->last_ns = part->end_ns;
}

static void add_column(struct buf *out, struct buf *column, bool wanted)
{
	if (wanted)
		buf_add(out, column->data, column->len);
	out->failed |= column->failed;
	buf_clear(column);
}

void view_piece_end(struct view_piece *p, struct buf *out, uint32_t row, int64_t node_ns,
		    struct view_columns columns)
{
	if (p->count) {
		buf_add_byte(out, 1);
		buf_add_varint(out, row);
		buf_add_varint(out, p->count);
		buf_add_varint(out, (uint64_t)(p->first_ns - node_ns));
	}
	add_column(out, &p->starts, true);
	add_column(out, &p->lengths, true);
	add_column(out, &p->labels, true);
	add_column(out, &p->merged, columns.merged);
	add_column(out, &p->inside, columns.inside);
	add_column(out, &p->links, columns.links);
	p->count = 0;
}

int view_totals_init(struct view_totals *t, size_t labels)
{
	t->of = calloc(labels + 1, sizeof(*t->of));
	t->used = calloc(labels + 1, sizeof(*t->used));
	t->used_count = 0;
	return t->of && t->used ? 0 : -1;
}

void view_totals_release(struct view_totals *t)
{
	free(t->of);
	free(t->used);
	memset(t, 0, sizeof(*t));
}

static void add_total(struct view_totals *t, uint32_t label, const struct view_total *more)
{
	struct view_total *of = &t->of[label];

	if (!of->count)
		t->used[t->used_count++] = label;
	of->count += more->count;
	of->ns += more->ns;
	of->self_ns += more->self_ns;
}

void view_totals_add(struct view_totals *t, uint32_t label, int64_t ns, int64_t self_ns)
{
	add_total(t, label, &(struct view_total){ 1, ns, self_ns });
}

void view_totals_clear(struct view_totals *t)
{
	for (size_t i = 0; i < t->used_count; i++)
		t->of[t->used[i]] = (struct view_total){ 0 };
	t->used_count = 0;
}

void view_totals_move(struct view_totals *into, struct view_totals *from)
{
	for (size_t i = 0; i < from->used_count; i++)
		add_total(into, from->used[i], &from->of[from->used[i]]);
	view_totals_clear(from);
}

void view_totals_put(const struct view_totals *t, struct buf *out, uint32_t row)
{
	if (!t->used_count)
		return;
	buf_add_byte(out, 2);
	buf_add_varint(out, row);
	buf_add_varint(out, t->used_count);
	for (size_t i = 0; i < t->used_count; i++) {
		const struct view_total *of = &t->of[t->used[i]];

		buf_add_varint(out, t->used[i]);
		buf_add_varint(out, of->count);
		buf_add_varint(out, (uint64_t)of->ns);
		buf_add_varint(out, (uint64_t)of->self_ns);
	}
}

int view_deflate(struct buf *out, const void *data, size_t bytes)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)bytes };
	uLong most;
	void *room;
	int rc;

	/* A node of so much would be a file of hundreds of GB. */
	if (bytes > UINT32_MAX / 2)
		return -1;
	if (deflateInit2(&z, DEFLATE_LEVEL, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return -1;
	most = deflateBound(&z, (uLong)bytes);
	room = buf_reserve(out, most);
	if (!room) {
		deflateEnd(&z);
		return -1;
	}
	z.next_out = room;
	z.avail_out = (uInt)most;
	rc = deflate(&z, Z_FINISH);
	out->len += z.total_out;
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : -1;
}

void view_base64(struct buf *out, const void *data, size_t bytes)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *p = data;
	char *to = buf_reserve(out, (bytes + 2) / 3 * 4);

	if (!to)
		return;
	for (size_t i = 0; i < bytes; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < bytes ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < bytes ? p[i + 2] : 0);

		*to++ = digits[v >> 18];
		*to++ = digits[v >> 12 & 63];
		*to++ = i + 1 < bytes ? digits[v >> 6 & 63] : '=';
		*to++ = i + 2 < bytes ? digits[v & 63] : '=';
	}
	out->len += (bytes + 2) / 3 * 4;
}
