/* From a series to what is said of it. */
#ifndef ANALYZE_MEMORY_LEVELS_H
#define ANALYZE_MEMORY_LEVELS_H

#include "analyze/memory_figures.h"
#include "analyze/series_table.h"

/* Not known where there is no such series. */
struct memory_level memory_level(const struct series_table *st, uint32_t process, uint32_t kind,
				 uint32_t instance);
struct memory_total memory_total(const struct series_table *st, uint32_t process, uint32_t kind,
				 uint32_t instance);

/* The share of the time in which a level, taken as bits, had one of `bits`. */
double memory_bits_share(const struct series *s, uint64_t bits);

#endif
