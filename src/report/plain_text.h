/*
 * Text for people: figures (figure_text.h), paths as short as they can be understood, and
 * the user's strings made harmless.
 */
#ifndef REPORT_PLAIN_TEXT_H
#define REPORT_PLAIN_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/figure_text.h"

/*
 * Appends the part of a path that identifies the file for a reader: without the folder (may be
 * NULL) that it is below, or from the package on for installed ones ("torch/_tensor.py",
 * "python3.12/json/decoder.py"); normalized (figure_text.h), so that a file has one name.
 */
void text_add_short_path(struct buf *out, const char *file, const char *root);

/* ... and a line of it: "app/a.py:3". */
void text_add_place(struct buf *out, const char *file, uint32_t line, const char *root);

/* What stands behind the last slash; borrowed from it.  NULL stays NULL. */
const char *text_file_name(const char *path);

/* Columns a terminal needs: code points, after cleaning. */
size_t text_width(const char *s);

/*
 * Appends s without control characters, so that a name can neither move the
 * cursor nor end a line.  Wider than `columns`: cut, with an ellipsis at the
 * cut.  The tail variant keeps the end.
 */
void text_add_clean(struct buf *out, const char *s);
void text_add_clipped(struct buf *out, const char *s, size_t columns);
void text_add_clipped_tail(struct buf *out, const char *s, size_t columns);
void text_add_padding(struct buf *out, size_t columns);

/*
 * Likewise in at most `lines` lines, each but the first behind so many blanks, broken
 * between words where there are any; without a line break at the end.  What does not fit is cut
 * between words too, unless a long name stands there.
 */
void text_add_wrapped(struct buf *out, const char *s, size_t columns, size_t indent, size_t lines);

/* The lines that it takes for a whole text; columns: at least 1. */
size_t text_wrapped_lines(const char *s, size_t columns);

/* Appends one argument of a command line as a shell would read it back. */
void text_add_argument(struct buf *out, const char *arg);

/* Appends a command line, its program without folders and its files as text_add_short_path() has
 * them.
 */
void text_add_command(struct buf *out, const char *command, const char *root);

#endif
