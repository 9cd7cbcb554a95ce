/* CUDA calls, streams, and when the devices were busy or idle, and why. */
#include <stdlib.h>
#include <string.h>

#include "analyze/gpu/gpu_busy.h"
#include "analyze/gpu/gpu_sections.h"
#include "base/array.h"
#include "report/plain_text.h"
#include "report/viewdata/view_parts.h"

#define CALL_LANES 4u
#define STREAM_LANES 16u
#define WAIT_FOR_GPU 100u /* as a state of a VIEW_WAIT */

struct gpu_part {
	struct view *v;
	const struct gpu_timeline *g;
	/* (position of what calls or activities have in common, stack and layer): their label */
	struct pair_map call_labels, work_labels;
	struct pair_map places; /* (0, stack): the user's line in it */
	struct pair_map streams;
	struct stream_lanes {
		uint32_t track;
		int64_t until_ns[STREAM_LANES];
	} * lanes;
	size_t lane_count, lane_cap;
	uint32_t *activity_rows;
	uint32_t *call_rows;
};

static uint32_t user_place(struct gpu_part *p, uint32_t stack)
{
	size_t known = pair_map_find(&p->places, 0, stack);
	struct place inner, user;
	uint32_t place;

	if (!stack || known != PAIR_NONE)
		return stack ? (uint32_t)known : 0;
	gpu_stack_places(p->g, stack, &inner, &user);
	place = view_place(&p->v->names, user.name, user.file, user.line);
	if (pair_map_put(&p->places, 0, stack, place))
		p->v->rows.failed = true;
	return place;
}

static void finish_label(struct gpu_part *p, struct view_label *label, uint32_t stack,
			 const char *more)
{
	label->place = user_place(p, stack);
	label->stack = view_stack(&p->v->names, p->g, stack);
	label->more = *more ? view_string(&p->v->names, more) : 0;
}

static uint32_t call_label(struct gpu_part *p, size_t at)
{
	const struct gpu_call *c = gpu_call(p->g, at);
	const struct gpu_api *api = gpu_call_api(p->g, c);
	uint32_t layer = p->v->call_layers[at], index;
	uint64_t where = (uint64_t)c->stack << 32 | layer;
	size_t known = pair_map_find(&p->call_labels, c->api, where);
	struct view_label label = { .kind = gpu_call_waits(api->what) ? VIEW_SYNC : VIEW_CALL,
				    .what = api->what };
	char more[TEXT_FIGURE] = "";

	if (known != PAIR_NONE)
		return (uint32_t)known;
	label.name = view_lasting_string(&p->v->names, api->name);
	label.layer = layer;
	if (api->bytes)
		text_bytes(more, api->bytes);
	finish_label(p, &label, c->stack, more);
	index = view_label(&p->v->names, &label);
	if (pair_map_put(&p->call_labels, c->api, where, index))
		p->v->rows.failed = true;
	return index;
}

static void kernel_facts(struct buf *out, const struct gpu_work *a)
{
	char shared[2][TEXT_FIGURE];

	buf_printf(out,
		   "grid %u\xc3\x97%u\xc3\x97%u, block %u\xc3\x97%u\xc3\x97%u, %u registers, "
		   "%s static and %s dynamic shared memory",
		   a->grid[0], a->grid[1], a->grid[2], a->block[0], a->block[1], a->block[2],
		   a->registers, text_bytes(shared[0], a->static_shared_bytes),
		   text_bytes(shared[1], a->dynamic_shared_bytes));
}

static void activity_facts(struct buf *out, const struct gpu_work *a)
{
	char bytes[TEXT_FIGURE];

	if (a->kind == GPU_KERNEL)
		kernel_facts(out, a);
	else if (a->kind == GPU_COPY)
		buf_printf(out, "%s, %s to %s memory, %s", text_bytes(bytes, a->bytes),
			   gpu_memory_name(a->source), gpu_memory_name(a->destination),
			   a->asynchronous ? "asynchronous" : "synchronous");
	else if (a->kind == GPU_MEMSET)
		buf_add_str(out, text_bytes(bytes, a->bytes));
}

static uint32_t activity_layer(const struct gpu_part *p, const struct gpu_activity *a)
{
	uint32_t capture = gpu_activity_work(p->g, a)->capture;

	if (capture != GPU_NONE)
		return p->v->capture_layers[capture];
	return a->linked ? p->v->call_layers[gpu_activity_call(a)] : 0;
}

static uint32_t activity_name(struct gpu_part *p, struct view_label *label,
			      const struct gpu_work *work)
{
	const struct gpu_kernel_name *kernel;

	if (work->kind != GPU_KERNEL)
		return work->kind == GPU_COPY ? view_string(&p->v->names, gpu_copy_name(work->copy))
					      : 0;
	kernel = gpu_kernel_name(p->g, work->name);
	label->full = view_lasting_string(&p->v->names, kernel->full);
	return view_lasting_string(&p->v->names, kernel->brief);
}

static uint32_t activity_label(struct gpu_part *p, const struct gpu_activity *a)
{
	static const enum view_kind kinds[] = {
		[GPU_KERNEL] = VIEW_KERNEL,
		[GPU_COPY] = VIEW_COPY,
		[GPU_MEMSET] = VIEW_MEMSET,
		[GPU_GRAPH] = VIEW_GRAPH,
	};
	const struct gpu_work *work = gpu_activity_work(p->g, a);
	uint32_t stack = gpu_activity_stack(p->g, a), layer = activity_layer(p, a), index;
	uint64_t where = (uint64_t)stack << 32 | layer;
	size_t known = pair_map_find(&p->work_labels, a->work, where);
	struct view_label label = { .kind = kinds[work->kind],
				    .what = work->kind == GPU_COPY ? work->copy
								   : work->graph != 0 };
	struct buf facts;

	if (known != PAIR_NONE)
		return (uint32_t)known;
	buf_init(&facts);
	activity_facts(&facts, work);
	label.name = activity_name(p, &label, work);
	label.layer = layer;
	finish_label(p, &label, stack, buf_string(&facts));
	buf_release(&facts);
	index = view_label(&p->v->names, &label);
	if (pair_map_put(&p->work_labels, a->work, where, index))
		p->v->rows.failed = true;
	return index;
}

static struct stream_lanes *lanes_of(struct gpu_part *p, const struct gpu_work *a)
{
	uint64_t device = (uint64_t)a->process << 32 | a->device;
	uint64_t stream = (uint64_t)a->context << 32 | a->stream;
	size_t at = pair_map_find(&p->streams, device, stream);
	struct stream_lanes *grown;

	if (at != PAIR_NONE)
		return &p->lanes[at];
	grown = array_grow(p->lanes, &p->lane_cap, p->lane_count + 1, sizeof(*grown));
	p->lanes = grown ? grown : p->lanes;
	if (!grown || pair_map_put(&p->streams, device, stream, p->lane_count)) {
		p->v->rows.failed = true;
		return NULL;
	}
	memset(&grown[p->lane_count], 0, sizeof(*grown));
	grown[p->lane_count].track = view_track_add(
		&p->v->rows, &(struct view_track){
				     .type = VIEW_TRACK_STREAM,
				     .process = (uint32_t)process_position(p->v->t, a->process) + 1,
				     .number = a->stream,
				     .device = a->device,
			     });
	return &grown[p->lane_count++];
}

/* In the first lane that is free; in the last one what has none is moved. */
static int place_activities(struct gpu_part *p)
{
	size_t n = gpu_activity_count(p->g);

	for (size_t i = 0; i < n; i++) {
		const struct gpu_activity *a = gpu_activity(p->g, i);
		struct stream_lanes *s;
		uint32_t lane = 0;

		p->activity_rows[i] = VIEW_ROW_NONE;
		if (!a->timed)
			continue;
		s = lanes_of(p, gpu_activity_work(p->g, a));
		if (!s)
			return -1;
		while (lane < STREAM_LANES - 1 && s->until_ns[lane] > a->start_ns)
			lane++;
		if (a->end_ns > s->until_ns[lane])
			s->until_ns[lane] = a->end_ns;
		p->activity_rows[i] = view_row_of(&p->v->rows, s->track, VIEW_LANE_STREAM, lane);
	}
	return 0;
}

static void add_call(struct gpu_part *p, size_t at, uint32_t lane)
{
	const struct gpu_call *c = gpu_call(p->g, at);
	const struct gpu_api *api = gpu_call_api(p->g, c);
	uint32_t track = view_thread_track(p->v, api->thread);
	struct view_item item = {
		.start_ns = c->start_ns,
		.end_ns = c->end_ns,
		.label = call_label(p, at),
		.link_row = VIEW_ROW_NONE,
	};

	for (size_t nth = 0; nth < gpu_call_activities(p->g, c) && item.link_row == VIEW_ROW_NONE;
	     nth++) {
		size_t activity = gpu_call_activity(p->g, c, nth);

		item.link_row = p->activity_rows[activity];
		item.link_start_ns = gpu_activity(p->g, activity)->start_ns;
	}
	p->call_rows[at] = view_row_of(&p->v->rows, track, VIEW_LANE_CALLS, lane);
	view_row_add(&p->v->rows, p->call_rows[at], &item);
	if (!gpu_call_waits(api->what) || lane)
		return;
	item = (struct view_item){
		.start_ns = c->start_ns,
		.end_ns = c->end_ns,
		.label = view_label(&p->v->names, &(struct view_label){ .kind = VIEW_WAIT,
									.what = WAIT_FOR_GPU }),
		.link_row = VIEW_ROW_NONE,
	};
	view_row_add(&p->v->rows, view_row_of(&p->v->rows, track, VIEW_LANE_SYNC, 0), &item);
}

static void add_calls(struct gpu_part *p)
{
	int64_t until_ns[CALL_LANES] = { 0 };
	size_t n = gpu_call_count(p->g);
	uint32_t thread = UINT32_MAX;

	for (size_t i = 0; i < n; i++) {
		const struct gpu_call *c = gpu_call(p->g, i);
		uint32_t lane = 0;

		if (gpu_call_api(p->g, c)->thread != thread)
			memset(until_ns, 0, sizeof(until_ns));
		thread = gpu_call_api(p->g, c)->thread;
		while (lane < CALL_LANES - 1 && until_ns[lane] > c->start_ns)
			lane++;
		until_ns[lane] = c->end_ns;
		add_call(p, i, lane);
	}
}

static void add_activities(struct gpu_part *p)
{
	size_t n = gpu_activity_count(p->g);

	for (size_t i = 0; i < n; i++) {
		const struct gpu_activity *a = gpu_activity(p->g, i);
		struct view_item item = {
			.start_ns = a->start_ns,
			.end_ns = a->end_ns,
			.link_row = VIEW_ROW_NONE,
		};

		if (p->activity_rows[i] == VIEW_ROW_NONE)
			continue;
		item.label = activity_label(p, a);
		if (a->linked) {
			item.link_row = p->call_rows[gpu_activity_call(a)];
			item.link_start_ns = gpu_call(p->g, gpu_activity_call(a))->start_ns;
		}
		view_row_add(&p->v->rows, p->activity_rows[i], &item);
	}
}

/* Busy, idle by cause, and what is not known: all of the time from the first work to the last. */
struct busy_row {
	struct gpu_part *p;
	const struct gpu_section *s;
	uint32_t row;
	uint32_t busy, unexplained, no_load, paused; /* labels */
	size_t next_part;
	uint32_t *labels; /* by cause, + 1; 0: not made yet */
};

static void put(struct busy_row *b, int64_t start_ns, int64_t end_ns, uint32_t label)
{
	struct view_item item = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.label = label,
		.link_row = VIEW_ROW_NONE,
	};

	if (end_ns > start_ns)
		view_row_add(&b->p->v->rows, b->row, &item);
}

static uint32_t cause_label(struct busy_row *b, uint32_t cause)
{
	struct view_names *n = &b->p->v->names;
	const struct idle_cause *c;

	if (cause == IDLE_NO_LOAD)
		return b->no_load;
	if (b->labels[cause])
		return b->labels[cause] - 1;
	c = &b->s->blame.part_causes[cause];
	b->labels[cause] =
		1 +
		view_label(
			n,
			&(struct view_label){
				.kind = VIEW_IDLE,
				.what = c->what,
				.name = view_string(n, c->latency ? "Launch latency"
								  : time_class_title(c->what)),
				.place = view_place(n, c->where.name, c->where.file, c->where.line),
				.layer = 0,
				.more = c->inner.name ? view_string(n, c->inner.name) : 0,
			});
	return b->labels[cause] - 1;
}

static void put_rest(struct busy_row *b, int64_t start_ns, int64_t end_ns)
{
	for (size_t i = 0; i < b->s->pause_count && start_ns < end_ns; i++) {
		const struct gpu_pause *p = &b->s->pauses[i];
		int64_t until_ns = p->end_ns < end_ns ? p->end_ns : end_ns;

		if (p->end_ns <= start_ns || p->start_ns >= end_ns)
			continue;
		put(b, start_ns, p->start_ns, b->unexplained);
		put(b, start_ns > p->start_ns ? start_ns : p->start_ns, until_ns, b->paused);
		start_ns = until_ns;
	}
	put(b, start_ns, end_ns, b->unexplained);
}

static void put_gap(struct busy_row *b, int64_t start_ns, int64_t end_ns)
{
	const struct idle_blame *blame = &b->s->blame;

	while (b->next_part < blame->part_count && start_ns < end_ns) {
		const struct idle_part *p = &blame->parts[b->next_part];

		if (p->end_ns <= start_ns) {
			b->next_part++;
			continue;
		}
		if (p->start_ns >= end_ns)
			break;
		put_rest(b, start_ns, p->start_ns);
		put(b, p->start_ns > start_ns ? p->start_ns : start_ns,
		    p->end_ns < end_ns ? p->end_ns : end_ns, cause_label(b, p->cause));
		start_ns = p->end_ns < end_ns ? p->end_ns : end_ns;
	}
	put_rest(b, start_ns, end_ns);
}

static void put_stretches(struct busy_row *b)
{
	const struct gpu_busy *busy = b->s->busy;
	int64_t start_ns = 0, until_ns = INT64_MIN;

	for (size_t i = busy->first; i < busy->first + busy->count; i++) {
		const struct gpu_activity *a = gpu_activity(b->p->g, i);

		if (!a->timed)
			continue;
		if (until_ns == INT64_MIN) {
			start_ns = a->start_ns;
		} else if (a->start_ns > until_ns) {
			put(b, start_ns, until_ns, b->busy);
			put_gap(b, until_ns, a->start_ns);
			start_ns = a->start_ns;
		}
		if (a->end_ns > until_ns)
			until_ns = a->end_ns;
	}
	put(b, start_ns, until_ns, b->busy);
}

static uint32_t plain_label(struct gpu_part *p, enum view_kind kind, uint32_t what,
			    const char *name)
{
	return view_label(&p->v->names, &(struct view_label){
						.kind = kind,
						.what = what,
						.name = view_string(&p->v->names, name),
					});
}

static int add_section(struct gpu_part *p, const struct gpu_section *s)
{
	struct busy_row b = { .p = p, .s = s };
	uint32_t track;

	if (!s->interval_count)
		return 0;
	b.labels = calloc(s->blame.part_cause_count + 1, sizeof(*b.labels));
	if (!b.labels)
		return -1;
	track = view_track_add(
		&p->v->rows,
		&(struct view_track){
			.type = VIEW_TRACK_GPU,
			.name = s->device_count ? view_string(&p->v->names, s->devices[0].name) : 0,
			.process = (uint32_t)process_position(p->v->t, s->process) + 1,
			.number = (uint32_t)s->device_count,
		});
	b.row = view_row_of(&p->v->rows, track, VIEW_LANE_BUSY, 0);
	b.busy = plain_label(p, VIEW_BUSY, 0, "GPU busy");
	b.unexplained = plain_label(p, VIEW_IDLE, TIME_UNATTRIBUTED, "Idle, cause unknown");
	b.no_load = plain_label(p, VIEW_IDLE, TIME_IDLE, "No load");
	b.paused = plain_label(p, VIEW_PAUSE, 0, "GPU not recorded");
	put_stretches(&b);
	free(b.labels);
	return 0;
}

int view_gpu_collect(struct view *v)
{
	struct gpu_part p = { .v = v, .g = v->a->gpu.timeline };
	int rc = -1;

	pair_map_init(&p.call_labels);
	pair_map_init(&p.work_labels);
	pair_map_init(&p.places);
	pair_map_init(&p.streams);
	p.activity_rows = calloc(gpu_activity_count(p.g) + 1, sizeof(*p.activity_rows));
	p.call_rows = calloc(gpu_call_count(p.g) + 1, sizeof(*p.call_rows));
	if (!p.activity_rows || !p.call_rows)
		goto out;
	for (size_t i = 0; i < v->a->gpu.section_count; i++)
		if (add_section(&p, &v->a->gpu.sections[i]))
			goto out;
	if (place_activities(&p))
		goto out;
	add_calls(&p);
	add_activities(&p);
	rc = v->rows.failed || v->names.failed ? -1 : 0;
out:
	pair_map_release(&p.call_labels);
	pair_map_release(&p.work_labels);
	pair_map_release(&p.places);
	pair_map_release(&p.streams);
	free(p.lanes);
	free(p.activity_rows);
	free(p.call_rows);
	return rc;
}
