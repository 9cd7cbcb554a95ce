/* links: is_capture dl */
/* Names of functions by their place in a file: this program's own, and files that are none. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "capture/native/elf_symbols.h"

__attribute__((noinline)) static int a_function_of_ours(int x)
{
	return x * 3 + getpid();
}

struct search {
	uint64_t address;
	uint64_t file_offset;
};

/* dl_iterate_phdr() tells the truth about this process independently of the file. */
static int find_offset(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct search *s = ctx;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uint64_t begin = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD && s->address >= begin &&
		    s->address - begin < h->p_filesz) {
			s->file_offset = s->address - begin + h->p_offset;
			return 1;
		}
	}
	return 0;
}

static const char *name_at(const char *path, uint64_t address, char out[256])
{
	struct search s = { .address = address };
	struct elf_symbols *symbols;
	const char *name;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(dl_iterate_phdr(find_offset, &s));
	symbols = elf_symbols_new(fd);
	close(fd);
	assert_non_null(symbols);
	name = elf_symbols_find(symbols, s.file_offset);
	snprintf(out, 256, "%s", name ? name : "(none)");
	elf_symbols_free(symbols);
	return out;
}

static void need_support(void)
{
	if (!elf_symbols_supported()) {
		printf("skipped: built without libelf\n");
		skip();
	}
}

static void test_functions_of_the_program(void **state)
{
	char name[256];

	(void)state;
	need_support();
	assert_true(a_function_of_ours(1));
	/* Of its first byte, of one inside it, and not of the byte before it. */
	assert_string_equal(name_at("/proc/self/exe", (uintptr_t)&a_function_of_ours, name),
			    "a_function_of_ours");
	assert_string_equal(name_at("/proc/self/exe", (uintptr_t)&a_function_of_ours + 4, name),
			    "a_function_of_ours");
	assert_string_not_equal(name_at("/proc/self/exe", (uintptr_t)&a_function_of_ours - 1, name),
				"a_function_of_ours");
}

static void test_functions_of_a_stripped_library(void **state)
{
	char name[256];
	Dl_info info;

	(void)state;
	need_support();
	assert_true(dladdr((void *)(uintptr_t)&l64a, &info));
	assert_string_equal(name_at(info.dli_fname, (uintptr_t)info.dli_saddr + 1, name), "l64a");
}

static void test_places_without_a_function(void **state)
{
	struct elf_symbols *s;
	int fd = open("/proc/self/exe", O_RDONLY);

	(void)state;
	need_support();
	s = elf_symbols_new(fd);
	close(fd);
	assert_null(elf_symbols_find(s, 0)); /* the header */
	assert_null(elf_symbols_find(s, UINT64_MAX));
	assert_null(elf_symbols_find(s, 1ull << 40));
	elf_symbols_free(s);
}

/* Every length of the file, and every byte of its head changed: no names, or some, no harm. */
static void test_broken_files(void **state)
{
	char head[4096], path[] = "/tmp/inferscope-elf-XXXXXX";
	int exe = open("/proc/self/exe", O_RDONLY), fd = mkstemp(path);

	(void)state;
	assert_int_equal(pread(exe, head, sizeof(head), 0), sizeof(head));
	for (size_t bytes = 0; bytes < sizeof(head); bytes += 13) {
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, head, bytes, 0), bytes);
		elf_symbols_free(elf_symbols_new(fd));
	}
	for (size_t at = 0; at < 64; at++) {
		char changed[4096];

		memcpy(changed, head, sizeof(head));
		changed[at] = (char)(changed[at] ^ 0x7f);
		assert_int_equal(pwrite(fd, changed, sizeof(changed), 0), sizeof(changed));
		elf_symbols_free(elf_symbols_new(fd));
	}
	assert_null(elf_symbols_new(-1));
	elf_symbols_free(NULL);
	close(fd);
	close(exe);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_of_the_program),
		cmocka_unit_test(test_functions_of_a_stripped_library),
		cmocka_unit_test(test_places_without_a_function),
		cmocka_unit_test(test_broken_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
