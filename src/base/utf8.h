/* UTF-8 from files and programs that may get it wrong. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Length of the well-formed sequence at the start of n bytes: 1 to 4, or 0
 * (n is 0, a stray or overlong sequence, a surrogate, above U+10FFFF, cut off).
 */
size_t utf8_sequence(const char *s, size_t n);

/* The code point of a well-formed sequence of so many bytes. */
uint32_t utf8_decode(const char *s, size_t len);

/*
 * A character that is obeyed or hidden instead of shown: controls (ASCII's and C1), ends of
 * lines, marks of direction, and invisible tag characters.
 */
bool utf8_is_control(uint32_t code);

/*
 * Copies n bytes to `out`, each byte that belongs to no well-formed sequence
 * and each NUL replaced by U+FFFD, and terminates them.  `out` has room for
 * 3 * n + 1 bytes.  Returns the length without the NUL.
 */
size_t utf8_clean(char *out, const char *s, size_t n);

/* Bytes utf8_clean() would write, without the NUL. */
size_t utf8_clean_bytes(const char *s, size_t n);

#endif
