/*
 * Error text owned by the caller.  Functions that can fail return 0 or -1 and
 * leave one line here, without a trailing newline and without C internals:
 * cli/ prints it to the user as it stands.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>

struct err {
	char text[1024];
};

/* Sets the text; err may be NULL.  Always returns -1, for `return err_set(...)`. */
int err_set(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same, followed by ": " and the text of errno. */
int err_errno(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Whether the text is that of a failed allocation: it ends with "out of memory", as every such text
 * of ours does, or with that of ENOMEM.
 */
bool err_is_memory(const struct err *err);

#endif
