#include "export/export.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct exporter *const exporters[] = {
	&exporter_json,
	&exporter_folded,
	NULL,
};

const struct exporter *exporter_find(const char *name)
{
	for (const struct exporter *const *e = exporters; *e; e++)
		if (!strcmp((*e)->name, name))
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
