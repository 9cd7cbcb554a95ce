/* A file without a name, for an imported trace. */
#ifndef IMPORT_IMPORT_FILE_H
#define IMPORT_IMPORT_FILE_H

#include "base/err.h"

/* In $TMPDIR or /tmp, else in memory.  The descriptor, or -1. */
int import_file_new(struct err *err);

#endif
