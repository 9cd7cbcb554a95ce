#include "report/report_json_findings.h"

#include "report/json_put.h"

void json_put_verdict(struct json *j, const struct analysis_verdict *v)
{
	begin_object(j, "verdict");
	put_string(j, "bound", v->bound);
	put_fixed(j, "confidence", v->confidence, 2);
	put_string(j, "because", v->because);
	json_object_end(j);
}

static void put_where(struct json *j, const struct analysis_place *p)
{
	if (!p->name) {
		put_null(j, "where");
		return;
	}
	begin_object(j, "where");
	put_string(j, "function", p->name);
	put_string(j, "file", p->file ? p->file : "");
	put_uint(j, "line", p->line);
	json_object_end(j);
}

static void put_texts(struct json *j, const char *key, const char *const *texts, size_t count)
{
	begin_array(j, key);
	for (size_t i = 0; i < count; i++)
		json_string(j, texts[i]);
	json_array_end(j);
}

void json_put_findings(struct json *j, const struct analysis_findings *all)
{
	begin_array(j, "findings");
	for (size_t i = 0; i < all->count; i++) {
		const struct analysis_finding *f = &all->items[i];

		json_object_begin(j);
		put_string(j, "id", f->id);
		put_string(j, "title", f->title);
		put_string(j, "origin", f->custom ? "rules-file" : "built-in");
		put_string(j, "severity", finding_severity_name(f->severity));
		put_fixed(j, "confidence", f->confidence, 2);
		put_fixed(j, "saving_ms", f->saving_ns / 1e6, 6);
		put_fixed(j, "saving_low_ms", f->saving_low_ns / 1e6, 6);
		put_fixed(j, "saving_high_ms", f->saving_high_ns / 1e6, 6);
		put_fixed(j, "saving_share", f->saving_share, 4);
		put_string(j, "step", f->step);
		put_where(j, &f->where);
		put_texts(j, "evidence", f->evidence, f->evidence_count);
		put_texts(j, "suggestions", f->suggestions, f->suggestion_count);
		json_object_end(j);
	}
	json_array_end(j);
}
