/*
 * Command lines without credentials: what looks like one is replaced by "***".
 *
 *   - the value of an option or variable whose name says so: --token X, --api-key=X, password=X,
 *     HF_TOKEN=X, "Authorization: Bearer X", {"client_secret": "X"}
 *   - the user and password of a URL: https://user:X@host
 *   - text with the prefix of a known kind of token: hf_..., sk-..., ghp_..., AKIA...
 *
 * Names that merely contain such a word are kept with their values: --tokenizer, --max-tokens,
 * --eos-token, --password-file.  It is a filter against accidents and knows no credential that
 * neither its name nor its form gives away.  docs/WHAT_A_TRACE_CONTAINS.md describes this.
 */
#ifndef BASE_SECRETS_H
#define BASE_SECRETS_H

#include "base/buf.h"

enum secret_value {
	SECRET_NONE,
	SECRET_WORD, /* the whole value */
	SECRET_LINE, /* the value up to the end of the text or the closing quote: HTTP headers */
	SECRET_PAIR, /* what follows the colon: --user name:password */
};

/* One command line; begins as { 0 }. */
struct secrets {
	enum secret_value next; /* what the next word is, as the last one said */
};

/* Adds the next word of the command line, without its secrets. */
void secrets_add_word(struct secrets *s, struct buf *out, const char *word);

#endif
