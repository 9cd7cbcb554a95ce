#include "analyze/source_root.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain_path.h"
#include "timeline/user_code.h"

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !memcmp(text + n - m, end, m);
}

static bool lies_in(const char *file, const char *folder, size_t n)
{
	return n && !strncmp(file, folder, n) && file[n] == '/';
}

/* The first argument that is a program of the user's. */
static const char *find_script(struct buf *path, const char *const *command, size_t count,
			       const char *cwd)
{
	const char *found = NULL;
	struct buf whole;

	buf_init(&whole);
	for (size_t i = 0; i < count && !found; i++) {
		if (!ends_with(command[i], ".py") || (command[i][0] != '/' && !cwd))
			continue;
		buf_clear(&whole);
		if (command[i][0] != '/')
			buf_printf(&whole, "%s/", cwd);
		buf_add_str(&whole, command[i]);
		buf_clear(path);
		plain_path_add(path, buf_string(&whole));
		if (user_code(buf_string(path)))
			found = buf_string(path);
	}
	path->failed |= whole.failed;
	buf_release(&whole);
	return found;
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
