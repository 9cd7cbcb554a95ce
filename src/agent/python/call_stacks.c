#include "agent/python/call_stacks.h"

#include "agent/core/hot.h"
#include "agent/core/intern.h"
#include "agent/python/codes.h"
#include "agent/python/frames.h"
#include "base/varint.h"

INTERN(known, INTERN_SLOTS); /* by what the frames are */

/*
 * By their fingerprints in memory: the fast way to the same ids.  Small, because each launch reads
 * another slot, in another page of memory if there are many.
 */
INTERN(seen, 4096u);

/* Once in a recording for each function: what turns its instruction offsets into lines. */
static COLD void define_lines(struct ring *r, struct code_note *note)
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
	/* A table that does not fit is omitted: without it the function's first line is shown. */
	if (table && bytes < DEF_PAYLOAD_MAX &&
	    !ring_define(r, DEF_LINES, note->id, &minor, 1, table, bytes))
		atomic_store_explicit(&note->lines_epoch, 0, memory_order_relaxed); /* again */
}

/* Names every frame and finds or defines the stack.  *complete: all its functions are known. */
static COLD uint32_t name_stack(struct ring *r, const struct frame_ref *frames, size_t n,
				bool *complete)
{
	struct code_note *notes[FRAMES_MAX];
	uint8_t payload[FRAMES_MAX * 2 * 5];
	uint64_t hash = n;
	size_t bytes = 0;
	uint32_t id;

	*complete = true;
	for (size_t i = 0; i < n; i++) {
		struct code_note *note = codes_lookup(frames[i].code);

		notes[i] = note && atomic_load_explicit(&note->epoch, memory_order_acquire) ==
						   session_epoch
				   ? note
				   : NULL;
		*complete &= notes[i] != NULL;
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

/* A stack that was not seen lying like this. */
static COLD uint32_t define_stack(struct ring *r, uint64_t hash)
{
	struct frame_ref frames[FRAMES_MAX];
	size_t n = frames_read(frames);
	bool complete;
	uint32_t id;

	if (!n)
		return 0;
	id = name_stack(r, frames, n, &complete);
	if (id && complete)
		intern_put(&seen, hash, id);
	return id;
}

HOT uint32_t stacks_current(struct ring *r)
{
	uint64_t hash = frames_fingerprint(&r->path);
	uint32_t id;

	if (!hash)
		return 0;
	/* As it lies in memory is right until a code object is freed: its address may come back. */
	hash = intern_mix(hash, atomic_load_explicit(&codes_freed, memory_order_acquire));
	id = intern_find(&seen, hash);
	return id ? id : define_stack(r, hash);
}
