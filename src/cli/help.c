#include "cli/help.h"

#include <string.h>

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

static void write_option(FILE *to, const struct setting *s)
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
	if (s->fallback && s->type != SETTING_FLAG)
		buf_printf(&text, " (default: %s)", s->fallback);
	if (s->off_flag && flag != s->off_flag && s->type != SETTING_FLAG)
		buf_printf(&text, "; also %s", s->off_flag);
	if (s->pending && !s->pending_value)
		buf_add_str(&text, " [not in this version]");

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
			write_option(to, *s);
	fprintf(to, "  %-*s%s\n", INDENT - 2, "--help", "show this text");
}

void help_program(FILE *to, const struct command *const *commands)
{
	fputs("usage: inferscope COMMAND [options] [operands]\n\n"
	      "InferScope says why neural-network inference is slow, where in the code, and\n"
	      "what fixing it would bring.\n\ncommands:\n",
	      to);
	for (; *commands; commands++)
		if (!(*commands)->hidden)
			fprintf(to, "  %-10s%s\n", (*commands)->name, (*commands)->summary);
	fputs("\n'inferscope COMMAND --help' explains a command and its options;\n"
	      "'inferscope --version' prints the version.\n",
	      to);
}
