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

size_t complain_pending(const struct config *c, unsigned scope)
{
	bool silent = !strcmp(config_text(c, &setting_log_level), "error");
	size_t count = 0;

	for (const struct setting *const *s = settings; *s; s++) {
		const char *text = (*s)->scope & scope ? config_pending(c, *s) : NULL;

		if (!text)
			continue;
		count++;
		if (!silent)
			complain(0, "%s", text);
	}
	return count;
}

int finish_stdout(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return complain(EXIT_INPUT, "cannot write to standard output: %s", strerror(errno));
}
