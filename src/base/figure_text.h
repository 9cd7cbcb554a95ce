/* Figures for people, with three digits that matter: one way to write them everywhere. */
#ifndef BASE_FIGURE_TEXT_H
#define BASE_FIGURE_TEXT_H

#include <stdint.h>

#include "base/buf.h"

#define TEXT_FIGURE 32 /* room for any of the figures below */

/* "840 ns", "12.3 ms", "1.24 s", "2m05s", "3h07m", "?" for what is none; returns out. */
const char *text_duration(char out[TEXT_FIGURE], double ns);

/* "950", "12.3 k", "50.1 M" */
const char *text_count(char out[TEXT_FIGURE], uint64_t n);

/* "512 B", "12.3 kB", "1.24 GB" */
const char *text_bytes(char out[TEXT_FIGURE], uint64_t bytes);

/* "24.1 %" */
const char *text_share(char out[TEXT_FIGURE], double part, double whole);

/* Paths without their detours. */

/*
 * Appends a path, its parts "." and ".." followed by the letter: links are not resolved, because
 * the file may lie on another machine.  ".." that leads above a relative path's begin stays; what
 * is no absolute path and has no such parts is added as it is.
 */
void plain_path_add(struct buf *out, const char *path);

#endif
