#include "capture/native/native_sampler.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/idmap.h"
#include "capture/native/elf_symbols.h"
#include "capture/system/fd_budget.h"
#include "format/record.h"

#define LIBRARIES_MAX 1024u
#define FILES_MAX 256u               /* each keeps a file open */
#define PLACES_MAX (1u << 20)        /* of all libraries together */
#define ASK_AGAIN_NS 100000000       /* what a process has mapped */
#define NO_FILE "(made at run time)" /* as compilers of kernels do; no file has it */

struct place {
	uint32_t id;
	uint64_t offset;
	const char *symbol; /* while they are named; NULL: unknown */
};

struct library {
	char *name;
	int fd; /* -1: no file, or not to be read */
	bool has_offsets;
	struct place *places;
	size_t count, cap;
	struct idmap by_offset; /* offset -> position */
};

/* Code that a process has mapped. */
struct native_mapping {
	uint64_t begin, end, offset;
	uint32_t library;
};

struct native_places {
	struct library *libraries;
	size_t count, cap;
	size_t place_count;
	size_t file_count; /* open ones */
};

struct native_places *native_places_new(void)
{
	return calloc(1, sizeof(struct native_places));
}

void native_places_free(struct native_places *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->count; i++) {
		struct library *l = &p->libraries[i];

		if (l->fd >= 0)
			close(l->fd);
		idmap_release(&l->by_offset);
		free(l->places);
		free(l->name);
	}
	free(p->libraries);
	free(p);
}

void native_maps_release(struct native_maps *m)
{
	free(m->items);
	memset(m, 0, sizeof(*m));
}

/* As the process sees it: it may live in a container.  The file may be gone when it is needed. */
static int open_library(pid_t pid, const char *path)
{
	char full[4096 + 32];
	struct stat st;
	int fd;

	snprintf(full, sizeof(full), "/proc/%d/root%s", pid, path);
	fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* UINT32_MAX: there are too many, or no memory. */
static uint32_t library_find(struct native_places *p, pid_t pid, const char *name)
{
	struct library *l;

	for (size_t i = 0; i < p->count; i++) {
		if (!strcmp(p->libraries[i].name, name))
			return (uint32_t)i;
	}
	if (p->count == LIBRARIES_MAX)
		return UINT32_MAX;
	l = array_grow(p->libraries, &p->cap, p->count + 1, sizeof(*l));
	if (!l)
		return UINT32_MAX;
	p->libraries = l;
	l += p->count;
	memset(l, 0, sizeof(*l));
	l->name = strdup(name);
	if (!l->name)
		return UINT32_MAX;
	idmap_init(&l->by_offset);
	l->has_offsets = *name == '/';
	l->fd = l->has_offsets && p->file_count < fd_budget(FILES_MAX) ? open_library(pid, name)
								       : -1;
	p->file_count += l->fd >= 0;
	return (uint32_t)p->count++;
}

/* The text behind `count` words and the blanks after each. */
static char *skip_words(char *text, int count)
{
	while (count--) {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	return text;
}

/* "7f4e32a00000-7f4e32b00000 r-xp 00001000 fd:00 123   /usr/lib/libm.so" */
static void take_mapping(struct native_places *p, struct native_maps *m, pid_t pid, char *line)
{
	struct native_mapping n = { 0 }, *grown;
	char *end, *rights, *name;

	line[strcspn(line, "\n")] = '\0';
	n.begin = strtoull(line, &end, 16);
	if (*end == '-')
		n.end = strtoull(end + 1, &end, 16);
	rights = skip_words(end, 1);
	if (strlen(rights) < 3 || rights[2] != 'x')
		return;
	n.offset = strtoull(skip_words(rights, 1), NULL, 16);
	name = skip_words(rights, 4);
	n.library = library_find(p, pid, *name ? name : NO_FILE);
	grown = n.library == UINT32_MAX
			? NULL
			: array_grow(m->items, &m->cap, m->count + 1, sizeof(*grown));
	if (!grown)
		return;
	m->items = grown;
	grown[m->count++] = n;
}

static void read_maps(struct native_places *p, struct native_maps *m, pid_t pid)
{
	char path[64], *line = NULL;
	size_t room = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return; /* it has ended: what was known last still holds for what it did */
	m->count = 0;
	while (getline(&line, &room, file) > 0)
		take_mapping(p, m, pid, line);
	free(line);
	fclose(file);
}

/* The kernel lists them in order. */
static const struct native_mapping *mapping_at(const struct native_maps *m, uint64_t address)
{
	size_t at = 0;

	BISECT(at, m->count, m->items[at].end <= address);
	return at < m->count && m->items[at].begin <= address ? &m->items[at] : NULL;
}

static uint32_t place_find(struct native_places *p, struct library *l, uint64_t offset,
			   const struct native_definitions *d)
{
	struct place *grown;
	uint32_t at;

	if (!l->has_offsets)
		offset = 0;
	if (offset > UINT32_MAX)
		return 0;
	at = idmap_find(&l->by_offset, (uint32_t)offset);
	if (at != IDMAP_NONE)
		return l->places[at].id;
	if (p->place_count == PLACES_MAX)
		return 0;
	grown = array_grow(l->places, &l->cap, l->count + 1, sizeof(*grown));
	if (!grown)
		return 0;
	l->places = grown;
	if (idmap_put(&l->by_offset, (uint32_t)offset, (uint32_t)l->count))
		return 0;
	grown[l->count] = (struct place){ .id = d->next_id(d->ctx), .offset = offset };
	p->place_count++;
	return grown[l->count++].id;
}

uint32_t native_places_find(struct native_places *p, struct native_maps *m, pid_t pid,
			    uint64_t address, int64_t now_ns, const struct native_definitions *d)
{
	const struct native_mapping *n = mapping_at(m, address);

	if (!n && (!m->read_ns || now_ns - m->read_ns >= ASK_AGAIN_NS)) {
		m->read_ns = now_ns;
		read_maps(p, m, pid);
		n = mapping_at(m, address);
	}
	return n ? place_find(p, &p->libraries[n->library], address - n->begin + n->offset, d) : 0;
}

static int by_symbol(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->symbol != y->symbol)
		return (uintptr_t)x->symbol < (uintptr_t)y->symbol ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static int define_string(const struct native_definitions *d, const char *text, uint32_t *id)
{
	size_t bytes = strlen(text);

	*id = d->next_id(d->ctx);
	return d->define(d->ctx, DEF_STRING, *id, text,
			 bytes < DEF_PAYLOAD_MAX ? bytes : DEF_PAYLOAD_MAX);
}

/* All places of a function are one after the other, so that its name is written once. */
static int define_library(struct library *l, const struct native_definitions *d)
{
	struct elf_symbols *symbols = l->fd >= 0 ? elf_symbols_new(l->fd) : NULL;
	uint32_t library_id, symbol_id = 0;
	struct buf payload;
	int rc = -1;

	buf_init(&payload);
	for (size_t i = 0; symbols && i < l->count; i++)
		l->places[i].symbol = elf_symbols_find(symbols, l->places[i].offset);
	qsort(l->places, l->count, sizeof(*l->places), by_symbol);
	if (define_string(d, l->name, &library_id))
		goto out;
	for (size_t i = 0; i < l->count; i++) {
		const struct place *place = &l->places[i];

		if (place->symbol && (!i || place->symbol != place[-1].symbol) &&
		    define_string(d, place->symbol, &symbol_id))
			goto out;
		buf_clear(&payload);
		buf_add_varint(&payload, place->symbol ? symbol_id : 0);
		buf_add_varint(&payload, library_id);
		if (payload.failed ||
		    d->define(d->ctx, DEF_NATIVE, place->id, payload.data, payload.len))
			goto out;
	}
	rc = 0;
out:
	l->count = 0; /* their names are gone, and the order in which by_offset knows them */
	buf_release(&payload);
	elf_symbols_free(symbols);
	return rc;
}

int native_places_define(struct native_places *p, const struct native_definitions *d)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->libraries[i].count && define_library(&p->libraries[i], d))
			return -1;
	}
	return 0;
}
