#include "cli/help.h"

#include <ctype.h>
#include <string.h>

#define LONGEST 40 /* characters; longer words are not typing errors */

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* '_' and '-' are taken for each other: files write the one, options the other. */
static char normalize(char c)
{
	return c == '_' ? '-' : (char)tolower((unsigned char)c);
}

/* Edits to get from a to b; two neighbours swapped count as one. */
static size_t distance(const char *a, const char *b)
{
	size_t rows[3][LONGEST + 1];
	size_t *before = rows[0], *above = rows[1], *row = rows[2];
	size_t alen = strlen(a), blen = strlen(b);

	if (alen > LONGEST || blen > LONGEST)
		return LONGEST;
	for (size_t j = 0; j <= blen; j++)
		row[j] = j;
	for (size_t i = 1; i <= alen; i++) {
		size_t *spare = before;

		before = above;
		above = row;
		row = spare;
		row[0] = i;
		for (size_t j = 1; j <= blen; j++) {
			size_t change = normalize(a[i - 1]) != normalize(b[j - 1]);

			row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + change);
			if (i > 1 && j > 1 && normalize(a[i - 1]) == normalize(b[j - 2]) &&
			    normalize(a[i - 2]) == normalize(b[j - 1]) &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
	}
	return row[blen];
}

void suggest_init(struct suggest *g, const char *typed)
{
	size_t len = strlen(typed + strspn(typed, "-"));

	g->typed = typed;
	g->best = NULL;
	g->distance = len < 6 ? 1 : len / 3; /* farther off is a guess, not a help */
}

void suggest_push(struct suggest *g, const char *candidate)
{
	size_t d;

	if (!candidate)
		return;
	d = distance(g->typed, candidate);
	if (d < g->distance || (d == g->distance && !g->best)) {
		g->distance = d;
		g->best = candidate;
	}
}

#define WIDTH 80
#define INDENT 28 /* where the text behind an option begins */

/* Writes `len` bytes of words, beginning at column `indent`, and ends the line. */
static void write_wrapped(FILE *to, const char *text, size_t len, int indent)
{
	const char *end = text + len;
	int at = indent;

	for (;;) {
		int word;

		text += strspn(text, " \n");
		if (text >= end)
			break;
		word = (int)strcspn(text, " \n");
		if (at > indent && at + 1 + word > WIDTH) {
			fprintf(to, "\n%*s", indent, "");
			at = indent;
		}
		at += fprintf(to, "%s%.*s", at > indent ? " " : "", word, text);
		text += word;
	}
	fputc('\n', to);
}

/* "auto|trace|off" as a person would say it. */
static void add_choices(struct buf *out, const char *choices)
{
	for (;;) {
		size_t n = strcspn(choices, "|");

		buf_add(out, choices, n);
		choices += n;
		if (!*choices)
			return;
		choices++;
		buf_add_str(out, strchr(choices, '|') ? ", " : " or ");
	}
}

void help_values(struct buf *out, const struct setting *s)
{
	switch (s->type) {
	case SETTING_FLAG:
		buf_add_str(out, "true or false");
		break;
	case SETTING_INTEGER:
		buf_printf(out, "an integer from %.15g to %.15g", s->min, s->max);
		break;
	case SETTING_NUMBER:
		buf_printf(out, "a number from %.15g to %.15g", s->min, s->max);
		break;
	case SETTING_SIZE:
		buf_add_str(out, "a size from 1M on, such as 512M or 4G");
		break;
	case SETTING_CHOICE:
		add_choices(out, s->choices);
		break;
	case SETTING_PATH:
		buf_add_str(out, s->off_flag ? "text or off" : "text");
		break;
	case SETTING_LIST:
		buf_add_str(out, "a list of texts");
		break;
	}
}

/* A flag that is on is switched by its off form: that is the one to show. */
static const char *shown_flag(const struct setting *s)
{
	if (s->type == SETTING_FLAG && s->off_flag && !strcmp(s->fallback, "true"))
		return s->off_flag;
	return s->flag;
}

static void write_option(FILE *to, const struct setting *s, unsigned scope)
{
	const char *flag = shown_flag(s);
	const char *metavar = s->type == SETTING_FLAG ? "" : s->choices ? s->choices : s->metavar;
	struct buf text;
	int at;

	buf_init(&text);
	if (flag == s->off_flag)
		buf_add_str(&text, "do not ");
	buf_add_str(&text, s->help);
	if (s->type == SETTING_INTEGER || s->type == SETTING_NUMBER)
		buf_printf(&text, "; %.15g to %.15g", s->min, s->max);
	if (s->fallback && s->type != SETTING_FLAG && setting_has_default(s, scope))
		buf_printf(&text, " (default: %s)", s->fallback);
	if (s->off_flag && flag != s->off_flag && s->type != SETTING_FLAG)
		buf_printf(&text, "; also %s", s->off_flag);

	at = fprintf(to, "  %s%s%s", flag, *metavar ? " " : "", metavar);
	if (at > INDENT - 2) {
		fputc('\n', to);
		at = 0;
	}
	fprintf(to, "%*s", INDENT - at, "");
	write_wrapped(to, buf_string(&text), text.len, INDENT);
	buf_release(&text);
}

/* Paragraphs are separated by empty lines. */
static void write_paragraphs(FILE *to, const char *text)
{
	for (;;) {
		const char *end = strstr(text, "\n\n");

		write_wrapped(to, text, end ? (size_t)(end - text) : strlen(text), 0);
		if (!end)
			return;
		fputc('\n', to);
		text = end + 2;
	}
}

/* Each line of `operands` is a way to use the command. */
static void write_usage(FILE *to, const struct command *command)
{
	const char *line = command->operands;
	const char *lead = "usage:";

	while (*line) {
		int len = (int)strcspn(line, "\n");

		fprintf(to, "%-6s inferscope %s %.*s\n", lead, command->name, len, line);
		line += len;
		line += *line == '\n';
		lead = "";
	}
	fputc('\n', to);
}

void help_command(FILE *to, const struct command *command)
{
	write_usage(to, command);
	write_paragraphs(to, command->details ? command->details : command->summary);
	fputs("\noptions:\n", to);
	for (const struct setting *const *s = settings; *s; s++)
		if (((*s)->scope & command->scope) && (*s)->flag)
			write_option(to, *s, command->scope);
	fprintf(to, "  %-*s%s\n", INDENT - 2, "--help", "show this help");
}

void help_program(FILE *to)
{
	fputs("usage: inferscope COMMAND [options] [operands]\n\n"
	      "InferScope shows why neural-network inference is slow, where in the code, and\n"
	      "how much time a fix would save.\n\n"
	      "commands:\n",
	      to);
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			fprintf(to, "  %-11s%s\n", (*c)->name, (*c)->summary);
	fputs("\n'inferscope COMMAND --help' describes a command and its options;\n"
	      "'inferscope --version' prints the version.\n",
	      to);
}
