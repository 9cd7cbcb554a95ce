#include "base/secrets.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define HIDDEN "***"

/*
 * Names of credentials, by their last part: "API_KEY", "--api-key" and "apiKey" end in "key"
 * behind "api".  Lists of parts are separated by blanks.
 */
static const struct secret_name {
	const char *last;
	enum secret_value value;
	const char *only;   /* the part before must be one of these, "^" is none; NULL: any */
	const char *unless; /* it must not be one of these */
} names[] = {
	{ "password", SECRET_WORD, NULL, NULL },
	{ "passwd", SECRET_WORD, NULL, NULL },
	{ "passphrase", SECRET_WORD, NULL, NULL },
	{ "pwd", SECRET_WORD, NULL, NULL },
	{ "pass", SECRET_WORD, "^ user db http ftp smtp proxy admin root login", NULL },
	{ "secret", SECRET_WORD, NULL, NULL },
	{ "credential", SECRET_WORD, NULL, NULL },
	{ "credentials", SECRET_WORD, NULL, NULL },
	{ "apikey", SECRET_WORD, NULL, NULL },
	{ "accesskey", SECRET_WORD, NULL, NULL },
	{ "secretkey", SECRET_WORD, NULL, NULL },
	{ "authkey", SECRET_WORD, NULL, NULL },
	{ "authtoken", SECRET_WORD, NULL, NULL },
	{ "accesstoken", SECRET_WORD, NULL, NULL },
	{ "jwt", SECRET_WORD, NULL, NULL },
	{ "bearer", SECRET_WORD, NULL, NULL },
	{ "sig", SECRET_WORD, "^", NULL },
	{ "signature", SECRET_WORD, "amz goog", NULL },
	{ "authorization", SECRET_LINE, NULL, NULL },
	{ "cookie", SECRET_LINE, NULL, NULL },
	{ "key", SECRET_WORD,
	  "api access secret private auth account encryption signing master service subscription "
	  "shared storage admin app license deploy",
	  NULL },
	/* Language models have tokens too. */
	{ "token", SECRET_WORD, NULL,
	  "pad eos bos unk mask stop sep cls eot eod sot image video audio special start end begin "
	  "first next last prefix suffix separator placeholder draft max min num n new per tool "
	  "think thinking final prompt forced decoder text input output pause bad allowed" },
	{ "tokens", SECRET_WORD, "api auth access bearer secret", NULL },
	{ "auth", SECRET_PAIR, NULL, NULL },
	{ "user", SECRET_PAIR, NULL, NULL },
	{ "u", SECRET_PAIR, "^", NULL },
};

/* Endings that are written without a separator: PGPASSWORD. */
static const char *const endings[] = { "password", "passwd", "passphrase", "apikey" };

enum charset { ALNUM, UPPER, WORD, DOTTED };

/* In a table, what is read together stands on one line. */
/* clang-format off */

/* Tokens that are known by how they begin. */
static const struct token_kind {
	const char *prefix;
	size_t rest; /* at least so many characters follow */
	enum charset set;
	bool digit; /* with a digit among them: the prefix is a common one */
} tokens[] = {
	{ "hf_", 30, ALNUM, false },         /* Hugging Face */
	{ "sk-", 20, WORD, true },           /* OpenAI, Anthropic and others */
	{ "nvapi-", 20, WORD, false },       /* NVIDIA */
	{ "gsk_", 30, ALNUM, false },        /* Groq */
	{ "r8_", 30, ALNUM, false },         /* Replicate */
	{ "rpa_", 30, ALNUM, false },        /* RunPod */
	{ "ghp_", 30, ALNUM, false },        /* GitHub */
	{ "gho_", 30, ALNUM, false },
	{ "ghu_", 30, ALNUM, false },
	{ "ghs_", 30, ALNUM, false },
	{ "ghr_", 30, ALNUM, false },
	{ "github_pat_", 30, WORD, false },
	{ "glpat-", 16, WORD, false },       /* GitLab */
	{ "xoxb-", 10, WORD, false },        /* Slack */
	{ "xoxp-", 10, WORD, false },
	{ "xoxa-", 10, WORD, false },
	{ "xoxs-", 10, WORD, false },
	{ "AKIA", 16, UPPER, false },        /* AWS */
	{ "ASIA", 16, UPPER, false },
	{ "AIza", 30, WORD, false },         /* Google */
	{ "ya29.", 20, WORD, false },
	{ "npm_", 30, ALNUM, false },
	{ "pypi-", 40, WORD, false },
	{ "dckr_pat_", 20, WORD, false },
	{ "SG.", 40, DOTTED, false },        /* SendGrid */
	{ "eyJ", 30, DOTTED, true },         /* a JSON Web Token */
	{ "AGE-SECRET-KEY-", 40, UPPER, false },
};
/* clang-format on */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_in(char c, enum charset set)
{
	switch (set) {
	case ALNUM:
		return isalnum((unsigned char)c);
	case UPPER:
		return isupper((unsigned char)c) || isdigit((unsigned char)c);
	case WORD:
		return isalnum((unsigned char)c) || c == '_' || c == '-';
	case DOTTED:
		return is_name_char(c);
	}
	return false;
}

/* Is `text` of n bytes one of the words of a list, in any case? */
static bool is_listed(const char *list, const char *text, size_t n)
{
	while (*list) {
		size_t len = strcspn(list, " ");

		if (len == n && !strncasecmp(list, text, n))
			return true;
		list += len + (list[len] == ' ');
	}
	return false;
}

/* Does a part of a name begin with the capital at i, as in "apiKey" and "HFToken"? */
static bool is_hump(const char *name, size_t i)
{
	return isupper((unsigned char)name[i]) &&
	       (islower((unsigned char)name[i - 1]) || islower((unsigned char)name[i + 1]));
}

/* Where the part of a name begins that ends at `end`. */
static size_t part_begin(const char *name, size_t end)
{
	size_t i = end;

	while (i && isalnum((unsigned char)name[i - 1])) {
		i--;
		if (i && is_hump(name, i))
			break;
	}
	return i;
}

static bool ends_like_a_secret(const char *part, size_t n)
{
	for (size_t i = 0; i < COUNT(endings); i++) {
		size_t len = strlen(endings[i]);

		if (n >= len && !strncasecmp(part + n - len, endings[i], len))
			return true;
	}
	return false;
}

/* What the value of an option or variable of this name is. */
static enum secret_value value_of(const char *name, size_t n)
{
	size_t last, end, before, prior_len;
	const char *prior;

	while (n && isdigit((unsigned char)name[n - 1])) /* TOKEN2 */
		n--;
	last = part_begin(name, n);
	end = last && !isalnum((unsigned char)name[last - 1]) ? last - 1 : last;
	before = part_begin(name, end);
	prior = before < end ? name + before : "^";
	prior_len = before < end ? end - before : 1;
	for (size_t i = 0; i < COUNT(names); i++) {
		const struct secret_name *s = &names[i];

		if (strlen(s->last) != n - last || strncasecmp(s->last, name + last, n - last) != 0)
			continue;
		if ((s->only && !is_listed(s->only, prior, prior_len)) ||
		    (s->unless && is_listed(s->unless, prior, prior_len)))
			return SECRET_NONE;
		return s->value;
	}
	return ends_like_a_secret(name + last, n - last) ? SECRET_WORD : SECRET_NONE;
}

/* Bytes of a known token that begins here; 0: none does. */
static size_t token_bytes(const char *text)
{
	for (size_t i = 0; i < COUNT(tokens); i++) {
		const struct token_kind *k = &tokens[i];
		size_t prefix = strlen(k->prefix), n = prefix;
		bool digit = false;

		if (strncmp(text, k->prefix, prefix) != 0)
			continue;
		for (; is_in(text[n], k->set); n++)
			digit |= isdigit((unsigned char)text[n]) != 0;
		if (n - prefix >= k->rest && (digit || !k->digit))
			return n;
	}
	return 0;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && (word[1] == '-' || isalpha((unsigned char)word[1]));
}

/* Bytes of a value inside a longer text: up to its closing quote, or to what cannot be in it. */
static size_t value_bytes(const char *text, enum secret_value value)
{
	if (value == SECRET_LINE)
		return strcspn(text, "'\"\r\n");
	return strcspn(text, " \t\r\n'\"&;,)}]|<>");
}

/* Adds a value with its secret hidden: "***", "user:***", or as it is. */
static void add_value(struct buf *out, const char *text, size_t n, enum secret_value value)
{
	const char *colon;

	if (value != SECRET_PAIR) {
		buf_add_str(out, n ? HIDDEN : "");
		return;
	}
	colon = memchr(text, ':', n);
	/* "1000:1000" are ids, "localhost:8000" is an address, "http://" no pair at all. */
	if (!colon || strspn(colon + 1, "0123456789") >= n - (size_t)(colon + 1 - text) ||
	    !strncmp(colon, "://", 3)) {
		buf_add(out, text, n);
		return;
	}
	buf_add(out, text, (size_t)(colon + 1 - text));
	buf_add_str(out, HIDDEN);
}

/* At "://": adds it, and the user and password behind it hidden.  Returns the bytes read. */
static size_t add_authority(struct buf *out, const char *text)
{
	size_t n = 3 + strcspn(text + 3, "/?# \t\r\n'\"<>"), at = n;

	while (at > 3 && text[at - 1] != '@')
		at--;
	buf_add(out, text, 3);
	if (at > 3) {
		buf_add_str(out, HIDDEN "@");
		return at;
	}
	return 3;
}

/*
 * Bytes between a name and its value: "=", or ": ", or ":" behind or before a quote, as in JSON.
 * 0: no value is given.  A plain "a:b" is a module and its object, or an image and its tag.
 */
static size_t separator_bytes(const char *text, enum secret_value value)
{
	bool quote = *text == '"' || *text == '\'';
	size_t n = quote, blanks;

	if (text[n] == '=' && !quote)
		return 1;
	if (text[n] != ':')
		return 0;
	n++;
	blanks = strspn(text + n, " \t");
	if (!quote && !blanks && text[n] != '"' && text[n] != '\'' && value != SECRET_LINE)
		return 0;
	return n + blanks;
}

/*
 * Behind a name that says that a secret follows, at text + n: adds the separator and the hidden
 * value.  Returns where to go on.
 */
static size_t add_assigned(struct secrets *s, struct buf *out, const char *text, size_t begin,
			   size_t n, enum secret_value value)
{
	size_t separator = separator_bytes(text + n, value);
	bool option = is_option(text + begin);
	size_t end;

	if (!separator && (option || !strncasecmp(text + begin, "bearer", 6))) {
		if (!text[n]) {
			s->next = value;
			return n;
		}
		/* A command line inside a word, as sh -c has it. */
		separator = strspn(text + n, " \t");
		if (is_option(text + n + separator))
			return n;
	}
	if (!separator)
		return n;
	buf_add(out, text + n, separator);
	n += separator;
	if (!begin && text[n - 1] == '=') { /* the word is this and nothing else */
		add_value(out, text + n, strlen(text + n), value);
		return n + strlen(text + n);
	}
	if (text[n] == '\'' || text[n] == '"') {
		const char *close = strchr(text + n + 1, text[n]);

		end = close ? (size_t)(close - text) : strlen(text);
		buf_add(out, text + n, 1);
		n++;
	} else {
		end = n + value_bytes(text + n, value);
	}
	add_value(out, text + n, end - n, value);
	return end;
}

void secrets_add_word(struct secrets *s, struct buf *out, const char *word)
{
	enum secret_value follows = s->next;
	size_t i = 0;

	s->next = SECRET_NONE;
	if (follows != SECRET_NONE && !is_option(word)) {
		add_value(out, word, strlen(word), follows);
		return;
	}
	while (word[i]) {
		size_t n = 0, token;
		enum secret_value value;

		if (!strncmp(word + i, "://", 3)) {
			i += add_authority(out, word + i);
			continue;
		}
		if (!is_name_char(word[i])) {
			buf_add_byte(out, (uint8_t)word[i++]);
			continue;
		}
		token = token_bytes(word + i);
		if (token) {
			buf_add_str(out, HIDDEN);
			i += token;
			continue;
		}
		while (is_name_char(word[i + n]))
			n++;
		buf_add(out, word + i, n);
		value = value_of(word + i, n);
		i = value ? add_assigned(s, out, word, i, i + n, value) : i + n;
	}
}
