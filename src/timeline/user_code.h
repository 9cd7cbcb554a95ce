/* Whose code a file is: the user's own, or a library's. */
#ifndef TIMELINE_USER_CODE_H
#define TIMELINE_USER_CODE_H

#include <stdbool.h>

/*
 * False for what lies in site-packages, dist-packages or the standard library,
 * and for code that has no file because a library made it.  What the user typed,
 * passed with -c or handed to exec() is the user's.
 */
bool user_code(const char *file);

#endif
