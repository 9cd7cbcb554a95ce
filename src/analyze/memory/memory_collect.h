/* Fills in the memory's part of an analysis. */
#ifndef ANALYZE_MEMORY_MEMORY_COLLECT_H
#define ANALYZE_MEMORY_MEMORY_COLLECT_H

#include "analyze/analysis.h"
#include "analyze/figures/memory_figures.h"
#include "analyze/figures/series_table.h"
#include "analyze/memory/memory_steps.h"

/* Needs a->processes and a->steps.  -1: out of memory. */
int memory_collect(struct analysis *a, const struct memory_sources *m, const struct trace *t);
void analysis_memory_release(struct analysis_memory *m);

/* Its parts, each in a file of its own. */
void memory_process_release(struct memory_process *p);
int memory_processes_collect(struct analysis_memory *out, const struct memory_sources *m,
			     const struct trace *t);
int memory_torch_collect(struct memory_process *p, const struct series_table *st);
void memory_machine_collect(struct memory_machine *out, const struct series_table *st);
int memory_gpus_collect(struct analysis_memory *out, const struct series_table *st,
			int64_t wall_ns); /* needs the processes */

/* What may be wrong, once all figures are there. */
void memory_warnings_find(struct analysis *a);

/* From a series to what is said of it. */

/* Not known where there is no such series. */
struct memory_level memory_level(const struct series_table *st, uint32_t process, uint32_t kind,
				 uint32_t instance);
struct memory_total memory_total(const struct series_table *st, uint32_t process, uint32_t kind,
				 uint32_t instance);

/* The share of the time in which a level, taken as bits, had one of `bits`. */
double memory_bits_share(const struct series *s, uint64_t bits);

#endif
