#include "report/json/report_json_sections.h"

#include <stdlib.h>

#include "report/json/json_put.h"
#include "report/memory_text.h"
#include "report/plain_text.h"
#include "report/table_rows.h"

/* How much of everything there is room for. */
struct room {
	size_t rows;     /* of a list */
	size_t findings; /* those come first: they are what one acts on */
	size_t texts;    /* of a finding's evidence and suggestions */
	size_t chars;    /* of a text */
};

/* Tried in order until the report fits.  The last one always does. */
static const struct room rooms[] = {
	{ 5, 5, 4, 300 }, { 5, 4, 3, 200 }, { 5, 3, 3, 160 }, { 4, 3, 2, 120 },
	{ 3, 3, 2, 80 },  { 2, 2, 1, 60 },  { 1, 1, 1, 30 },
};

#define LEAST_SHARE 0.0005 /* of a step */

struct brief {
	struct json j;
	const struct analysis *a;
	const struct room *room;
};

static size_t rows(const struct brief *b, size_t n)
{
	return n < b->room->rows ? n : b->room->rows;
}

static void add_text(struct brief *b, const char *s)
{
	struct buf clipped;

	buf_init(&clipped);
	text_add_clipped(&clipped, s, b->room->chars);
	json_text(&b->j, clipped.data, clipped.len);
	b->j.out->failed |= clipped.failed;
	buf_release(&clipped);
}

static void put_text(struct brief *b, const char *key, const char *s)
{
	json_key(&b->j, key);
	if (s)
		add_text(b, s);
	else
		json_null(&b->j);
}

static void put_time(struct brief *b, const char *key, double ns)
{
	put_fixed(&b->j, key, ns / 1e6, 3);
}

static void put_part(struct brief *b, const char *key, double part, double whole)
{
	put_fixed(&b->j, key, whole > 0 ? part / whole : 0, 3);
}

/* The end of a path is more specific than its beginning. */
static void put_file(struct brief *b, const char *file)
{
	struct buf path, clipped;

	buf_init(&path);
	buf_init(&clipped);
	if (file)
		text_add_short_path(&path, file, b->a->run.root);
	text_add_clipped_tail(&clipped, buf_string(&path), b->room->chars);
	json_key(&b->j, "file");
	json_text(&b->j, clipped.data, clipped.len);
	b->j.out->failed |= path.failed || clipped.failed;
	buf_release(&path);
	buf_release(&clipped);
}

static void put_place(struct brief *b, const struct place *p)
{
	put_text(b, "function", p->name ? p->name : "(unknown)");
	put_file(b, p->name ? p->file : "");
	put_uint(&b->j, "line", p->name ? p->line : 0);
}

static void put_run(struct brief *b)
{
	const struct analysis_run *run = &b->a->run;

	begin_object(&b->j, "run");
	begin_array(&b->j, "command");
	for (size_t i = 0; i < rows(b, run->command_count); i++)
		add_text(b, run->command[i]);
	json_array_end(&b->j);
	if (run->exit_known) {
		json_key(&b->j, "exit_status");
		json_int(&b->j, run->exit_status);
	} else {
		put_null(&b->j, "exit_status");
	}
	put_time(b, "wall_ms", (double)run->wall_ns);
	put_text(b, "python", run->python);
	begin_object(&b->j, "frameworks");
	for (size_t i = 0; i < rows(b, run->framework_count); i++)
		put_text(b, run->frameworks[i].name, run->frameworks[i].version);
	json_object_end(&b->j);
	json_object_end(&b->j);
}

static void put_verdict(struct brief *b)
{
	const struct analysis_verdict *v = &b->a->verdict;

	begin_object(&b->j, "verdict");
	put_string(&b->j, "bound", v->bound);
	put_fixed(&b->j, "confidence", v->confidence, 2);
	put_text(b, "because", v->because);
	json_object_end(&b->j);
}

static void put_texts(struct brief *b, const char *key, const char *const *texts, size_t n)
{
	begin_array(&b->j, key);
	for (size_t i = 0; i < n && i < b->room->texts; i++)
		add_text(b, texts[i]);
	json_array_end(&b->j);
}

static void put_finding(struct brief *b, const struct analysis_finding *f)
{
	json_object_begin(&b->j);
	put_text(b, "id", f->id);
	put_text(b, "title", f->title);
	put_string(&b->j, "severity", finding_severity_name(f->severity));
	put_fixed(&b->j, "confidence", f->confidence, 2);
	put_time(b, "saving_ms", f->saving_ns);
	put_time(b, "saving_low_ms", f->saving_low_ns);
	put_time(b, "saving_high_ms", f->saving_high_ns);
	put_fixed(&b->j, "saving_share", f->saving_share, 3);
	put_text(b, "step", f->step);
	if (f->where.name) {
		begin_object(&b->j, "where");
		put_place(b, &f->where);
		json_object_end(&b->j);
	} else {
		put_null(&b->j, "where");
	}
	put_texts(b, "evidence", f->evidence, f->evidence_count);
	put_texts(b, "suggestions", f->suggestions, f->suggestion_count);
	json_object_end(&b->j);
}

static void put_findings(struct brief *b)
{
	const struct analysis_findings *f = &b->a->findings;

	put_uint(&b->j, "finding_count", f->count);
	begin_array(&b->j, "findings");
	for (size_t i = 0; i < f->count && i < b->room->findings; i++)
		put_finding(b, &f->items[i]);
	json_array_end(&b->j);
}

static void put_breakdown(struct brief *b, const struct step_breakdown *d)
{
	enum time_class order[TIME_CLASSES];
	size_t n = breakdown_order(d, order);

	begin_array(&b->j, "breakdown");
	for (size_t i = 0; i < n; i++) {
		double ns = (double)d->parts[order[i]].ns;

		json_object_begin(&b->j);
		put_string(&b->j, "class", time_class_name(order[i]));
		put_time(b, "ms", ns / (double)d->steps);
		put_part(b, "share", ns, (double)d->total_ns);
		json_object_end(&b->j);
	}
	json_array_end(&b->j);
}

static void put_causes(struct brief *b, const struct step_breakdown *d)
{
	begin_array(&b->j, "causes");
	for (size_t i = 0; i < rows(b, d->cause_count); i++) {
		const struct time_cause *c = &d->causes[i];

		if ((double)c->ns < LEAST_SHARE * (double)d->total_ns)
			break; /* most first */
		json_object_begin(&b->j);
		put_string(&b->j, "class", time_class_name(c->what));
		put_place(b, &c->where);
		put_time(b, "ms", (double)c->ns / (double)d->steps);
		json_object_end(&b->j);
	}
	json_array_end(&b->j);
}

static void put_steps(struct brief *b)
{
	const struct analysis *a = b->a;

	put_uint(&b->j, "step_count", a->step_count);
	begin_array(&b->j, "steps");
	for (size_t i = 0; i < rows(b, a->step_count); i++) {
		const struct analysis_step *s = &a->steps[i];

		json_object_begin(&b->j);
		put_text(b, "name", s->name);
		put_uint(&b->j, "count", s->count);
		put_uint(&b->j, "warmup", s->warmup);
		put_time(b, "mean_ms", s->mean_ns);
		put_time(b, "p50_ms", (double)s->p50_ns);
		put_time(b, "p95_ms", (double)s->p95_ns);
		put_time(b, "p99_ms", (double)s->p99_ns);
		put_time(b, "max_ms", (double)s->max_ns);
		/* Of the most important kind alone: the others are about the same time. */
		if (!i) {
			put_breakdown(b, &s->breakdown);
			put_causes(b, &s->breakdown);
		}
		json_object_end(&b->j);
	}
	json_array_end(&b->j);
}

static void put_blame(struct brief *b, const struct idle_blame *blame)
{
	begin_array(&b->j, "blame");
	for (size_t i = 0; i < rows(b, blame->count); i++) {
		const struct idle_cause *c = &blame->items[i];

		json_object_begin(&b->j);
		put_string(&b->j, "cause", idle_cause_name(c));
		put_place(b, &c->where);
		put_time(b, "ms", (double)c->ns);
		json_object_end(&b->j);
	}
	json_array_end(&b->j);
}

static void put_kernels(struct brief *b, const struct gpu_section *s)
{
	begin_array(&b->j, "kernels");
	for (size_t i = 0; i < rows(b, s->kernel_count); i++) {
		json_object_begin(&b->j);
		put_text(b, "name", s->kernels[i].name);
		put_uint(&b->j, "count", s->kernels[i].count);
		put_time(b, "ms", (double)s->kernels[i].total_ns);
		json_object_end(&b->j);
	}
	json_array_end(&b->j);
}

static void put_copies(struct brief *b, const struct gpu_section *s)
{
	begin_array(&b->j, "copies");
	for (size_t i = 0; i < rows(b, s->copy_count); i++) {
		const struct gpu_copy_figures *c = &s->copies[i];

		json_object_begin(&b->j);
		put_string(&b->j, "kind", c->kind);
		put_string(&b->j, "source", c->source);
		put_string(&b->j, "destination", c->destination);
		put_uint(&b->j, "count", c->count);
		put_uint(&b->j, "bytes", c->bytes);
		put_time(b, "ms", (double)c->total_ns);
		json_object_end(&b->j);
	}
	json_array_end(&b->j);
}

/* Of the process that used it most; null: no GPU was recorded. */
static void put_gpu(struct brief *b)
{
	const struct gpu_section *s = b->a->gpu.section_count ? &b->a->gpu.sections[0] : NULL;
	double known_ns;

	if (!s) {
		put_null(&b->j, "gpu");
		return;
	}
	known_ns = (double)s->busy_ns + (double)s->idle_ns;
	begin_object(&b->j, "gpu");
	put_text(b, "name", s->device_count ? s->devices[0].name : NULL);
	put_part(b, "busy_share", (double)s->busy_ns, known_ns);
	put_part(b, "idle_share", (double)s->idle_ns, known_ns);
	put_blame(b, &s->blame);
	put_kernels(b, s);
	put_copies(b, s);
	json_object_end(&b->j);
}

static int most_time_first(const void *x, const void *y)
{
	const struct analysis_layer *a = *(const struct analysis_layer *const *)x;
	const struct analysis_layer *b = *(const struct analysis_layer *const *)y;

	if (a->sum.self_gpu_ns != b->sum.self_gpu_ns)
		return a->sum.self_gpu_ns > b->sum.self_gpu_ns ? -1 : 1;
	if (a->sum.self_cpu_ns != b->sum.self_cpu_ns)
		return a->sum.self_cpu_ns > b->sum.self_cpu_ns ? -1 : 1;
	return a < b ? -1 : a > b; /* they lie in one array */
}

static void put_layers(struct brief *b)
{
	const struct analysis_layers *l = &b->a->layers;
	const struct analysis_layer **order = calloc(l->count + 1, sizeof(const void *));

	if (!order) {
		b->j.out->failed = true;
		return;
	}
	for (size_t i = 0; i < l->count; i++)
		order[i] = &l->items[i];
	qsort(order, l->count, sizeof(const void *), most_time_first);
	put_uint(&b->j, "layer_count", l->count);
	begin_array(&b->j, "layers");
	for (size_t i = 0; i < rows(b, l->count); i++) {
		json_object_begin(&b->j);
		put_text(b, "name", order[i]->name);
		put_text(b, "class", order[i]->class_name);
		put_uint(&b->j, "calls", order[i]->sum.calls);
		put_time(b, "self_cpu_ms", (double)order[i]->sum.self_cpu_ns);
		put_time(b, "self_gpu_ms", (double)order[i]->sum.self_gpu_ns);
		json_object_end(&b->j);
	}
	json_array_end(&b->j);
	free(order);
}

/*
 * Functions while steps ran; the start of the program is omitted if it can be separated from them.
 */
static void put_in_steps(struct brief *b)
{
	const struct step_functions *s = &b->a->in_steps;

	if (!s->known) {
		put_null(&b->j, "in_steps");
		return;
	}
	begin_object(&b->j, "in_steps");
	put_time(b, "from_ms", (double)s->from_ns);
	put_time(b, "until_ms", (double)s->until_ns);
	begin_array(&b->j, "functions");
	for (size_t i = 0; i < rows(b, s->count); i++) {
		json_object_begin(&b->j);
		put_text(b, "name", s->items[i].name);
		put_file(b, s->items[i].file);
		put_uint(&b->j, "line", s->items[i].line);
		put_time(b, "self_ms", (double)s->items[i].self_ns);
		put_part(b, "self_share", (double)s->items[i].self_ns, (double)s->self_ns);
		json_object_end(&b->j);
	}
	json_array_end(&b->j);
	json_object_end(&b->j);
}

static void put_functions(struct brief *b)
{
	const struct analysis *a = b->a;
	double all_ns = 0;

	for (size_t i = 0; i < a->working_count; i++)
		all_ns += (double)a->functions[i].self_ns;
	begin_array(&b->j, "functions");
	for (size_t i = 0; i < rows(b, a->working_count); i++) {
		const struct analysis_function *f = &a->functions[i];

		json_object_begin(&b->j);
		put_text(b, "name", f->name);
		put_file(b, f->file);
		put_uint(&b->j, "line", f->line);
		put_uint(&b->j, "calls", f->calls);
		put_time(b, "self_ms", (double)f->self_ns);
		put_part(b, "self_share", (double)f->self_ns, all_ns);
		json_object_end(&b->j);
	}
	json_array_end(&b->j);
}

static void put_cpu(struct brief *b)
{
	const struct analysis *a = b->a;

	begin_object(&b->j, "cpu");
	put_uint(&b->j, "function_count", a->function_count);
	put_in_steps(b);
	if (!a->in_steps.known)
		put_functions(b);
	begin_object(&b->j, "gc");
	put_uint(&b->j, "count", a->gc.count);
	put_time(b, "total_ms", (double)a->gc.total_ns);
	json_object_end(&b->j);
	json_object_end(&b->j);
}

static void put_memory(struct brief *b)
{
	struct buf text;

	buf_init(&text);
	begin_object(&b->j, "memory");
	put_bool(&b->j, "recorded", b->a->memory.recorded);
	memory_text_meaning(&text, b->a);
	put_text(b, "meaning", buf_string(&text));
	json_object_end(&b->j);
	b->j.out->failed |= text.failed;
	buf_release(&text);
}

static void put_trust(struct brief *b)
{
	const struct analysis_trust *t = &b->a->trust;

	begin_object(&b->j, "trust");
	put_bool(&b->j, "partial", t->partial);
	if (t->overhead_known)
		put_fixed(&b->j, "overhead_share", t->overhead_share, 4);
	else
		put_null(&b->j, "overhead_share");
	put_uint(&b->j, "events", t->events);
	put_uint(&b->j, "dropped", t->dropped);
	begin_array(&b->j, "notes");
	for (size_t i = 0; i < rows(b, t->note_count); i++)
		add_text(b, t->notes[i]);
	json_array_end(&b->j);
	json_object_end(&b->j);
}

static void render(struct buf *out, const struct analysis *a, const struct room *room)
{
	struct brief b = { .a = a, .room = room };

	json_init(&b.j, out, JSON_LINES);
	json_object_begin(&b.j);
	begin_object(&b.j, "inferscope");
	put_string(&b.j, "version", INFERSCOPE_VERSION);
	put_uint(&b.j, "schema", REPORT_SCHEMA);
	put_string(&b.j, "detail", "short");
	json_object_end(&b.j);
	put_run(&b);
	put_verdict(&b);
	put_findings(&b);
	put_steps(&b);
	put_gpu(&b);
	put_layers(&b);
	put_cpu(&b);
	put_memory(&b);
	put_trust(&b);
	json_object_end(&b.j);
	buf_add_byte(out, '\n');
}

void json_short_render(struct buf *out, const struct analysis *a)
{
	size_t before = out->len;

	for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms) && !out->failed; i++) {
		out->len = before;
		render(out, a, &rooms[i]);
		if (out->len - before <= JSON_SHORT_BYTES)
			return;
	}
}
