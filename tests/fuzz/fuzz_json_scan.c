/* links: is_import */
/*
 * The JSON scanner on any bytes.  Skipping a value, and walking through it member by member, must
 * agree on whether it is one; unescaped strings have room where their text had it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/json_scan.h"

static int walk(struct json_scan *s);

static int walk_members(struct json_scan *s, bool object)
{
	const char *key;
	size_t bytes;
	int rc;

	for (bool first = true;; first = false) {
		rc = object ? json_next_key(s, &key, &bytes, first) : json_next_item(s, first);
		if (rc != 1)
			return rc;
		if (walk(s))
			return -1;
	}
}

static int walk(struct json_scan *s)
{
	struct json_value v;
	int64_t number;
	char *out;

	if (json_take(s, &v))
		return -1;
	switch (v.kind) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		/* Deeper than this the C stack is what would be tested. */
		if (s->level > 200)
			return json_leave(s, true);
		return walk_members(s, v.kind == JSON_OBJECT);
	case JSON_STRING:
		out = malloc(v.bytes + 1);
		if (!out || json_unescape(out, v.text, v.bytes) > v.bytes)
			abort();
		free(out);
		return 0;
	case JSON_NUMBER:
		json_decimal(v.text, v.bytes, 3, &number);
		return 0;
	default:
		return 0;
	}
}

static int read_all(int fd, bool skip)
{
	struct text_source *source;
	struct json_scan *s = malloc(sizeof(*s));
	struct err err;
	int rc;

	if (!s || text_source_new(&source, fd, "fuzz", PACKED_NOT, UINT64_MAX, &err) ||
	    json_scan_init(s, source, &err))
		abort();
	rc = (skip ? json_skip(s) : walk(s)) || json_finish(s);
	json_scan_release(s);
	text_source_free(source);
	free(s);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	if (read_all(fd, true) != read_all(fd, false))
		abort();
	close(fd);
	return 0;
}
