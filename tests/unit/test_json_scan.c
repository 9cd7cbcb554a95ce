/* links: is_import */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/json_scan.h"

struct text {
	int fd;
	struct text_source *source;
	struct json_scan *scan;
	struct err err;
};

static void text_open(struct text *t, const char *text, size_t bytes)
{
	t->fd = memfd_create("json", MFD_CLOEXEC);
	assert_true(t->fd >= 0);
	assert_int_equal(write(t->fd, text, bytes), (ssize_t)bytes);
	t->scan = malloc(sizeof(*t->scan));
	assert_non_null(t->scan);
	assert_int_equal(
		text_source_new(&t->source, t->fd, "json", PACKED_NOT, UINT64_MAX, &t->err), 0);
	assert_int_equal(json_scan_init(t->scan, t->source, &t->err), 0);
}

static void text_close(struct text *t)
{
	json_scan_release(t->scan);
	text_source_free(t->source);
	free(t->scan);
	close(t->fd);
}

static bool accepts(const char *text, size_t bytes)
{
	struct text t;
	bool ok;

	text_open(&t, text, bytes);
	ok = !json_skip(t.scan) && !json_finish(t.scan);
	if (!ok)
		assert_non_null(strstr(t.err.text, "byte"));
	text_close(&t);
	return ok;
}

static void what_rfc_8259_allows_is_accepted(void **state)
{
	static const char *const texts[] = {
		"[]",
		"{}",
		"0",
		"-0",
		"1",
		"-1",
		"0.5",
		"1e5",
		"1E+5",
		"1.5e-05",
		"123456789012345678901234567890",
		"true",
		"false",
		"null",
		"\"\"",
		" [ 1 , 2 ] ",
		"\t\r\n[]\n",
		"[[[[]]]]",
		"{\"a\":{}}",
		"{\"a\":1,\"a\":2}",
		"{\"\":0}",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD834\\uDD1E\"",
		"\"\\u0000\"",
		"[\"a\\\\\",\"b\"]",
		"\"\x7f\"",
		"\"\xc3\xa9\"",
		"[1e400]",
		"[-1e-400]",
		"[\"{\",\"}\",\"[\",\"]\",\":\",\",\"]",
		"[true,false,null,0]",
		"{\"a\":[{\"b\":[]}]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!accepts(texts[i], strlen(texts[i])))
			fail_msg("refused: %s", texts[i]);
}

static void what_rfc_8259_forbids_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		" ",
		"[",
		"]",
		"{",
		"}",
		"[1",
		"[1,",
		"[1,]",
		"[,1]",
		"[1 2]",
		"[1,,2]",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\":1,}",
		"{,}",
		"{\"a\" 1}",
		"{a:1}",
		"{1:1}",
		"{\"a\":1 \"b\":2}",
		"[1}",
		"{\"a\":1]",
		"[]]",
		"[] []",
		"1 2",
		"01",
		"-",
		"+1",
		".5",
		"1.",
		"1.e5",
		"1e",
		"1e+",
		"0x10",
		"1_000",
		"tru",
		"True",
		"nul",
		"nan",
		"inf",
		"'a'",
		"\"a",
		"\"a\\",
		"[\"a\"\"b\"]",
		"[\"a\" \"b\"]",
		"{\"a\":1:2}",
		"[a]",
		"[\\u0041]",
		"/**/[]",
		"[1]//",
		"\"\\\"",
		"[-a]",
		"[1a]",
		"[0e]",
		"{\"a\":\"b\":\"c\"}",
		"[\"x\", true, fals]",
		"--1",
		"[1\x0c]",
		":",
		",",
		"[\x1a]",
		"{\"a\"\x0c\"b\"}",
		"NaNa",
		"-Infinit",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (accepts(texts[i], strlen(texts[i])))
			fail_msg("accepted: %s", texts[i]);
	assert_false(accepts("[\0]", 3));
	assert_false(accepts("[]\0", 3));
}

static void documented_leniencies(void **state)
{
	static const char *const texts[] = {
		"[NaN,Infinity,-Infinity]",
		"\"a\nb\"",
		"\"C:\\Users\\q\"",
		"\"\\x41\"",
		"\"\\u12\"",
		"\xef\xbb\xbf[]",
		"\"\xff\xfe\"",
		"\"\\ud800\"",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (!accepts(texts[i], strlen(texts[i])))
			fail_msg("refused: %s", texts[i]);
}

/* The straightforward way to find what the blocks find. */
static size_t find_tokens(const uint8_t *text, size_t n, uint32_t *index)
{
	bool in_string = false, escaped = false, in_scalar = false;
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		uint8_t c = text[i];
		bool op = c && strchr("{}[]:,", c), space = c && strchr(" \t\r\n", c);
		bool quote = c == '"' && !escaped;

		escaped = c == '\\' && !escaped;
		if (in_string) {
			in_string = !quote;
			in_scalar = false;
			if (quote)
				index[count++] = (uint32_t)i;
			continue;
		}
		if (quote || op || (!space && !in_scalar))
			index[count++] = (uint32_t)i;
		in_scalar = !quote && !op && !space;
		in_string = quote;
	}
	return count;
}

#define BLOCKS 40

static void all_variants_find_the_same_tokens(void **state)
{
	static const char alphabet[] = "\"\"\\\\{}[]:, \t\n\r01a.-e\x80\xff";
	uint8_t text[BLOCKS * JSON_BLOCK], escapes[BLOCKS];
	uint32_t expected[BLOCKS * JSON_BLOCK], got[BLOCKS * JSON_BLOCK + JSON_BLOCK];
	const char *name;

	(void)state;
	srandom(7);
	for (int round = 0; round < 400; round++) {
		size_t kinds = 4 + (size_t)random() % (sizeof(alphabet) - 5), n;

		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = (uint8_t)alphabet[(size_t)random() % kinds];
		n = find_tokens(text, sizeof(text), expected);
		for (size_t i = 0; json_blocks_variant(i, &name); i++) {
			json_blocks_fn *blocks = json_blocks_variant(i, &name);
			struct json_carry carry = { 0 };
			size_t cut = (size_t)random() % BLOCKS, found;

			found = blocks(&carry, text, cut, 0, got, escapes);
			found += blocks(&carry, text + cut * JSON_BLOCK, BLOCKS - cut,
					(uint32_t)(cut * JSON_BLOCK), got + found, escapes + cut);
			if (found != n || memcmp(got, expected, n * sizeof(*got)) != 0)
				fail_msg("%s differs in round %d", name, round);
			for (size_t k = 0; k < BLOCKS; k++)
				assert_int_equal(escapes[k] != 0, memchr(text + k * JSON_BLOCK,
									 '\\', JSON_BLOCK) != NULL);
		}
	}
}

static void strings_come_out_as_they_are_meant(void **state)
{
	static const struct {
		const char *text, *meaning;
	} cases[] = {
		{ "a\\\"b\\\\c\\/d", "a\"b\\c/d" },
		{ "\\b\\f\\n\\r\\t", "\b\f\n\r\t" },
		{ "\\u0041\\u00e9\\u20AC\\ud83d\\uDE00", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\\ud800x", "\xef\xbf\xbdx" },
		{ "\\udc00", "\xef\xbf\xbd" },
		{ "\\ud800\\u0041", "\xef\xbf\xbd"
				    "A" },
		{ "C:\\Users\\q", "C:\\Users\\q" },
		{ "\\u12", "\\u12" },
		{ "\\", "\\" },
	};
	char out[64];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t n = json_unescape(out, cases[i].text, strlen(cases[i].text));

		assert_int_equal(n, strlen(cases[i].meaning));
		assert_memory_equal(out, cases[i].meaning, n);
	}
	assert_int_equal(json_unescape(out, "\\u0000", 6), 1);
	assert_int_equal(out[0], 0);
}

static void numbers_are_exact(void **state)
{
	static const struct {
		const char *text;
		unsigned scale;
		bool fits;
		int64_t value;
	} cases[] = {
		{ "0", 3, true, 0 },
		{ "-0.0", 3, true, 0 },
		{ "1712195495505583.001", 3, true, 1712195495505583001 },
		{ "1712195495505583", 3, true, 1712195495505583000 },
		{ "9007199254740993", 0, true, 9007199254740993 },
		{ "0.0015", 3, true, 1 },
		{ "1.9999", 3, true, 1999 },
		{ "-1.9999", 3, true, -1999 },
		{ "1e3", 0, true, 1000 },
		{ "1.5E+2", 3, true, 150000 },
		{ "15e-1", 3, true, 1500 },
		{ "1e-9", 3, true, 0 },
		{ "0e999999999999", 3, true, 0 },
		{ "9223372036854775807", 0, true, INT64_MAX },
		{ "9223372036854775808", 0, false, INT64_MAX },
		{ "-9223372036854775809", 0, false, -INT64_MAX },
		{ "1e30", 0, false, INT64_MAX },
		{ "NaN", 3, false, 0 },
		{ "", 3, false, 0 },
		{ "12x", 3, false, 0 },
		{ "stream 7", 0, false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t value = 1;
		bool fits =
			json_decimal(cases[i].text, strlen(cases[i].text), cases[i].scale, &value);

		if (fits != cases[i].fits || value != cases[i].value)
			fail_msg("%s: %lld", cases[i].text, (long long)value);
	}
}

/* Whatever integer and however many decimals: the text says the same number. */
static void written_numbers_are_read_again(void **state)
{
	(void)state;
	srandom(11);
	for (int i = 0; i < 20000; i++) {
		int64_t ns = ((int64_t)random() << 31 ^ random()) >> random() % 60, got;
		char text[64];
		int n = snprintf(text, sizeof(text), "%s%lld.%03lld", ns < 0 ? "-" : "",
				 llabs((long long)ns) / 1000, llabs((long long)ns) % 1000);

		assert_true(json_decimal(text, (size_t)n, 3, &got));
		assert_true(got == ns);
		n = snprintf(text, sizeof(text), "%llde-3", (long long)ns);
		assert_true(json_decimal(text, (size_t)n, 3, &got));
		assert_true(got == ns);
	}
}

static char *repeated(const char *piece, size_t times, size_t *bytes)
{
	size_t n = strlen(piece);
	char *text = malloc(n * times + 1);

	assert_non_null(text);
	for (size_t i = 0; i < times; i++)
		memcpy(text + i * n, piece, n);
	*bytes = n * times;
	return text;
}

static void nesting_is_limited(void **state)
{
	struct err unused;
	size_t bytes;
	char *open = repeated("[", JSON_LEVELS_MAX + 1, &bytes);
	char *all = malloc(2 * bytes);
	struct text t;

	(void)state;
	(void)unused;
	assert_non_null(all);
	text_open(&t, open, bytes);
	assert_int_equal(json_skip(t.scan), -1);
	assert_string_equal(t.err.text, "nested more than 65,536 deep at byte 65536");
	text_close(&t);
	memset(all, '[', JSON_LEVELS_MAX);
	memset(all + JSON_LEVELS_MAX, ']', JSON_LEVELS_MAX);
	assert_true(accepts(all, 2 * (size_t)JSON_LEVELS_MAX));
	free(open);
	free(all);
}

/* Tokens that lie across every border of the window and of the blocks. */
static void tokens_may_lie_anywhere(void **state)
{
	(void)state;
	for (size_t before = 262144 - 80; before < 262144 + 80; before++) {
		size_t bytes = before + 64;
		char *text = malloc(bytes + 1);
		struct json_value v;
		struct text t;
		int n;

		assert_non_null(text);
		memset(text, ' ', before);
		text[0] = '[';
		n = snprintf(text + before, 64, "\"a\\\"b\",1234567.5,true,{\"k\":[]}]");
		text_open(&t, text, before + (size_t)n);
		assert_int_equal(json_take(t.scan, &v), 0);
		assert_int_equal(json_next_item(t.scan, true), 1);
		assert_int_equal(json_take(t.scan, &v), 0);
		assert_int_equal(v.bytes, 4);
		assert_true(v.escaped);
		assert_memory_equal(v.text, "a\\\"b", 4);
		assert_int_equal(json_next_item(t.scan, false), 1);
		assert_int_equal(json_take(t.scan, &v), 0);
		assert_int_equal(v.bytes, 9);
		assert_memory_equal(v.text, "1234567.5", 9);
		assert_int_equal(json_next_item(t.scan, false), 1);
		assert_int_equal(json_take(t.scan, &v), 0);
		assert_int_equal(v.kind, JSON_TRUE);
		assert_int_equal(json_next_item(t.scan, false), 1);
		assert_int_equal(json_skip(t.scan), 0);
		assert_int_equal(json_next_item(t.scan, false), 0);
		assert_int_equal(json_finish(t.scan), 0);
		text_close(&t);
		free(text);
	}
}

static void of_a_huge_string_the_middle_is_dropped(void **state)
{
	size_t bytes;
	char *text = repeated("0123456789abcdef", (40u << 20) / 16, &bytes);
	struct json_value v;
	struct text t;

	(void)state;
	text[0] = '[';
	text[1] = '"';
	text[bytes - 4] = '"';
	text[bytes - 3] = ',';
	text[bytes - 2] = '7';
	text[bytes - 1] = ']';
	text_open(&t, text, bytes);
	assert_int_equal(json_take(t.scan, &v), 0);
	assert_int_equal(json_next_item(t.scan, true), 1);
	assert_int_equal(json_take(t.scan, &v), 0);
	assert_int_equal(v.kind, JSON_STRING);
	assert_true(v.bytes > 65000 && v.bytes < 17u << 20);
	assert_memory_equal(v.text, text + 2, 65000);
	assert_int_equal(json_next_item(t.scan, false), 1);
	assert_int_equal(json_take(t.scan, &v), 0);
	assert_memory_equal(v.text, "7", 1);
	assert_int_equal(json_next_item(t.scan, false), 0);
	assert_int_equal(json_finish(t.scan), 0);
	text_close(&t);
	memset(text, '1', bytes);
	text_open(&t, text, bytes);
	assert_int_equal(json_skip(t.scan), -1);
	assert_non_null(strstr(t.err.text, "a number or word of more than 16 MiB at byte 0"));
	text_close(&t);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_rfc_8259_allows_is_accepted),
		cmocka_unit_test(what_rfc_8259_forbids_is_refused),
		cmocka_unit_test(documented_leniencies),
		cmocka_unit_test(all_variants_find_the_same_tokens),
		cmocka_unit_test(strings_come_out_as_they_are_meant),
		cmocka_unit_test(numbers_are_exact),
		cmocka_unit_test(written_numbers_are_read_again),
		cmocka_unit_test(nesting_is_limited),
		cmocka_unit_test(tokens_may_lie_anywhere),
		cmocka_unit_test(of_a_huge_string_the_middle_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
