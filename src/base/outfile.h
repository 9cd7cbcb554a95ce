/*
 * A file that is replaced as a whole: written beside its place, under a name that
 * nobody can foresee, then moved there.  A reader never sees half of it, and a
 * failure leaves what was there before.
 *
 * A new file is its owner's alone (0600): command lines and names can be secrets.
 * One of ours that is there already keeps its mode.
 *
 * In a sticky folder that others may write to, /tmp say, what somebody else has
 * put in our way is refused, be it a link, a file or a pipe.  That is the kernel's
 * rule (fs.protected_symlinks and its kin), here whether or not it is switched on.
 */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

struct outfile {
	char path[PATH_MAX];  /* the file itself, links followed: they keep pointing to it */
	char draft[PATH_MAX]; /* where the bytes are meanwhile */
	int fd;               /* to write to; -1: not open */
};

int outfile_open(struct outfile *o, const char *path, struct err *err);

/* Closes and puts the file in its place.  -1: nothing has changed, the draft is gone. */
int outfile_commit(struct outfile *o, struct err *err);
void outfile_discard(struct outfile *o);

/* The file that `path` names, all links followed, as far as they may be; it need not be there. */
int outfile_resolve(char out[PATH_MAX], const char *path, struct err *err);

/* -1: what lies at `path`, a link itself, is somebody else's trap, and the text says so. */
int outfile_check(const char *path, struct err *err);

/* The same for a file that was opened: what it was a moment ago may not count. */
bool outfile_is_trap(const char *path, const struct stat *entry);

#endif
