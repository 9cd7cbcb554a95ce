#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/config.h"
#include "report/plain_text.h"

int complain(int status, const char *fmt, ...)
{
	char text[2048], sound[3 * sizeof(text) + 1];
	struct buf line;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Names and values of the user's may hold anything; the promise is one harmless line. */
	buf_init(&line);
	utf8_clean(sound, text, strlen(text));
	text_add_clean(&line, sound);
	fprintf(stderr, "inferscope: %s\n", buf_string(&line));
	buf_release(&line);
	return status;
}

void print_used_files(const struct config *c, const char *rules)
{
	struct buf files;
	const char *path;

	if (config_flag(c, &setting_quiet) || !config_warns(c))
		return;
	buf_init(&files);
	for (size_t i = 0; (path = config_used_file(c, i)); i++)
		buf_printf(&files, "%s%s", i ? ", " : "", path);
	if (rules)
		buf_printf(&files, "%srules from %s", files.len ? "; " : "", rules);
	if (files.len)
		complain(EXIT_OK, "configuration: %s", buf_string(&files));
	buf_release(&files);
}

int report_output_stdout(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return complain(EXIT_INPUT, "cannot write to standard output: %s", strerror(errno));
}
