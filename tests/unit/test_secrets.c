/* links: is_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/secrets.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WORDS 6

struct line {
	const char *words[WORDS];
	const char *shown[WORDS]; /* NULL at once: as the words are */
};

static void check(const struct line *l)
{
	struct secrets s = { 0 };

	for (size_t i = 0; i < WORDS && l->words[i]; i++) {
		struct buf out;

		buf_init(&out);
		secrets_add_word(&s, &out, l->words[i]);
		assert_string_equal(buf_string(&out), l->shown[0] ? l->shown[i] : l->words[i]);
		buf_release(&out);
	}
}

#define HF "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"
#define SK "sk-proj-0123456789abcdefghijkl"
#define GHP "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
#define JWT "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"

static void what_looks_like_a_credential_is_hidden(void **state)
{
	static const struct line lines[] = {
		/* options, their value in the same word or in the next */
		{ { "serve.py", "--token", "abc", "--port", "80" },
		  { "serve.py", "--token", "***", "--port", "80" } },
		{ { "--api-key=abc" }, { "--api-key=***" } },
		{ { "--api-key=a=b c" }, { "--api-key=***" } },
		{ { "--api_key", "abc", "x" }, { "--api_key", "***", "x" } },
		{ { "-token", "abc" }, { "-token", "***" } },
		{ { "--apiKey", "abc" }, { "--apiKey", "***" } },
		{ { "--HFToken", "abc", "--APIKey=abc" }, { "--HFToken", "***", "--APIKey=***" } },
		{ { "HF_TOKEN2=abc" }, { "HF_TOKEN2=***" } },
		{ { "--hf-token", "a b" }, { "--hf-token", "***" } },
		{ { "--client-secret", "x" }, { "--client-secret", "***" } },
		{ { "--db-password", "x" }, { "--db-password", "***" } },
		{ { "--db.password=x" }, { "--db.password=***" } },
		{ { "--aws-secret-access-key", "x" }, { "--aws-secret-access-key", "***" } },
		{ { "--pass", "x" }, { "--pass", "***" } },
		{ { "--password", "1234" }, { "--password", "***" } },
		{ { "--api-tokens", "a,b" }, { "--api-tokens", "***" } },
		{ { "--user", "me:abc" }, { "--user", "me:***" } },
		{ { "-u", "me:abc" }, { "-u", "me:***" } },
		{ { "--auth=me:abc" }, { "--auth=me:***" } },
		/* variables */
		{ { "HF_TOKEN=abc" }, { "HF_TOKEN=***" } },
		{ { "env", "OPENAI_API_KEY=abc", "python3" },
		  { "env", "OPENAI_API_KEY=***", "python3" } },
		{ { "PGPASSWORD=abc" }, { "PGPASSWORD=***" } },
		{ { "MYSQL_PWD=abc" }, { "MYSQL_PWD=***" } },
		{ { "AWS_SECRET_ACCESS_KEY=a/b+c" }, { "AWS_SECRET_ACCESS_KEY=***" } },
		{ { "password=a b" }, { "password=***" } },
		{ { "model.token=abc" }, { "model.token=***" } },
		/* headers */
		{ { "-H", "Authorization: Bearer abc" }, { "-H", "Authorization: ***" } },
		{ { "-H", "authorization:Basic abc==" }, { "-H", "authorization:***" } },
		{ { "-H", "X-Api-Key: abc" }, { "-H", "X-Api-Key: ***" } },
		{ { "--header=Cookie: a=b; c=d" }, { "--header=Cookie: ***" } },
		{ { "Bearer abc" }, { "Bearer ***" } },
		{ { "Bearer", "abc" }, { "Bearer", "***" } },
		/* URLs */
		{ { "https://me:abc@host/x" }, { "https://***@host/x" } },
		{ { "--url=https://abc@host" }, { "--url=https://***@host" } },
		{ { "postgresql+psycopg2://me:a@b@host:5432/db" },
		  { "postgresql+psycopg2://***@host:5432/db" } },
		{ { "redis://:abc@host" }, { "redis://***@host" } },
		{ { "https://host/x?token=abc&n=1" }, { "https://host/x?token=***&n=1" } },
		{ { "https://host/x?sig=abc&X-Amz-Signature=def" },
		  { "https://host/x?sig=***&X-Amz-Signature=***" } },
		/* a command line, JSON, a connection string inside a word */
		{ { "sh", "-c", "serve --token abc --port 80" },
		  { "sh", "-c", "serve --token *** --port 80" } },
		{ { "sh", "-c", "cd x; HF_TOKEN=abc python3 y.py" },
		  { "sh", "-c", "cd x; HF_TOKEN=*** python3 y.py" } },
		{ { "curl -H 'Authorization: Bearer abc' http://host" },
		  { "curl -H 'Authorization: ***' http://host" } },
		{ { "x --password 'a b' y" }, { "x --password '***' y" } },
		{ { "{\"user\": \"me\", \"password\": \"a b\", \"n\": 1}" },
		  { "{\"user\": \"me\", \"password\": \"***\", \"n\": 1}" } },
		{ { "{\"api_key\":\"abc\"}" }, { "{\"api_key\":\"***\"}" } },
		{ { "Host=h;AccountKey=abc==;X=1" }, { "Host=h;AccountKey=***;X=1" } },
		/* tokens that are known by their form, wherever they stand */
		{ { HF }, { "***" } },
		{ { "--hub=" HF }, { "--hub=***" } },
		{ { "x", SK, "y" }, { "x", "***", "y" } },
		{ { "[" GHP "]" }, { "[***]" } },
		{ { "AKIAIOSFODNN7EXAMPLE" }, { "***" } },
		{ { JWT }, { "***" } },
		{ { "nvapi-abcdefghijklmnopqrstuvwx" }, { "***" } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++)
		check(&lines[i]);
}

static void ordinary_arguments_are_kept(void **state)
{
	static const struct line lines[] = {
		{ { "--tokenizer", "bert", "--tokenizer-mode=auto" }, { NULL } },
		{ { "--max-tokens", "128", "--max-new-tokens=64", "--max_token", "5" }, { NULL } },
		{ { "--num-tokens", "5", "--tokens", "1,2" }, { NULL } },
		{ { "--token-limit=5", "--token-budget", "9" }, { NULL } },
		{ { "--eos-token", "</s>", "--pad_token=<pad>", "--stop-token", "x" }, { NULL } },
		{ { "--eos-token-id", "2", "--ms-per-token", "3" }, { NULL } },
		{ { "--password-file", "/run/p", "--token-file=/run/t" }, { NULL } },
		{ { "--api-key-env", "NAME", "--secret-name", "n" }, { NULL } },
		{ { "--key", "x", "--sort-key=y", "--keys", "k", "--keyboard" }, { NULL } },
		{ { "--passes", "3", "--two-pass", "x.bin", "--bypass", "y" }, { NULL } },
		{ { "--token", "--port", "80" }, { NULL } }, /* an option has no value here */
		{ { "--user", "me", "-u", "serve.py", "--user=1000:1000" }, { NULL } },
		{ { "-u", "localhost:8000", "--auth", "none" }, { NULL } },
		{ { "http://localhost:8000/v1", "http://[::1]:80", "a@b.c" }, { NULL } },
		{ { "https://host/pkg@1.0?q=a@b", "s3://bucket/a@b" }, { NULL } },
		{ { "app.token:app", "repo/secret:latest", "password", "Cookie monster" },
		  { NULL } },
		{ { "hf_transfer", "hf_model_weights_of_the_year_2024_large", "hf_" }, { NULL } },
		{ { "sk-learn-contrib-estimators-extra", "sk-", "skip" }, { NULL } },
		{ { "AKIA", "eyJ", "ghp_x", "SG.x" }, { NULL } },
		{ { "python3", "-c", "for token in tokens: print(token)" }, { NULL } },
		{ { "", "-", "--", "=", "://", "@" }, { NULL } },
		{ { "\xff\xfe", "caf\xc3\xa9=1", "a\nb" }, { NULL } },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(lines); i++)
		check(&lines[i]);
}

/* Nothing of a value is left, wherever the text around it ends. */
static void every_beginning_of_a_command_line_is_safe(void **state)
{
	static const char text[] = "x --token QQQQ https://h/?api_key=QQQQ&a "
				   "\"password\": \"QQQQ\" Authorization: Bearer QQQQ";

	(void)state;
	for (size_t n = 0; n <= strlen(text); n++) {
		struct secrets s = { 0 };
		struct buf out;
		char cut[sizeof(text)];

		memcpy(cut, text, n);
		cut[n] = '\0';
		buf_init(&out);
		secrets_add_word(&s, &out, cut);
		assert_null(strchr(buf_string(&out), 'Q'));
		buf_release(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_looks_like_a_credential_is_hidden),
		cmocka_unit_test(ordinary_arguments_are_kept),
		cmocka_unit_test(every_beginning_of_a_command_line_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
