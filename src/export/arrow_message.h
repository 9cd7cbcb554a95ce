/*
 * The metadata of Arrow's IPC format (version V5): schema, record batches, footer.  They are
 * FlatBuffers; the numbers of fields are those of Arrow's Schema.fbs, Message.fbs and File.fbs.
 */
#ifndef EXPORT_ARROW_MESSAGE_H
#define EXPORT_ARROW_MESSAGE_H

#include "base/buf.h"
#include "tables/table.h"

/* A piece of the body of a record batch. */
struct arrow_buffer {
	int64_t offset, bytes;
};

struct arrow_column {
	int64_t null_count;
	size_t buffer_count; /* 2, of texts 3 */
	struct arrow_buffer buffers[3];
};

/* Where a record batch lies in a file. */
struct arrow_block {
	int64_t offset, body_bytes;
	int32_t metadata_bytes; /* with the 8 bytes before the metadata, and padding */
};

/* Each empties `out`, which becomes the FlatBuffer, its length a multiple of 8. */
void arrow_schema_message(struct buf *out, const struct table *t);
void arrow_batch_message(struct buf *out, const struct table *t, int64_t rows,
			 const struct arrow_column *columns, int64_t body_bytes);
void arrow_footer(struct buf *out, const struct table *t, const struct arrow_block *blocks,
		  size_t count);

#endif
