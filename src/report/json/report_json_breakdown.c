#include "report/json/report_json_sections.h"

#include <stdio.h>

#include "report/json/json_put.h"
#include "report/table_rows.h"

static void put_place(struct json *j, const struct place *p)
{
	put_string(j, "function", p->name ? p->name : "(unknown)");
	put_string(j, "file", p->name && p->file ? p->file : "");
	put_uint(j, "line", p->name ? p->line : 0);
}

/* null where it is not known. */
static void put_optional_place(struct json *j, const char *key, const struct place *p)
{
	if (!p->name) {
		put_null(j, key);
		return;
	}
	begin_object(j, key);
	put_place(j, p);
	json_object_end(j);
}

/* What the line called, and how much of its time that has. */
static void put_called(struct json *j, const struct place *p, int64_t ns, int64_t all_ns)
{
	put_optional_place(j, "called", p);
	if (p->name)
		put_share(j, "called_share", (double)ns, (double)all_ns);
}

static void put_mean(struct json *j, const char *key, double ns, size_t n)
{
	put_fixed(j, key, n ? ns / (double)n / 1e6 : 0, 6);
}

static void put_cause(struct json *j, const struct time_cause *c, size_t steps)
{
	put_string(j, "class", time_class_name(c->what));
	put_place(j, &c->where);
	put_called(j, &c->inner, c->inner_ns, c->ns);
	put_optional_place(j, "waited_for", &c->waited_for);
	put_mean(j, "ms", (double)c->ns, steps);
}

static void put_parts(struct json *j, const struct step_breakdown *b)
{
	enum time_class order[TIME_CLASSES];
	size_t n = breakdown_order(b, order);

	begin_array(j, "breakdown");
	for (size_t i = 0; i < n; i++) {
		const struct time_part *p = &b->parts[order[i]];

		json_object_begin(j);
		put_string(j, "class", time_class_name(order[i]));
		put_mean(j, "ms", (double)p->ns, b->steps);
		put_share(j, "share", (double)p->ns, (double)b->total_ns);
		put_mean(j, "error_ms", (double)p->error_ns, b->steps);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_slow(struct json *j, const struct slow_steps *s, enum report_detail detail)
{
	size_t rows = json_rows(detail, s->cause_count, 20);

	begin_object(j, "slow");
	put_uint(j, "steps", s->steps);
	put_ms(j, "from_ms", s->from_ns);
	put_fixed(j, "mean_ms", s->mean_ns / 1e6, 6);
	put_uint(j, "typical_steps", s->typical_steps);
	put_fixed(j, "typical_mean_ms", s->typical_mean_ns / 1e6, 6);
	begin_array(j, "causes");
	for (size_t i = 0; i < rows; i++) {
		json_object_begin(j);
		put_cause(j, &s->causes[i].cause, s->steps);
		put_fixed(j, "more_ms", s->causes[i].more_ns / 1e6, 6);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

void json_put_breakdown(struct json *j, const struct step_breakdown *b, enum report_detail detail)
{
	size_t rows = json_rows(detail, b->cause_count, 30);

	put_parts(j, b);
	if (!b->steps)
		return;
	put_uint(j, "breakdown_steps", b->steps);
	put_mean(j, "breakdown_ms", (double)b->total_ns, b->steps);
	put_bool(j, "breakdown_shared", b->shared);
	begin_array(j, "causes");
	for (size_t i = 0; i < rows; i++) {
		json_object_begin(j);
		put_cause(j, &b->causes[i], b->steps);
		json_object_end(j);
	}
	json_array_end(j);
	if (b->slow.steps)
		put_slow(j, &b->slow, detail);
}

void json_put_blame(struct json *j, const struct idle_blame *b, enum report_detail detail)
{
	size_t rows = json_rows(detail, b->count, 30);

	put_ms(j, "no_load_ms", b->no_load_ns);
	put_ms(j, "unexplained_ms", b->unexplained_ns);
	put_uint(j, "blame_count", b->count);
	begin_array(j, "blame");
	for (size_t i = 0; i < rows; i++) {
		const struct idle_cause *c = &b->items[i];

		json_object_begin(j);
		put_string(j, "cause", idle_cause_name(c));
		put_place(j, &c->where);
		put_called(j, &c->inner, c->inner_ns, c->ns);
		put_optional_place(j, "waited_for", &c->waited_for);
		put_ms(j, "ms", c->ns);
		if (b->steps)
			put_mean(j, "ms_per_step", (double)c->in_steps_ns, b->steps);
		else
			put_null(j, "ms_per_step");
		put_ms(j, "in_steps_ms", c->in_steps_ns);
		put_uint(j, "gaps", c->gaps);
		put_ms(j, "longest_ms", c->longest_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_critical_part(struct json *j, const struct critical_part *c,
			      const struct analysis_critical_path *p)
{
	json_object_begin(j);
	put_string(j, "kind", critical_kind_name(c->kind));
	put_string(j, "class", time_class_name(c->what));
	put_string(j, "kernel", c->kernel);
	put_place(j, &c->where);
	put_mean(j, "ms", (double)c->ns, p->steps);
	put_share(j, "share", (double)c->ns, (double)p->total_ns);
	json_object_end(j);
}

void json_put_critical_path(struct json *j, const struct analysis_critical_path *p,
			    enum report_detail detail)
{
	size_t parts = json_rows(detail, p->part_count, 20);
	size_t layers = json_rows(detail, p->layer_count, 20);

	if (!p->steps) {
		put_null(j, "critical_path");
		return;
	}
	begin_object(j, "critical_path");
	put_uint(j, "steps", p->steps);
	put_mean(j, "ms", (double)p->total_ns, p->steps);
	put_bool(j, "with_work_left", p->behind);
	put_fixed(j, "step_error_share", p->step_error, 6);
	if (p->gpu)
		put_fixed(j, "gpu_idle_error_share", p->idle_error, 6);
	else
		put_null(j, "gpu_idle_error_share");
	for (enum critical_kind k = 0; k < CRITICAL_KINDS; k++) {
		char key[32];

		snprintf(key, sizeof(key), "%s_ms", critical_kind_name(k));
		put_mean(j, key, (double)p->kinds_ns[k], p->steps);
	}
	begin_array(j, "parts");
	for (size_t i = 0; i < parts; i++)
		put_critical_part(j, &p->parts[i], p);
	json_array_end(j);
	begin_array(j, "layers");
	for (size_t i = 0; i < layers; i++) {
		json_object_begin(j);
		put_string(j, "name", p->layers[i].name);
		put_string(j, "class", p->layers[i].class_name);
		put_mean(j, "ms", (double)p->layers[i].ns, p->steps);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}
