/* What bounds the run, and what to fix first. */
#include <string.h>

#include "report/plain_text.h"
#include "report/terminal/terminal_text.h"

#define FINDINGS 2u
#define LINES 3u        /* of a text */
#define ADVICE_LINES 6u /* what to try should not be cut */

static size_t shown(const struct analysis *a)
{
	size_t sure = a->findings.sure_count;

	return sure < FINDINGS ? sure : FINDINGS;
}

/* "saves 4.25 ms of a step (58.9 %), keep_likely detections.py:30" */
static void write_gain(struct buf *text, const struct analysis_finding *f, const struct analysis *a,
		       size_t columns)
{
	char t[TEXT_FIGURE], share[TEXT_FIGURE];

	if (f->saving_ns > 0)
		buf_printf(text, "saves %s of %s (%s)", text_duration(t, f->saving_ns),
			   a->steps[0].source == STEP_WHOLE_RUN ? "the run" : "a step",
			   text_share(share, f->saving_share, 1));
	if (!f->where.name)
		return;
	if (text->len)
		buf_add_str(text, ", ");
	terminal_place(text, &f->where, a->run.root, columns);
}

static void add_finding(struct terminal *s, const struct analysis_finding *f,
			const struct analysis *a, bool first)
{
	struct buf text;

	buf_init(&text);
	buf_add_str(&text, f->id);
	if (strcmp(f->title, f->id) != 0) /* a rule of the user's may have none */
		buf_printf(&text, ": %s", f->title);
	terminal_wrapped(s, first ? "fix" : "", buf_string(&text), LINES, BOLD);
	buf_clear(&text);
	write_gain(&text, f, a, s->width - LABEL);
	if (text.len)
		terminal_wrapped(s, "", buf_string(&text), LINES, NULL);
	terminal_wrapped(s, "", f->suggestions[0], ADVICE_LINES, NULL);
	s->out.failed |= text.failed;
	buf_release(&text);
}

void terminal_findings(struct terminal *s, const struct analysis *a)
{
	struct buf text;

	if (!shown(a) && !(a->verdict.confidence > 0) && a->steps[0].source == STEP_WHOLE_RUN)
		return;
	buf_init(&text);
	buf_printf(&text, "%s: %s", a->verdict.bound, a->verdict.because);
	buf_add_byte(&s->out, '\n');
	terminal_wrapped(s, "bound", buf_string(&text), LINES, NULL);
	for (size_t i = 0; i < shown(a); i++)
		add_finding(s, &a->findings.items[i], a, !i);
	if (!shown(a))
		terminal_wrapped(s, "fix",
				 a->findings.count
					 ? "nothing with enough confidence; the report lists all "
					   "candidates"
					 : "nothing: no rule found time that could be saved",
				 1, NULL);
	s->out.failed |= text.failed;
	buf_release(&text);
}
