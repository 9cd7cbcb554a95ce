/* What Nsight Systems exported as SQLite, into a build. */
#ifndef IMPORT_NSYS_NSYS_H
#define IMPORT_NSYS_NSYS_H

#include "import/build/build.h"

struct nsys_import {
	char partial[512]; /* what is missing, where the file is damaged or `part` cuts it; or "" */
};

/*
 * The descriptor is borrowed.  part: of each table about as much as so many bytes are of the
 * file; UINT64_MAX: all.  -1: err says what is wrong, or what this database is instead.
 */
int nsys_import(struct nsys_import *out, struct build *b, int fd, const char *path, uint64_t part,
		struct err *err);

#endif
