/*
 * report.json: docs/schema/report.schema.json describes every key.  Sections
 * that this version cannot fill are there and empty, so that a program may rely
 * on their presence.
 */
#include "analyze/steps/startup.h"
#include "report/json/json_put.h"
#include "report/json/report_json_sections.h"

void json_put_verdict(struct json *j, const struct analysis_verdict *v)
{
	begin_object(j, "verdict");
	put_string(j, "bound", v->bound);
	put_fixed(j, "confidence", v->confidence, 2);
	put_string(j, "because", v->because);
	json_object_end(j);
}

static void put_where(struct json *j, const struct place *p)
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

static void put_inferscope(struct json *j, const struct analysis *a)
{
	begin_object(j, "inferscope");
	put_string(j, "version", INFERSCOPE_VERSION);
	put_uint(j, "schema", REPORT_SCHEMA);
	put_string(j, "recorded_by", a->run.recorder);
	json_object_end(j);
}

static void put_run(struct json *j, const struct analysis *a)
{
	const struct analysis_run *run = &a->run;

	begin_object(j, "run");
	begin_array(j, "command");
	for (size_t i = 0; i < run->command_count; i++)
		json_string(j, run->command[i]);
	json_array_end(j);
	json_key(j, "exit_status");
	if (run->exit_known)
		json_int(j, run->exit_status);
	else
		json_null(j);
	put_ms(j, "wall_ms", run->wall_ns);
	put_string(j, "started", run->started);
	put_string(j, "cwd", run->cwd);
	put_string(j, "clock", run->clock);
	put_string(j, "python", run->python);
	begin_object(j, "frameworks");
	for (size_t i = 0; i < run->framework_count; i++)
		put_string(j, run->frameworks[i].name, run->frameworks[i].version);
	json_object_end(j);
	json_put_run_gpu(j, &a->gpu);
	json_object_end(j);
}

static void put_processes(struct json *j, const struct analysis *a)
{
	begin_array(j, "processes");
	for (size_t i = 0; i < a->process_count; i++) {
		const struct analysis_process *p = &a->processes[i];

		json_object_begin(j);
		put_uint(j, "pid", p->pid);
		put_string(j, "name", p->name);
		put_string(j, "role", p->is_main ? "main" : "child");
		put_uint(j, "threads", p->threads);
		put_uint(j, "events", p->events);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_steps(struct json *j, const struct analysis *a, enum report_detail detail)
{
	size_t rows = json_rows(detail, a->step_count, JSON_ROWS);

	put_uint(j, "step_count", a->step_count);
	begin_array(j, "steps");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_step *s = &a->steps[i];

		json_object_begin(j);
		put_string(j, "name", s->name);
		put_string(j, "source", step_source_name(s->source));
		if (s->domain)
			put_string(j, "domain", s->domain);
		put_uint(j, "pid", s->pid);
		put_uint(j, "depth", s->depth);
		put_uint(j, "count", s->count);
		put_uint(j, "warmup", s->warmup);
		put_uint(j, "unended", s->unended);
		put_ms(j, "total_ms", s->total_ns);
		put_fixed(j, "mean_ms", s->mean_ns / 1e6, 6);
		put_ms(j, "p50_ms", s->p50_ns);
		put_ms(j, "p95_ms", s->p95_ns);
		put_ms(j, "p99_ms", s->p99_ns);
		put_ms(j, "max_ms", s->max_ns);
		begin_object(j, "service");
		put_fixed(j, "per_second", s->service.per_second, 3);
		put_fixed(j, "concurrency_mean", s->service.concurrency_mean, 3);
		put_uint(j, "concurrency_most", s->service.concurrency_most);
		put_fixed(j, "busy_share", s->service.busy_share, 6);
		json_object_end(j);
		json_put_breakdown(j, &s->breakdown, detail);
		json_put_step_gpu(j, &s->gpu);
		json_put_step_memory(j, &s->memory);
		json_object_end(j);
	}
	json_array_end(j);
}

/* null: there are no samples of it. */
static void put_startup(struct json *j, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_startup *s = &a->startup;
	size_t rows = json_rows(detail, s->place_count, 10);

	if (!s->known) {
		put_null(j, "startup");
		return;
	}
	begin_object(j, "startup");
	put_ms(j, "ms", s->until_ns - s->from_ns);
	begin_array(j, "parts");
	for (int i = 0; i < STARTUP_PARTS; i++) {
		if (s->parts_ns[i] <= 0)
			continue;
		json_object_begin(j);
		put_string(j, "part", startup_part_name((enum startup_part)i));
		put_ms(j, "ms", s->parts_ns[i]);
		json_object_end(j);
	}
	json_array_end(j);
	begin_array(j, "places");
	for (size_t i = 0; i < rows; i++) {
		json_object_begin(j);
		put_string(j, "function", s->places[i].name);
		put_string(j, "file", s->places[i].file);
		put_uint(j, "line", s->places[i].line);
		put_ms(j, "ms", s->places[i].ns);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void put_candidates(struct json *j, const struct analysis *a, enum report_detail detail)
{
	static const char *const outcomes[] = {
		[CANDIDATE_LEADS] = "leads",
		[CANDIDATE_SHOWN] = "shown",
		[CANDIDATE_LOST] = "not-shown",
	};
	size_t rows = json_rows(detail, a->candidate_count, JSON_ROWS);

	if (a->steps_are)
		put_string(j, "steps_are", a->steps_are);
	else
		put_null(j, "steps_are");
	put_uint(j, "step_candidate_count", a->candidate_count);
	begin_array(j, "step_candidates");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_candidate *c = &a->candidates[i];

		json_object_begin(j);
		put_string(j, "name", c->name);
		if (c->domain)
			put_string(j, "domain", c->domain);
		put_string(j, "found_by", c->found_by);
		put_uint(j, "pid", c->pid);
		put_uint(j, "count", c->count);
		put_fixed(j, "mean_ms", c->mean_ns / 1e6, 6);
		put_fixed(j, "points", c->score, 1);
		put_string(j, "outcome", outcomes[c->outcome]);
		put_string(j, "because", c->because);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_lines(struct json *j, const struct analysis_function *f, enum report_detail detail)
{
	size_t rows = json_rows(detail, f->line_count, 10);

	begin_array(j, "lines");
	for (size_t i = 0; i < rows; i++) {
		json_object_begin(j);
		put_uint(j, "line", f->lines[i].line);
		put_uint(j, "samples", f->lines[i].samples);
		put_ms(j, "self_ms", f->lines[i].self_ns);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_functions(struct json *j, const struct analysis *a, enum report_detail detail)
{
	size_t rows = json_rows(detail, a->function_count, JSON_ROWS);
	double all_ns = 0;

	for (size_t i = 0; i < a->working_count; i++)
		all_ns += (double)a->functions[i].self_ns;
	put_uint(j, "function_count", a->function_count);
	put_bool(j, "calls_are_minima", a->trust.pauses > 0);
	begin_array(j, "functions");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_function *f = &a->functions[i];

		json_object_begin(j);
		put_string(j, "name", f->name);
		put_string(j, "file", f->file);
		put_uint(j, "line", f->line);
		put_uint(j, "calls", f->calls);
		put_ms(j, "total_ms", f->total_ns);
		put_ms(j, "self_ms", f->self_ns);
		put_share(j, "self_share", f->waits ? 0 : (double)f->self_ns, all_ns);
		put_ms(j, "longest_ms", f->longest_ns);
		put_string(j, "source", f->sampled ? "samples" : "trace");
		put_uint(j, "samples", f->samples);
		put_ms(j, "self_error_ms", f->self_error_ns);
		put_lines(j, f, detail);
		json_key(j, "waits");
		json_bool(j, f->waits);
		put_bool(j, "left_out", f->throttled);
		json_object_end(j);
	}
	json_array_end(j);
}

/* null: there are no steps, or no samples of them. */
static void put_in_steps(struct json *j, const struct analysis *a, enum report_detail detail)
{
	const struct step_functions *s = &a->in_steps;
	size_t rows = json_rows(detail, s->count, JSON_ROWS);

	if (!s->known) {
		put_null(j, "in_steps");
		return;
	}
	begin_object(j, "in_steps");
	put_ms(j, "from_ms", s->from_ns);
	put_ms(j, "until_ms", s->until_ns);
	put_uint(j, "samples", s->samples);
	put_ms(j, "left_out_importing_ms", s->importing_ns);
	put_uint(j, "function_count", s->count);
	begin_array(j, "functions");
	for (size_t i = 0; i < rows; i++) {
		const struct step_function *f = &s->items[i];

		json_object_begin(j);
		put_string(j, "name", f->name);
		put_string(j, "file", f->file);
		put_uint(j, "line", f->line);
		put_uint(j, "samples", f->samples);
		put_ms(j, "self_ms", f->self_ns);
		put_share(j, "self_share", (double)f->self_ns, (double)s->self_ns);
		put_ms(j, "self_error_ms", f->error_ns);
		put_ms(j, "total_ms", f->total_ns);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void put_threads(struct json *j, const struct analysis *a)
{
	begin_array(j, "threads");
	for (size_t i = 0; i < a->thread_count; i++) {
		const struct analysis_thread *t = &a->threads[i];

		json_object_begin(j);
		put_uint(j, "pid", t->pid);
		put_uint(j, "tid", t->tid);
		put_string(j, "name", t->name);
		put_ms(j, "start_ms", t->start_ns);
		put_ms(j, "end_ms", t->end_ns);
		put_ms(j, "in_functions_ms", t->covered_ns);
		put_share(j, "in_functions_share", (double)t->covered_ns,
			  (double)(t->end_ns - t->start_ns));
		put_known_ms(j, "on_cpu_ms", t->timed, t->on_cpu_ns);
		put_known_ms(j, "queued_ms", t->timed, t->queued_ns);
		json_put_states(j, &t->states);
		json_put_absences(j, &t->absences);
		put_uint(j, "events", t->events);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_gc(struct json *j, const struct analysis *a)
{
	begin_object(j, "gc");
	put_uint(j, "count", a->gc.count);
	begin_array(j, "by_generation");
	for (size_t i = 0; i < GC_GENERATIONS; i++)
		json_uint(j, a->gc.by_generation[i]);
	json_array_end(j);
	put_uint(j, "collected", a->gc.collected);
	put_ms(j, "total_ms", a->gc.total_ns);
	put_ms(j, "longest_ms", a->gc.longest_ns);
	put_share(j, "wall_share", (double)a->gc.total_ns, (double)a->run.wall_ns);
	json_object_end(j);
}

static void put_marks(struct json *j, const struct analysis *a, enum report_detail detail)
{
	size_t rows = json_rows(detail, a->mark_count, JSON_ROWS);

	put_uint(j, "mark_count", a->mark_count);
	begin_array(j, "marks");
	for (size_t i = 0; i < rows; i++) {
		json_object_begin(j);
		put_string(j, "name", a->marks[i].name);
		if (a->marks[i].domain)
			put_string(j, "domain", a->marks[i].domain);
		put_uint(j, "count", a->marks[i].count);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_nvtx(struct json *j, const struct analysis *a, enum report_detail detail)
{
	size_t rows = json_rows(detail, a->nvtx_count, JSON_ROWS);

	begin_object(j, "nvtx");
	put_uint(j, "range_count", a->nvtx_count);
	begin_array(j, "ranges");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_nvtx_range *r = &a->nvtx[i];

		json_object_begin(j);
		put_string(j, "name", r->what->name);
		put_string(j, "domain", r->what->domain);
		put_string(j, "kind", r->what->kind == NVTX_STARTED ? "start" : "push");
		put_uint(j, "category", r->what->category);
		put_string(j, "category_name", r->what->category_name);
		put_uint(j, "count", r->count);
		put_uint(j, "unended", r->unended);
		put_ms(j, "total_ms", r->total_ns);
		put_ms(j, "self_ms", r->self_ns);
		put_ms(j, "longest_ms", r->longest_ns);
		put_known_ms(j, "gpu_ms", r->gpu_count > 0, r->gpu_ns);
		put_uint(j, "gpu_count", r->gpu_count);
		put_bool(j, "left_out", r->throttled);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void put_counters(struct json *j, const struct analysis *a, enum report_detail detail)
{
	size_t rows = json_rows(detail, a->counter_count, JSON_ROWS);

	put_uint(j, "counter_count", a->counter_count);
	begin_array(j, "counters");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_counter *c = &a->counters[i];

		json_object_begin(j);
		put_string(j, "name", c->name);
		put_uint(j, "pid", c->pid);
		put_uint(j, "count", c->count);
		put_double(j, "min", c->min);
		put_double(j, "mean", c->mean);
		put_double(j, "max", c->max);
		put_double(j, "last", c->last);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_losses(struct json *j, const struct analysis *a)
{
	begin_array(j, "lost_by_thread");
	for (size_t i = 0; i < a->thread_count; i++) {
		const struct analysis_thread *t = &a->threads[i];

		if (!t->lost)
			continue;
		json_object_begin(j);
		put_uint(j, "pid", t->pid);
		put_uint(j, "tid", t->tid);
		put_string(j, "name", t->name);
		put_uint(j, "lost", t->lost);
		put_uint(j, "gaps", t->gaps);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_verified(struct json *j, const struct analysis_verified *v)
{
	if (!v->pairs) {
		put_null(j, "verified_ratio");
		return;
	}
	put_fixed(j, "verified_ratio", v->ratio, 4);
	put_fixed(j, "verified_low", v->low, 4);
	put_fixed(j, "verified_high", v->high, 4);
	put_uint(j, "verified_pairs", v->pairs);
}

static void put_trust(struct json *j, const struct analysis *a)
{
	const struct analysis_trust *t = &a->trust;

	begin_object(j, "trust");
	put_bool(j, "partial", t->partial);
	if (t->read_share < 1)
		put_share(j, "read_share", t->read_share, 1);
	if (t->overhead_known)
		put_fixed(j, "overhead_share", t->overhead_share, 6);
	else
		put_null(j, "overhead_share"); /* a 0 would say that it was measured */
	put_fixed(j, "gpu_overhead_share", t->gpu_overhead_share, 6);
	put_fixed(j, "graph_overhead_share", t->graph_overhead_share, 6);
	put_uint(j, "left_out_functions", t->throttled_functions);
	put_fixed(j, "left_out_share", t->untraced_share, 4);
	put_verified(j, &t->verified);
	if (a->memory.cost_known)
		put_fixed(j, "system_share", a->memory.cost_share, 6);
	else
		put_null(j, "system_share");
	if (a->memory.gpu_start_ms > 0)
		put_fixed(j, "system_gpu_start_ms", a->memory.gpu_start_ms, 3);
	put_uint(j, "events", t->events);
	put_uint(j, "dropped", t->dropped);
	put_losses(j, a);
	put_ms(j, "unknown_ms", t->gap_ns);
	put_uint(j, "pauses", t->pauses);
	put_fixed(j, "calls_recorded_share", t->calls_recorded_share, 6);
	put_uint(j, "samples", t->samples);
	put_fixed(j, "sample_hz", t->sample_hz, 1);
	put_fixed(j, "unstable_samples_share", t->unstable_share, 4);
	put_uint(j, "unwound_spans", t->unwound);
	put_uint(j, "repaired_spans", t->repaired);
	put_uint(j, "spans_open_at_start", t->open_start);
	put_uint(j, "spans_open_at_end", t->open_end);
	put_uint(j, "unended_scopes", t->unended_scopes);
	put_uint(j, "scopes_without_begin", t->lost_scope_begins);
	put_uint(j, "unknown_names", t->unknown_names);
	json_put_gpu_trust(j, t);
	begin_array(j, "notes");
	for (size_t i = 0; i < t->note_count; i++)
		json_string(j, t->notes[i]);
	json_array_end(j);
	json_object_end(j);
}

static void render(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	struct json j;

	if (detail == DETAIL_SHORT) {
		json_short_render(out, a);
		return;
	}
	json_init(&j, out, JSON_PRETTY);
	json_object_begin(&j);
	put_inferscope(&j, a);
	put_run(&j, a);
	put_processes(&j, a);
	put_steps(&j, a, detail);
	put_candidates(&j, a, detail);
	put_startup(&j, a, detail);
	json_put_critical_path(&j, &a->critical_path, detail);
	json_put_verdict(&j, &a->verdict);
	json_put_findings(&j, &a->findings);
	json_put_gpu(&j, &a->gpu, detail);
	json_put_layers(&j, &a->layers);
	begin_object(&j, "cpu");
	put_functions(&j, a, detail);
	put_in_steps(&j, a, detail);
	put_threads(&j, a);
	json_put_waits(&j, a, detail);
	put_gc(&j, a);
	put_marks(&j, a, detail);
	put_counters(&j, a, detail);
	json_object_end(&j);
	json_put_torch(&j, &a->torch, detail);
	put_nvtx(&j, a, detail);
	json_put_memory(&j, a, detail);
	put_trust(&j, a);
	json_object_end(&j);
	buf_add_byte(out, '\n');
}

const struct report_backend report_json = {
	.name = "JSON",
	.extension = ".json",
	.render = render,
};
