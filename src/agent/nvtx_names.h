/*
 * Names in NVTX: domains, registered strings and categories, and the ids under which
 * the trace knows what a program calls its ranges.
 *
 * What a program gets for a domain or a string is a number, so that whatever it hands
 * back is harmless: nothing is followed that the program could have made up or freed.
 * Names outlive recordings, and are never freed.  Any thread, no lock.
 */
#ifndef AGENT_NVTX_NAMES_H
#define AGENT_NVTX_NAMES_H

#include <wchar.h>

#include "agent/ring.h"

#define NVTX_NAME_MAX 4096u  /* bytes; longer ones are cut */
#define NVTX_SHORT_NAME 255u /* the same of domains and categories */

/* The number of a name, the same for the same name; 0 only for NULL.  At most `max` bytes count. */
uint32_t nvtx_name_number(const char *name, size_t max);

/*
 * A wide string as UTF-8, cut where it does not fit; what is no character becomes U+FFFD.
 * NULL gives "".
 */
void nvtx_narrow(char out[NVTX_NAME_MAX + 1], const wchar_t *wide);

/* From here on this category of this domain (numbers, 0: the default one) is called so. */
void nvtx_name_category(uint32_t domain, uint32_t category, const char *name);

/* What an event says of itself. */
struct nvtx_event {
	enum nvtx_kind kind;
	uint32_t domain; /* number; 0: the default one */
	uint32_t category, colour;
	const char *text;    /* NULL: see below */
	uint32_t registered; /* number of the text; 0: none */
};

/*
 * The id of its DEF_NVTX, defined at first sight; 0 where there was no room.  *about: what its
 * text says of this one event, behind a name that it shares with others; NULL: nothing.
 */
uint32_t nvtx_id(struct ring *r, const struct nvtx_event *e, const char **about);

#endif
