#include "export/export.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct exporter *const exporters[] = {
	&exporter_json,   &exporter_chrome, &exporter_perfetto,
	&exporter_sqlite, &exporter_arrow,  &exporter_speedscope,
	&exporter_folded, &exporter_pprof,  NULL,
};

const struct exporter *exporter_at(size_t i)
{
	size_t at = 0;

	while (exporters[at] && at < i)
		at++;
	return exporters[at];
}

const struct exporter *exporter_find(const char *name)
{
	for (const struct exporter *const *e = exporters; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	return NULL;
}

/* Does the name end with one of the words? */
static bool ends_with_one(const char *name, const char *words)
{
	size_t length = strlen(name);

	for (size_t n; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (n < length && !memcmp(name + length - n, words, n))
			return true;
	}
	return false;
}

const struct exporter *exporter_guess(const char *path)
{
	for (const struct exporter *const *e = exporters; *e; e++)
		if (ends_with_one(path, (*e)->suffixes))
			return *e;
	return NULL;
}

void export_flush(struct buf *text, int fd, int *error)
{
	size_t done = 0;

	if (text->failed && !*error)
		*error = ENOMEM;
	while (done < text->len && !*error) {
		ssize_t n = write(fd, text->data + done, text->len - done);

		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno != EINTR)
			*error = errno;
	}
	text->len = 0;
}

int export_finish(int error, struct err *err)
{
	if (!error)
		return 0;
	errno = error;
	return err_errno(err, "cannot write the export");
}
