#include "timeline/frame_lines.h"

#include "timeline/line_tables.h"

static uint32_t decode(const struct trace *t, const struct trace_frame *frame)
{
	const struct trace_code *code = trace_code(t, frame->code);
	const struct trace_lines *lines = trace_lines(t, frame->code);

	return code && lines ? line_table_find(lines->python_minor, lines->table, lines->bytes,
					       code->line, frame->offset)
			     : 0;
}

uint32_t frame_lines_find(struct frame_lines *f, const struct trace *t,
			  const struct trace_frame *frame)
{
	size_t at = (frame->code * 2654435761u + frame->offset * 40503u) % FRAME_LINES_SLOTS;

	if (!frame->code)
		return 0;
	if (f->slots[at].frame.code != frame->code || f->slots[at].frame.offset != frame->offset) {
		f->slots[at].frame = *frame;
		f->slots[at].line = decode(t, frame);
	}
	return f->slots[at].line;
}
