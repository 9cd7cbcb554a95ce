#include "cli/suggest.h"

#include <ctype.h>
#include <string.h>

#define LONGEST 40 /* characters; longer words are nobody's typo */

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* '_' and '-' are taken for each other: files write the one, options the other. */
static char fold(char c)
{
	return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

/* Edits to get from a to b; two neighbours swapped count as one. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][LONGEST + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];
	size_t alen = strlen(a), blen = strlen(b);

	if (alen > LONGEST || blen > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= blen; j++)
		row[j] = j;
	for (size_t i = 1; i <= alen; i++) {
		size_t *spare = before;

		before = above;
		above = row;
		row = spare;
		row[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			size_t change = fold(a[i - 1]) != fold(b[j - 1]);

			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + change);
			if (i > 1 && j > 1 && fold(a[i - 1]) == fold(b[j - 2]) &&
			    fold(a[i - 2]) == fold(b[j - 1]) && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
	}
	return row[blen];
}

void suggest_init(struct suggest *g, const char *typed)
{
	size_t len = strlen(typed + strspn(typed, "-"));

	g->typed = typed;
	g->best = NULL;
	g->distance = len < 6 ? 1 : len / 3; /* farther off is a guess, not a help */
}

void suggest_push(struct suggest *g, const char *candidate)
{
	size_t d;

	if (!candidate)
		return;
	d = distance(g->typed, candidate);
	if (d < g->distance || (d == g->distance && !g->best)) {
		g->distance = d;
		g->best = candidate;
	}
}
