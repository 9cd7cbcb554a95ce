/* Markdown: NVTX ranges. */
#include <inttypes.h>

#include "report/markdown.h"
#include "report/plain_text.h"

void markdown_domain(struct buf *out, const char *domain)
{
	if (!domain)
		return;
	buf_add_str(out, " (NVTX");
	if (*domain) {
		buf_add_str(out, ", ");
		markdown_cell(out, domain);
	}
	buf_add_byte(out, ')');
}

static void add_category(struct buf *out, const struct trace_nvtx *n)
{
	if (*n->category_name)
		markdown_cell(out, n->category_name);
	else if (n->category)
		buf_printf(out, "%" PRIu32, n->category);
}

static void add_range(struct buf *out, const struct analysis_nvtx_range *r, bool gpu)
{
	char f[3][TEXT_FIGURE];

	buf_add_str(out, "| ");
	markdown_cell(out, r->what->name);
	buf_add_str(out, " | ");
	if (*r->what->domain)
		markdown_cell(out, r->what->domain);
	buf_add_str(out, " | ");
	add_category(out, r->what);
	buf_printf(out, " | %" PRIu64, r->count);
	if (r->left_out)
		buf_add_str(out, ", not all recorded");
	if (r->unended)
		buf_printf(out, ", %" PRIu64 " without end", r->unended);
	buf_printf(out, " | %s | %s | %s |", text_duration(f[0], (double)r->total_ns),
		   text_duration(f[1], (double)r->self_ns),
		   text_duration(f[2], (double)r->longest_ns));
	if (gpu && r->gpu_count)
		buf_printf(out, " %s |", text_duration(f[0], (double)r->gpu_ns));
	else if (gpu)
		buf_add_str(out, " ? |");
	buf_add_byte(out, '\n');
}

void markdown_nvtx(struct buf *out, const struct analysis *a, enum report_detail detail)
{
	size_t rows = report_rows(detail, a->nvtx_count, 5, 30);
	bool gpu = a->gpu.section_count > 0;

	if (!rows)
		return;
	buf_printf(out,
		   "\n## NVTX ranges\n\n"
		   "| range | domain | category | count | total | self | longest |%s\n"
		   "|---|---|---|--:|--:|--:|--:|%s\n",
		   gpu ? " GPU |" : "", gpu ? "--:|" : "");
	for (size_t i = 0; i < rows; i++)
		add_range(out, &a->nvtx[i], gpu);
	markdown_more(out, rows, a->nvtx_count);
	buf_add_str(out, "\nSelf: without the ranges and scopes inside.");
	if (gpu)
		buf_add_str(out, " GPU: the time of all work that the range's thread launched "
				 "while it lasted.");
	buf_add_byte(out, '\n');
}
