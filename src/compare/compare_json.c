/* diff.json: docs/schema/diff.schema.json describes every key. */
#include "compare/compare_report.h"
#include "report/json/json_put.h"

#define DIFF_SCHEMA 1

static const char *const side_keys[2] = { "before", "after" };

static void put_side(struct json *j, const struct comparison *c, size_t side)
{
	const struct compared_side *s = &c->sides[side];

	begin_object(j, side_keys[side]);
	put_string(j, "step", s->step);
	put_uint(j, "steps", s->steps);
	for (enum step_statistic k = 0; k < STEP_STATISTICS; k++) {
		static const char *const keys[STEP_STATISTICS] = { "p50_ms", "mean_ms", "p95_ms",
								   "p99_ms" };

		put_fixed(j, keys[k], s->ns[k] / 1e6, 6);
	}
	put_fixed(j, "queued_share", s->queued_share, 4);
	begin_array(j, "traces");
	for (size_t i = 0; i < c->run_count[side]; i++) {
		const struct compared_run *r = &c->runs[side][i];

		json_object_begin(j);
		put_string(j, "path", r->path);
		put_string(j, "command", r->command);
		put_bool(j, "partial", r->partial);
		begin_object(j, "facts");
		for (size_t k = 0; k < r->fact_count; k++)
			put_string(j, r->facts[k].name, r->facts[k].value);
		json_object_end(j);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void put_change(struct json *j, const struct comparison *c)
{
	const struct step_change *d = &c->change;

	begin_object(j, "change");
	put_string(j, "statistic", step_statistic_name(c->statistic));
	put_fixed(j, "ratio", d->ratio, 6);
	put_bool(j, "tested", d->known);
	put_bool(j, "significant", d->significant);
	if (d->known) {
		put_fixed(j, "low", d->low, 6);
		put_fixed(j, "high", d->high, 6);
		put_fixed(j, "p_value", d->p_value, 6);
		put_fixed(j, "degrees_of_freedom", d->df, 0);
		put_fixed(j, "run_spread", d->spread, 6);
	}
	put_fixed(j, "false_alarm_rate", STEP_TEST_ALPHA, 2);
	json_object_end(j);
}

static void put_row(struct json *j, const struct compared_row *r)
{
	json_object_begin(j);
	put_string(j, "name", r->name);
	if (*r->file) {
		put_string(j, "file", r->file);
		put_uint(j, "line", r->in_after ? r->line : r->line_before);
	}
	if (r->part == PART_LINE) {
		put_string(j, "class", r->detail);
		put_uint(j, "line_before", r->line_before);
	}
	put_string(j, "state", !r->in_before ? "new" : !r->in_after ? "gone" : "both");
	put_fixed(j, "before_ms", r->before_ns / 1e6, 6);
	put_fixed(j, "after_ms", r->after_ns / 1e6, 6);
	put_fixed(j, "change_ms", compared_row_change(r) / 1e6, 6);
	put_fixed(j, "low_ms", r->low_ns / 1e6, 6);
	put_fixed(j, "high_ms", r->high_ns / 1e6, 6);
	put_bool(j, "significant", r->significant);
	if (compared_part_texts[r->part].counted) {
		put_fixed(j, "before_count", r->before_count, 4);
		put_fixed(j, "after_count", r->after_count, 4);
	}
	json_object_end(j);
}

static void put_finding(struct json *j, const struct compared_findings_row *r)
{
	const struct compared_finding *f = r->newest;

	json_object_begin(j);
	put_string(j, "state", !r->before ? "new" : !r->after ? "gone" : "both");
	put_string(j, "id", f->id);
	put_string(j, "title", f->title);
	put_string(j, "severity", finding_severity_name(f->severity));
	if (f->function) {
		begin_object(j, "where");
		put_string(j, "function", f->function);
		put_string(j, "file", f->file);
		put_uint(j, "line", f->line);
		json_object_end(j);
	} else {
		put_null(j, "where");
	}
	for (size_t side = 0; side < 2; side++) {
		const struct compared_finding *of = side ? r->after : r->before;

		if (of)
			put_fixed(j, side ? "after_saving_ms" : "before_saving_ms",
				  of->saving_ns / 1e6, 6);
	}
	json_object_end(j);
}

void comparison_json(struct buf *out, const struct comparison *c, enum report_detail detail)
{
	struct json j;

	json_init(&j, out, JSON_PRETTY);
	json_object_begin(&j);
	begin_object(&j, "inferscope");
	put_string(&j, "version", INFERSCOPE_VERSION);
	put_uint(&j, "schema", DIFF_SCHEMA);
	json_object_end(&j);
	put_change(&j, c);
	for (size_t side = 0; side < 2; side++)
		put_side(&j, c, side);
	for (enum compared_part part = 0; part < COMPARED_PARTS; part++) {
		size_t count, shown;
		const struct compared_row *rows = comparison_rows(c, part, &count);

		shown = json_rows(detail, count, detail == DETAIL_SHORT ? 10 : JSON_ROWS);
		begin_array(&j, compared_part_texts[part].key);
		for (size_t i = 0; i < shown; i++)
			put_row(&j, &rows[i]);
		json_array_end(&j);
	}
	begin_array(&j, "findings");
	for (size_t i = 0; i < c->finding_count; i++)
		put_finding(&j, &c->findings[i]);
	json_array_end(&j);
	begin_array(&j, "notes");
	for (size_t i = 0; i < c->notes.count; i++)
		json_string(&j, c->notes.items[i]);
	json_array_end(&j);
	json_object_end(&j);
	buf_add_byte(out, '\n');
}
