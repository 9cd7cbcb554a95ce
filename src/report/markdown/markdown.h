/*
 * Markdown.  The user's strings stand in code spans, where Markdown gives no
 * character a meaning but the backtick and, in cells of tables, the bar.
 */
#ifndef REPORT_MARKDOWN_MARKDOWN_H
#define REPORT_MARKDOWN_MARKDOWN_H

#include <stdbool.h>

#include "base/buf.h"
#include "report/report.h"

void markdown_code(struct buf *out, const char *text, bool in_cell);
void markdown_cell(struct buf *out, const char *text);

/* Running text that may quote the user: every mark of Markdown is escaped. */
void markdown_escaped(struct buf *out, const char *text);

/* A cell with file and line; empty where there is no file. */
void markdown_place(struct buf *out, const char *file, uint32_t line, const char *root);

/* The command line of a process, as short as text_add_command() has it, in a code span. */
void markdown_process(struct buf *out, const char *command, const char *root, bool in_cell);

/* What stands below a table that was cut. */
void markdown_more(struct buf *out, size_t shown, size_t all);

/* What the steps of the first kind spent their time on; nothing where it is not known. */
void markdown_breakdown(struct buf *out, const struct analysis *a, enum report_detail detail);

/* Which lines those parts come from, and what slow steps did more; likewise. */
void markdown_causes(struct buf *out, const struct analysis *a, enum report_detail detail);

/* What determines how long a step takes; likewise, and nothing without a GPU. */
void markdown_critical_path(struct buf *out, const struct analysis *a, enum report_detail detail);

/* Why the GPU of a process was idle; nothing where it never was. */
void markdown_blame(struct buf *out, const struct gpu_section *s, const char *root,
		    enum report_detail detail);

/* The chapter about the GPU; nothing where there is none. */
void markdown_gpu(struct buf *out, const struct analysis *a, enum report_detail detail);

/* The chapters about functions, and about those in which threads wait; likewise. */
void markdown_functions(struct buf *out, const struct analysis *a, enum report_detail detail);

/* The chapters about what threads did and waited for, by samples; likewise. */
void markdown_waits(struct buf *out, const struct analysis *a, enum report_detail detail);

/* The chapter about memory and the system; likewise. */
void markdown_memory(struct buf *out, const struct analysis *a, enum report_detail detail);

/* The chapters about what to do; likewise. */
void markdown_findings(struct buf *out, const struct analysis *a, enum report_detail detail);

/* The chapter about NVTX ranges; likewise. */
void markdown_nvtx(struct buf *out, const struct analysis *a, enum report_detail detail);

/* The chapter about the layers of models; likewise. */
void markdown_layers(struct buf *out, const struct analysis *a, enum report_detail detail);

/* The chapters about what PyTorch does besides; likewise. */
void markdown_torch(struct buf *out, const struct analysis *a, enum report_detail detail);

/* What stands behind a name: that it is NVTX's, and its domain.  NULL: it is not. */
void markdown_domain(struct buf *out, const char *domain);

#endif
