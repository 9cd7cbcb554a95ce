#include "capture/native/elf_symbols.h"

#ifdef INFERSCOPE_HAVE_LIBELF

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"

#define LOADS_MAX 64u          /* segments of a file */
#define SYMBOLS_MAX (8u << 20) /* a file that claims more is not read */
#define NAME_BYTES_MAX (1u << 30)

struct symbol {
	uint64_t begin, end; /* addresses; equal where the file does not say how long it is */
	size_t name_at;
};

struct load { /* a piece of the file and where it goes */
	uint64_t offset, bytes, address;
};

struct elf_symbols {
	struct symbol *symbols; /* in order of `begin`, one for each */
	size_t count, cap;
	struct load loads[LOADS_MAX];
	size_t load_count;
	struct buf names;
};

bool elf_symbols_supported(void)
{
	return true;
}

static void read_loads(struct elf_symbols *s, Elf *elf)
{
	size_t count = 0;

	if (elf_getphdrnum(elf, &count))
		return;
	for (size_t i = 0; i < count && s->load_count < LOADS_MAX; i++) {
		GElf_Phdr header;

		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD)
			s->loads[s->load_count++] =
				(struct load){ header.p_offset, header.p_filesz, header.p_vaddr };
	}
}

static bool is_function(const GElf_Sym *symbol)
{
	unsigned type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

static int add_symbol(struct elf_symbols *s, const GElf_Sym *symbol, const char *name)
{
	struct symbol *grown = array_grow(s->symbols, &s->cap, s->count + 1, sizeof(*grown));

	if (!grown)
		return -1;
	s->symbols = grown;
	grown[s->count++] = (struct symbol){
		.begin = symbol->st_value,
		.end = symbol->st_value + symbol->st_size,
		.name_at = s->names.len,
	};
	buf_add(&s->names, name, strlen(name) + 1);
	return s->names.failed || s->names.len > NAME_BYTES_MAX ? -1 : 0;
}

static int read_table(struct elf_symbols *s, Elf *elf, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	uint64_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	if (!data || count > SYMBOLS_MAX)
		return 0;
	for (uint64_t i = 0; i < count; i++) {
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		name = is_function(&symbol) ? elf_strptr(elf, header->sh_link, symbol.st_name)
					    : NULL;
		if (name && *name && add_symbol(s, &symbol, name))
			return -1;
	}
	return 0;
}

static int read_tables(struct elf_symbols *s, Elf *elf)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;

		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) &&
		    read_table(s, elf, section, &header))
			return -1;
	}
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end) /* of two names for one place the one that says more comes first */
		return x->end > y->end ? -1 : 1;
	return x->name_at < y->name_at ? -1 : x->name_at > y->name_at;
}

static void sort_symbols(struct elf_symbols *s)
{
	size_t n = 0;

	qsort(s->symbols, s->count, sizeof(*s->symbols), by_address);
	for (size_t i = 0; i < s->count; i++) {
		if (!n || s->symbols[n - 1].begin != s->symbols[i].begin)
			s->symbols[n++] = s->symbols[i];
	}
	s->count = n;
}

struct elf_symbols *elf_symbols_new(int fd)
{
	struct elf_symbols *s = calloc(1, sizeof(*s));
	Elf *elf = NULL;

	if (!s)
		return NULL;
	buf_init(&s->names);
	if (elf_version(EV_CURRENT) != EV_NONE)
		elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		goto fail;
	read_loads(s, elf);
	if (read_tables(s, elf) || !s->count)
		goto fail;
	elf_end(elf);
	sort_symbols(s);
	return s;
fail:
	elf_end(elf);
	elf_symbols_free(s);
	return NULL;
}

void elf_symbols_free(struct elf_symbols *s)
{
	if (!s)
		return;
	free(s->symbols);
	buf_release(&s->names);
	free(s);
}

/* False: no part of the program. */
static bool address_of(const struct elf_symbols *s, uint64_t file_offset, uint64_t *address)
{
	for (size_t i = 0; i < s->load_count; i++) {
		const struct load *l = &s->loads[i];

		if (file_offset >= l->offset && file_offset - l->offset < l->bytes) {
			*address = file_offset - l->offset + l->address;
			return true;
		}
	}
	return false;
}

const char *elf_symbols_find(const struct elf_symbols *s, uint64_t file_offset)
{
	size_t at = 0;
	const struct symbol *found;
	uint64_t address;

	if (!address_of(s, file_offset, &address))
		return NULL;
	/* The first that begins behind it. */
	BISECT(at, s->count, s->symbols[at].begin <= address);
	if (!at)
		return NULL;
	found = &s->symbols[at - 1];
	/* Hand-written assembler often does not say how long a function is: up to the next one. */
	if (found->end != found->begin && address >= found->end)
		return NULL;
	return (const char *)s->names.data + found->name_at;
}

#else

bool elf_symbols_supported(void)
{
	return false;
}

struct elf_symbols *elf_symbols_new(int fd)
{
	(void)fd;
	return NULL;
}

void elf_symbols_free(struct elf_symbols *s)
{
	(void)s;
}

const char *elf_symbols_find(const struct elf_symbols *s, uint64_t file_offset)
{
	(void)s;
	(void)file_offset;
	return NULL;
}

#endif
