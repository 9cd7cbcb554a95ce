/*
 * Where the tokens of a JSON text are, 64 bytes at a time: the part that vector instructions do.
 * The best variant for this machine is chosen at run time.
 */
#ifndef IMPORT_JSON_BLOCKS_H
#define IMPORT_JSON_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#define JSON_BLOCK 64

/* What a block takes over from the one before it.  All 0 at the start of a text. */
struct json_carry {
	uint64_t in_string; /* all ones inside a string */
	uint64_t escaped;   /* 1: the first byte is escaped */
	uint64_t in_scalar; /* 1: the byte before belongs to a number or a word */
};

/*
 * Appends the positions of all tokens of `blocks` blocks to `index`: both quotes of a string,
 * brackets, commas, colons, and the first byte of numbers and words.  `index` has room for a
 * number per byte and a block's worth more; `base` is added to each.  escapes[i] becomes 1 where
 * block i has a backslash in it, else 0.  Returns how many were appended.
 */
typedef size_t json_blocks_fn(struct json_carry *carry, const uint8_t *text, size_t blocks,
			      uint32_t base, uint32_t *index, uint8_t *escapes);

json_blocks_fn *json_blocks_best(void);

/* All that this machine can run, for tests: NULL past the last. */
json_blocks_fn *json_blocks_variant(size_t i, const char **name);

#endif
