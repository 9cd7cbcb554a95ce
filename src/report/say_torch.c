#include "report/say_torch.h"

#include "report/plain_text.h"

void say_loading(struct buf *out, const struct analysis_torch *t)
{
	char f[2][TEXT_FIGURE];

	if (!t->waits.count && !t->loads.count)
		return;
	if (t->waits.count) {
		buf_printf(out, "waited %s for ", text_duration(f[0], (double)t->waits.total_ns));
		if (t->workers)
			buf_printf(out, "%zu ", t->workers);
		buf_printf(out, "DataLoader worker%s; ", t->workers == 1 ? "" : "s");
	}
	buf_printf(out, "%s batch%s loaded in %s", text_count(f[0], t->loads.count),
		   t->loads.count == 1 ? "" : "es", text_duration(f[1], (double)t->loads.total_ns));
}

void say_compilation(struct buf *out, const struct analysis_torch *t)
{
	char f[2][TEXT_FIGURE];

	if (!t->compiled_count)
		return;
	buf_printf(out, "%s for %s compilation%s",
		   text_duration(f[0], (double)t->compilations.total_ns),
		   text_count(f[1], t->compilations.count), t->compilations.count == 1 ? "" : "s");
	if (t->recompilations)
		buf_printf(out, ", %s of them again", text_count(f[0], t->recompilations));
	buf_printf(out, "; most: %s %s",
		   *t->compiled->function ? t->compiled->function : "(unknown)",
		   text_duration(f[1], (double)t->compiled->sum.total_ns));
}
