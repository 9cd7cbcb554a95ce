#include "analyze/source_root.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "timeline/user_code.h"

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !memcmp(text + n - m, end, m);
}

/* Appends the parts of a path to one without a slash at its end, "." and ".." followed. */
static void follow(struct buf *to, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (n == 2 && !memcmp(path, "..", 2)) {
			while (to->len && to->data[to->len - 1] != '/')
				to->len--;
			to->len -= to->len > 0;
		} else if (n && !(n == 1 && *path == '.')) {
			buf_add_byte(to, '/');
			buf_add(to, path, n);
		}
		path += n + (path[n] == '/');
	}
}

static bool lies_in(const char *file, const char *folder, size_t n)
{
	return n && !strncmp(file, folder, n) && file[n] == '/';
}

/* The first argument that is a program of the user's; links are not followed: they may be gone. */
static const char *find_script(struct buf *path, const char *const *command, size_t count,
			       const char *cwd)
{
	for (size_t i = 0; i < count; i++) {
		if (!ends_with(command[i], ".py") || (command[i][0] != '/' && !cwd))
			continue;
		buf_clear(path);
		if (command[i][0] != '/')
			follow(path, cwd);
		follow(path, command[i]);
		if (user_code(buf_string(path)))
			return buf_string(path);
	}
	return NULL;
}

int source_root(char **root, const char *const *command, size_t count, const char *cwd)
{
	size_t n = cwd ? strlen(cwd) : 0;
	struct buf path;
	const char *script;
	int rc;

	*root = NULL;
	buf_init(&path);
	script = find_script(&path, command, count, cwd);
	while (n && cwd[n - 1] == '/')
		n--;
	if (script && !lies_in(script, cwd, n))
		*root = strndup(script, (size_t)(strrchr(script, '/') - script));
	else if (cwd)
		*root = strdup(cwd);
	rc = path.failed || ((script || cwd) && !*root) ? -1 : 0;
	buf_release(&path);
	return rc;
}
