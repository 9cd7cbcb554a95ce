/*
 * The summary at the end of a run: the essentials on one screen.  Each table gives what is left of
 * the width to the names; figures are never cut.
 */
#include <inttypes.h>
#include <string.h>

#include "report/plain_text.h"
#include "report/report.h"
#include "report/terminal/terminal_text.h"

#define LINES_MAX 38u
#define STEP_ROWS 4
#define NOTE_ROWS 3
#define NOTE_LINES 5u

/* Of the line that is being written. */
static size_t columns_used(struct terminal *s)
{
	const char *line = strrchr(buf_string(&s->out), '\n');

	return text_width(line ? line + 1 : buf_string(&s->out));
}

/* Those that fit into the line; the larger reports have them all. */
static void add_frameworks(struct terminal *s, const struct analysis_run *run, size_t used)
{
	struct buf one;

	buf_init(&one);
	for (size_t i = 0; i < run->framework_count; i++) {
		const struct analysis_framework *f = &run->frameworks[i];
		size_t width;

		buf_clear(&one);
		buf_printf(&one, ", %s%s%s", f->name, f->version ? " " : "",
			   f->version ? f->version : "");
		width = text_width(buf_string(&one));
		if (used + width > s->width)
			continue;
		text_add_clean(&s->out, buf_string(&one));
		used += width;
	}
	s->out.failed |= one.failed;
	buf_release(&one);
}

static void add_head(struct terminal *s, const struct analysis *a)
{
	const struct analysis_run *run = &a->run;
	struct buf command, brief;
	char status[TEXT_FIGURE] = "exit unknown", wall[TEXT_FIGURE];

	buf_init(&command);
	buf_init(&brief);
	for (size_t i = 0; i < run->command_count; i++) {
		if (i)
			buf_add_byte(&command, ' ');
		text_add_argument(&command, run->command[i]);
	}
	text_add_command(&brief, buf_string(&command), run->root);
	if (run->exit_known)
		snprintf(status, sizeof(status), "exit %d", run->exit_status);
	terminal_colour(s, BOLD);
	buf_add_str(&s->out, "inferscope");
	terminal_plain(s);
	buf_add_str(&s->out, "  ");
	terminal_left(s, buf_string(&brief), s->width - 12 - 2 - strlen(status));
	buf_add_str(&s->out, "  ");
	if (run->exit_known && run->exit_status)
		terminal_colour(s, RED);
	buf_add_str(&s->out, status);
	terminal_plain(s);
	buf_printf(&s->out, "\n  wall %s, %zu process%s, %zu thread%s",
		   text_duration(wall, (double)run->wall_ns), a->process_count,
		   a->process_count == 1 ? "" : "es", a->thread_count,
		   a->thread_count == 1 ? "" : "s");
	if (run->python) {
		buf_add_str(&s->out, ", Python ");
		text_add_clipped(&s->out, run->python, 20);
	}
	add_frameworks(s, run, columns_used(s));
	buf_add_byte(&s->out, '\n');
	s->out.failed |= command.failed || brief.failed;
	buf_release(&command);
	buf_release(&brief);
}

static void add_steps(struct terminal *s, const struct analysis *a)
{
	static const char *const titles[] = { "count", "mean", "p50", "p95", "p99" };
	size_t rows = a->step_count < STEP_ROWS ? a->step_count : STEP_ROWS;
	size_t name = s->width - 2 - 5 * COLUMN;
	char f[TEXT_FIGURE];

	buf_add_str(&s->out, "\n  ");
	terminal_colour(s, DIM);
	terminal_left(s, "step", a->process_count > 1 ? name - 4 : name);
	if (a->process_count > 1)
		buf_add_str(&s->out, " pid");
	for (size_t i = 0; i < 5; i++)
		terminal_right(s, titles[i], COLUMN);
	terminal_plain(s);
	buf_add_byte(&s->out, '\n');
	if (a->step_count > STEP_ROWS)
		rows--; /* its line goes to the remark below */
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_step *step = &a->steps[i];
		/* Those that were found come the other way round. */
		size_t indent = step->source == STEP_SCOPE || step->source == STEP_NVTX
					? 2 * (step->depth < 3 ? step->depth : 3)
					: 0;
		char pid[TEXT_FIGURE] = "";

		/* Processes have steps of the same name. */
		if (a->process_count > 1)
			snprintf(pid, sizeof(pid), " %" PRIu32, step->pid);
		text_add_padding(&s->out, 2 + indent);
		terminal_left(s, step->name, name - indent - strlen(pid));
		buf_add_str(&s->out, pid);
		terminal_right(s, text_count(f, step->count), COLUMN);
		terminal_right(s, text_duration(f, step->mean_ns), COLUMN);
		terminal_right(s, text_duration(f, (double)step->p50_ns), COLUMN);
		terminal_right(s, text_duration(f, (double)step->p95_ns), COLUMN);
		terminal_right(s, text_duration(f, (double)step->p99_ns), COLUMN);
		buf_add_byte(&s->out, '\n');
	}
	if (rows < a->step_count)
		buf_printf(&s->out, "  and %zu more\n", a->step_count - rows);
	if (a->steps[0].source == STEP_REQUEST && a->steps[0].service.per_second > 0)
		buf_printf(&s->out, "  %.3g per second, %.1f at a time on average, %zu at most\n",
			   a->steps[0].service.per_second, a->steps[0].service.concurrency_mean,
			   a->steps[0].service.concurrency_most);
	/* Marks are the user's own: their origin needs no line. */
	if (a->candidate_count && a->steps[0].source != STEP_WHOLE_RUN &&
	    strcmp(a->candidates[0].found_by, "marks") != 0)
		buf_printf(&s->out,
			   "  found by %s; --step NAME chooses others, --detail full lists them\n",
			   a->candidates[0].found_by);
}

static void add_trust(struct terminal *s, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_trust *t = &a->trust;
	/* One of the harmless notes is enough, and a line with the number of others. */
	size_t limit = t->serious_notes + 2 < NOTE_ROWS ? t->serious_notes + 2 : NOTE_ROWS;
	char f[2][TEXT_FIGURE];

	if (detail == DETAIL_SHORT)
		limit = 1;
	terminal_label(s, "trust");
	buf_printf(&s->out, "%s events, ", text_count(f[0], t->events));
	if (t->dropped) {
		terminal_colour(s, YELLOW);
		buf_printf(&s->out, "%s lost", text_count(f[1], t->dropped));
		terminal_plain(s);
	} else {
		buf_add_str(&s->out, "none lost");
	}
	if (t->overhead_known)
		buf_printf(&s->out, "; recording cost %.1f %%", 100 * t->overhead_share);
	if (a->gpu.section_count && t->clock_error_ns >= 0)
		buf_printf(&s->out, "; clocks within %s",
			   text_duration(f[0], (double)t->clock_error_ns));
	buf_add_byte(&s->out, '\n');
	for (size_t i = 0; i < t->note_count && i < limit; i++) {
		if (i + 1 == limit && t->note_count > limit) {
			terminal_label(s, i ? "" : "notes");
			buf_printf(&s->out, "and %zu more notes\n", t->note_count - i);
			break;
		}
		terminal_wrapped(s, i ? "" : "notes", t->notes[i], NOTE_LINES, NULL);
	}
}

static void add_files(struct terminal *s, const struct terminal_style *style)
{
	struct buf names;

	buf_init(&names);
	for (size_t i = 0; i < style->written_count; i++) {
		if (i)
			buf_add_str(&names, ", ");
		buf_add_str(&names, style->written[i]);
	}
	if (style->written_count) {
		terminal_label(s, style->written_count == 1 ? "report" : "reports");
		text_add_clean(&s->out, buf_string(&names));
		buf_add_byte(&s->out, '\n');
	}
	if (style->trace) {
		terminal_label(s, "trace");
		text_add_clean(&s->out, style->trace);
		buf_add_byte(&s->out, '\n');
	}
	s->out.failed |= names.failed;
	buf_release(&names);
}

static size_t count_lines(const struct terminal *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->out.len; i++)
		n += s->out.data[i] == '\n';
	return n;
}

static size_t lines_left(size_t used)
{
	return used < LINES_MAX ? LINES_MAX - used : 0;
}

static void terminal_append(struct terminal *s, struct terminal *part)
{
	buf_add(&s->out, part->out.data, part->out.len);
	s->out.failed |= part->out.failed;
	buf_release(&part->out);
}

/* What stands first and last is always there; lines on other things get what these leave, then
 * tables. */
static void render(struct terminal *s, const struct analysis *a, const struct terminal_style *style)
{
	struct terminal facts = { .width = s->width, .colour = s->colour }, end = facts;

	buf_init(&facts.out);
	buf_init(&end.out);
	add_head(s, a);
	add_steps(s, a);
	terminal_breakdown(s, a);
	terminal_findings(s, a);
	add_trust(&end, a, style->detail);
	add_files(&end, style);
	buf_add_byte(&facts.out, '\n');
	terminal_facts(&facts, a, lines_left(count_lines(s) + 1 + count_lines(&end)));
	terminal_tables(s, a, lines_left(count_lines(s) + count_lines(&facts) + count_lines(&end)),
			style->detail);
	terminal_append(s, &facts);
	terminal_append(s, &end);
}

int report_terminal(const struct analysis *a, FILE *out, const struct terminal_style *style)
{
	struct terminal s = { .width = terminal_width(style->columns), .colour = style->colour };
	int rc = -1;

	buf_init(&s.out);
	render(&s, a, style);
	if (!s.out.failed && fwrite(s.out.data, 1, s.out.len, out) == s.out.len && !fflush(out))
		rc = 0;
	buf_release(&s.out);
	return rc;
}
