/* The folder that the paths of a program's own files are told from. */
#ifndef ANALYZE_SOURCE_ROOT_H
#define ANALYZE_SOURCE_ROOT_H

#include <stddef.h>

/*
 * The working directory (may be NULL); where the script lies elsewhere, the script's folder, for
 * its modules lie beside it.  *root is the caller's to free, NULL: neither is known.  One folder
 * and no more: two files below it never look the same.  -1: no memory.
 */
int source_root(char **root, const char *const *command, size_t count, const char *cwd);

#endif
