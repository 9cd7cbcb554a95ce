/* Markdown: what threads did and waited for, and native code, by samples. */
#include <inttypes.h>
#include <stdlib.h>

#include "report/markdown/markdown.h"
#include "report/plain_text.h"
#include "report/table_rows.h"

#define SYMBOL_COLUMNS 100u
#define LEAST_WAIT 0.0005  /* of the wall time: less would read 0.0 % */
#define LEAST_NATIVE 0.005 /* of the samples */

static const char *const evidence_texts[] = {
	[WAIT_HOLDER_UNKNOWN] = "",
	[WAIT_HOLDER_LIKELY] = "likely",
	[WAIT_HOLDER_SEEN] = "seen",
};

/* The columns of the table of states. */
static const enum sample_state shown_states[] = {
	SAMPLE_RUNNING, SAMPLE_GIL_WAIT, SAMPLE_LOCK_WAIT,
	SAMPLE_IO_WAIT, SAMPLE_SLEEP,    SAMPLE_OFF_CPU,
};

static void add_state_row(struct buf *out, const struct analysis_thread *t)
{
	double all_ns = 0;
	char f[TEXT_FIGURE];

	for (size_t i = 0; i < SAMPLE_STATES; i++)
		all_ns += (double)t->states.ns[i];
	buf_printf(out, "| %" PRIu32 " | %" PRIu32 " | ", t->pid, t->tid);
	if (*t->name)
		markdown_cell(out, t->name);
	buf_add_str(out, " |");
	for (size_t i = 0; i < sizeof(shown_states) / sizeof(shown_states[0]); i++)
		buf_printf(out, " %s |",
			   text_share(f, (double)t->states.ns[shown_states[i]], all_ns));
	buf_add_byte(out, '\n');
}

static void add_states(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	const struct analysis_thread **threads = thread_rows(a);
	size_t known = 0, rows, shown = 0;

	for (size_t i = 0; i < a->thread_count; i++)
		known += a->threads[i].states.known;
	rows = report_rows(detail, known, 5, 12);
	out->failed |= !threads;
	if (!rows || !threads) {
		free(threads);
		return;
	}
	buf_add_str(out, "\n## What threads did\n\n"
			 "| pid | thread | name | ran | waited for the GIL | for a lock | "
			 "for I/O | slept | otherwise |\n"
			 "|--:|--:|---|--:|--:|--:|--:|--:|--:|\n");
	for (size_t i = 0; i < a->thread_count && shown < rows; i++) {
		if (!threads[i]->states.known)
			continue;
		add_state_row(out, threads[i]);
		shown++;
	}
	free(threads);
	markdown_more(out, rows, known);
	buf_add_str(out,
		    "\nShares of the time in which the thread was sampled. Ran: on a CPU or ready "
		    "for one. For a lock: includes conditions, queues and joining threads.\n");
}

static void add_place(struct buf *out, const struct place *p, const char *root)
{
	if (!p->name) {
		buf_add_str(out, " unknown | |");
		return;
	}
	buf_add_byte(out, ' ');
	markdown_cell(out, p->name);
	buf_add_str(out, " | ");
	markdown_place(out, p->file, p->line, root);
	buf_add_str(out, " |");
}

static void add_waits(struct buf *out, const char *title, const struct analysis_waits *w,
		      const struct analysis *a, enum report_detail detail)
{
	size_t rows = report_rows(detail, w->count, 3, 15);
	char f[2][TEXT_FIGURE];

	while (rows && report_leaves_out(detail, (double)w->items[rows - 1].ns,
					 (double)a->run.wall_ns, LEAST_WAIT))
		rows--;
	if (!rows)
		return;
	buf_printf(
		out,
		"\n## %s\n\n"
		"| waiting function | where | holder | where | source | time | of the wall time |\n"
		"|---|---|---|---|---|--:|--:|\n",
		title);
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_wait *x = &w->items[i];

		buf_add_byte(out, '|');
		add_place(out, &x->waiter, a->run.root);
		add_place(out, &x->holder, a->run.root);
		buf_printf(out, " %s | %s | %s |\n", evidence_texts[x->evidence],
			   text_duration(f[0], (double)x->ns),
			   text_share(f[1], (double)x->ns, (double)a->run.wall_ns));
	}
	markdown_more(out, rows, w->count);
}

/* Templates make names that fill a page: a reader needs their beginning. */
static void add_symbol(struct buf *out, const char *symbol, enum report_detail detail)
{
	struct buf name;

	buf_init(&name);
	text_add_clipped(&name, symbol, detail == DETAIL_FULL ? SIZE_MAX : SYMBOL_COLUMNS);
	markdown_cell(out, buf_string(&name));
	out->failed |= name.failed;
	buf_release(&name);
}

static void add_native(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t rows = report_rows(detail, a->native.count, 5, 12);
	char f[TEXT_FIGURE];

	while (rows > 1 && report_leaves_out(detail, (double)a->native.rows[rows - 1].samples,
					     (double)a->native.samples, LEAST_NATIVE))
		rows--;
	if (!rows)
		return;
	buf_add_str(out, "\n## Native code\n\n"
			 "| native function | library | called from | samples | share |\n"
			 "|---|---|---|--:|--:|\n");
	for (size_t i = 0; i < rows; i++) {
		const struct analysis_native_row *r = &a->native.rows[i];

		buf_add_str(out, "| ");
		if (r->symbol)
			add_symbol(out, r->symbol, detail);
		else
			buf_add_str(out, r->library ? "(no symbol)" : "unknown");
		buf_add_str(out, " | ");
		if (r->library)
			markdown_cell(out, text_file_name(r->library));
		buf_add_str(out, " | ");
		if (r->python.name)
			markdown_cell(out, r->python.name);
		buf_printf(out, " | %" PRIu64 " | %s |\n", r->samples,
			   text_share(f, (double)r->samples, (double)a->native.samples));
	}
	markdown_more(out, rows, a->native.count);
	buf_printf(out,
		   "\n%" PRIu64
		   " samples of the CPU time of all threads in user mode, taken by the Linux "
		   "kernel. Called from: the innermost Python function; none for threads "
		   "without Python.\n",
		   a->native.samples);
}

void markdown_waits(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	add_states(out, a, detail);
	add_waits(out, "Waiting for the GIL", &a->gil, a, detail);
	add_waits(out, "Waiting for locks", &a->locks, a, detail);
	add_native(out, a, detail);
}
