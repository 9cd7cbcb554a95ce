/*
 * The lines of the user's source that findings name, with a few around them.
 *
 * A trace may come from anywhere and name any file: only regular files whose names end in .py are
 * read, and only if they are no longer than a source file is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/secrets.h"
#include "report/viewdata/view_parts.h"

#define SOURCE_BYTES_MAX (4u << 20)
#define LINES_AROUND 4u
#define LINE_BYTES_MAX 240u
#define PLACES_MAX 64u

/* NULL: it cannot be read, or is no source; the caller's to free. */
static char *read_source(const char *path)
{
	size_t n = strlen(path), done = 0;
	char *text = NULL;
	struct stat st;
	int fd;

	if (n < 3 || strcmp(path + n - 3, ".py") != 0)
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size <= SOURCE_BYTES_MAX)
		text = malloc((size_t)st.st_size + 1);
	while (text && done < (size_t)st.st_size) {
		ssize_t got = read(fd, text + done, (size_t)st.st_size - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	if (text)
		text[done] = '\0';
	close(fd);
	return text;
}

static void put_line(struct json *j, const char *line, size_t bytes)
{
	struct secrets secrets = { 0 };
	struct buf plain, clean;

	buf_init(&plain);
	buf_init(&clean);
	buf_add(&plain, line, bytes < LINE_BYTES_MAX ? bytes : LINE_BYTES_MAX);
	secrets_add_word(&secrets, &clean, buf_string(&plain));
	json_text(j, clean.data ? clean.data : "", clean.len);
	j->out->failed |= plain.failed || clean.failed;
	buf_release(&plain);
	buf_release(&clean);
}

/* The line and those around it: [first line, text, text, ...]. */
static void put_lines(struct json *j, const char *text, uint32_t line)
{
	uint32_t first = line > LINES_AROUND ? line - LINES_AROUND : 1, at = 1;

	json_array_begin(j);
	json_uint(j, first);
	for (const char *end; *text && at <= line + LINES_AROUND; text = end + 1, at++) {
		end = strchrnul(text, '\n');
		if (at >= first)
			put_line(j, text, (size_t)(end - text));
		if (!*end)
			break;
	}
	json_array_end(j);
}

static void put_place(const struct view *v, struct json *j, const struct place *p, uint32_t place)
{
	struct buf path;
	char *text;

	buf_init(&path);
	if (p->file[0] != '/' && v->a->run.cwd)
		buf_printf(&path, "%s/", v->a->run.cwd);
	buf_add_str(&path, p->file);
	text = read_source(buf_string(&path));
	if (text) {
		char key[16];

		snprintf(key, sizeof(key), "%u", place);
		json_key(j, key);
		put_lines(j, text, p->line);
	}
	free(text);
	buf_release(&path);
}

void view_source_put(const struct view *v, struct json *j)
{
	json_key(j, "source");
	json_object_begin(j);
	for (size_t i = 0; v->a->drawing.source && i < v->findings.count && i < PLACES_MAX; i++) {
		const struct place *p = &v->findings.items[i].finding->where;
		uint32_t place = v->findings.items[i].place;
		bool again = !place || !p->file || !p->line;

		for (size_t k = 0; k < i; k++)
			again |= v->findings.items[k].place == place;
		if (!again)
			put_place(v, j, p, place);
	}
	json_object_end(j);
}
