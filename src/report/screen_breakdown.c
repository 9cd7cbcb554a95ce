/* What steps spent their time on, with a bar for each part, and why the GPU was idle. */
#include <inttypes.h>

#include "report/breakdown_rows.h"
#include "report/plain_text.h"
#include "report/screen.h"

#define ROWS 5u /* of parts; the rest is one more */
#define TITLE_COLUMN 22u
#define HEAD 2u /* an empty line, and the titles */

/* Parts that are shown by themselves: those of a hundredth and more. */
static size_t shown_parts(const struct step_breakdown *b, enum time_class order[TIME_CLASSES],
			  size_t *all)
{
	size_t n = 0;

	*all = breakdown_order(b, order);
	while (n < *all && n < ROWS && b->parts[order[n]].ns >= b->total_ns / 100 &&
	       b->parts[order[n]].ns)
		n++;
	return n;
}

size_t screen_breakdown_lines(const struct analysis *a)
{
	const struct step_breakdown *b = &a->steps[0].breakdown;
	enum time_class order[TIME_CLASSES];
	size_t all, shown = shown_parts(b, order, &all);

	return b->steps && b->total_ns > 0 ? HEAD + shown + (shown < all) : 0;
}

static void add_part(struct screen *s, const char *title, double ns, const struct step_breakdown *b)
{
	size_t room = s->width - 2 - TITLE_COLUMN - 2 * COLUMN - 2;
	size_t eighths = (size_t)(8 * (double)room * ns / (double)b->total_ns + 0.5);
	static const char *const ends[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	char f[TEXT_FIGURE];

	buf_add_str(&s->out, "  ");
	screen_left(s, title, TITLE_COLUMN);
	screen_right(s, text_duration(f, ns / (double)b->steps), COLUMN);
	screen_right(s, text_share(f, ns, (double)b->total_ns), COLUMN);
	if (eighths)
		buf_add_str(&s->out, "  ");
	for (size_t i = 0; i < eighths / 8 && i < room; i++)
		buf_add_str(&s->out, "█");
	if (eighths / 8 < room)
		buf_add_str(&s->out, ends[eighths % 8]);
	buf_add_byte(&s->out, '\n');
}

void screen_breakdown(struct screen *s, const struct analysis *a)
{
	const struct step_breakdown *b = &a->steps[0].breakdown;
	enum time_class order[TIME_CLASSES];
	size_t all, shown = shown_parts(b, order, &all);
	double rest_ns = 0;

	if (!screen_breakdown_lines(a))
		return;
	buf_add_str(&s->out, "\n  ");
	screen_colour(s, DIM);
	screen_left(s, a->steps[0].source == STEP_WHOLE_RUN ? "the run's time" : "a step's time",
		    TITLE_COLUMN);
	screen_right(s, "mean", COLUMN);
	screen_right(s, "share", COLUMN);
	screen_plain(s);
	buf_add_byte(&s->out, '\n');
	for (size_t i = 0; i < all; i++) {
		if (i < shown)
			add_part(s, time_class_title(order[i]), (double)b->parts[order[i]].ns, b);
		else
			rest_ns += (double)b->parts[order[i]].ns;
	}
	if (shown + 1 < all)
		add_part(s, "Others", rest_ns, b);
	else if (shown < all)
		add_part(s, time_class_title(order[shown]), rest_ns, b);
}

void screen_blame(struct screen *s, const struct analysis *a)
{
	const struct gpu_section *g = a->gpu.sections;
	const struct idle_cause *c;
	char f[TEXT_FIGURE];
	struct buf text;

	if (!a->gpu.section_count || !g->blame.count)
		return;
	c = g->blame.items;
	buf_init(&text);
	if (g->blame.steps && c->in_steps_ns)
		buf_printf(&text, "%s of a step: ",
			   text_duration(f, (double)c->in_steps_ns / (double)g->blame.steps));
	else
		buf_printf(&text, "%s of it: ", text_share(f, (double)c->ns, (double)g->idle_ns));
	buf_add_str(&text, c->latency ? "launch latency" : time_class_title(c->what));
	if (c->where.name)
		buf_printf(&text, ", %s", c->where.name);
	if (c->where.name && c->where.file && *c->where.file)
		buf_printf(&text, " %s:%" PRIu32, text_file_name(c->where.file), c->where.line);
	if (c->waited_for.name)
		buf_printf(&text, ", waited for %s", c->waited_for.name);
	screen_label(s, "idle");
	text_add_clipped(&s->out, buf_string(&text), s->width - 10);
	buf_add_byte(&s->out, '\n');
	s->out.failed |= text.failed;
	buf_release(&text);
}
