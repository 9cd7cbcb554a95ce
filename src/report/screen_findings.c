/* What bounds the run, and what to fix first. */
#include <inttypes.h>

#include "report/plain_text.h"
#include "report/screen.h"

#define FINDINGS 2u /* each in two lines: what and where, and what to try */
#define LABEL 10u   /* columns */

static size_t shown(const struct analysis *a)
{
	size_t sure = a->findings.sure_count;

	return sure < FINDINGS ? sure : FINDINGS;
}

/* Nothing to say: neither a verdict nor a finding. */
static bool is_silent(const struct analysis *a)
{
	return !shown(a) && !(a->verdict.confidence > 0);
}

size_t screen_findings_lines(const struct analysis *a)
{
	return is_silent(a) ? 0 : 2 + 2 * shown(a);
}

static void add_line(struct screen *s, const char *label, const char *text, bool bold)
{
	screen_label(s, label);
	if (bold)
		screen_colour(s, BOLD);
	text_add_clipped(&s->out, text, s->width - LABEL);
	if (bold)
		screen_plain(s);
	buf_add_byte(&s->out, '\n');
}

static void add_finding(struct screen *s, const struct analysis_finding *f, bool first)
{
	char t[TEXT_FIGURE], share[TEXT_FIGURE];
	struct buf text;

	buf_init(&text);
	buf_add_str(&text, f->id);
	if (f->saving_ns > 0)
		buf_printf(&text, ": %s of a step (%s)", text_duration(t, f->saving_ns),
			   text_share(share, f->saving_share, 1));
	if (f->where.name) {
		buf_printf(&text, ", %s", f->where.name);
		if (f->where.file && *f->where.file)
			buf_printf(&text, " %s:%" PRIu32, text_file_name(f->where.file),
				   f->where.line);
	}
	add_line(s, first ? "fix" : "", buf_string(&text), true);
	add_line(s, "", f->suggestions[0], false);
	s->out.failed |= text.failed;
	buf_release(&text);
}

void screen_findings(struct screen *s, const struct analysis *a)
{
	struct buf text;

	if (is_silent(a))
		return;
	buf_init(&text);
	buf_printf(&text, "%s: %s", a->verdict.bound, a->verdict.because);
	buf_add_byte(&s->out, '\n');
	add_line(s, "bound", buf_string(&text), false);
	for (size_t i = 0; i < shown(a); i++)
		add_finding(s, &a->findings.items[i], !i);
	s->out.failed |= text.failed;
	buf_release(&text);
}
