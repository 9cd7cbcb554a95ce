#include "agent/adapter_scopes.h"

#include <stdlib.h>
#include <string.h>

#include "agent/bursts.h"
#include "agent/frames.h"
#include "agent/names.h"
#include "agent/tasks.h"
#include "base/varint.h"

#define OPEN_MAX 8u

struct adapter_scope {
	struct frame_mark frame;
	uint64_t instance;
	uint32_t name_id;
	uint32_t note;
};

struct adapter_scopes {
	uint32_t epoch; /* the recording that these are open in */
	unsigned depth;
	struct adapter_scope open[OPEN_MAX];
};

static struct adapter_scopes *scopes_of(struct ring *r)
{
	if (!r->scopes)
		r->scopes = calloc(1, sizeof(*r->scopes));
	if (r->scopes && r->scopes->epoch != session_epoch) {
		r->scopes->epoch = session_epoch;
		r->scopes->depth = 0;
	}
	return r->scopes;
}

static void end_newest(struct ring *r, struct adapter_scopes *s, const struct args *args)
{
	const struct adapter_scope *o = &s->open[--s->depth];
	uint8_t payload[VARINT_MAX + ARGS_MAX_BYTES];
	size_t n = varint_put(payload, o->instance);

	if (args) {
		memcpy(payload + n, args->data, args->bytes);
		n += args->bytes;
	}
	ring_push_payload(r, RECORD_SCOPE_END, o->name_id, payload, (uint32_t)n);
}

static void end_dead(struct ring *r, struct adapter_scopes *s, bool outer)
{
	while (s->depth && !frames_is_inside(&s->open[s->depth - 1].frame, outer))
		end_newest(r, s, NULL);
}

void adapter_scopes_look_slow(struct ring *r)
{
	struct adapter_scopes *s = scopes_of(r);

	if (s)
		end_dead(r, s, true);
}

void adapter_scope_begin(struct ring *r, PyObject *name, const struct args *args)
{
	const struct frame_mark frame = frames_newest();
	struct adapter_scopes *s = scopes_of(r);
	uint8_t payload[2 * VARINT_MAX + ARGS_MAX_BYTES];
	struct adapter_scope o;
	size_t n;

	if (!s || !frame.frame || !name || (py.version < 0x030c0000 && bursts_bounded()))
		return;
	/* What was begun in this very frame, or rather one in its place, is over. */
	end_dead(r, s, true);
	if (s->depth == OPEN_MAX)
		return;
	o = (struct adapter_scope){ frame, session_next_instance(r), names_id(r, name), 0 };
	n = varint_put(payload, o.instance);
	n += varint_put(payload + n, tasks_current());
	if (args) {
		memcpy(payload + n, args->data, args->bytes);
		n += args->bytes;
	}
	s->open[s->depth++] = o;
	ring_push_payload(r, RECORD_SCOPE_BEGIN, o.name_id, payload, (uint32_t)n);
}

/* The scope that the newest frame began; NULL: it did not, or there was no room. */
static struct adapter_scope *open_here(struct ring *r)
{
	struct adapter_scopes *s = scopes_of(r);
	struct adapter_scope *newest;

	if (!s)
		return NULL;
	end_dead(r, s, false);
	newest = s->depth ? &s->open[s->depth - 1] : NULL;
	return newest && newest->frame.frame == frames_newest().frame ? newest : NULL;
}

uint32_t *adapter_scope_note(struct ring *r)
{
	struct adapter_scope *o = open_here(r);

	return o ? &o->note : NULL;
}

void adapter_scope_end_with(struct ring *r, const struct args *args)
{
	if (open_here(r))
		end_newest(r, r->scopes, args);
}

void adapter_scope_end(struct ring *r)
{
	adapter_scope_end_with(r, NULL);
}
