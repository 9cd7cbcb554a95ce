/*
 * SQLite on a file that is open already, for reading, as if nobody could change it: no locks, no
 * journal, no other file.  What a hostile file could run (triggers, views, virtual tables) is off.
 */
#ifndef IMPORT_NSYS_SQLITE_FD_H
#define IMPORT_NSYS_SQLITE_FD_H

#include "base/err.h"

struct sqlite3;

/* The descriptor is borrowed until sqlite3_close().  -1: err set. */
int sqlite_fd_open(struct sqlite3 **out, int fd, struct err *err);

#endif
