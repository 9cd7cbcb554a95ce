#include "base/plain_path.h"

#include <stdbool.h>
#include <string.h>

static bool is_dot(const char *part, size_t n)
{
	return n == 1 && *part == '.';
}

static bool is_up(const char *part, size_t n)
{
	return n == 2 && part[0] == '.' && part[1] == '.';
}

static bool has_detours(const char *path)
{
	for (;;) {
		size_t n = strcspn(path, "/");

		if (is_dot(path, n) || is_up(path, n))
			return true;
		if (!path[n])
			return false;
		path += n + 1;
	}
}

/* Takes the last part away, of those from `begin` on; false: there is none to go back from. */
static bool go_up(struct buf *out, size_t begin)
{
	size_t at = out->len;

	while (at > begin && out->data[at - 1] != '/')
		at--;
	if (at == out->len || is_up(out->data + at, out->len - at))
		return false;
	out->len = at > begin ? at - 1 : begin;
	return true;
}

static void add_part(struct buf *out, size_t begin, bool absolute, const char *part, size_t n)
{
	if (absolute || out->len > begin)
		buf_add_byte(out, '/');
	buf_add(out, part, n);
}

void plain_path_add(struct buf *out, const char *path)
{
	bool absolute = *path == '/', folder = *path && path[strlen(path) - 1] == '/';
	size_t begin = out->len;

	if (!absolute && !has_detours(path)) {
		buf_add_str(out, path);
		return;
	}
	while (*path) {
		size_t n = strcspn(path, "/");

		if (is_up(path, n)) {
			if (!go_up(out, begin) && !absolute)
				add_part(out, begin, false, path, n);
		} else if (n && !is_dot(path, n)) {
			add_part(out, begin, absolute, path, n);
		}
		path += n + (path[n] == '/');
	}
	if (out->len == begin)
		buf_add_byte(out, absolute ? '/' : '.');
	else if (folder)
		buf_add_byte(out, '/');
}
