/* The tracks of an export, and on which of them a slice fits. */
#ifndef EXPORT_TRACK_SET_H
#define EXPORT_TRACK_SET_H

#include "export/event_walk.h"
#include "timeline/pair_map.h"

#define LANES_MAX                                                                               \
	16u /* tracks of one kind that are tried; a slice that fits on none gets a track of its \
	       own */
#define ROOTS_MAX 64u

struct stretch {
	int64_t start_ns, end_ns;
};

/* What a track aside holds: its outermost slices, the latest ones of them. */
struct lane {
	struct track *track;
	struct stretch roots[ROOTS_MAX];
	size_t count;
	int64_t floor_ns; /* nothing may begin before: what is there is forgotten */
};

struct track_group {
	struct track like; /* its tracks but for id and lane */
	struct track *main;
	struct lane *lanes; /* LANES_MAX of them once one is needed */
	uint32_t lane_count;
	int64_t main_end_ns; /* of tracks on which slices follow each other */
};

struct track_set {
	const struct event_sink *sink;
	struct track_group **groups;
	size_t count, cap;
	struct pair_map at; /* (kind and owner, device and stream) -> groups */
	struct track **tracks;
	size_t track_count, track_cap;
	bool failed; /* no memory */
};

void track_set_init(struct track_set *s, const struct event_sink *sink);
void track_set_release(struct track_set *s);

/* NULL without memory, like all that follow. */
struct track_group *track_group_find(struct track_set *s, const struct track *like);
struct track *track_group_main(struct track_set *s, struct track_group *g);

/* A track aside with room for a slice; slices come in the order of their ends. */
struct track *track_aside(struct track_set *s, struct track_group *g, int64_t start_ns,
			  int64_t end_ns);

/* A track on which the slice follows those before it; they come in the order of their starts. */
struct track *track_behind(struct track_set *s, struct track_group *g, int64_t start_ns,
			   int64_t end_ns);

#endif
