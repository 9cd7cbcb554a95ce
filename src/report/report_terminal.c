/*
 * The summary at the end of a run: what a person wants to see without opening
 * anything, on one screen.  Each table gives what is left of the width to the
 * names; figures are never cut.
 */
#include <inttypes.h>
#include <string.h>

#include "report/layer_rows.h"
#include "report/memory_text.h"
#include "report/plain_text.h"
#include "report/report.h"
#include "report/say_torch.h"
#include "report/screen.h"

#define WIDTH_DEFAULT 80
#define WIDTH_MIN 60
#define WIDTH_MAX 120
#define STEP_ROWS 4
#define FUNCTION_ROWS 7
#define NATIVE_ROWS 3u
#define NOTE_ROWS 3
#define TABLE_HEAD 2u /* an empty line, and the titles */
static void add_head(struct screen *s, const struct analysis *a)
{
	const struct analysis_run *run = &a->run;
	struct buf command;
	char status[TEXT_FIGURE] = "exit unknown", wall[TEXT_FIGURE];

	buf_init(&command);
	for (size_t i = 0; i < run->command_count; i++) {
		if (i)
			buf_add_byte(&command, ' ');
		text_add_argument(&command, run->command[i]);
	}
	if (run->exit_known)
		snprintf(status, sizeof(status), "exit %d", run->exit_status);
	screen_colour(s, BOLD);
	buf_add_str(&s->out, "inferscope");
	screen_plain(s);
	buf_add_str(&s->out, "  ");
	screen_left(s, buf_string(&command), s->width - 12 - 2 - strlen(status));
	buf_add_str(&s->out, "  ");
	if (run->exit_known && run->exit_status)
		screen_colour(s, RED);
	buf_add_str(&s->out, status);
	screen_plain(s);
	buf_printf(&s->out, "\n  wall %s, %zu process%s, %zu thread%s",
		   text_duration(wall, (double)run->wall_ns), a->process_count,
		   a->process_count == 1 ? "" : "es", a->thread_count,
		   a->thread_count == 1 ? "" : "s");
	if (run->python) {
		buf_add_str(&s->out, ", Python ");
		text_add_clipped(&s->out, run->python, 20);
	}
	buf_add_byte(&s->out, '\n');
	buf_release(&command);
}

static size_t at_most(size_t n, size_t limit)
{
	return n < limit ? n : limit;
}

static void add_steps(struct screen *s, const struct analysis *a)
{
	static const char *const titles[] = { "count", "mean", "p50", "p95", "p99" };
	size_t rows = a->step_count < STEP_ROWS ? a->step_count : STEP_ROWS;
	size_t name = s->width - 2 - 5 * COLUMN;
	char f[TEXT_FIGURE];

	buf_add_str(&s->out, "\n  ");
	screen_colour(s, DIM);
	screen_left(s, "step", a->process_count > 1 ? name - 4 : name);
	if (a->process_count > 1)
		buf_add_str(&s->out, " pid");
	for (size_t i = 0; i < 5; i++)
		screen_right(s, titles[i], COLUMN);
	screen_plain(s);
	buf_add_byte(&s->out, '\n');
	if (a->step_count > STEP_ROWS)
		rows--; /* its line goes to the remark below */
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_step *step = &a->steps[i];
		/* Those that were found come the other way round. */
		size_t indent = step->source == STEP_LOOP ? 0 : 2 * at_most(step->depth, 3);
		char pid[TEXT_FIGURE] = "";

		/* Processes have steps of the same name. */
		if (a->process_count > 1)
			snprintf(pid, sizeof(pid), " %" PRIu32, step->pid);
		text_add_padding(&s->out, 2 + indent);
		screen_left(s, step->name, name - indent - strlen(pid));
		buf_add_str(&s->out, pid);
		screen_right(s, text_count(f, step->count), COLUMN);
		screen_right(s, text_duration(f, step->mean_ns), COLUMN);
		screen_right(s, text_duration(f, (double)step->p50_ns), COLUMN);
		screen_right(s, text_duration(f, (double)step->p95_ns), COLUMN);
		screen_right(s, text_duration(f, (double)step->p99_ns), COLUMN);
		buf_add_byte(&s->out, '\n');
	}
	if (rows < a->step_count)
		buf_printf(&s->out, "  and %zu more\n", a->step_count - rows);
}

static void add_function(struct screen *s, const struct analysis *a, size_t i, size_t columns,
			 double all_ns)
{
	const struct analysis_function *fn = &a->functions[i];
	size_t name = columns / 2, where = columns - name - 2;
	char f[TEXT_FIGURE], calls[TEXT_FIGURE + sizeof("≥")], self[TEXT_FIGURE + 1];
	struct buf place;

	buf_init(&place);
	if (*fn->file)
		buf_printf(&place, "%s:%" PRIu32, text_short_path(fn->file, a->run.cwd), fn->line);
	buf_add_str(&s->out, "  ");
	screen_left(s, fn->name, name);
	buf_add_str(&s->out, "  ");
	screen_colour(s, DIM);
	text_add_clipped_tail(&s->out, buf_string(&place), where);
	screen_plain(s);
	name = text_width(buf_string(&place));
	text_add_padding(&s->out, name < where ? where - name : 0);
	snprintf(calls, sizeof(calls), "%s%s", a->trust.pauses || fn->left_out ? "≥" : "",
		 text_count(f, fn->calls));
	/* By samples: about. */
	snprintf(self, sizeof(self), "%s%s", fn->sampled ? "~" : "",
		 text_duration(f, (double)fn->self_ns));
	screen_right(s, fn->sampled && !fn->calls ? "" : calls, COLUMN);
	screen_right(s, self, COLUMN);
	screen_right(s, text_share(f, (double)fn->self_ns, all_ns), COLUMN);
	screen_right(s, text_duration(f, (double)fn->total_ns), COLUMN);
	buf_add_byte(&s->out, '\n');
	buf_release(&place);
}

static size_t gpu_lines(const struct analysis *a)
{
	const struct gpu_section *g = a->gpu.sections;

	return a->gpu.section_count ? 1u + !!g->kernel_count + !!g->copy_count + !!g->line_count
				    : 0;
}

/* Rows of the two tables whose length depends on what else there is to say. */
struct table_rows {
	size_t functions, layers;
};

/* Lines on other things take the place of functions: it all stays on one screen. */
static struct table_rows share_lines(const struct analysis *a, enum report_detail detail)
{
	size_t others = gpu_lines(a) + (a->working_count < a->function_count) + !!a->gil.count +
			!!a->locks.count + !!a->native.count + !!a->torch.compiled_count +
			(a->torch.waits.count || a->torch.loads.count) + !!a->memory.worry_count +
			screen_findings_lines(a);
	size_t spare = STEP_ROWS - at_most(a->step_count, STEP_ROWS) + !a->gc.count + NOTE_ROWS -
		       at_most(a->trust.note_count, NOTE_ROWS);
	size_t room = FUNCTION_ROWS > others ? FUNCTION_ROWS - others : 0;
	size_t functions;

	if (!a->layers.count)
		return (struct table_rows){ detail == DETAIL_SHORT ? 3 : room, 0 };
	/* A second table needs a head of its own; what others leave unused is theirs. */
	room += spare;
	room = room > TABLE_HEAD ? room - TABLE_HEAD : 0;
	if (detail == DETAIL_SHORT)
		room = at_most(room, 5);
	functions = at_most(room * 2 / 5, a->working_count);
	return (struct table_rows){ functions, room - functions };
}

static void add_functions(struct screen *s, const struct analysis *a, size_t limit)
{
	size_t rows = at_most(a->working_count, limit);
	size_t columns = s->width - 2 - 4 * COLUMN;
	double all_ns = 0;

	if (!rows)
		return;
	for (size_t i = 0; i < a->working_count; i++)
		all_ns += (double)a->functions[i].self_ns;
	buf_add_str(&s->out, "\n  ");
	screen_colour(s, DIM);
	screen_left(s, "hottest functions", columns);
	screen_right(s, "calls", COLUMN);
	screen_right(s, "self", COLUMN);
	screen_right(s, "share", COLUMN);
	screen_right(s, "total", COLUMN);
	screen_plain(s);
	buf_add_byte(&s->out, '\n');
	for (size_t i = 0; i < rows; i++)
		add_function(s, a, i, columns, all_ns);
}

static void add_layer(struct screen *s, const struct layer_rows *rows, size_t i, size_t columns,
		      double all_ns)
{
	const struct layer_row *r = &rows->items[i];
	size_t indent = 2 * at_most(layer_row_indent(rows, i), 6), width;
	char f[TEXT_FIGURE], calls[TEXT_FIGURE + sizeof("≥")];
	int64_t ns = rows->by_gpu ? r->sum.gpu_ns : r->sum.cpu_ns;
	struct buf name;

	buf_init(&name);
	layer_row_name(&name, rows, i);
	if (r->layers > 1)
		buf_printf(&name, " ×%zu", r->layers);
	width = text_width(buf_string(&name));
	text_add_padding(&s->out, 2 + indent);
	columns -= indent;
	if (width + 3 < columns && strcmp(buf_string(&name), r->class_name) != 0) {
		text_add_clean(&s->out, buf_string(&name));
		buf_add_str(&s->out, "  ");
		screen_colour(s, DIM);
		screen_left(s, r->class_name, columns - width - 2);
		screen_plain(s);
	} else {
		screen_left(s, buf_string(&name), columns);
	}
	snprintf(calls, sizeof(calls), "%s%s", r->folded ? "≥" : "", text_count(f, r->sum.calls));
	screen_right(s, calls, COLUMN);
	if (rows->by_gpu)
		screen_right(s, text_count(f, r->sum.kernels), COLUMN);
	screen_right(s, text_duration(f, (double)ns), COLUMN);
	screen_right(s, text_share(f, (double)ns, all_ns), COLUMN);
	screen_right(s,
		     text_duration(f, (double)(rows->by_gpu ? r->sum.cpu_ns : r->sum.self_cpu_ns)),
		     COLUMN);
	buf_add_byte(&s->out, '\n');
	s->out.failed |= name.failed;
	buf_release(&name);
}

static void add_outside(struct screen *s, const struct analysis_layers *l, size_t columns,
			double all_ns)
{
	char f[TEXT_FIGURE];

	buf_add_str(&s->out, "  ");
	screen_left(s, "(outside of all layers)", columns + COLUMN);
	screen_right(s, text_count(f, l->outside_kernels), COLUMN);
	screen_right(s, text_duration(f, (double)l->outside_gpu_ns), COLUMN);
	screen_right(s, text_share(f, (double)l->outside_gpu_ns, all_ns), COLUMN);
	buf_add_byte(&s->out, '\n');
}

/* Of what their shares are: all GPU time, or the CPU time of the outermost layers. */
static double all_layers_ns(const struct analysis_layers *l, bool gpu)
{
	double all_ns = gpu ? (double)l->outside_gpu_ns : 0;

	for (size_t i = 0; i < l->count; i++)
		all_ns += (double)(gpu ? l->items[i].sum.self_gpu_ns : l->items[i].sum.self_cpu_ns);
	return all_ns;
}

static void add_layers(struct screen *s, const struct analysis *a, size_t limit)
{
	static const char *const titles[2][5] = { { "calls", "CPU", "share", "self" },
						  { "calls", "kernels", "GPU", "share", "CPU" } };
	bool outside = a->layers.outside_gpu_ns > 0;
	struct layer_rows rows;
	size_t columns;
	double all_ns;

	if (!a->layers.count || limit <= outside)
		return;
	if (layer_rows_collect(&rows, &a->layers, limit - outside)) {
		s->out.failed = true;
		layer_rows_release(&rows);
		return;
	}
	columns = s->width - 2 - (rows.by_gpu ? 5 : 4) * COLUMN;
	all_ns = all_layers_ns(&a->layers, rows.by_gpu);
	buf_add_str(&s->out, "\n  ");
	screen_colour(s, DIM);
	screen_left(s, "layers", columns);
	for (size_t i = 0; i < 5 && titles[rows.by_gpu][i]; i++)
		screen_right(s, titles[rows.by_gpu][i], COLUMN);
	screen_plain(s);
	buf_add_byte(&s->out, '\n');
	for (size_t i = 0; i < rows.count; i++) {
		if (rows.items[i].shown)
			add_layer(s, &rows, i, columns, all_ns);
	}
	if (outside && rows.by_gpu)
		add_outside(s, &a->layers, columns, all_ns);
	layer_rows_release(&rows);
}

static void add_text(struct screen *s, const char *name, struct buf *text)
{
	screen_label(s, name);
	text_add_clipped(&s->out, buf_string(text), s->width - 10);
	buf_add_byte(&s->out, '\n');
	s->out.failed |= text->failed;
	buf_clear(text);
}

static void say_gpu(struct buf *out, const struct analysis_gpu *gpu)
{
	const struct gpu_section *g = gpu->sections;
	double recorded_ns = (double)g->busy_ns + (double)g->idle_ns;
	char f[3][TEXT_FIGURE];

	buf_printf(out, "busy %s of %s, %s kernel%s",
		   text_share(f[0], (double)g->busy_ns, recorded_ns),
		   text_duration(f[1], recorded_ns), text_count(f[2], g->kernel_sum.count),
		   g->kernel_sum.count == 1 ? "" : "s");
	if (g->device_count)
		buf_printf(out, ", %s", g->devices[0].name);
	if (gpu->section_count > 1)
		buf_printf(out, "; %zu more process%s", gpu->section_count - 1,
			   gpu->section_count == 2 ? "" : "es");
}

static void say_copies(struct buf *out, const struct gpu_section *g)
{
	char f[2][TEXT_FIGURE];

	for (size_t i = 0; i < g->copy_count && i < 2; i++) {
		const struct gpu_copy_figures *c = &g->copies[i];

		buf_printf(out, "%s%s %s to %s %s in %s", i ? "; " : "", c->kind, c->source,
			   c->destination, text_bytes(f[0], c->bytes),
			   text_duration(f[1], (double)c->total_ns));
	}
}

static void add_gpu(struct screen *s, const struct analysis *a)
{
	const struct gpu_section *g = a->gpu.sections;
	char f[3][TEXT_FIGURE];
	struct buf text;

	if (!a->gpu.section_count)
		return;
	buf_init(&text);
	say_gpu(&text, &a->gpu);
	add_text(s, "gpu", &text);
	screen_blame(s, a);
	for (size_t i = 0; i < g->kernel_count && i < 3; i++)
		buf_printf(&text, "%s%s %s", i ? ", " : "",
			   text_share(f[0], (double)g->kernels[i].total_ns,
				      (double)g->kernel_sum.total_ns),
			   g->kernels[i].name);
	if (g->kernel_count)
		add_text(s, "kernels", &text);
	say_copies(&text, g);
	if (g->copy_count)
		add_text(s, "copies", &text);
	if (g->line_count) {
		const struct gpu_line_figures *l = g->lines;
		struct buf place;

		buf_init(&place);
		if (*l->file)
			buf_printf(&place, "%s:%" PRIu32, text_short_path(l->file, a->run.cwd),
				   l->line);
		text_add_clipped_tail(&text, buf_string(&place), s->width / 3);
		buf_release(&place);
		buf_printf(&text, " %s started %s of GPU work in %s launch%s", l->function,
			   text_duration(f[0], (double)l->gpu_ns), text_count(f[1], l->calls),
			   l->calls == 1 ? "" : "es");
		add_text(s, "line", &text);
	}
	buf_release(&text);
}

static void add_waits(struct screen *s, const struct analysis *a)
{
	char f[TEXT_FIGURE];
	struct buf text;

	if (a->working_count == a->function_count)
		return;
	buf_init(&text);
	for (size_t i = a->working_count; i < a->function_count && i < a->working_count + 3; i++)
		buf_printf(&text, "%s%s %s", i > a->working_count ? ", " : "", a->functions[i].name,
			   text_duration(f, (double)a->functions[i].self_ns));
	add_text(s, "waiting", &text);
	buf_release(&text);
}

/* The worst pair of those who waited and those who had it. */
static void add_contention(struct screen *s, const char *name, const char *what,
			   const struct analysis_waits *w)
{
	char f[2][TEXT_FIGURE];
	struct buf text;

	if (!w->count)
		return;
	buf_init(&text);
	buf_printf(&text, "threads waited %s for %s; most: %s %s",
		   text_duration(f[0], (double)w->total_ns), what,
		   w->items->waiter.name ? w->items->waiter.name : "(unknown)",
		   text_duration(f[1], (double)w->items->ns));
	if (w->items->holder.name)
		buf_printf(&text, " while %s had it", w->items->holder.name);
	add_text(s, name, &text);
	buf_release(&text);
}

/* Many libraries come without names: then the library itself is what can be said. */
static void add_native(struct screen *s, const struct analysis_native *n)
{
	struct buf text;

	buf_init(&text);
	for (size_t i = 0; i < n->count && i < NATIVE_ROWS; i++) {
		const struct analysis_native_row *r = &n->rows[i];
		const char *library = text_file_name(r->library);
		char f[TEXT_FIGURE];

		buf_printf(&text, "%s%s %s", i ? ", " : "",
			   text_share(f, (double)r->samples, (double)n->samples),
			   r->symbol ? r->symbol
			   : library ? library
				     : "(unknown)");
	}
	if (n->count)
		add_text(s, "native", &text);
	buf_release(&text);
}

/* What may be wrong, the worst of it: else there is nothing to say here. */
static void add_memory(struct screen *s, const struct analysis *a)
{
	const struct memory_worry *w = a->memory.worries;
	struct buf text;

	if (!a->memory.worry_count)
		return;
	buf_init(&text);
	memory_text_worry(&text, a, w);
	add_text(s, memory_concern_is_memory(w->what) ? "memory" : "limits", &text);
	buf_release(&text);
}

static void add_torch(struct screen *s, const char *name, const struct analysis_torch *t,
		      void (*say)(struct buf *out, const struct analysis_torch *t))
{
	struct buf text;

	buf_init(&text);
	say(&text, t);
	if (text.len)
		add_text(s, name, &text);
	buf_release(&text);
}

static void add_gc(struct screen *s, const struct analysis *a)
{
	char f[3][TEXT_FIGURE];

	if (!a->gc.count)
		return;
	screen_label(s, "gc");
	buf_printf(&s->out, "%" PRIu64 " collection%s, %s (%s of the wall time), longest %s\n",
		   a->gc.count, a->gc.count == 1 ? "" : "s",
		   text_duration(f[0], (double)a->gc.total_ns),
		   text_share(f[1], (double)a->gc.total_ns, (double)a->run.wall_ns),
		   text_duration(f[2], (double)a->gc.longest_ns));
}

static void add_trust(struct screen *s, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_trust *t = &a->trust;
	size_t limit = detail == DETAIL_SHORT ? 1 : NOTE_ROWS;
	char f[2][TEXT_FIGURE];

	screen_label(s, "trust");
	buf_printf(&s->out, "%s events, ", text_count(f[0], t->events));
	if (t->dropped) {
		screen_colour(s, YELLOW);
		buf_printf(&s->out, "%s lost", text_count(f[1], t->dropped));
		screen_plain(s);
	} else {
		buf_add_str(&s->out, "none lost");
	}
	if (t->overhead_known)
		buf_printf(&s->out, ", %.1f %% slower by recording", 100 * t->overhead_share);
	if (a->gpu.section_count && t->clock_error_ns >= 0)
		buf_printf(&s->out, ", clocks within %s",
			   text_duration(f[0], (double)t->clock_error_ns));
	buf_add_byte(&s->out, '\n');
	for (size_t i = 0; i < t->note_count && i < limit; i++) {
		screen_label(s, i ? "" : "notes");
		if (i + 1 == limit && t->note_count > limit) {
			buf_printf(&s->out, "and %zu more notes\n", t->note_count - i);
			break;
		}
		text_add_clipped(&s->out, t->notes[i], s->width - 10);
		buf_add_byte(&s->out, '\n');
	}
}

static void add_files(struct screen *s, const struct terminal_style *style)
{
	struct buf names;

	buf_init(&names);
	for (size_t i = 0; i < style->written_count; i++) {
		if (i)
			buf_add_str(&names, ", ");
		buf_add_str(&names, style->written[i]);
	}
	if (style->written_count) {
		screen_label(s, style->written_count == 1 ? "report" : "reports");
		text_add_clean(&s->out, buf_string(&names));
		buf_add_byte(&s->out, '\n');
	}
	if (style->trace) {
		screen_label(s, "trace");
		text_add_clean(&s->out, style->trace);
		buf_add_byte(&s->out, '\n');
	}
	s->out.failed |= names.failed;
	buf_release(&names);
}

int report_terminal(const struct analysis *a, FILE *out, const struct terminal_style *style)
{
	struct screen s = { .width = style->columns, .colour = style->colour };
	struct table_rows rows = share_lines(a, style->detail);
	int rc = -1;

	if (!s.width)
		s.width = WIDTH_DEFAULT;
	if (s.width < WIDTH_MIN)
		s.width = WIDTH_MIN;
	if (s.width > WIDTH_MAX)
		s.width = WIDTH_MAX;
	buf_init(&s.out);
	add_head(&s, a);
	add_steps(&s, a);
	screen_breakdown(&s, a);
	screen_findings(&s, a);
	add_layers(&s, a, rows.layers);
	add_functions(&s, a, rows.functions);
	buf_add_byte(&s.out, '\n');
	add_gpu(&s, a);
	add_waits(&s, a);
	add_contention(&s, "gil", "the GIL", &a->gil);
	add_contention(&s, "locks", "locks", &a->locks);
	add_torch(&s, "loading", &a->torch, say_loading);
	add_torch(&s, "compile", &a->torch, say_compilation);
	add_native(&s, &a->native);
	add_memory(&s, a);
	add_gc(&s, a);
	add_trust(&s, a, style->detail);
	add_files(&s, style);
	if (!s.out.failed && fwrite(s.out.data, 1, s.out.len, out) == s.out.len && !fflush(out))
		rc = 0;
	buf_release(&s.out);
	return rc;
}
