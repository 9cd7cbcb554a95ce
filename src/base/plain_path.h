/* Paths without their detours. */
#ifndef BASE_PLAIN_PATH_H
#define BASE_PLAIN_PATH_H

#include "base/buf.h"

/*
 * Appends a path, its parts "." and ".." followed by the letter: links are not asked, for what is
 * told of may lie on another machine.  ".." that leads above a relative path's begin stays; what
 * is no absolute path and has no such parts is added as it is.
 */
void plain_path_add(struct buf *out, const char *path);

#endif
