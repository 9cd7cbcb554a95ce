/*
 * inferscope completion SHELL: completions of the command line for a shell, and the manual pages
 * (completion man), all made from the tables of commands and settings.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/settings.h"

static bool takes(const struct command *c, const struct setting *s)
{
	return (s->scope & c->scope) && s->flag;
}

/* "auto|trace|off" with spaces between the words. */
static void print_choices(const char *choices)
{
	for (; *choices; choices++)
		putchar(*choices == '|' ? ' ' : *choices);
}

/* --- bash --- */

static void print_bash_values(const struct setting *s)
{
	if (!s->flag || s->type == SETTING_FLAG)
		return;
	printf("\t%s)\n", s->flag);
	if (s->type == SETTING_CHOICE) {
		fputs("\t\tCOMPREPLY=($(compgen -W \"", stdout);
		print_choices(s->choices);
		puts("\" -- \"$cur\"))");
	} else if (s->type == SETTING_PATH || s->type == SETTING_LIST) {
		puts("\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))");
	}
	puts("\t\treturn ;;");
}

static void print_bash(void)
{
	puts("# Completion of inferscope for bash: source <(inferscope completion bash)\n"
	     "_inferscope() {\n"
	     "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options=\n"
	     "\tCOMPREPLY=()\n"
	     "\tif [ \"$COMP_CWORD\" -eq 1 ]; then");
	fputs("\t\tCOMPREPLY=($(compgen -W \"--help --version", stdout);
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			printf(" %s", (*c)->name);
	puts("\" -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase $prev in");
	for (const struct setting *const *s = settings; *s; s++)
		print_bash_values(*s);
	puts("\tesac\n\tcase ${COMP_WORDS[1]} in");
	for (const struct command *const *c = commands; *c; c++) {
		if ((*c)->hidden)
			continue;
		printf("\t%s) options=\"--help", (*c)->name);
		for (const struct setting *const *s = settings; *s; s++) {
			if (!takes(*c, *s))
				continue;
			printf(" %s", (*s)->flag);
			if ((*s)->off_flag)
				printf(" %s", (*s)->off_flag);
		}
		puts("\" ;;");
	}
	puts("\tesac\n"
	     "\tcase $cur in\n"
	     "\t-*) COMPREPLY=($(compgen -W \"$options\" -- \"$cur\")) ;;\n"
	     "\t*) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
	     "\tesac\n"
	     "}\n"
	     "complete -o filenames -F _inferscope inferscope");
}

/* --- zsh and fish: words between single quotes --- */

static void print_quoted(const char *text, const char *escaped)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", stdout);
		else if (*text == '\n')
			putchar(' ');
		else
			printf("%s%c", strchr(escaped, *text) ? "\\" : "", *text);
	}
}

static bool is_long(const char *flag)
{
	return flag[1] == '-';
}

static void print_zsh_option(const struct setting *s)
{
	printf("\t\t\t'%s%s[", s->type == SETTING_LIST ? "*" : "", s->flag);
	print_quoted(s->help, "[]:\\");
	putchar(']');
	if (s->type == SETTING_CHOICE) {
		printf(":%s:(", s->metavar);
		print_choices(s->choices);
		putchar(')');
	} else if (s->type != SETTING_FLAG) {
		printf(":%s:%s", s->metavar,
		       s->type == SETTING_PATH || s->type == SETTING_LIST ? "_files" : "");
	}
	puts("' \\");
	if (!s->off_flag)
		return;
	printf("\t\t\t'%s[do not ", s->off_flag);
	print_quoted(s->help, "[]:\\");
	puts("]' \\");
}

static void print_zsh(void)
{
	puts("#compdef inferscope\n"
	     "_inferscope() {\n"
	     "\tlocal -a commands\n"
	     "\tcommands=(");
	for (const struct command *const *c = commands; *c; c++) {
		if ((*c)->hidden)
			continue;
		printf("\t\t'%s:", (*c)->name);
		print_quoted((*c)->summary, ":\\");
		puts("'");
	}
	puts("\t)\n"
	     "\tif (( CURRENT == 2 )); then\n"
	     "\t\t_describe command commands\n"
	     "\t\treturn\n"
	     "\tfi\n"
	     "\tshift words; (( CURRENT-- ))\n"
	     "\tcase $words[1] in");
	for (const struct command *const *c = commands; *c; c++) {
		if ((*c)->hidden)
			continue;
		printf("\t%s)\n\t\t_arguments \\\n", (*c)->name);
		for (const struct setting *const *s = settings; *s; s++)
			if (takes(*c, *s))
				print_zsh_option(*s);
		puts("\t\t\t'--help[show help]' '*:file:_files' ;;");
	}
	puts("\tesac\n"
	     "}\n"
	     "_inferscope \"$@\"");
}

static void print_fish_option(const struct command *c, const char *flag, const struct setting *s,
			      const char *lead)
{
	bool value = s->type != SETTING_FLAG && flag == s->flag;

	printf("complete -c inferscope -n '__fish_seen_subcommand_from %s' %s", c->name,
	       is_long(flag) ? "-l " : "-s ");
	fputs(flag + (is_long(flag) ? 2 : 1), stdout);
	if (value)
		fputs(s->type == SETTING_PATH || s->type == SETTING_LIST ? " -r -F" : " -x",
		      stdout);
	if (value && s->type == SETTING_CHOICE) {
		fputs(" -a '", stdout);
		print_choices(s->choices);
		putchar('\'');
	}
	printf(" -d '%s", lead);
	print_quoted(s->help, "\\");
	puts("'");
}

static void print_fish(void)
{
	puts("# Completion of inferscope for fish: inferscope completion fish | source");
	for (const struct command *const *c = commands; *c; c++) {
		if ((*c)->hidden)
			continue;
		printf("complete -c inferscope -n __fish_use_subcommand -f -a %s -d '", (*c)->name);
		print_quoted((*c)->summary, "\\");
		puts("'");
		for (const struct setting *const *s = settings; *s; s++) {
			if (!takes(*c, *s))
				continue;
			print_fish_option(*c, (*s)->flag, *s, "");
			if ((*s)->off_flag)
				print_fish_option(*c, (*s)->off_flag, *s, "do not ");
		}
	}
}

/* --- manual pages, mdoc(7) --- */

/* Text lines: no macro begins in them, no escape is meant, each sentence on a line of its own. */
static void print_roff(const char *text)
{
	bool first = true;

	for (; *text; text++) {
		if (!strncmp(text, ".  ", 3) || !strncmp(text, ". ", 2)) {
			putchar('.');
			text += strspn(text + 1, " ");
			putchar('\n');
			first = true;
			continue;
		}
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else if (*text == '\n' || (*text == ' ' && first))
			fputs(first ? "" : "\n", stdout);
		else if (first && (*text == '.' || *text == '\''))
			printf("\\&%c", *text);
		else
			putchar(*text);
		first = *text == '\n';
	}
	putchar('\n');
}

static void print_man_option(const struct setting *s, unsigned scope)
{
	char text[1024];

	printf(is_long(s->flag) ? ".It Fl Fl %s" : ".It Fl %s",
	       s->flag + (is_long(s->flag) ? 2 : 1));
	if (s->type != SETTING_FLAG)
		printf(" Ar %s", s->choices ? s->choices : s->metavar);
	if (s->off_flag)
		printf(" , Fl Fl %s", s->off_flag + 2);
	putchar('\n');
	if (s->type != SETTING_FLAG && s->fallback && *s->fallback && setting_has_default(s, scope))
		snprintf(text, sizeof(text), "%s (default: %s)", s->help, s->fallback);
	else
		snprintf(text, sizeof(text), "%s", s->help);
	print_roff(text);
}

static void print_man_synopsis(const struct command *c)
{
	const char *line = c->operands;

	do {
		size_t len = strcspn(line, "\n");
		char way[256];

		snprintf(way, sizeof(way), "%.*s", (int)len, line);
		printf(".Nm inferscope %s\n", c->name);
		if (*way)
			print_roff(way);
		line += len + (line[len] == '\n');
	} while (*line);
}

static void print_paragraphs(const char *text)
{
	const char *end;

	for (; (end = strstr(text, "\n\n")); text = end + 2) {
		char paragraph[2048];

		snprintf(paragraph, sizeof(paragraph), "%.*s", (int)(end - text), text);
		print_roff(paragraph);
		puts(".Pp");
	}
	print_roff(text);
}

static void print_man_head(const char *name, const char *about)
{
	char title[64];
	size_t n = 0;

	for (; name[n] && n < sizeof(title) - 1; n++)
		title[n] = (char)toupper((unsigned char)name[n]);
	title[n] = '\0';
	printf(".Dd November 19, 2026\n.Dt %s 1\n.Os InferScope %s\n.Sh NAME\n.Nm %s\n.Nd %s\n"
	       ".Sh SYNOPSIS\n",
	       title, INFERSCOPE_VERSION, name, about);
}

static void print_man_command(const struct command *c)
{
	char name[64];

	snprintf(name, sizeof(name), "inferscope-%s", c->name);
	print_man_head(name, c->summary);
	print_man_synopsis(c);
	puts(".Sh DESCRIPTION");
	print_paragraphs(c->details ? c->details : c->summary);
	puts(".Pp\nOptions:\n.Bl -tag -width Ds");
	for (const struct setting *const *s = settings; *s; s++)
		if (takes(c, *s))
			print_man_option(*s, c->scope);
	puts(".It Fl Fl help\nShow a summary of the options.\n.El\n"
	     ".Sh SEE ALSO\n.Xr inferscope 1");
}

static void print_man_program(void)
{
	print_man_head("inferscope", "why neural-network inference is slow, and where");
	puts(".Nm\n.Ar command\n.Op Ar options\n.Op Ar operands\n.Sh DESCRIPTION\n"
	     "InferScope records a Python program or service, finds what limits its speed,\n"
	     "and reports the line and the expected gain of a fix.\n.Pp\nCommands:\n"
	     ".Bl -tag -width Ds");
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden) {
			printf(".It Xr inferscope-%s 1\n", (*c)->name);
			print_roff((*c)->summary);
		}
	puts(".El\n.Sh EXIT STATUS\n"
	     ".Cm run\nexits with the status of the workload.\n"
	     "Other commands:\n"
	     ".Bl -tag -width Ds\n"
	     ".It 0\nSuccess.\n"
	     ".It 1\nThe input cannot be read.\n"
	     ".It 2\nThe command line or a setting is wrong.\n"
	     ".It 3\n.Fl Fl fail\\-on\nmatched.\n"
	     ".It 4\n.Fl Fl strict\nwas given and something requested could not be recorded.\n"
	     ".El");
}

static int print_man(const char *name)
{
	if (!name) {
		print_man_program();
		return report_output_stdout(EXIT_OK);
	}
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden && !strcmp((*c)->name, name)) {
			print_man_command(*c);
			return report_output_stdout(EXIT_OK);
		}
	return complain(EXIT_USAGE, "no command '%s'", name);
}

static void print_names(void)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!(*c)->hidden)
			puts((*c)->name);
}

static const struct {
	const char *name;
	void (*print)(void);
} shells[] = {
	{ "bash", print_bash },
	{ "zsh", print_zsh },
	{ "fish", print_fish },
	{ "commands", print_names }, /* for scripts/install_docs.sh */
};

static int completion(const struct command *self, int argc, char **argv)
{
	if (argc >= 2 && argc <= 3 && !strcmp(argv[1], "man"))
		return print_man(argv[2]);
	for (size_t i = 0; argc == 2 && i < sizeof(shells) / sizeof(shells[0]); i++)
		if (!strcmp(argv[1], shells[i].name)) {
			shells[i].print();
			return report_output_stdout(EXIT_OK);
		}
	return complain(EXIT_USAGE, "'inferscope %s' takes bash, zsh, fish or man [COMMAND]",
			self->name);
}

const struct command command_completion = {
	.name = "completion",
	.operands = "bash|zsh|fish\nman [COMMAND]",
	.summary = "print shell completions or manual pages",
	.details = "Prints the completion of the command line for a shell, for example\n"
		   "source <(inferscope completion bash), or a manual page in mdoc format.\n"
		   "`make install` installs both.",
	.run = completion,
};
