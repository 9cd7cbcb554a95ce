#include "agent/stacks.h"

#include "agent/codes.h"
#include "agent/frames.h"
#include "agent/intern.h"
#include "agent/line_pack.h"
#include "base/varint.h"

static struct intern known;

/* Once in a recording for each function: what turns its instruction offsets into lines. */
static void define_lines(struct ring *r, struct code_note *note)
{
	uint8_t minor = (uint8_t)(py.version >> 16), packed[DEF_PAYLOAD_MAX];
	const uint8_t *table;
	uint32_t bytes;

	if (!note->id || atomic_exchange_explicit(&note->lines_epoch, session_epoch,
						  memory_order_relaxed) == session_epoch)
		return;
	table = frames_line_table(note->code, &bytes);
	if (table && bytes >= DEF_PAYLOAD_MAX && minor > LINE_PACK_MINOR) {
		bytes = line_pack(packed, DEF_PAYLOAD_MAX - 1, table, bytes);
		table = bytes ? packed : NULL;
		minor = LINE_PACK_MINOR;
	}
	/* A table that does not fit is left out: without it the function's first line is shown. */
	if (table && bytes < DEF_PAYLOAD_MAX)
		ring_define(r, DEF_LINES, note->id, &minor, 1, table, bytes);
}

uint32_t stacks_current(struct ring *r)
{
	struct frame_ref frames[STACK_FRAMES_MAX];
	struct code_note *notes[STACK_FRAMES_MAX];
	uint8_t payload[STACK_FRAMES_MAX * 2 * 5];
	size_t n = frames_read(frames, STACK_FRAMES_MAX), bytes = 0;
	uint64_t hash = n;
	uint32_t id;

	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++) {
		struct code_note *note = codes_lookup(frames[i].code);

		notes[i] = note && note->epoch == session_epoch ? note : NULL;
		hash = intern_mix(hash,
				  (uint64_t)(notes[i] ? notes[i]->id : 0) << 32 | frames[i].offset);
	}
	id = intern_find(&known, hash);
	if (id)
		return id;
	for (size_t i = 0; i < n; i++) {
		if (notes[i])
			define_lines(r, notes[i]);
		bytes += varint_put(payload + bytes, notes[i] ? notes[i]->id : 0);
		bytes += varint_put(payload + bytes, frames[i].offset);
	}
	id = session_next_id(r->session);
	if (!ring_define(r, DEF_STACK, id, payload, (uint32_t)bytes, NULL, 0))
		return 0;
	intern_put(&known, hash, id);
	return id;
}
