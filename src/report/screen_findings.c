/* What bounds the run, and what to fix first. */
#include <inttypes.h>
#include <string.h>

#include "report/plain_text.h"
#include "report/screen.h"

#define FINDINGS 2u
#define NAME_LEAST 8u /* columns of a function */
#define LINES 2u      /* of a text: what to try and where must not be cut */

static size_t shown(const struct analysis *a)
{
	size_t sure = a->findings.sure_count;

	return sure < FINDINGS ? sure : FINDINGS;
}

/* A function, cut so that its file and line still fit into a line beside it. */
static void add_place(struct buf *text, const struct analysis_place *p, size_t columns)
{
	struct buf line;
	size_t taken;

	buf_init(&line);
	if (p->file && *p->file)
		buf_printf(&line, " %s:%" PRIu32, text_file_name(p->file), p->line);
	taken = text_width(buf_string(&line)) + NAME_LEAST;
	text_add_clipped(text, p->name, NAME_LEAST + (taken < columns ? columns - taken : 0));
	buf_add_str(text, buf_string(&line));
	text->failed |= line.failed;
	buf_release(&line);
}

/* "saves 4.25 ms of a step (58.9 %), keep_likely detections.py:30" */
static void say_gain(struct buf *text, const struct analysis_finding *f, size_t columns)
{
	char t[TEXT_FIGURE], share[TEXT_FIGURE];

	if (f->saving_ns > 0)
		buf_printf(text, "saves %s of a step (%s)", text_duration(t, f->saving_ns),
			   text_share(share, f->saving_share, 1));
	if (!f->where.name)
		return;
	if (text->len)
		buf_add_str(text, ", ");
	add_place(text, &f->where, columns);
}

static void add_finding(struct screen *s, const struct analysis_finding *f, bool first)
{
	struct buf text;

	buf_init(&text);
	buf_add_str(&text, f->id);
	if (strcmp(f->title, f->id) != 0) /* a rule of the user's may have none */
		buf_printf(&text, ": %s", f->title);
	screen_say(s, first ? "fix" : "", buf_string(&text), LINES, BOLD);
	buf_clear(&text);
	say_gain(&text, f, s->width - LABEL);
	if (text.len)
		screen_say(s, "", buf_string(&text), LINES, NULL);
	screen_say(s, "", f->suggestions[0], LINES, NULL);
	s->out.failed |= text.failed;
	buf_release(&text);
}

void screen_findings(struct screen *s, const struct analysis *a)
{
	struct buf text;

	if (!shown(a) && !(a->verdict.confidence > 0))
		return;
	buf_init(&text);
	buf_printf(&text, "%s: %s", a->verdict.bound, a->verdict.because);
	buf_add_byte(&s->out, '\n');
	screen_say(s, "bound", buf_string(&text), LINES, NULL);
	for (size_t i = 0; i < shown(a); i++)
		add_finding(s, &a->findings.items[i], !i);
	s->out.failed |= text.failed;
	buf_release(&text);
}
