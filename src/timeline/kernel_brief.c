/*
 * Brief names of kernels, cut out of the demangled ones.
 *
 * A name is read as text with brackets: a piece ends where its separator stands
 * outside all of them.  Nothing here allocates; what is not understood is kept.
 */
#include <stdio.h>
#include <string.h>

#include "timeline/kernel_names.h"

#define NESTING_MAX 16u

struct piece {
	const char *at;
	size_t len;
};

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (c & 0x80);
}

static bool starts_with(struct piece p, const char *prefix)
{
	size_t n = strlen(prefix);

	return p.len >= n && !memcmp(p.at, prefix, n);
}

static bool equals(struct piece p, const char *s)
{
	return p.len == strlen(s) && starts_with(p, s);
}

static struct piece behind(struct piece p, size_t n)
{
	return (struct piece){ p.at + n, p.len - n };
}

static struct piece trim(struct piece p)
{
	while (p.len && *p.at == ' ')
		p = behind(p, 1);
	while (p.len && p.at[p.len - 1] == ' ')
		p.len--;
	return p;
}

/* "operator<", "operator()" and their like: their signs are no brackets. */
static size_t operator_bytes(struct piece p)
{
	size_t n = strlen("operator");

	if (!starts_with(p, "operator") || (p.len > n && is_word(p.at[n])))
		return 0;
	if (starts_with(behind(p, n), "()"))
		return n + 2;
	while (n < p.len && strchr("<>=-+*/!~^&|%", p.at[n]))
		n++;
	return n;
}

/* Bytes from the start of p up to the first `stop` outside brackets; p.len: none. */
static size_t find_outside(struct piece p, const char *stop)
{
	size_t n = strlen(stop);
	size_t depth = 0;

	for (size_t i = 0; i < p.len; i++) {
		struct piece rest = behind(p, i);
		size_t skip = (i && is_word(p.at[i - 1])) ? 0 : operator_bytes(rest);

		if (!depth && rest.len >= n && !memcmp(rest.at, stop, n))
			return i;
		if (skip) {
			i += skip - 1;
			continue;
		}
		if (strchr("<({[", p.at[i]))
			depth++;
		else if (depth && strchr(">)}]", p.at[i]))
			depth--;
	}
	return p.len;
}

/* The name without return type and parameters. */
static struct piece function_of(struct piece p)
{
	static const char anonymous[] = "(anonymous namespace)";
	size_t end = 0;

	/* Parameters begin at the first bracket that is not a namespace without a name. */
	for (;;) {
		end += find_outside(behind(p, end), "(");
		if (!starts_with(behind(p, end), anonymous))
			break;
		end += strlen(anonymous);
	}
	if (end)
		p.len = end;
	for (;;) {
		size_t space = find_outside(p, " ");

		if (space == p.len)
			return p;
		p = behind(p, space + 1);
	}
}

/* The identifier that a part of a qualified name begins with. */
static struct piece identifier_of(struct piece part)
{
	size_t n = 0;

	while (n < part.len && is_word(part.at[n]))
		n++;
	return (struct piece){ part.at, n };
}

/* What stands between the first < and its >. */
static struct piece arguments_of(struct piece part)
{
	size_t n = identifier_of(part).len;
	struct piece args = { part.at + part.len, 0 };

	if (n < part.len && part.at[n] == '<') {
		args = behind(part, n + 1);
		args.len = find_outside(args, ">");
	}
	return args;
}

/* The last part of a qualified name that is neither a lambda nor its operator(). */
static struct piece last_part(struct piece name)
{
	struct piece last = { name.at, 0 };

	while (name.len) {
		struct piece part = name;
		size_t end = find_outside(name, "::");

		part.len = end;
		part = trim(part);
		if (identifier_of(part).len && !operator_bytes(part))
			last = part;
		name = end < name.len ? behind(name, end + 2) : behind(name, end);
	}
	return last;
}

/* Types of data, and helpers that say how it is moved but not what is computed. */
static bool is_uninformative(struct piece word)
{
	static const char *const exact[] = {
		"void",
		"bool",
		"char",
		"signed",
		"unsigned",
		"short",
		"int",
		"long",
		"float",
		"double",
		"half",
		"__half",
		"__half2",
		"Half",
		"half_t",
		"BFloat16",
		"bfloat16_t",
		"__nv_bfloat16",
		"tfloat32_t",
		"complex",
		"array",
		"Array",
		"tuple",
		"pair",
		"integral_constant",
		"integer_sequence",
		"true",
		"false",
		"const",
		"OpaqueType",
		"LoadWithoutCast",
		"StoreWithoutCast",
		"LoadWithCast",
		"StoreWithCast",
		"ReduceOp",
		"func_wrapper_t",
		"BinaryFunctor",
		"AUnaryFunctor",
		"BUnaryFunctor",
		"TensorInfo",
		"KernelParams",
		"Params",
		"uint8_t",
		"uint16_t",
		"uint32_t",
		"uint64_t",
		"int8_t",
		"int16_t",
		"int32_t",
		"int64_t",
		"NullType",
		"enable_if",
		"type",
		"remove_reference",
	};
	static const char *const inside[] = {
		"OffsetCalc", "Policy",   "Iterator", "iterator", "Traits", "traits",    "Config",
		"Tensor",     "Metadata", "State",    "Layout",   "Shape",  "Allocator",
	};

	if (!word.len || (*word.at >= '0' && *word.at <= '9'))
		return true;
	for (size_t i = 0; i < sizeof(exact) / sizeof(*exact); i++)
		if (equals(word, exact[i]))
			return true;
	for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++)
		if (memmem(word.at, word.len, inside[i], strlen(inside[i])))
			return true;
	return false;
}

/*
 * The word in a list of template arguments that says what is computed: the
 * innermost one of the first argument that has any, because wrappers lie outside.
 */
static struct piece descriptive_word(struct piece args, unsigned nesting)
{
	struct piece none = { args.at, 0 };

	while (args.len && nesting) {
		struct piece arg = args;
		size_t end = find_outside(args, ",");
		struct piece part, word;

		arg.len = end;
		part = last_part(trim(arg));
		word = descriptive_word(arguments_of(part), nesting - 1);
		if (!word.len)
			word = identifier_of(part);
		if (!is_uninformative(word))
			return word;
		args = end < args.len ? behind(args, end + 1) : behind(args, end);
	}
	return none;
}

/* At most KERNEL_BRIEF_MAX bytes, cut between two characters. */
static void brief_set(char brief[KERNEL_BRIEF_MAX + 1], struct piece name, struct piece functor)
{
	char text[2 * KERNEL_BRIEF_MAX + 8];
	size_t n = KERNEL_BRIEF_MAX;

	if (functor.len)
		snprintf(text, sizeof(text), "%.*s<%.*s>", (int)(name.len < n ? name.len : n),
			 name.at, (int)(functor.len < n ? functor.len : n), functor.at);
	else
		snprintf(text, sizeof(text), "%.*s", (int)(name.len < 2 * n ? name.len : 2 * n),
			 name.at);
	if (strlen(text) > n) {
		n -= 3;
		while (n && (text[n] & 0xc0) == 0x80)
			n--;
		memcpy(text + n, "...", 4);
	}
	memcpy(brief, text, strlen(text) + 1);
}

void kernel_brief(const char *full, char brief[KERNEL_BRIEF_MAX + 1])
{
	struct piece all = { full, strlen(full) };
	struct piece part, functor = { full, 0 };
	struct piece name;

	if (kernel_library_brief(full, brief))
		return;
	part = last_part(function_of(all));
	name = identifier_of(part);
	if (name.len)
		functor = descriptive_word(arguments_of(part), NESTING_MAX);
	else
		name = all.len ? all : (struct piece){ "(unnamed)", 9 };
	brief_set(brief, name, functor);
}
