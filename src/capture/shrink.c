#include "capture/shrink.h"

#include <stdbool.h>
#include <stdio.h>

#include "capture/pressure.h"

/* A model is loaded with gigabytes a second; a look costs some 75 microseconds. */
#define LOOK_NS 250000000

static double megabytes(uint64_t blocks)
{
	return (double)(blocks * SHM_BLOCK_BYTES) / 1048576;
}

void shrink_init(struct shrink *s, struct area *area, const char *root)
{
	s->root = root;
	s->area = area;
	s->next_ns = 0;
	s->least = area->block_count;
	s->noted = 0;
}

/* Grows back by doubling: the pressure may have gone because we gave way. */
static uint32_t size_for(const struct shrink *s, const struct pressure *p)
{
	uint64_t now = (uint64_t)area_size(s->area) * SHM_BLOCK_BYTES;
	uint64_t full = (uint64_t)s->area->block_count * SHM_BLOCK_BYTES;
	uint64_t allowed = pressure_allowed(p, now, area_held_bytes(s->area), full);

	if (allowed > 2 * now)
		allowed = 2 * now;
	return (uint32_t)(allowed / SHM_BLOCK_BYTES);
}

static int note_first(struct shrink *s, struct trace_writer *w, struct err *err)
{
	const struct pressure *p = &s->cause;
	char why[96], text[256];

	if (p->stalled > 0)
		snprintf(why, sizeof(why), "programs waited for it %.0f %% of the time",
			 100 * p->stalled);
	else
		snprintf(why, sizeof(why), "%s had %.0f MB left", p->owner ? p->owner : "nobody",
			 (double)p->left_bytes / 1048576);
	s->noted = area_size(s->area);
	snprintf(text, sizeof(text),
		 "memory was scarce (%s): the trace buffer was shrunk from %.1f to %.1f MB", why,
		 megabytes(s->area->block_count), megabytes(s->noted));
	return trace_write_note(w, text, err);
}

int shrink_cycle(struct shrink *s, int64_t now_ns, struct trace_writer *w, struct err *err)
{
	bool look = now_ns >= s->next_ns;
	uint32_t wanted = s->area->wanted;
	struct pressure p;

	if (look) {
		s->next_ns = now_ns + LOOK_NS;
		pressure_read(&p, s->root,
			      pressure_enough((uint64_t)s->area->block_count * SHM_BLOCK_BYTES));
		wanted = size_for(s, &p);
		if (wanted < area_size(s->area))
			s->cause = p;
	}
	area_resize(s->area, wanted);
	if (area_size(s->area) < s->least)
		s->least = area_size(s->area);
	if (look && !s->noted && s->least < s->area->block_count)
		return note_first(s, w, err);
	return 0;
}

int shrink_finish(struct shrink *s, struct trace_writer *w, struct err *err)
{
	uint32_t size = area_size(s->area);
	char text[128];

	if (!s->noted || (s->least == s->noted && size == s->noted))
		return 0;
	snprintf(text, sizeof(text),
		 "the trace buffer had %.1f MB at its smallest and %.1f MB at the end",
		 megabytes(s->least), megabytes(size));
	return trace_write_note(w, text, err);
}
