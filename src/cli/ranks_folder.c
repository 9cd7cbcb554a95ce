#include "cli/ranks_folder.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "cli/command.h"
#include "cli/read_limit.h"
#include "compare/ranks.h"
#include "import/import.h"
#include "rules/judge.h"

#define SKIPPED_SHOWN 3

struct folder {
	const char *path;
	char **names; /* of files that may be traces, in order: rank2 before rank10 */
	size_t count, cap;
};

static void folder_release(struct folder *d)
{
	for (size_t i = 0; i < d->count; i++)
		free(d->names[i]);
	free(d->names);
}

static char *path_in(const struct folder *d, const char *name)
{
	size_t n = strlen(d->path) + strlen(name) + 2;
	char *path = malloc(n);

	if (path)
		snprintf(path, n, "%s/%s", d->path, name);
	return path;
}

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/* A report that is written anew must not be taken for a trace. */
static bool is_output(const struct report_output *f, const char *path)
{
	for (size_t i = 0; i < config_list_count(f->config, &setting_report); i++)
		if (outputs_are_same(path, config_list(f->config, &setting_report, i)))
			return true;
	return false;
}

static int folder_add(struct folder *d, const struct report_output *f, const char *name)
{
	char *path = path_in(d, name), **grown;
	struct stat st;
	bool taken;

	if (!path)
		return -1;
	taken = *name != '.' && !stat(path, &st) && S_ISREG(st.st_mode) && !is_output(f, path);
	free(path);
	if (!taken)
		return 0;
	grown = array_grow(d->names, &d->cap, d->count + 1, sizeof(*grown));
	if (!grown)
		return -1;
	d->names = grown;
	grown[d->count] = strdup(name);
	return grown[d->count] ? (d->count++, 0) : -1;
}

static int folder_read(struct folder *d, const struct report_output *f, struct err *err)
{
	DIR *dir = opendir(d->path);
	struct dirent *entry;
	int rc = 0;

	if (!dir)
		return err_errno(err, "cannot read %s", d->path);
	while (!rc && (entry = readdir(dir)))
		rc = folder_add(d, f, entry->d_name);
	closedir(dir);
	if (rc)
		return err_set(err, "out of memory");
	if (d->count)
		qsort(d->names, d->count, sizeof(*d->names), by_version);
	return 0;
}

/* 1: it is added, 0: it is no trace, -1: err. */
static int read_part(const struct report_output *f, const struct folder *d, const char *name,
		     struct ranks *ranks, uint64_t part, bool *fired, struct err *err)
{
	const char *step = config_text(f->config, &setting_step);
	struct analysis_options options = { .step = step, .undrawn = true };
	char *path = path_in(d, name);
	struct analysis *a = NULL;
	struct trace *t = NULL;
	int rc = -1;

	if (!path)
		return err_set(err, "out of memory");
	if (import_open(&t, path, part, err)) {
		rc = err_is_memory(err) ? -1 : 0;
		goto out;
	}
	if (analysis_new_with(&a, t, &options, err) || judge(a, &f->rules, err) ||
	    ranks_add(ranks, a, name, (uint32_t)ranks->count,
		      report_detail_of(config_text(f->config, &setting_detail)), err))
		goto out;
	if (fired)
		*fired = *fired || report_output_fires(f, a);
	if (trace_damage(t) && config_warns(f->config))
		complain(EXIT_OK, "warning: %s: %s; its report is partial", path, trace_damage(t));
	rc = 1;
out:
	analysis_free(a);
	trace_close(t);
	free(path);
	return rc;
}

static int read_rank(const struct report_output *f, const struct folder *d, const char *name,
		     struct ranks *ranks, bool *fired, struct err *err)
{
	char *path = path_in(d, name);
	struct read_limit limit;
	uint64_t part = UINT64_MAX;
	int rc;

	if (!path)
		return err_set(err, "out of memory");
	read_limit_begin(&limit, f->config);
	do
		rc = read_part(f, d, name, ranks, part, fired, err);
	while (rc < 0 && read_limit_retry(&limit, path, &part, err));
	read_limit_end(&limit);
	free(path);
	return rc;
}

static void note_skipped(struct ranks *r, const struct buf *names, size_t count, const char *why)
{
	struct buf text = *names;

	if (count == 1)
		notes_add(&r->notes, "Not read: %s", why);
	else if (count)
		notes_add(&r->notes, "%zu files are no traces: %s%s", count, buf_string(&text),
			  count > SKIPPED_SHOWN ? ", ..." : "");
}

static int read_all(const struct report_output *f, const struct folder *d, struct ranks *ranks,
		    bool *fired, struct err *err)
{
	struct buf skipped;
	size_t count = 0;
	struct err why = { "" };
	int rc = 0;

	buf_init(&skipped);
	for (size_t i = 0; i < d->count && rc >= 0; i++) {
		rc = read_rank(f, d, d->names[i], ranks, fired, err);
		if (rc)
			continue;
		if (!count)
			why = *err;
		if (count++ < SKIPPED_SHOWN)
			buf_printf(&skipped, "%s%s", count > 1 ? ", " : "", d->names[i]);
	}
	if (rc >= 0 && !ranks->count)
		rc = count == 1
			     ? err_set(err, "%s", why.text)
			     : err_set(err, "%s holds no trace%s%s", d->path,
				       count ? ", only " : "", count ? buf_string(&skipped) : "");
	buf_add_byte(&skipped, '\0');
	if (rc >= 0)
		note_skipped(ranks, &skipped, count, why.text);
	buf_release(&skipped);
	return rc < 0 ? -1 : 0;
}

static int write_all(const struct report_output *f, const struct ranks *r, struct err *err)
{
	size_t n = config_is_default(f->config, &setting_report)
			   ? 0
			   : config_list_count(f->config, &setting_report);
	const char **written = calloc(n + 1, sizeof(*written));
	struct terminal_style style;
	int rc = 0;

	if (!written)
		return err_set(err, "out of memory");
	for (size_t i = 0; i < n && !rc; i++) {
		written[i] = config_list(f->config, &setting_report, i);
		rc = ranks_write(r, written[i], err);
	}
	if (f->summary && !rc) {
		style = summary_style(f->config, f->summary);
		style.written = written;
		style.written_count = n;
		rc = ranks_print(r, f->summary, &style);
		if (rc)
			err_errno(err, "cannot write the summary");
	}
	free(written);
	return rc;
}

/* The rank of each file: from its name, without reading it. */
static int find_rank(const struct folder *d, uint32_t wanted, size_t *at, struct err *err)
{
	size_t traces = 0;
	uint32_t number;
	struct trace *t;

	for (*at = 0; *at < d->count; ++*at)
		if (rank_of_name(d->names[*at], &number) && number == wanted)
			return 0;
	for (*at = 0; *at < d->count; ++*at) {
		char *path = path_in(d, d->names[*at]);
		bool opened = path && !import_open(&t, path, UINT64_MAX, err);

		free(path);
		if (!opened)
			continue;
		if (!rank_of_trace(t, d->names[*at], &number))
			number = (uint32_t)traces;
		traces++;
		trace_close(t);
		if (number == wanted)
			return 0;
	}
	return err_set(err, "%s has no trace of rank %u", d->path, (unsigned)wanted);
}

static int report_one(struct report_output *f, const struct folder *d, bool *fired, struct err *err)
{
	uint32_t wanted = (uint32_t)config_number(f->config, &setting_rank);
	char *path;
	size_t at;
	int rc;

	if (find_rank(d, wanted, &at, err))
		return -1;
	path = path_in(d, d->names[at]);
	if (!path)
		return err_set(err, "out of memory");
	f->any_rank = true;
	rc = report_output_write(f, path, fired, err);
	free(path);
	return rc;
}

int ranks_folder_report(struct report_output *f, const char *folder, bool *fired, struct err *err)
{
	struct folder d = { .path = folder };
	struct ranks ranks;
	int rc;

	ranks_init(&ranks);
	rc = folder_read(&d, f, err);
	if (!rc && !config_is_default(f->config, &setting_rank)) {
		rc = report_one(f, &d, fired, err);
	} else if (!rc) {
		rc = read_all(f, &d, &ranks, fired, err);
		if (!rc)
			ranks_compare(&ranks);
		if (!rc && ranks.notes.failed)
			rc = err_set(err, "out of memory");
		if (!rc)
			rc = write_all(f, &ranks, err);
	}
	ranks_release(&ranks);
	folder_release(&d);
	return rc;
}
