#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

int complain(int status, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Names and values of the user's may hold anything; the promise is one line. */
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	fprintf(stderr, "inferscope: %s\n", text);
	return status;
}

int finish_stdout(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return complain(EXIT_INPUT, "cannot write to standard output: %s", strerror(errno));
}
