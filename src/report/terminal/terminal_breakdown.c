/* What steps spent their time on, with a bar for each part. */
#include "report/plain_text.h"
#include "report/table_rows.h"
#include "report/terminal/terminal_text.h"

#define ROWS 5u /* of parts; the rest is one more */
#define TITLE_COLUMN 22u

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

static void add_part(struct terminal *s, const char *title, double ns,
		     const struct step_breakdown *b)
{
	size_t room = s->width - 2 - TITLE_COLUMN - 2 * COLUMN - 2;
	size_t eighths = (size_t)(8 * (double)room * ns / (double)b->total_ns + 0.5);
	static const char *const ends[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	char f[TEXT_FIGURE];

	buf_add_str(&s->out, "  ");
	terminal_left(s, title, TITLE_COLUMN);
	terminal_right(s, text_duration(f, ns / (double)b->steps), COLUMN);
	terminal_right(s, text_share(f, ns, (double)b->total_ns), COLUMN);
	if (eighths)
		buf_add_str(&s->out, "  ");
	for (size_t i = 0; i < eighths / 8 && i < room; i++)
		buf_add_str(&s->out, "█");
	if (eighths / 8 < room)
		buf_add_str(&s->out, ends[eighths % 8]);
	buf_add_byte(&s->out, '\n');
}

void terminal_breakdown(struct terminal *s, const struct analysis *a)
{
	const struct step_breakdown *b = &a->steps[0].breakdown;
	enum time_class order[TIME_CLASSES];
	size_t all, shown = shown_parts(b, order, &all);
	char f[TEXT_FIGURE];
	double rest_ns = 0;

	if (!b->steps || b->total_ns <= 0)
		return;
	buf_add_str(&s->out, "\n  ");
	terminal_colour(s, DIM);
	terminal_left(s, a->steps[0].source == STEP_WHOLE_RUN ? "the run's time" : "a step's time",
		      TITLE_COLUMN);
	terminal_right(s, "mean", COLUMN);
	terminal_right(s, "share", COLUMN);
	if (breakdown_throttled(&a->steps[0]))
		buf_printf(&s->out, "  of %s steps with the GPU recorded", text_count(f, b->steps));
	terminal_plain(s);
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
