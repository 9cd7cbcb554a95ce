/*
 * Telling the recorder where this process keeps its Python threads, so that it can
 * read their stacks from outside.
 */
#ifndef AGENT_OUTSIDE_H
#define AGENT_OUTSIDE_H

/*
 * With the GIL, from a function that Python called, after frames_init().  Compares
 * format/py_layout.h with this interpreter.
 */
void outside_look(void);

/* Publishes the outcome in this process's entry, and in those of its forked children. */
void outside_publish(void);

#endif
