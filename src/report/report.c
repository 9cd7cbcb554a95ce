#include "report/report.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/outfile.h"

static const struct report_backend *const backends[] = {
	&report_markdown,
	&report_json,
	&report_html,
	NULL,
};

static bool ends_in(const char *path, const char *extension)
{
	size_t n = strlen(path), m = strlen(extension);

	return n > m && !strcasecmp(path + n - m, extension);
}

const struct report_backend *report_backend_for(const char *path, struct err *err)
{
	for (const struct report_backend *const *b = backends; *b; b++) {
		if (ends_in(path, (*b)->extension))
			return *b;
	}
	if (outfile_is_stream(path))
		return &report_markdown;
	err_set(err, "cannot write '%s': the name of a report must end in .md, .html or .json",
		path);
	return NULL;
}

enum report_detail report_detail_of(const char *name)
{
	if (name && !strcmp(name, "short"))
		return DETAIL_SHORT;
	return name && !strcmp(name, "full") ? DETAIL_FULL : DETAIL_NORMAL;
}

size_t report_rows(enum report_detail detail, size_t n, size_t short_rows, size_t normal_rows)
{
	size_t limit = detail == DETAIL_SHORT    ? short_rows
		       : detail == DETAIL_NORMAL ? normal_rows
						 : n;

	return n < limit ? n : limit;
}

bool report_leaves_out(enum report_detail detail, double part, double whole, double least_share)
{
	return detail != DETAIL_FULL && part < least_share * whole;
}

static int write_all(int fd, const char *data, size_t n)
{
	while (n) {
		ssize_t done = write(fd, data, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		data += done;
		n -= (size_t)done;
	}
	return 0;
}

int report_check_writable(const char *path, struct err *err)
{
	struct outfile o;

	if (outfile_open(&o, path, err))
		return -1;
	outfile_discard(&o);
	return 0;
}

int report_write_text(const char *path, const struct buf *text, struct err *err)
{
	struct outfile o;

	if (text->failed)
		return err_set(err, "cannot write '%s': out of memory", path);
	if (outfile_open(&o, path, err))
		return -1;
	if (write_all(o.fd, text->data, text->len)) {
		err_errno(err, "cannot write '%s'", path);
		outfile_discard(&o);
		return -1;
	}
	return outfile_commit(&o, err);
}

int report_write(const struct analysis *a, const char *path, enum report_detail detail,
		 struct err *err)
{
	const struct report_backend *backend = report_backend_for(path, err);
	struct buf text;
	int rc;

	if (!backend)
		return -1;
	buf_init(&text);
	backend->render(&text, a, detail);
	rc = report_write_text(path, &text, err);
	buf_release(&text);
	return rc;
}
