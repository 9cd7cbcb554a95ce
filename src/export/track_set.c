#include "export/track_set.h"

#include <stdlib.h>

#include "base/array.h"

void track_set_init(struct track_set *s, const struct event_sink *sink)
{
	*s = (struct track_set){ .sink = sink };
	pair_map_init(&s->at);
}

void track_set_release(struct track_set *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->groups[i]->lanes);
		free(s->groups[i]);
	}
	for (size_t i = 0; i < s->track_count; i++)
		free(s->tracks[i]);
	free(s->groups);
	free(s->tracks);
	pair_map_release(&s->at);
}

struct track_group *track_group_find(struct track_set *s, const struct track *like)
{
	uint64_t owner = like->thread != NO_THREAD ? like->thread : like->process;
	uint64_t a = (uint64_t)like->kind << 56 | owner << 16 | (like->context & 0xffff);
	uint64_t b = (uint64_t)like->device << 32 | like->stream;
	size_t at = pair_map_find(&s->at, a, b);
	struct track_group **grown;

	if (at != PAIR_NONE)
		return s->groups[at];
	grown = array_grow(s->groups, &s->cap, s->count + 1, sizeof(void *));
	if (grown)
		s->groups = grown;
	if (!grown || !(grown[s->count] = calloc(1, sizeof(**grown)))) {
		s->failed = true;
		return NULL;
	}
	grown[s->count]->like = *like;
	grown[s->count]->main_end_ns = INT64_MIN;
	if (pair_map_put(&s->at, a, b, s->count))
		s->failed = true; /* it is released with the others */
	return s->groups[s->count++];
}

static struct track *track_new(struct track_set *s, const struct track_group *g, uint32_t lane)
{
	struct track **grown =
		array_grow(s->tracks, &s->track_cap, s->track_count + 1, sizeof(void *));
	struct track *t = grown ? malloc(sizeof(*t)) : NULL;

	if (grown)
		s->tracks = grown;
	if (!t || s->track_count >= INT32_MAX) {
		free(t);
		s->failed = true;
		return NULL;
	}
	*t = g->like;
	t->id = (uint32_t)s->track_count + 1;
	t->lane = lane;
	s->tracks[s->track_count++] = t;
	s->sink->track(s->sink->ctx, t);
	return t;
}

struct track *track_group_main(struct track_set *s, struct track_group *g)
{
	if (!g->main)
		g->main = track_new(s, g, 0);
	return g->main;
}

/* Does it follow what is there, or enclose the last of it? */
static bool lane_fits(struct lane *l, int64_t start_ns, int64_t end_ns)
{
	size_t n = l->count;

	while (n && l->roots[n - 1].start_ns > start_ns && l->roots[n - 1].end_ns <= end_ns)
		n--;
	if (n ? l->roots[n - 1].end_ns > start_ns : l->floor_ns > start_ns)
		return false;
	if (n == ROOTS_MAX) {
		l->floor_ns = l->roots[n - 1].end_ns;
		n = 0;
	}
	l->roots[n] = (struct stretch){ start_ns, end_ns };
	l->count = n + 1;
	return true;
}

struct track *track_aside(struct track_set *s, struct track_group *g, int64_t start_ns,
			  int64_t end_ns)
{
	if (!g->lanes && !(g->lanes = calloc(LANES_MAX, sizeof(*g->lanes)))) {
		s->failed = true;
		return NULL;
	}
	for (uint32_t i = 0; i < LANES_MAX; i++) {
		struct lane *l = &g->lanes[i];

		if (i == g->lane_count) {
			l->track = track_new(s, g, ++g->lane_count);
			l->floor_ns = INT64_MIN;
		}
		if (l->track && lane_fits(l, start_ns, end_ns))
			return l->track;
	}
	return track_new(s, g, ++g->lane_count);
}

struct track *track_behind(struct track_set *s, struct track_group *g, int64_t start_ns,
			   int64_t end_ns)
{
	if (start_ns < g->main_end_ns)
		return track_aside(s, g, start_ns, end_ns);
	g->main_end_ns = end_ns;
	return track_group_main(s, g);
}
