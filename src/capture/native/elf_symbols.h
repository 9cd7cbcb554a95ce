/*
 * The functions of a program or library, by their place in its file.
 *
 * Names come from .symtab, if the file is not stripped, and .dynsym; they are mangled (C++).  The
 * file may come from any user: a broken one has no functions.
 */
#ifndef CAPTURE_NATIVE_ELF_SYMBOLS_H
#define CAPTURE_NATIVE_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbols; /* immutable */

/* Whether this build can read them at all: it needs libelf. */
bool elf_symbols_supported(void);

/* The descriptor stays the caller's and is not needed afterwards.  NULL: nothing is known. */
struct elf_symbols *elf_symbols_new(int fd);
void elf_symbols_free(struct elf_symbols *s); /* NULL is a no-op */

/* The function that the byte at this offset of the file belongs to; NULL: none.  Borrowed. */
const char *elf_symbols_find(const struct elf_symbols *s, uint64_t file_offset);

#endif
