/*
 * Lines of CPython code objects, decoded from the table that the interpreter
 * keeps with each: co_lnotab (3.8, 3.9), co_linetable of PEP 626 (3.10) and of
 * PEP 657 (3.11 and later).
 */
#ifndef TIMELINE_LINE_TABLES_H
#define TIMELINE_LINE_TABLES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction at `offset` bytes; 0 where it has none, the table
 * does not reach it or the version is not known.  first_line is that of the code.
 */
uint32_t line_table_find(uint32_t python_minor, const uint8_t *table, size_t bytes,
			 uint32_t first_line, uint32_t offset);

#endif
