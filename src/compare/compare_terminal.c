/* The summary of a comparison: the verdict first, then what became slower or faster. */
#include <math.h>
#include <string.h>

#include "compare/compare_report.h"
#include "report/plain_text.h"
#include "report/terminal/terminal_text.h"

#define GREEN "32"
#define ROWS 5u
#define FINDINGS 3u
#define NOTES 6u
#define NOTE_LINES 4u
#define CHANGE ((size_t)11)

static const char *colour_of(const struct step_change *d)
{
	return !d->significant ? BOLD : d->ratio > 0 ? RED : GREEN;
}

static void add_head(struct terminal *s, const struct comparison *c)
{
	struct buf text;

	buf_init(&text);
	terminal_colour(s, BOLD);
	buf_add_str(&s->out, "inferscope diff");
	terminal_plain(s);
	buf_printf(&text, "  %s", c->sides[0].step);
	if (strcmp(c->sides[0].step, c->sides[1].step) != 0)
		buf_printf(&text, " = %s", c->sides[1].step);
	text_add_clipped(&s->out, buf_string(&text), s->width - 15);
	buf_add_str(&s->out, "\n\n  ");
	buf_clear(&text);
	comparison_verdict(&text, c);
	terminal_colour(s, colour_of(&c->change));
	buf_add_str(&s->out, buf_string(&text));
	terminal_plain(s);
	buf_add_str(&s->out, "\n  ");
	buf_clear(&text);
	comparison_because(&text, c);
	text_add_wrapped(&s->out, buf_string(&text), s->width - 2, 2, 2);
	buf_add_byte(&s->out, '\n');
	s->out.failed |= text.failed;
	buf_release(&text);
}

static void add_titles(struct terminal *s, const char *first, size_t name)
{
	static const char *const titles[] = { "before", "after" };

	buf_add_str(&s->out, "\n  ");
	terminal_colour(s, DIM);
	terminal_left(s, first, name);
	for (size_t i = 0; i < 2; i++)
		terminal_right(s, titles[i], COLUMN + 1);
	terminal_right(s, "change", CHANGE);
	terminal_plain(s);
	buf_add_byte(&s->out, '\n');
}

static void add_figures(struct terminal *s, double before, double after, bool significant)
{
	const char *colour = !significant ? NULL : after > before ? RED : GREEN;
	char f[TEXT_FIGURE];

	terminal_right(s, before > 0 ? text_duration(f, before) : "", COLUMN + 1);
	terminal_right(s, after > 0 ? text_duration(f, after) : "", COLUMN + 1);
	if (colour)
		terminal_colour(s, colour);
	terminal_right(s, compared_delta(f, after - before), CHANGE);
	terminal_right(s, compared_percent(f, before, after), COLUMN + 1);
	buf_add_str(&s->out, significant ? " *" : "");
	if (colour)
		terminal_plain(s);
	buf_add_byte(&s->out, '\n');
}

static size_t name_columns(const struct terminal *s)
{
	return s->width - 2 - 3 * (COLUMN + 1) - CHANGE - 2;
}

static void add_steps(struct terminal *s, const struct comparison *c)
{
	size_t name = name_columns(s);
	char f[TEXT_FIGURE];

	add_titles(s, "step time", name);
	for (enum step_statistic k = 0; k < STEP_STATISTICS; k++) {
		buf_add_str(&s->out, "  ");
		terminal_left(s, step_statistic_name(k), name);
		add_figures(s, c->sides[0].ns[k], c->sides[1].ns[k],
			    k == c->statistic && c->change.significant);
	}
	buf_add_str(&s->out, "  ");
	terminal_left(s, c->run_count[0] + c->run_count[1] > 2 ? "steps (traces)" : "steps", name);
	for (size_t side = 0; side < 2; side++) {
		char text[2 * TEXT_FIGURE];

		snprintf(text, sizeof(text), "%s", text_count(f, c->sides[side].steps));
		if (c->run_count[0] + c->run_count[1] > 2)
			snprintf(text, sizeof(text), "%s (%zu)",
				 text_count(f, c->sides[side].steps), c->run_count[side]);
		terminal_right(s, text, COLUMN + 1);
	}
	buf_add_byte(&s->out, '\n');
}

/* "dense.<listcomp>" says as much as "dense.<locals>.<listcomp>". */
static void add_function(struct buf *out, const char *name)
{
	static const char locals[] = ".<locals>";

	while (*name) {
		const char *at = strstr(name, locals);

		buf_add(out, name, at ? (size_t)(at - name) : strlen(name));
		name = at ? at + sizeof(locals) - 1 : "";
	}
}

/* Lines are named by place and class: their functions have rows of their own. */
static void add_row(struct terminal *s, const struct compared_row *r)
{
	size_t columns = name_columns(s), taken;
	struct buf name, place, row;

	buf_init(&name);
	buf_init(&place);
	buf_init(&row);
	compared_row_place(r->part == PART_LINE ? &name : &place, r);
	if (r->part == PART_LINE)
		buf_printf(&place, "%s", r->detail);
	if (!name.len)
		add_function(&name, r->name);
	taken = place.len ? text_width(buf_string(&place)) + 1 : 0;
	if (taken > columns / 2)
		taken = columns / 2;
	text_add_clipped(&row, buf_string(&name), columns - taken);
	if (taken) {
		buf_add_byte(&row, ' ');
		text_add_clipped(&row, buf_string(&place), taken - 1);
	}
	buf_add_str(&s->out, "  ");
	terminal_left(s, buf_string(&row), columns);
	add_figures(s, r->before_ns, r->after_ns, r->significant);
	s->out.failed |= name.failed || place.failed || row.failed;
	buf_release(&name);
	buf_release(&place);
	buf_release(&row);
}

static size_t shown_rows(const struct comparison *c, enum compared_part part,
			 enum report_detail detail, const struct compared_row **rows)
{
	size_t count, shown;

	*rows = comparison_rows(c, part, &count);
	shown = detail == DETAIL_FULL || count < ROWS ? count : ROWS;
	while (shown && compared_row_is_small(c, &(*rows)[shown - 1], detail))
		shown--;
	return shown;
}

static void add_part(struct terminal *s, const struct comparison *c, enum compared_part part,
		     enum report_detail detail)
{
	const struct compared_row *rows, *gpu;
	size_t shown = shown_rows(c, part, detail, &rows);

	/* Where layers have GPU time their thread's is launching and waiting. */
	if (!shown || (part == PART_CPU_LAYER && shown_rows(c, PART_GPU_LAYER, detail, &gpu)))
		return;
	add_titles(s, compared_part_texts[part].column, name_columns(s));
	for (size_t i = 0; i < shown; i++)
		add_row(s, &rows[i]);
}

static void add_findings(struct terminal *s, const struct comparison *c)
{
	size_t shown = 0;

	for (size_t i = 0; i < c->finding_count; i++) {
		const struct compared_findings_row *r = &c->findings[i];
		const struct compared_finding *f = r->newest;
		struct buf text;
		char figure[TEXT_FIGURE];

		if ((r->before && r->after) || f->confidence < FINDING_LIKELY)
			continue;
		if (!shown)
			buf_add_byte(&s->out, '\n');
		if (shown++ == FINDINGS)
			break;
		buf_init(&text);
		buf_printf(&text, "%s: %s, %s %s of a step", f->id, f->title,
			   r->after ? "saves" : "saved", text_duration(figure, f->saving_ns));
		if (f->function) {
			buf_printf(&text, ", %s ", f->function);
			text_add_place(&text, f->file, f->line, NULL);
		}
		terminal_wrapped(s, r->after ? "new" : "gone", buf_string(&text), 3, NULL);
		s->out.failed |= text.failed;
		buf_release(&text);
	}
}

static void add_end(struct terminal *s, const struct comparison *c,
		    const struct terminal_style *style)
{
	struct buf names;

	buf_add_byte(&s->out, '\n');
	buf_init(&names);
	for (size_t i = 0; i < c->notes.count && i < NOTES; i++)
		terminal_wrapped(s, i ? "" : "notes", c->notes.items[i], NOTE_LINES, NULL);
	for (size_t i = 0; i < style->written_count; i++)
		buf_printf(&names, "%s%s", i ? ", " : "", style->written[i]);
	if (style->written_count) {
		terminal_label(s, style->written_count == 1 ? "report" : "reports");
		text_add_clean(&s->out, buf_string(&names));
		buf_add_byte(&s->out, '\n');
	}
	s->out.failed |= names.failed;
	buf_release(&names);
}

int comparison_print(const struct comparison *c, FILE *out, const struct terminal_style *style)
{
	struct terminal s = { .width = terminal_width(style->columns), .colour = style->colour };
	int rc = -1;

	buf_init(&s.out);
	add_head(&s, c);
	add_steps(&s, c);
	for (enum compared_part part = 0; part < COMPARED_PARTS; part++)
		add_part(&s, c, part, style->detail);
	add_findings(&s, c);
	add_end(&s, c, style);
	if (!s.out.failed && fwrite(s.out.data, 1, s.out.len, out) == s.out.len && !fflush(out))
		rc = 0;
	buf_release(&s.out);
	return rc;
}
