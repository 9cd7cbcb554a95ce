/*
 * The method is that of "Parsing Gigabytes of JSON per Second" (Langdale, Lemire, 2019): a bit for
 * each byte, and arithmetic on 64 of them at once.  Only the masks of a block depend on the
 * machine.
 */
#include "import/json_blocks.h"

#include <stdbool.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

struct masks {
	uint64_t quote, backslash, op, space;
};

#define ODD_BITS 0xaaaaaaaaaaaaaaaau

/* The bytes behind an odd number of backslashes in a row; *carry: the block's first byte is one. */
static inline uint64_t find_escaped(uint64_t backslash, uint64_t *carry)
{
	uint64_t first = *carry, may_escape, escaping;

	*carry = 0;
	if (!backslash)
		return first;
	/*
	 * Subtracting the backslashes from the odd bits and themselves, moved by one, leaves in
	 * each run those that escape and the byte behind it, if that is escaped.
	 */
	may_escape = backslash & ~first;
	escaping = ((may_escape << 1 | ODD_BITS) - may_escape) ^ ODD_BITS;
	*carry = (escaping & backslash) >> 63;
	return escaping ^ (backslash | first);
}

/* Bit n of the result: the xor of bits 0 to n. */
static inline uint64_t prefix_xor(uint64_t x)
{
	x ^= x << 1;
	x ^= x << 2;
	x ^= x << 4;
	x ^= x << 8;
	x ^= x << 16;
	return x ^ x << 32;
}

static inline size_t append(uint32_t *index, uint64_t bits, uint32_t base)
{
	size_t n = (size_t)__builtin_popcountll(bits);

	/* Eight at a time: writing too many is cheaper than asking after each. */
	for (size_t at = 0; at < n; at += 8) {
		for (size_t k = 0; k < 8; k++) {
			index[at + k] = base + (uint32_t)__builtin_ctzll(bits | 1ull << 63);
			bits &= bits - 1;
		}
	}
	return n;
}

static inline size_t block_tokens(struct json_carry *carry, const struct masks *m, uint32_t base,
				  uint32_t *index)
{
	uint64_t quote = m->quote & ~find_escaped(m->backslash, &carry->escaped);
	uint64_t in_string = prefix_xor(quote) ^ carry->in_string; /* from the opening quote on */
	uint64_t scalar = ~(m->op | m->space | quote | in_string);
	uint64_t starts = scalar & ~(scalar << 1 | carry->in_scalar);

	carry->in_string = (uint64_t)((int64_t)in_string >> 63);
	carry->in_scalar = scalar >> 63;
	return append(index, (m->op & ~in_string) | quote | starts, base);
}

#define DEFINE_VARIANT(name, masks_of, attribute)                                                  \
	attribute static size_t name(struct json_carry *carry, const uint8_t *text, size_t blocks, \
				     uint32_t base, uint32_t *index, uint8_t *escapes)             \
	{                                                                                          \
		size_t n = 0;                                                                      \
                                                                                                   \
		for (size_t i = 0; i < blocks; i++) {                                              \
			struct masks m;                                                            \
                                                                                                   \
			masks_of(text + JSON_BLOCK * i, &m);                                       \
			escapes[i] = m.backslash != 0;                                             \
			n += block_tokens(carry, &m, base + (uint32_t)(JSON_BLOCK * i),            \
					  index + n);                                              \
		}                                                                                  \
		return n;                                                                          \
	}

enum { BYTE_QUOTE = 1, BYTE_BACKSLASH = 2, BYTE_OP = 4, BYTE_SPACE = 8 };

static const uint8_t byte_kinds[256] = {
	['"'] = BYTE_QUOTE, ['\\'] = BYTE_BACKSLASH, ['{'] = BYTE_OP,     ['}'] = BYTE_OP,
	['['] = BYTE_OP,    [']'] = BYTE_OP,         [','] = BYTE_OP,     [':'] = BYTE_OP,
	[' '] = BYTE_SPACE, ['\t'] = BYTE_SPACE,     ['\n'] = BYTE_SPACE, ['\r'] = BYTE_SPACE,
};

static inline void masks_by_table(const uint8_t *text, struct masks *m)
{
	memset(m, 0, sizeof(*m));
	for (unsigned i = 0; i < JSON_BLOCK; i++) {
		uint64_t kind = byte_kinds[text[i]];

		m->quote |= (kind & 1) << i;
		m->backslash |= (kind >> 1 & 1) << i;
		m->op |= (kind >> 2 & 1) << i;
		m->space |= (kind >> 3) << i;
	}
}

DEFINE_VARIANT(blocks_by_table, masks_by_table, )

#if defined(__x86_64__)

/* '[' and '{', ']' and '}' differ in one bit, which the letters between them do not share. */
#define OR_20 0x20

static inline uint64_t equal_sse2(const __m128i *v, char c)
{
	const __m128i to = _mm_set1_epi8(c);
	uint64_t bits = 0;

	for (unsigned i = 0; i < 4; i++)
		bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[i], to)) << 16 * i;
	return bits;
}

static inline void masks_sse2(const uint8_t *text, struct masks *m)
{
	__m128i v[4], low[4];

	for (size_t i = 0; i < 4; i++) {
		v[i] = _mm_loadu_si128((const __m128i *)(const void *)(text + 16 * i));
		low[i] = _mm_or_si128(v[i], _mm_set1_epi8(OR_20));
	}
	m->quote = equal_sse2(v, '"');
	m->backslash = equal_sse2(v, '\\');
	m->op = equal_sse2(low, '{') | equal_sse2(low, '}') | equal_sse2(v, ',') |
		equal_sse2(v, ':');
	m->space = equal_sse2(v, ' ') | equal_sse2(v, '\t') | equal_sse2(v, '\n') |
		   equal_sse2(v, '\r');
}

DEFINE_VARIANT(blocks_sse2, masks_sse2, )

#define AVX2 __attribute__((target("avx2,bmi,popcnt,lzcnt")))

/*
 * A byte's low four bits choose what it must be to be white space, or an operator: shuffles look
 * that up for 32 bytes at once.  A byte above 127 is looked up as 0.
 */
AVX2 static inline void masks_avx2(const uint8_t *text, struct masks *m)
{
	const __m256i spaces = _mm256_setr_epi8(
		' ', 100, 100, 100, 17, 100, 113, 2, 100, '\t', '\n', 112, 100, '\r', 100, 100, ' ',
		100, 100, 100, 17, 100, 113, 2, 100, '\t', '\n', 112, 100, '\r', 100, 100);
	const __m256i ops =
		_mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0, 0, 0, 0, 0,
				 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0);
	uint64_t quote[2], backslash[2], op[2], space[2];

	for (size_t i = 0; i < 2; i++) {
		__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(text + 32 * i));
		__m256i low = _mm256_or_si256(v, _mm256_set1_epi8(OR_20));

		quote[i] =
			(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8('"')));
		backslash[i] = (uint32_t)_mm256_movemask_epi8(
			_mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\')));
		space[i] = (uint32_t)_mm256_movemask_epi8(
			_mm256_cmpeq_epi8(v, _mm256_shuffle_epi8(spaces, v)));
		op[i] = (uint32_t)_mm256_movemask_epi8(
			_mm256_cmpeq_epi8(low, _mm256_shuffle_epi8(ops, v)));
	}
	m->quote = quote[0] | quote[1] << 32;
	m->backslash = backslash[0] | backslash[1] << 32;
	m->space = space[0] | space[1] << 32;
	m->op = op[0] | op[1] << 32;
}

DEFINE_VARIANT(blocks_avx2, masks_avx2, AVX2)

#elif defined(__aarch64__)

static inline uint64_t movemask_neon(const uint8x16_t *v)
{
	static const uint8_t weights[16] = { 1, 2, 4, 8, 16, 32, 64, 128,
					     1, 2, 4, 8, 16, 32, 64, 128 };
	const uint8x16_t w = vld1q_u8(weights);
	uint8x16_t sum0 = vpaddq_u8(vandq_u8(v[0], w), vandq_u8(v[1], w));
	uint8x16_t sum1 = vpaddq_u8(vandq_u8(v[2], w), vandq_u8(v[3], w));

	sum0 = vpaddq_u8(sum0, sum1);
	sum0 = vpaddq_u8(sum0, sum0);
	return vgetq_lane_u64(vreinterpretq_u64_u8(sum0), 0);
}

static inline uint64_t equal_neon(const uint8x16_t *v, uint8_t c)
{
	uint8x16_t same[4];

	for (unsigned i = 0; i < 4; i++)
		same[i] = vceqq_u8(v[i], vdupq_n_u8(c));
	return movemask_neon(same);
}

static inline void masks_neon(const uint8_t *text, struct masks *m)
{
	uint8x16_t v[4], low[4];

	for (unsigned i = 0; i < 4; i++) {
		v[i] = vld1q_u8(text + 16 * i);
		low[i] = vorrq_u8(v[i], vdupq_n_u8(0x20));
	}
	m->quote = equal_neon(v, '"');
	m->backslash = equal_neon(v, '\\');
	m->op = equal_neon(low, '{') | equal_neon(low, '}') | equal_neon(v, ',') |
		equal_neon(v, ':');
	m->space = equal_neon(v, ' ') | equal_neon(v, '\t') | equal_neon(v, '\n') |
		   equal_neon(v, '\r');
}

DEFINE_VARIANT(blocks_neon, masks_neon, )

#endif

static const struct {
	const char *name;
	json_blocks_fn *blocks;
} variants[] = {
	{ "table", blocks_by_table },
#if defined(__x86_64__)
	{ "sse2", blocks_sse2 },
	{ "avx2", blocks_avx2 }, /* last: not every machine has it */
#elif defined(__aarch64__)
	{ "neon", blocks_neon },
#endif
};

static size_t variant_count(void)
{
	size_t n = sizeof(variants) / sizeof(*variants);

#if defined(__x86_64__)
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi"))
		n--;
#endif
	return n;
}

json_blocks_fn *json_blocks_best(void)
{
	return variants[variant_count() - 1].blocks;
}

json_blocks_fn *json_blocks_variant(size_t i, const char **name)
{
	if (i >= variant_count())
		return NULL;
	*name = variants[i].name;
	return variants[i].blocks;
}
