/* UTF-8 from files and programs that may get it wrong. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stddef.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Length of the well-formed sequence at the start of n bytes: 1 to 4, or 0
 * (n is 0, a stray or overlong sequence, a surrogate, above U+10FFFF, cut off).
 */
size_t utf8_sequence(const char *s, size_t n);

/*
 * Copies n bytes to `out`, each byte that belongs to no well-formed sequence
 * and each NUL replaced by U+FFFD, and terminates them.  `out` has room for
 * 3 * n + 1 bytes.  Returns the length without the NUL.
 */
size_t utf8_clean(char *out, const char *s, size_t n);

/* Bytes utf8_clean() would write, without the NUL. */
size_t utf8_clean_bytes(const char *s, size_t n);

#endif
