/*
 * An output file that is replaced as a whole: written beside its place, under a name that
 * cannot be foreseen, then moved there.  A reader never sees half of it, and a failure leaves
 * what was there before.  Standard output ("-", "/dev/stdout") and character devices such as
 * /dev/null are written in place.
 *
 * A new file can be read by its owner alone (0600): it may hold what its owner would not show.
 * An existing one keeps its mode.
 *
 * What stands in the way is replaced only if it is a regular file of the caller's own.  Links
 * are not followed and files of other users are refused, in every folder: a link or a file that
 * somebody put there must not decide where our data go or whose file is lost.  Pipes are
 * refused because opening one waits for a reader.
 */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

struct outfile {
	const char *path;       /* as it was given; borrowed */
	char builder[PATH_MAX]; /* where the bytes are until outfile_commit(); "": in place */
	int fd;                 /* to write to; -1: not open */
};

int outfile_open(struct outfile *o, const char *path, struct err *err);

/*
 * Closes the file and moves it to its place.  -1: nothing has changed, the temporary file is
 * removed.
 */
int outfile_commit(struct outfile *o, struct err *err);
void outfile_discard(struct outfile *o);

/* Is it written in place: standard output or a character device? */
bool outfile_is_stream(const char *path);
bool outfile_is_stdout(const char *path);

/* -1: `path` exists and may not be replaced (see above); the text gives the reason. */
int outfile_check(const char *path, struct err *err);

/* The same for a file that was opened: its name may have led elsewhere a moment ago. */
int outfile_check_entry(const char *path, const struct stat *entry, struct err *err);

#endif
