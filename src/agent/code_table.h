/*
 * From the address of a code object to our note on it, without the GIL.
 *
 * Changed only with the GIL, read at any time by anybody, but only for code that
 * cannot go away meanwhile.  A table that is outgrown stays, because a reader may
 * still be in it; together they take at most twice the memory of the newest.
 */
#ifndef AGENT_CODE_TABLE_H
#define AGENT_CODE_TABLE_H

void code_table_insert(const void *code, void *note); /* with the GIL */
void code_table_remove(const void *code);             /* with the GIL */
void *code_table_find(const void *code);              /* NULL: not there */

#endif
