#include "analyze/figures/host_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define PIECES 100000.0 /* that all windows may take, about: 15 MB in a replay */
#define BLOCK 32u       /* steps of a window, where not all are taken */
#define STEPS_FEW 48.0
#define FEW_TIMES 4.0                /* as many pieces for those */
#define TIME_MOST ((int64_t)1 << 60) /* 36 years: a hostile file */
#define STEPS_MOST 512u              /* of all windows: more make no estimate better */

static int add_window(struct host_log *l, const struct step_item *items, size_t count)
{
	struct host_window *w = &l->windows[l->window_count];

	*w = (struct host_window){ items[0].start_ns, items[0].end_ns, l->step_count, count };
	for (size_t i = 1; i < count; i++)
		if (items[i].end_ns > w->end_ns)
			w->end_ns = items[i].end_ns;
	if (w->start_ns >= w->end_ns || w->start_ns < 0 || w->end_ns > TIME_MOST ||
	    (l->window_count && w->start_ns < l->windows[l->window_count - 1].end_ns))
		return 0;
	memcpy(l->steps + l->step_count, items, count * sizeof(*items));
	l->step_count += count;
	l->window_count++;
	return 0;
}

/*
 * Few long steps may take more: a mean of less than those says little.  How many pieces a step has
 * is only known roughly, and rather too high: a program's start has more of them than its steps.
 */
static size_t steps_most(double events)
{
	double most = events > 0 ? PIECES / events : STEPS_MOST;

	if (most < STEPS_FEW)
		most = FEW_TIMES * most < STEPS_FEW ? FEW_TIMES * most : STEPS_FEW;
	return most < STEPS_MOST ? (size_t)most : STEPS_MOST;
}

int host_log_choose(struct host_log *l, const struct step_item *items, size_t count, double events)
{
	size_t most = steps_most(events);
	size_t blocks, block = most < BLOCK ? most : BLOCK;

	pair_map_init(&l->place_at);
	pair_map_init(&l->frame_at);
	if (!count || !most)
		return 0;
	blocks = count <= most ? 1 : most / block;
	l->kind_steps = count;
	l->steps = calloc(count, sizeof(*l->steps));
	l->windows = calloc(blocks, sizeof(*l->windows));
	l->frames = array_grow(NULL, &l->frame_cap, 1, sizeof(*l->frames));
	if (!l->steps || !l->windows || !l->frames)
		return -1;
	l->frames[0] = (struct host_frame){ 0, HOST_NONE };
	l->frame_count = 1;
	if (count <= most)
		return add_window(l, items, count);
	/* One alone lies in the middle. */
	for (size_t i = 0; i < blocks; i++)
		add_window(l,
			   items + (blocks > 1 ? (count - block) * i / (blocks - 1)
					       : (count - block) / 2),
			   block);
	return 0;
}

void host_log_release(struct host_log *l)
{
	free(l->steps);
	free(l->windows);
	free(l->threads);
	free(l->pieces);
	free(l->places);
	free(l->frames);
	free(l->functions);
	pair_map_release(&l->place_at);
	pair_map_release(&l->frame_at);
	memset(l, 0, sizeof(*l));
}

size_t host_log_window(const struct host_log *l, int64_t time_ns)
{
	size_t at = 0;

	BISECT(at, l->window_count, l->windows[at].end_ns <= time_ns);
	return at;
}

int host_log_thread(struct host_log *l, size_t thread)
{
	struct host_thread *grown =
		array_grow(l->threads, &l->thread_cap, l->thread_count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	l->threads = grown;
	grown[l->thread_count++] = (struct host_thread){ thread, l->piece_count, 0 };
	return 0;
}

uint32_t host_log_frame(struct host_log *l, uint32_t around, uint32_t function)
{
	size_t at = pair_map_find(&l->frame_at, around, function);
	struct host_frame *grown;

	if (at != PAIR_NONE)
		return (uint32_t)at;
	grown = array_grow(l->frames, &l->frame_cap, l->frame_count + 1, sizeof(*grown));
	if (!grown)
		return HOST_NONE;
	l->frames = grown;
	if (l->frame_count >= HOST_NONE ||
	    pair_map_put(&l->frame_at, around, function, l->frame_count))
		return HOST_NONE;
	grown[l->frame_count] = (struct host_frame){ around, function };
	return (uint32_t)l->frame_count++;
}

static bool is_same(const struct host_place *x, const struct host_place *y)
{
	return x->what == y->what && x->stack == y->stack && x->frame == y->frame &&
	       x->layer == y->layer;
}

/* A stack, or a traced call, has one set of functions. */
static uint32_t find_place(struct host_log *l, const struct host_place *place)
{
	uint64_t a = (uint64_t)place->stack << 32 | place->frame;
	uint64_t b = (uint64_t)place->layer << 8 | (uint64_t)place->what;
	uint32_t *recent = &l->recent[(a ^ a >> 32 ^ b) * UINT64_C(0x9e3779b97f4a7c15) >> 54];
	struct host_place *grown;
	size_t at;

	if (*recent && is_same(&l->places[*recent - 1], place))
		return *recent - 1;
	at = pair_map_find(&l->place_at, a, b);
	if (at != PAIR_NONE) {
		*recent = (uint32_t)at + 1;
		return (uint32_t)at;
	}
	grown = array_grow(l->places, &l->place_cap, l->place_count + 1, sizeof(*grown));
	if (!grown)
		return HOST_NONE;
	l->places = grown;
	if (l->place_count >= HOST_NONE || pair_map_put(&l->place_at, a, b, l->place_count))
		return HOST_NONE;
	grown[l->place_count] = *place;
	*recent = (uint32_t)l->place_count + 1;
	return (uint32_t)l->place_count++;
}

int host_log_add(struct host_log *l, int64_t start_ns, int64_t end_ns,
		 const struct host_place *place, uint32_t other)
{
	struct host_thread *thread = &l->threads[l->thread_count - 1];
	uint32_t at = find_place(l, place);
	struct host_piece *last, *grown;

	if (at == HOST_NONE)
		return -1;
	last = thread->count ? &l->pieces[l->piece_count - 1] : NULL;
	if (last && last->end_ns == start_ns && last->place == at) {
		last->end_ns = end_ns;
		last->other = other;
		return 0;
	}
	grown = array_grow(l->pieces, &l->piece_cap, l->piece_count + 1, sizeof(*grown));
	if (!grown)
		return -1;
	l->pieces = grown;
	grown[l->piece_count++] = (struct host_piece){ start_ns, end_ns, at, other };
	thread->count++;
	return 0;
}
