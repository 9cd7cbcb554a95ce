#include "report/viewdata/view_page.h"

#include <stdlib.h>
#include <string.h>

#include "report/plain_text.h"
#include "report/viewdata/view_parts.h"
#include "report/viewdata/view_tree.h"

#define WANTED_MAX 4096u
#define STEPS_IN_FULL 8u /* the first ones and the last ones */

static void put_tracks(const struct view *v, struct json *j)
{
	json_key(j, "tracks");
	json_array_begin(j);
	for (size_t i = 0; i < v->rows.track_count; i++) {
		const struct view_track *t = &v->rows.tracks[i];

		json_array_begin(j);
		json_uint(j, t->type);
		json_uint(j, t->name);
		json_uint(j, t->process);
		json_uint(j, t->number);
		json_uint(j, t->device);
		json_array_end(j);
	}
	json_array_end(j);
	json_key(j, "rows");
	json_array_begin(j);
	for (size_t i = 0; i < v->rows.row_count; i++) {
		const struct view_row *r = &v->rows.rows[i];

		json_uint(j, r->track);
		json_uint(j, r->lane);
		json_uint(j, r->depth);
		json_uint(j, r->count);
		json_uint(j, r->links);
	}
	json_array_end(j);
}

static void put_processes(struct view *v, struct json *j)
{
	struct buf name;

	buf_init(&name);
	json_key(j, "processes");
	json_array_begin(j);
	for (size_t i = 0; i < trace_process_count(v->t); i++) {
		const struct trace_process *p = trace_process(v->t, i);

		json_array_begin(j);
		buf_clear(&name);
		text_add_command(&name, p->name, v->a->run.root);
		json_uint(j, view_string(&v->names, buf_string(&name)));
		json_uint(j, p->pid);
		json_array_end(j);
	}
	json_array_end(j);
	buf_release(&name);
}

/* By number, as items of kind VIEW_IDLE and VIEW_COMPILE have it. */
static void put_classes(struct json *j)
{
	json_key(j, "classes");
	json_array_begin(j);
	for (enum time_class c = 0; c < TIME_CLASSES; c++)
		json_string(j, time_class_name(c));
	json_array_end(j);
}

static void put_counters(const struct view *v, struct json *j)
{
	json_key(j, "counters");
	json_array_begin(j);
	for (size_t i = 0; i < v->counter_count; i++) {
		const struct view_counter *c = &v->counters[i];

		if (!c->curve.count)
			continue;
		json_object_begin(j);
		json_key(j, "name");
		json_uint(j, c->name);
		json_key(j, "unit");
		json_uint(j, c->unit);
		json_key(j, "process");
		json_uint(j, c->process);
		json_key(j, "points");
		json_array_begin(j);
		for (size_t k = 0; k < c->curve.count; k++) {
			json_int(j, c->curve.bins[k].time_ns);
			json_double(j, c->curve.bins[k].low);
			json_double(j, c->curve.bins[k].high);
		}
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_findings(const struct view *v, struct json *j)
{
	json_key(j, "findings");
	json_array_begin(j);
	for (size_t i = 0; i < v->findings.count; i++) {
		const struct view_finding *f = &v->findings.items[i];

		json_object_begin(j);
		json_key(j, "id");
		json_string(j, f->finding->id);
		json_key(j, "title");
		json_string(j, f->finding->title);
		json_key(j, "place");
		json_uint(j, f->place);
		json_key(j, "seen");
		json_uint(j, f->seen);
		json_key(j, "at");
		json_array_begin(j);
		for (size_t k = 0; k < f->count; k++) {
			json_int(j, f->items[k].start_ns);
			json_int(j, f->items[k].end_ns);
			json_uint(j, f->items[k].row);
		}
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

/* In the order of their elements: level, index, 1 for a leaf, items, 1 if it is there. */
static void put_nodes(const struct view *v, const struct view_tree *tree, struct json *j)
{
	json_key(j, "nodes");
	json_array_begin(j);
	for (size_t i = 0; i < tree->node_count; i++) {
		const struct view_node *n = &tree->nodes[i];

		json_uint(j, n->level);
		json_uint(j, n->index);
		json_uint(j, n->leaf);
		json_uint(j, n->items);
		json_uint(j, n->data.len > 0);
	}
	json_array_end(j);
	json_key(j, "levels");
	json_uint(j, VIEW_LEVELS);
	json_key(j, "unit_ns");
	json_int(j, tree->unit_ns);
	json_key(j, "end_ns");
	json_int(j, v->rows.end_ns);
	json_key(j, "items");
	json_uint(j, tree->item_count);
	json_key(j, "whole");
	json_uint(j, tree->whole_count);
	json_key(j, "moved");
	json_uint(j, v->rows.moved);
	json_key(j, "deeper");
	json_uint(j, v->rows.deeper);
}

static void add_element(struct buf *out, const struct buf *data)
{
	view_base64(out, data->data, data->len);
	buf_add_str(out, "</script>\n");
}

/* -1: no memory. */
static int put_page(struct view *v, const struct view_tree *tree, struct buf *out)
{
	struct buf text, packed;
	struct json j;
	int rc;

	buf_init(&text);
	buf_init(&packed);
	json_init(&j, &text, JSON_COMPACT);
	json_object_begin(&j);
	put_processes(v, &j);
	put_tracks(v, &j);
	put_classes(&j);
	put_counters(v, &j);
	put_findings(v, &j);
	put_nodes(v, tree, &j);
	view_source_put(v, &j);
	view_names_put(&v->names, &j);
	json_object_end(&j);
	rc = text.failed || v->names.failed || view_deflate(&packed, text.data, text.len) ? -1 : 0;
	if (!rc) {
		buf_add_str(out, "<script type=\"application/octet-stream\" id=\"tl-meta\">");
		add_element(out, &packed);
	}
	for (size_t i = 0; !rc && i < tree->node_count; i++) {
		if (!tree->nodes[i].data.len)
			continue;
		buf_printf(out, "<script type=\"application/octet-stream\" id=\"tl-%zu\">", i);
		add_element(out, &tree->nodes[i].data);
	}
	buf_release(&text);
	buf_release(&packed);
	return rc;
}

/*
 * The items that readers need first are included in full: an example of each finding, then further
 * ones, slow steps, a few others.
 */
static size_t choose_wanted(const struct view *v, struct view_interval *wanted)
{
	const struct step_items *steps = &v->a->step_items;
	size_t n = 0;

	for (size_t k = 0; k < VIEW_OCCURRENCES; k++)
		for (size_t i = 0; i < v->findings.count && n < WANTED_MAX / 2; i++) {
			const struct view_finding *f = &v->findings.items[i];
			const struct view_occurrence *o = &f->items[f->examples[k]];

			if (k < f->count)
				wanted[n++] = (struct view_interval){ o->start_ns, o->end_ns };
		}
	for (size_t i = 0; i < steps->count && n < WANTED_MAX; i++)
		if (steps->items[i].group == STEPS_SLOW || i < STEPS_IN_FULL ||
		    i + STEPS_IN_FULL >= steps->count)
			wanted[n++] = (struct view_interval){ steps->items[i].start_ns,
							      steps->items[i].end_ns };
	return n;
}

static int64_t end_of(const struct view *v)
{
	const struct trace_end *end = trace_end(v->t);
	int64_t end_ns = end ? end->wall_ns : 0;

	for (size_t i = 0; i < v->a->thread_count; i++)
		if (v->a->threads[i].end_ns > end_ns)
			end_ns = v->a->threads[i].end_ns;
	for (size_t i = 0; i < v->a->gpu.section_count; i++)
		if (v->a->gpu.sections[i].last_ns > end_ns)
			end_ns = v->a->gpu.sections[i].last_ns;
	return end_ns < INT64_MAX / 4 ? end_ns : INT64_MAX / 4;
}

static int collect(struct view *v)
{
	size_t threads = trace_thread_count(v->t);
	const struct gpu_timeline *g = v->a->gpu.timeline;
	struct err err;

	v->thread_tracks = malloc((threads + 1) * sizeof(*v->thread_tracks));
	v->call_layers = calloc(gpu_call_count(g) + 1, sizeof(*v->call_layers));
	v->capture_layers = calloc(gpu_capture_count(g) + 1, sizeof(*v->capture_layers));
	if (!v->thread_tracks || !v->call_layers || !v->capture_layers)
		return -1;
	memset(v->thread_tracks, 0xff, (threads + 1) * sizeof(*v->thread_tracks));
	if (view_rows_init(&v->rows, end_of(v)) ||
	    view_findings_init(&v->findings, v->a, &v->names, &v->rows) ||
	    timeline_new(&v->tl, v->t, &err) || view_steps_collect(v) || view_threads_collect(v) ||
	    view_gpu_collect(v) || view_counters_collect(v))
		return -1;
	view_findings_finish(&v->findings, v->steps_row);
	return v->findings.failed || v->names.failed || v->rows.failed ? -1 : 0;
}

static void release(struct view *v)
{
	timeline_free(v->tl);
	view_findings_release(&v->findings);
	view_rows_release(&v->rows);
	view_names_release(&v->names);
	free(v->thread_tracks);
	free(v->call_layers);
	free(v->capture_layers);
	free(v->counters);
	free(v->values);
}

void view_page_add(struct buf *out, const struct analysis *a)
{
	struct view v = { .a = a, .t = a->trace };
	struct view_interval *wanted;
	struct view_tree tree = { 0 };

	if (!a->trace || !a->drawing.timeline_bytes)
		return;
	wanted = calloc(WANTED_MAX, sizeof(*wanted));
	view_names_init(&v.names, a->run.root);
	if (!wanted || collect(&v) ||
	    view_tree_make(&tree, &v.rows, &v.names, wanted, choose_wanted(&v, wanted),
			   a->drawing.timeline_bytes) ||
	    put_page(&v, &tree, out))
		out->failed = true;
	view_tree_release(&tree);
	release(&v);
	free(wanted);
}
