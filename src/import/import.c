/* Which format a file is, by its first bytes, and what becomes of it. */
#include "import/import.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/trace_layout.h"
#include "import/build/build.h"
#include "import/import_file.h"
#include "import/json_import.h"
#include "import/nsys/nsys.h"
#include "import/text_source.h"

#define HEAD_BYTES 512

enum content { CONTENT_TRACE, CONTENT_JSON, CONTENT_SQLITE, CONTENT_OTHER };

struct input {
	const char *path;
	int fd;
	uint64_t part;
	enum packing packing;
	uint8_t head[HEAD_BYTES]; /* of what is inside the packing */
	size_t head_bytes;
};

static bool starts(const struct input *in, const void *with, size_t bytes)
{
	return in->head_bytes >= bytes && !memcmp(in->head, with, bytes);
}

static enum content content_of(const struct input *in)
{
	size_t at = starts(in, "\xef\xbb\xbf", 3) ? 3 : 0;

	/* An empty file, too: what is said of it there is what is to be said. */
	if (!in->head_bytes ||
	    !memcmp(in->head, TRACE_MAGIC,
		    in->head_bytes < strlen(TRACE_MAGIC) ? in->head_bytes : strlen(TRACE_MAGIC)))
		return CONTENT_TRACE;
	if (starts(in, "SQLite format 3", 16))
		return CONTENT_SQLITE;
	while (at < in->head_bytes && in->head[at] && strchr(" \t\r\n", in->head[at]))
		at++;
	if (at == in->head_bytes || in->head[at] == '{' || in->head[at] == '[')
		return CONTENT_JSON;
	return CONTENT_OTHER;
}

static bool contains(const struct input *in, const char *text)
{
	return memmem(in->head, in->head_bytes, text, strlen(text)) != NULL;
}

/* XPlane and Perfetto are protobufs: a field of type "message" comes first. */
static bool is_xspace(const struct input *in)
{
	return in->head_bytes > 2 && in->head[0] == 0x0a &&
	       (contains(in, "/host:") || contains(in, "/device:") || contains(in, "Task Env"));
}

static int refuse(const struct input *in, struct err *err)
{
	const char *what = NULL, *advice = "";

	if (starts(in, "PK\3\4", 4)) {
		what = "a zip archive";
		advice = "unpack it and use the trace inside";
	} else if (packing_of(in->head, in->head_bytes) != PACKED_NOT) {
		what = "packed twice";
		advice = "unpack it once";
	} else if (starts(in, "BZh", 3) ||
		   starts(in,
			  "\xfd"
			  "7zXZ",
			  5) ||
		   starts(in, "7z\xbc\xaf", 4)) {
		what = "packed with bzip2, xz or 7z";
		advice = "unpack it; gzip and zstd are read as they are";
	} else if (contains(in, "ustar")) {
		what = "a tar archive";
		advice = "unpack it and use the trace inside";
	} else if (is_xspace(in)) {
		what = "an XPlane protobuf (TensorFlow, JAX)";
		advice = "use the trace.json.gz beside it";
	} else if (in->head_bytes > 2 && in->head[0] == 0x0a) {
		what = "a protobuf, perhaps a Perfetto trace";
		advice = "convert it with 'traceconv json'";
	} else if (starts(in, "QDSTRM", 6) || contains(in, "NsightSystems") ||
		   starts(in,
			  "\x89"
			  "QDREP",
			  6)) {
		what = "a report of Nsight Systems";
		advice = "export it with 'nsys export --type sqlite' and use the result";
	} else if (starts(in,
			  "\x89"
			  "HDF",
			  4)) {
		what = "an HDF5 file";
		advice = "export SQLite from Nsight Systems instead";
	}
	if (!what)
		return err_set(err,
			       "%s is not an InferScope trace, nor one of torch.profiler, Nsight "
			       "Systems, VizTracer or Chrome",
			       in->path);
	return err_set(err, "%s is %s; it cannot be imported: %s", in->path, what, advice);
}

/* The first bytes, unpacked. */
static int read_head(struct input *in, struct err *err)
{
	struct text_source *source;
	ssize_t got = pread(in->fd, in->head, sizeof(in->head), 0);

	if (got < 0)
		return err_errno(err, "cannot read %s", in->path);
	in->head_bytes = (size_t)got;
	in->packing = packing_of(in->head, in->head_bytes);
	if (in->packing == PACKED_NOT)
		return 0;
	if (text_source_new(&source, in->fd, in->path, in->packing, UINT64_MAX, err))
		return -1;
	got = text_source_read(source, in->head, sizeof(in->head), err);
	text_source_free(source);
	if (got < 0)
		return -1;
	in->head_bytes = (size_t)got;
	return got ? 0 : err_set(err, "%s is empty after unpacking", in->path);
}

/* What was built becomes a trace.  partial: what is missing; "": nothing. */
static int open_built(struct trace **out, struct build *b, const struct input *in,
		      const char *format, const char *partial, struct err *err)
{
	int fd;

	if (build_info(b, "import.format", format))
		return err_set(err, "cannot import %s: out of memory", in->path);
	fd = import_file_new(err);
	if (fd < 0)
		return -1;
	if (!build_write(b, fd, err))
		return trace_open_fd(out, fd, in->path, *partial ? partial : NULL, err);
	close(fd);
	return -1;
}

static int import_json(struct trace **out, const struct input *in, struct err *err)
{
	struct text_source *source = NULL;
	struct build *b = NULL;
	struct json_import result;
	int rc = -1;

	if (!text_source_new(&source, in->fd, in->path, in->packing, in->part, err) &&
	    !build_new(&b, err) && !json_import(&result, b, source, in->path, err))
		rc = open_built(out, b, in, result.format, result.partial, err);
	build_free(b);
	text_source_free(source);
	return rc;
}

/*
 * Into a file that no name leads to: what cannot be read from its beginning to its end.  A
 * descriptor, or -1; of damaged data what came before, and *damage says where.
 */
static int unpack(const struct input *in, struct err *damage, struct err *err)
{
	struct text_source *source = NULL;
	uint8_t piece[65536];
	int fd = -1;
	ssize_t got = -1;

	damage->text[0] = '\0';
	if (text_source_new(&source, in->fd, in->path, in->packing, UINT64_MAX, err))
		return -1;
	fd = import_file_new(err);
	while (fd >= 0 && (got = text_source_read(source, piece, sizeof(piece), err)) > 0) {
		for (ssize_t done = 0; done < got;) {
			ssize_t n = write(fd, piece + done, (size_t)(got - done));

			if (n <= 0) {
				err_errno(err, "cannot unpack %s", in->path);
				goto out;
			}
			done += n;
		}
	}
	if (got < 0 && text_source_damaged(source) && text_source_bytes(source) > 0) {
		*damage = *err;
		got = 0;
	}
out:
	text_source_free(source);
	if (!got)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* A trace is valid up to its last whole block: damage shows by itself. */
static int open_packed(struct trace **out, const struct input *in, struct err *err)
{
	struct err damage;
	int fd = unpack(in, &damage, err);

	return fd < 0 ? -1 : trace_open_fd(out, fd, in->path, NULL, err);
}

static int import_sqlite(struct trace **out, const struct input *in, struct err *err)
{
	bool packed = in->packing != PACKED_NOT;
	struct nsys_import result;
	struct err damage = { "" };
	struct build *b = NULL;
	int fd = packed ? unpack(in, &damage, err) : in->fd, rc = -1;

	if (fd >= 0 && !build_new(&b, err) && !nsys_import(&result, b, fd, in->path, in->part, err))
		rc = open_built(out, b, in, "Nsight Systems SQLite",
				*damage.text ? damage.text : result.partial, err);
	build_free(b);
	if (packed && fd >= 0)
		close(fd);
	return rc;
}

static int open_content(struct trace **out, const struct input *in, struct err *err)
{
	switch (content_of(in)) {
	case CONTENT_TRACE:
		return in->packing == PACKED_NOT ? trace_open_part(out, in->path, in->part, err)
						 : open_packed(out, in, err);
	case CONTENT_JSON:
		return import_json(out, in, err);
	case CONTENT_SQLITE:
		return import_sqlite(out, in, err);
	case CONTENT_OTHER:
		break;
	}
	return refuse(in, err);
}

int import_open(struct trace **out, const char *path, uint64_t part, struct err *err)
{
	struct input in = { .path = path, .part = part };
	struct stat st;
	int rc;

	/* A FIFO must not block here; a regular file does not care. */
	in.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (in.fd < 0 || fstat(in.fd, &st) || !S_ISREG(st.st_mode)) {
		if (in.fd >= 0)
			close(in.fd);
		return trace_open_part(out, path, part, err); /* it says what is wrong */
	}
	rc = read_head(&in, err) ? -1 : open_content(out, &in, err);
	close(in.fd);
	return rc;
}

const char *import_format(const struct trace *t)
{
	return trace_info(t, "import.format", 0);
}
