/* Garbage collections as events, through gc.callbacks.  With the GIL. */
#ifndef AGENT_GC_PAUSES_H
#define AGENT_GC_PAUSES_H

void gc_pauses_start(void);
void gc_pauses_stop(void);

#endif
